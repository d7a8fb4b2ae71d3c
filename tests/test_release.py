"""Release files: the version, the changelog, and workflows with pinned actions."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = ("meson.build", "CHANGELOG.md", "docs/_static/versions.json", ".ci/set_version.py")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def copy(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_version(folder, version):
    command = [sys.executable, str(folder / ".ci" / "set_version.py"), version]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def versions(folder):
    return [entry["version"] for entry in json.loads((folder / "docs" / "_static" / "versions.json").read_text())]


def test_a_release_and_the_work_after_it_have_their_versions_everywhere(copy):
    notes = (copy / "CHANGELOG.md").read_text()
    assert set_version(copy, "9.1.0").returncode == 0
    assert "version: '9.1.0'," in (copy / "meson.build").read_text()
    released = (copy / "CHANGELOG.md").read_text()
    assert re.search(r"^## 9\.1\.0 \(\d{4}-\d\d-\d\d\)$", released, re.MULTILINE)
    assert "## Unreleased" not in released
    assert versions(copy)[0] == "9.1.0"
    assert set_version(copy, "9.2.0.dev0").returncode == 0
    after = (copy / "CHANGELOG.md").read_text()
    assert after.index("## Unreleased") < after.index("## 9.1.0")
    assert len(after) > len(notes)
    assert versions(copy)[:2] == ["9.2.0.dev0", "9.1.0"]


def test_a_release_replaces_its_candidates(copy):
    for version in ("9.1.0rc1", "9.1.0rc2", "9.1.0"):
        assert set_version(copy, version).returncode == 0
        headings = re.findall(r"^## (?:Unreleased|9\.1\.0).*$", (copy / "CHANGELOG.md").read_text(), re.MULTILINE)
        assert [heading.split()[1] for heading in headings] == [version]
        assert [name for name in versions(copy) if name.startswith("9.1")] == [version]


@pytest.mark.parametrize("version", ["1", "v1.0.0", "1.0.0rc", "1.0.0\n"])
def test_an_invalid_version_is_refused_and_nothing_changes(copy, version):
    result = set_version(copy, version)
    assert result.returncode == 1
    assert "is not a version" in result.stderr
    assert all((copy / name).read_bytes() == (ROOT / name).read_bytes() for name in FILES)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_by_commit(workflow):
    actions = re.findall(r"uses: (\S+)", workflow.read_text())
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


def test_commands_of_workflows_exist():
    rules = set(re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets = {name for line in rules for name in line.split()}
    text = "\n".join(path.read_text() for path in WORKFLOWS)
    commands = re.findall(r"(?:make|\.ci/run) ([\w -]+)$", text, re.MULTILINE)
    (groups,) = re.findall(r"targets: \[(.*)\]", text)  # of the 3 jobs that run all checks at the same time
    commands += re.findall(r'"([\w -]+)"', groups)
    assert {name for line in commands for name in line.split()} <= targets
    for script in re.findall(r"(\.ci/[\w.]+)", text):
        assert (ROOT / script).is_file(), script


def test_the_jobs_of_a_pull_request_run_all_checks():
    (checks,) = re.findall(r"^check: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    (groups,) = re.findall(r"targets: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert sorted(" ".join(re.findall(r'"([\w -]+)"', groups)).split()) == sorted(checks.split())


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is a source archive")
def test_the_source_archive_can_be_tested_without_benchmarks(tmp_path):
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if not name.startswith("benchmarks/") and (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    # Collecting fails if a test needs a module that is missing.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "smoke", "tests"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 150
    assert int(re.search(r"(\d+) deselected", result.stdout)[1]) > 5000


def test_commands_on_the_page_for_releases_exist():
    for script in re.findall(r"(\.ci/[\w./]+)", (ROOT / "RELEASING.md").read_text()):
        assert (ROOT / script).is_file(), script
