"""Tests of the source files that results depend on, and of the command that reports stale results."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import older, stale
from benchmarks.common import record, sources

pytestmark = pytest.mark.slow
ECM = "benchmarks.studies.peers.ecm"
COVERAGE = "benchmarks.studies.reproduction.coverage"


@pytest.fixture
def copied_tree(monkeypatch, tmp_path):
    """Return a folder with a study and a package, in which `sources` looks for modules."""
    for name, text in {
        "benchmarks/study.py": "from evlearn.cluster import ECM\n",
        "src/evlearn/cluster/__init__.py": (
            "from evlearn.cluster.ecm import ECM\nfrom evlearn.cluster.ccm import CCM\n"
        ),
        "src/evlearn/cluster/ecm.py": (
            '"""Text."""\nimport evlearn.cluster.scale\n\n\nclass ECM:\n    """Text."""\n'
        ),
        "src/evlearn/cluster/ccm.py": "class CCM:\n    pass\n",
        "src/evlearn/cluster/scale.py": "WEIGHTS = 'weights.json'\n",
        "src/evlearn/cluster/weights.json": "[1]\n",
        "src/evlearn/cluster/other.json": "[2]\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(
        sources, "PLACES", {"benchmarks": tmp_path / "benchmarks", "evlearn": tmp_path / "src" / "evlearn"}
    )
    clear()
    yield tmp_path
    clear()


def clear():
    for function in vars(sources).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def digest():
    clear()
    return sources.digest("benchmarks.study")


def test_imports_lead_to_the_modules_that_define_the_names(copied_tree):
    assert sources.files("benchmarks.study") == [
        "benchmarks/study.py",
        "src/evlearn/cluster/ecm.py",
        "src/evlearn/cluster/scale.py",
        "src/evlearn/cluster/weights.json",
    ]


@pytest.mark.parametrize("name", ["ecm.py", "scale.py", "weights.json"])
def test_a_changed_source_changes_the_digest(copied_tree, name):
    before = digest()
    path = copied_tree / "src" / "evlearn" / "cluster" / name
    path.write_text(path.read_text() + "number = 1\n")
    assert digest() != before


def test_docstrings_comments_and_other_modules_do_not_change_the_digest(copied_tree):
    before, folder = digest(), copied_tree / "src" / "evlearn" / "cluster"
    text = (folder / "ecm.py").read_text()
    text = text.replace("class ECM:", "class ECM:  # Another comment.\n")
    (folder / "ecm.py").write_text(text.replace("Text", "Other\n\n    words") + "\n# A comment.\n")
    (folder / "ccm.py").write_text("class CCM:\n    number = 1\n")
    (folder / "other.json").write_text("[3]\n")
    assert digest() == before


def test_a_study_depends_on_what_it_imports_and_on_kernels():
    names = sources.files(ECM)
    for name in ("cluster/centroids/ecm.py", "cluster/set_costs.py", "kernels/prototypes.pyx"):
        assert f"src/evlearn/{name}" in names
    names = sources.files(COVERAGE)
    assert "src/evlearn/mixture/bootstrap.py" in names
    assert "src/evlearn/cluster/model_based/bootclus.py" in names
    assert not [name for name in names if "neural" in name or "plotting" in name]


def test_modules_named_by_texts_are_sources():
    assert "benchmarks/studies/reproduction/slides.py" in sources.files("benchmarks.studies.reproduction")


def write(folder, module, **changes):
    result = {"command": f"python -m {module}", "date": "2026-11-15", "commit": "abc"} | changes
    (folder / "one.json").write_text(json.dumps(result))


def test_status_of_results(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    write(tmp_path, ECM, sources={"module": ECM, "digest": sources.digest(ECM)})
    assert stale.status("one").kind == "current"
    write(tmp_path, ECM, sources={"module": ECM, "digest": "0"})
    assert "differ from those of commit abc" in stale.status("one").reason
    write(tmp_path, ECM, sources={"module": "benchmarks.former", "digest": "0"})
    assert stale.status("one")[1:] == ("stale", "benchmarks.former does not exist any more")
    write(tmp_path, ECM)
    assert stale.status("one").kind == "without digest"


@pytest.mark.parametrize("answer", [None, "true\n"], ids=["without git", "shallow"])
def test_results_without_digest_need_the_history_of_git(monkeypatch, tmp_path, answer):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(sources, "git", lambda *words: answer)
    write(tmp_path, ECM)
    assert "no complete history" in stale.status("one").reason


def test_the_command_lists_all_results_and_fails_only_if_requested(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    write(tmp_path, ECM, sources={"module": ECM, "digest": "0"})
    monkeypatch.setattr("sys.argv", ["stale"])
    stale.main()
    output = capsys.readouterr().out
    assert re.search(r"one +stale .*\n0 current, 1 stale, 0 without digest\n", output)
    assert "one is older than the code" in output
    monkeypatch.setattr("sys.argv", ["stale", "--strict"])
    with pytest.raises(SystemExit):
        stale.main()


@pytest.mark.parametrize("path", sorted(record.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_module_of_each_result_is_known(path):
    result = json.loads(Path(path).read_text())
    module = (result.get("sources") or {}).get("module") or stale.module_of(path.stem, result["command"])
    assert sources.path_of(module) is not None


def test_results_that_are_older_than_the_code_are_listed_and_no_others(monkeypatch):
    monkeypatch.setattr(stale, "OLDER", {"listed": "a reason", "new": "a reason"})
    statuses = [
        stale.Status("listed", stale.STALE, "changed"),
        stale.Status("new", stale.CURRENT, "measured"),
        stale.Status("other", stale.UNKNOWN, "measured"),
        stale.Status("fine", stale.CURRENT, "measured"),
    ]
    first, second = stale.unexpected(statuses)
    assert first.startswith("new is current")
    assert second.startswith("other is older than the code (measured)")


def test_no_result_is_older_than_the_code_except_those_that_are_listed_with_a_reason():
    names = sorted(path.stem for path in record.RESULTS.glob("*.json"))
    assert stale.unexpected([stale.status(name) for name in names]) == []
    assert older.OLDER.keys() <= set(names)
