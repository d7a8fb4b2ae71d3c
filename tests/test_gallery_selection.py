"""The selection of the examples that a build of the documentation runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx_gallery")
sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))
import gallery_selection


@pytest.fixture
def repository(tmp_path):
    """Return a function that runs git in a repository with 2 examples on the main branch."""

    def git(*words):
        identity = ("-c", "user.name=me", "-c", "user.email=me@example.org")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    (tmp_path / "examples" / "start").mkdir(parents=True)
    for name in ("plot_a", "plot_b"):
        git("commit", "--allow-empty", "-m", "before")
        (tmp_path / "examples" / "start" / f"{name}.py").write_text("1\n")
        git("add", "-A")
        git("commit", "-m", name)
    return git


def test_examples_of_the_branch_and_of_the_working_tree_are_changed(repository, tmp_path):
    repository("switch", "-c", "branch")
    start = tmp_path / "examples" / "start"
    (start / "plot_a.py").write_text("2\n")
    repository("commit", "-a", "-m", "a")
    (tmp_path / "README.md").write_text("text\n")
    assert gallery_selection.changed_examples(tmp_path) == ["examples/start/plot_a.py"]
    (start / "plot_c.py").write_text("3\n")
    (start / "needs_a_package.py").write_text("3\n")
    (start / "plot_b.py").unlink()
    assert gallery_selection.changed_examples(tmp_path) == ["examples/start/plot_a.py", "examples/start/plot_c.py"]


def test_on_the_main_branch_examples_of_the_last_commit_are_changed(repository, tmp_path):
    assert gallery_selection.changed_examples(tmp_path) == ["examples/start/plot_b.py"]


def test_without_a_history_all_examples_are_run(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(gallery_selection, "ROOT", tmp_path)
    monkeypatch.setenv("EVLEARN_GALLERY", "changed")
    assert gallery_selection.changed_examples(tmp_path) is None
    assert gallery_selection.pattern() == "/plot_"


@pytest.mark.parametrize(
    ("names", "matches"),
    [([], False), (["examples/start/plot_a.py"], True), (["examples/start/plot_b.py"], False)],
)
def test_the_pattern_matches_changed_examples_only(monkeypatch, names, matches):
    monkeypatch.setenv("EVLEARN_GALLERY", "changed")
    monkeypatch.setattr(gallery_selection, "changed_examples", lambda root: names)
    assert bool(re.search(gallery_selection.pattern(), "/home/examples/start/plot_a.py")) == matches
