"""Types: in signatures, in the installed wheel, and for names that do not exist."""

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

from evlearn.neural import NNEVCLUS
from test_project import ROOT, public_objects

SCRIPT = ROOT / "tests" / "typing" / "user_script.py"
PIPELINE = ROOT / "tests" / "typing" / "user_pipeline.py"
#: Settings that users need for packages without types.
UNTYPED = "[mypy]\n[mypy-sklearn.*,pandas.*]\nignore_missing_imports = True\n"


def functions():
    """Yield every public function, method and constructor once, with its documentation."""
    checked = set()
    for path, value in public_objects():
        is_class = inspect.isclass(value)
        function = value.__init__ if is_class else value
        function = inspect.unwrap(getattr(function, "__func__", function))
        if inspect.isfunction(function) and function not in checked:
            checked.add(function)
            yield path, function, ClassDoc(value) if is_class else FunctionDoc(function)


def parameters():
    """Yield the path, the type and the documented type of every public parameter."""
    for path, function, documentation in functions():
        types = get_type_hints(function, localns={"NNEVCLUS": NNEVCLUS})  # imported for type checkers only
        documented = {
            name.strip(): field.type
            for section in ("Parameters", "Attributes")
            for field in documentation[section]
            for name in field.name.split(",")
        }
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in ("self", "cls") and parameter.kind not in (
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            ):
                yield f"{path}({name})", types.get(name, Any), documented.get(name, "")


def words(kind):
    """Return the strings that a type allows, possibly among other values."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return set().union(*(words(part) for part in get_args(kind))) if get_origin(kind) is not None else set()


def test_few_public_parameters_have_no_type():
    annotations = list(parameters())
    untyped = [path for path, kind, _ in annotations if kind is Any]
    assert len(annotations) > 1000
    assert len(untyped) <= 0.003 * len(annotations), untyped


def test_documented_choices_are_those_of_the_type():
    for path, kind, documented in parameters():
        if match := re.match(r"\{(\".*?)\}", documented):
            assert words(kind) >= set(re.findall(r'"([^"]*)"', match[1])), path
            assert str not in get_args(kind), path
            assert kind is not str, path


def test_methods_that_learn_return_the_estimator():
    learners = [(path, method) for path, method, _ in functions() if method.__name__ in ("fit", "partial_fit")]
    assert len(learners) > 15
    for path, function in learners:
        assert get_type_hints(function)["return"] is Self, path


def check(script, *options):
    """Return the type checker's messages about a script, as (line, text)."""
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-codes", *options, str(script)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert not process.stderr, process.stderr
    name = re.escape(Path(script).name)
    return [(int(line), text) for line, text in re.findall(rf"{name}:(\d+): (.*)", process.stdout)]


@pytest.mark.slow
def test_an_undeclared_attribute_is_an_error(tmp_path):
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
    messages = check(script, "--config-file", str(ROOT / "pyproject.toml"))
    assert [line for line, text in messages if "has no attribute" in text] == [7, 8, 9]
    assert len(messages) == 3


#: Tests of the wheel run in one process, so that it is built once.
one_process = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Return the wheel that users install."""
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
    """Return the options of a type checker for evlearn as installed from the wheel."""
    folder = tmp_path_factory.mktemp("user")
    fresh = folder / "fresh"
    venv.create(fresh, with_pip=False)
    command = [sys.executable, "-m", "pip", "--python", str(fresh), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    (site,) = fresh.glob("**/site-packages")
    (python,) = [*fresh.glob("bin/python"), *fresh.glob("Scripts/python.exe")]
    # Dependencies are those of this environment; type checkers do not find an editable install.
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
    messages = dict(reversed(check(SCRIPT, *as_a_user)))
    for number, line in enumerate(SCRIPT.read_text().splitlines(), 1):
        _, _, comment = line.partition("  # ")
        message = messages.pop(number, "")
        if comment.startswith("error: "):
            assert message.startswith("error: "), line
            assert f'"{comment.split()[1]}"' in message, (line, message)
        elif comment:
            revealed = re.sub(r"[\w.]+\.(?=\w)|\[.*\]", "", message.partition("Revealed type is ")[2].strip('"'))
            assert revealed == comment, (line, message)
        else:
            assert not message, (line, message)
