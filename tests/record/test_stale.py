"""Tests of the definitions that results depend on, and of the command that reports stale results."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import older, stale
from benchmarks.common import definitions, record, sources

pytestmark = pytest.mark.slow
ECM = "benchmarks.studies.peers.ecm"
COVERAGE = "benchmarks.studies.reproduction.coverage"


FILES = {
    "benchmarks/study.py": (
        "from evlearn.cluster import ECM\n\n\n"
        "def measure(X):\n    return ECM().fit(X).labels_, getattr(ECM, 'text')\n"
    ),
    "src/evlearn/cluster/__init__.py": (
        "from evlearn.cluster.ecm import ECM\nfrom evlearn.cluster.ccm import CCM\n"
    ),
    "src/evlearn/cluster/ecm.py": (
        '"""Text."""\n'
        "import evlearn.cluster.scale\n"
        "from evlearn.kernels.loops import add\n\n\n"
        "class ECM:\n"
        '    """Text."""\n\n'
        "    def __init__(self):\n        self.scale = evlearn.cluster.scale.read_weights()\n\n"
        "    def fit(self, X):\n        return self._descend(add(X))\n\n"
        "    def _descend(self, X):\n        return X\n\n"
        "    def text(self):\n        return 1\n\n"
        "    def predict(self, X):\n        return distance(X)\n\n\n"
        "def distance(X):\n    return X\n"
    ),
    "src/evlearn/cluster/ccm.py": "class CCM:\n    def fit(self, X):\n        return X\n",
    "src/evlearn/cluster/scale.py": "WEIGHTS = 'weights.json'\n\n\ndef read_weights():\n    return WEIGHTS\n",
    "src/evlearn/cluster/weights.json": "[1]\n",
    "src/evlearn/cluster/other.json": "[2]\n",
    "src/evlearn/kernels/loops.pyx": 'cdef extern from "loops.h":\n    pass\n',
    "src/evlearn/kernels/loops.h": "int add();\n",
    "src/evlearn/kernels/other.pyx": "def multiply():\n    pass\n",
}


@pytest.fixture
def copied_tree(monkeypatch, tmp_path):
    """Return a folder with a study and a package, in which `sources` looks for modules."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(
        definitions, "PLACES", {"benchmarks": tmp_path / "benchmarks", "evlearn": tmp_path / "src" / "evlearn"}
    )
    clear()
    yield tmp_path
    clear()


def clear():
    for function in (*vars(sources).values(), *vars(definitions).values()):
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def digest():
    clear()
    return sources.digest("benchmarks.study")


def test_names_lead_to_the_files_that_define_them(copied_tree):
    assert sources.files("benchmarks.study") == [
        "benchmarks/study.py",
        "src/evlearn/cluster/ecm.py",
        "src/evlearn/cluster/scale.py",
        "src/evlearn/cluster/weights.json",
        "src/evlearn/kernels/loops.h",
        "src/evlearn/kernels/loops.pyx",
    ]


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("benchmarks/study.py", "labels_", "masses_"),
        ("src/evlearn/cluster/ecm.py", "self.scale", "self.width"),  # a special method
        ("src/evlearn/cluster/ecm.py", "add(X)", "add(2 * X)"),  # a method that scikit-learn calls
        ("src/evlearn/cluster/ecm.py", "_descend(self, X)", "_descend(self, Y)"),  # a method that is called
        ("src/evlearn/cluster/ecm.py", "return 1", "return 2"),  # a method whose name is in a text
        ("src/evlearn/cluster/scale.py", "return WEIGHTS", "return 2 * WEIGHTS"),  # a function in another module
        ("src/evlearn/cluster/scale.py", "'weights", "'folder/weights"),  # a variable
        ("src/evlearn/cluster/weights.json", "1", "2"),
        ("src/evlearn/kernels/loops.pyx", "pass", "int add()"),
        ("src/evlearn/kernels/loops.h", "int", "long"),
    ],
)
def test_changed_code_that_is_used_changes_the_digest(copied_tree, name, text, other):
    before, path = digest(), copied_tree / name
    assert text in path.read_text()
    path.write_text(path.read_text().replace(text, other))
    assert digest() != before


def test_docstrings_comments_and_unused_code_do_not_change_the_digest(copied_tree):
    before, folder = digest(), copied_tree / "src" / "evlearn" / "cluster"
    text = (folder / "ecm.py").read_text()
    text = text.replace("class ECM:", "class ECM:  # Another comment.\n")
    text = text.replace("return distance(X)", "return 2 * distance(X)").replace(
        "def distance(X):", "def distance(Y):"
    )
    (folder / "ecm.py").write_text(text.replace("Text", "Other\n\n    words") + "\n# A comment.\n")
    (folder / "ccm.py").write_text("class CCM:\n    number = 1\n")
    (folder / "other.json").write_text("[3]\n")
    (copied_tree / "src" / "evlearn" / "kernels" / "other.pyx").write_text("def multiply():\n    return 1\n")
    assert digest() == before


def test_a_method_that_a_study_calls_counts_with_what_it_uses(copied_tree):
    study, path = copied_tree / "benchmarks" / "study.py", copied_tree / "src" / "evlearn" / "cluster" / "ecm.py"
    study.write_text(study.read_text() + "\n\ndef label(model, X):\n    return model.predict(X)\n")
    before = digest()
    path.write_text(
        path.read_text().replace("def distance(X):\n    return X", "def distance(X):\n    return 2 * X")
    )
    assert digest() != before


def test_programs_in_texts_and_modules_for_commands_count(copied_tree):
    study = copied_tree / "benchmarks" / "study.py"
    study.write_text('PROGRAM = "import evlearn.cluster; evlearn.cluster.CCM()"\n')
    assert "src/evlearn/cluster/ccm.py" in sources.files("benchmarks.study")
    clear()
    study.write_text('COMMAND = ["python", "-m", "evlearn.cluster.ccm"]\n')
    assert "src/evlearn/cluster/ccm.py" in sources.files("benchmarks.study")


def test_a_study_depends_on_what_it_uses_and_on_its_kernels():
    names = sources.files(ECM)
    for name in ("cluster/centroids/ecm.py", "cluster/set_costs.py", "kernels/prototypes.pyx"):
        assert f"src/evlearn/{name}" in names
    assert not [name for name in names if "kernels/evclus" in name or "kernels/label_search" in name]
    names = sources.files(COVERAGE)
    assert "src/evlearn/mixture/bootstrap.py" in names
    assert "src/evlearn/cluster/model_based/bootclus.py" in names
    assert not [name for name in names if "neural" in name or "plotting" in name]


def test_modules_named_by_texts_are_sources():
    assert "benchmarks/studies/reproduction/slides.py" in sources.files("benchmarks.studies.reproduction")


def write(folder, module, name="one", **changes):
    result = {"command": f"python -m {module}", "date": "2026-11-15", "commit": "abc"} | changes
    (folder / f"{name}.json").write_text(json.dumps(result))


def test_a_result_that_follows_from_a_stale_one_is_stale(monkeypatch, tmp_path):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    write(tmp_path, ECM, "two", sources={"module": ECM, "digest": sources.digest(ECM)}, inputs=["one"])
    write(tmp_path, ECM, sources={"module": ECM, "digest": sources.digest(ECM)})
    assert stale.status("two").kind == "current"
    write(tmp_path, ECM, sources={"module": ECM, "digest": "0"})
    assert stale.status("two")[1:] == ("stale", "it follows from results that are older than the code: one")


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
    module = (result.get("sources") or {}).get("module") or stale.module_of(result["command"])
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
