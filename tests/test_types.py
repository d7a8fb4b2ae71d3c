"""What type checkers are told: by signatures, by the wheel that users install, and of names that are not there."""

import inspect
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

from test_project import ROOT, public_objects

SCRIPT = ROOT / "tests" / "typing" / "user_script.py"
PIPELINE = ROOT / "tests" / "typing" / "user_pipeline.py"
#: What a user has to say about packages that have no types.
UNTYPED = "[mypy]\n[mypy-sklearn.*,pandas.*]\nignore_missing_imports = True\n"


def functions():
    """Every public function, method and constructor once, with its documentation."""
    seen = set()
    for path, found in public_objects():
        made = inspect.isclass(found)
        function = found.__init__ if made else found
        function = inspect.unwrap(getattr(function, "__func__", function))
        if inspect.isfunction(function) and function not in seen:
            seen.add(function)
            yield path, function, ClassDoc(found) if made else FunctionDoc(function)


def parameters():
    """Every public parameter: its path, its type, and the type that is documented."""
    for path, function, documentation in functions():
        types = get_type_hints(function)
        documented = {
            name.strip(): one.type
            for section in ("Parameters", "Attributes")
            for one in documentation[section]
            for name in one.name.split(",")
        }
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in ("self", "cls") and parameter.kind not in (
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            ):
                yield f"{path}({name})", types.get(name, Any), documented.get(name, "")


def words(kind):
    """The words that a type takes, also where it takes other things too."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return set().union(*(words(one) for one in get_args(kind))) if get_origin(kind) is not None else set()


def test_hardly_any_public_parameter_may_be_anything():
    found = list(parameters())
    anything = [path for path, kind, _ in found if kind is Any]
    assert len(found) > 1000
    assert len(anything) <= 0.003 * len(found), anything


def test_words_that_are_documented_as_the_only_ones_are_those_of_the_type():
    for path, kind, documented in parameters():
        if found := re.match(r"\{(\".*?)\}", documented):
            assert words(kind) >= set(re.findall(r'"([^"]*)"', found[1])), path
            assert str not in get_args(kind), path
            assert kind is not str, path


def test_whoever_learns_returns_its_own_kind():
    learners = [(path, one) for path, one, _ in functions() if one.__name__ in ("fit", "partial_fit")]
    assert len(learners) > 15
    for path, function in learners:
        assert get_type_hints(function)["return"] is Self, path


def check(script, *options):
    """The type checker's lines about a script, as (line, text)."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-codes", *options, str(script)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert not done.stderr, done.stderr
    name = re.escape(Path(script).name)
    return [(int(line), text) for line, text in re.findall(rf"{name}:(\d+): (.*)", done.stdout)]


@pytest.mark.slow
def test_an_attribute_that_no_base_declares_is_an_error(tmp_path):
    script = tmp_path / "misspelt.py"
    script.write_text(
        "from evlearn.classify import EvidentialKNNClassifier\n"
        "from evlearn.cluster import ECM, RECM\n\n\n"
        "def read(one: ECM, two: RECM, three: EvidentialKNNClassifier) -> None:\n"
        "    print(one.focal_sets_, one.masses_, one.max_iter, two.labels_, three.classes_)\n"
        "    print(one.focal_setz_)\n"
        "    print(two.masses)\n"
        "    print(three.clases_)\n"
    )
    found = check(script, "--config-file", str(ROOT / "pyproject.toml"))
    assert [line for line, text in found if "has no attribute" in text] == [7, 8, 9]
    assert len(found) == 3


#: Tests of the wheel run in one process, so that it is built once.
one_process = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel that users install."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    # An editable install locks its build directory while another test imports from it, so the wheel needs its own.
    command += [f"-Cbuild-dir={tmp_path_factory.mktemp('build')}", "--wheel-dir", str(folder), str(ROOT)]
    build = subprocess.run(command, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    (path,) = folder.glob("*.whl")
    return path


@one_process
@pytest.mark.slow
def test_the_wheel_is_for_all_later_pythons_small_and_without_sources(wheel):
    assert "-cp311-abi3-" in wheel.name
    assert wheel.stat().st_size < 2e6
    with zipfile.ZipFile(wheel) as files:
        endings = {Path(name).suffix for name in files.namelist()}
    assert ".so" in endings or ".pyd" in endings
    assert not endings & {".pyx", ".pxd", ".c", ".h"}


@pytest.fixture(scope="session")
def as_a_user(wheel, tmp_path_factory):
    """Options of a type checker that sees evlearn as it is installed from the wheel."""
    folder = tmp_path_factory.mktemp("user")
    fresh = folder / "fresh"
    venv.create(fresh, with_pip=False)
    command = [sys.executable, "-m", "pip", "--python", str(fresh), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    (site,) = fresh.glob("**/site-packages")
    (python,) = [*fresh.glob("bin/python"), *fresh.glob("Scripts/python.exe")]
    # What evlearn stands on is taken from here; its own editable install is no package that a checker finds.
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    (folder / "mypy.ini").write_text(UNTYPED)
    options = ("--config-file", str(folder / "mypy.ini"), "--python-executable", str(python))
    return (*options, "--cache-dir", str(folder / "cache"))


@one_process
@pytest.mark.slow
def test_a_users_pipeline_passes_a_strict_check(as_a_user, tmp_path):
    assert check(PIPELINE, *as_a_user, "--strict") == []
    wrong = tmp_path / "wrong.py"
    wrong.write_text(PIPELINE.read_text().replace("outlier_label=-1", "outliers=-1"))
    assert [text for _, text in check(wrong, *as_a_user, "--strict") if 'argument "outliers"' in text]


@one_process
@pytest.mark.slow
def test_the_wheel_has_types_and_a_users_script_is_checked_by_them(wheel, as_a_user):
    assert "evlearn/py.typed" in zipfile.ZipFile(wheel).namelist()
    # The first message of each line; notes that explain it follow.
    found = dict(reversed(check(SCRIPT, *as_a_user)))
    for number, line in enumerate(SCRIPT.read_text().splitlines(), 1):
        _, _, comment = line.partition("  # ")
        told = found.pop(number, "")
        if comment.startswith("error: "):
            assert told.startswith("error: "), line
            assert f'"{comment.split()[1]}"' in told, (line, told)
        elif comment:
            shown = re.sub(r"[\w.]+\.(?=\w)|\[.*\]", "", told.partition("Revealed type is ")[2].strip('"'))
            assert shown == comment, (line, told)
        else:
            assert not told, (line, told)
