"""Settings of pytest that pyproject.toml cannot hold."""


def pytest_configure(config):
    # Laws are tested on data in which there is often nothing to find; that it is said has tests of its own. Not in
    # pyproject.toml: there it would import evlearn before coverage is measured.
    config.addinivalue_line("filterwarnings", "ignore::evlearn.exceptions.CollapseWarning")
