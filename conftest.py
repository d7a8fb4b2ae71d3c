"""Settings of pytest that pyproject.toml cannot hold."""

import pytest


@pytest.fixture(autouse=True)
def files_of_pages_go_elsewhere(request, monkeypatch):
    # What a page of the guide writes does not stay in the project.
    if request.path.suffix == ".rst":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))


def pytest_configure(config):
    # Many laws are tested on data without clusters; other tests check the warning. The filter is not in
    # pyproject.toml, because it would import evlearn before coverage is measured.
    config.addinivalue_line("filterwarnings", "ignore::evlearn.exceptions.CollapseWarning")
