"""Checks that `make docs` runs on the built pages, and tests of the code in the documentation."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECK_LINKS = ROOT / "docs" / "check_links.py"
CHECK_BROWSER = ROOT / "docs" / "check_browser.py"


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    """Write 2 pages with valid links; return a function that adds a link to the first page."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "picture 1.png").touch()
    (tmp_path / "sub" / "page.html").write_text('<h1 id="title">A page</h1><a href="../index.html#">back</a>')

    def write(link):
        (tmp_path / "index.html").write_text(
            '<p id="here"><a href="#here">a</a><a href="sub/page.html?x=1#title">b</a><img src="picture%201.png">'
            f'<a href="https://example.org/a#b">c</a><a href="mailto:a@b.org">d</a><a href="sub/">e</a>{link}'
        )
        (tmp_path / "sub" / "index.html").touch()
        return tmp_path

    return write


def test_valid_links_are_not_reported(site):
    faults, others = load(CHECK_LINKS).check(site(""))
    assert faults == []
    assert others == ["https://example.org/a#b"]


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ('<a href="nowhere.html">', "index.html: nowhere.html does not exist"),
        ('<img src="nowhere.png">', "index.html: nowhere.png does not exist"),
        ('<img srcset="picture%201.png 1x, large.png 2x">', "index.html: large.png does not exist"),
        ('<a href="#there">', "index.html: #there is not an anchor of that page"),
        ('<a href="sub/page.html#there">', "index.html: sub/page.html#there is not an anchor of that page"),
        ('<a href="../other.html">', "index.html: ../other.html is outside the pages"),
        ('<a href="/index.html">', "index.html: /index.html is outside the pages"),
        ('<a href="http://example.org">', "index.html: http://example.org is not an https address"),
        ('<a href="https://here/a">', "index.html: https://here/a is not an https address"),
    ],
)
def test_invalid_links_are_reported(site, link, fault):
    folder = site(link)
    assert load(CHECK_LINKS).check(folder)[0] == [fault]
    result = subprocess.run([sys.executable, CHECK_LINKS, folder], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert fault in result.stdout


def test_a_folder_without_pages_is_reported(tmp_path):
    (fault,) = load(CHECK_LINKS).check(tmp_path)[0]
    assert fault.endswith("has no pages. Build them first.")


BROWSER = load(CHECK_BROWSER)
LONG = "word " * 60


@pytest.fixture(scope="module")
def browser():
    if BROWSER.find_browser() is None:
        pytest.skip("no browser is installed")
    browser = BROWSER.Browser(BROWSER.find_browser())
    yield browser
    browser.close()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    ("element", "fault"),
    [
        ("<p>All is well.</p>", ""),
        (f'<pre style="overflow: auto">{LONG}</pre>', "pre is"),
        (f'<div style="overflow: auto"><table><td style="white-space: nowrap">{LONG}</table></div>', "table is"),
        ('<div class="math">\\(x\\)</div>', "formulas are not drawn"),
        ('<p style="width: 800px">wide</p>', "the page is"),
        ('<img src="https://example.org/a.png">', "requests https://example.org/a.png"),
        ("<script>nothing.at.all</script>", "error: ReferenceError"),
    ],
)
def test_cut_content_and_requests_to_other_sites_are_found(browser, tmp_path, element, fault):
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><article>{element}</article>")
    faults = BROWSER.check_page(browser, page)
    assert any(fault in message for message in faults) if fault else faults == []


def test_every_page_with_python_prompts_is_a_doctest(pytestconfig):
    tested = [ROOT / folder for folder in pytestconfig.getini("testpaths")]
    generated = {"gallery", "_build", "generated"}
    pages = [path for path in (ROOT / "docs").rglob("*.rst") if not generated & {*path.relative_to(ROOT).parts}]
    with_examples = [path for path in pages if re.search(r"^\s*>>> ", path.read_text(), flags=re.MULTILINE)]
    assert ROOT / "docs" / "guide" / "first_ten_minutes.rst" in with_examples
    for path in with_examples:
        assert any(path.is_relative_to(folder) for folder in tested), f"{path.name} is not tested"


def test_the_guide_has_at_most_32_pages_and_43300_words():
    pages = [path for path in (ROOT / "docs" / "guide").glob("*.rst") if path.stem != "index"]
    assert len(pages) <= 32
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in pages) <= 43_300


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"])
def test_the_files_that_a_page_of_the_project_links_to_exist(name):
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text())
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_the_readme_hides_no_code_from_its_test():
    # tests/test_project.py runs the blocks that are marked as Python.
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)
    assert "python" in {language for language, _ in blocks}
    for language, block in blocks:
        looks_like_code = re.search(r"^(import \w|from \S+ import |>>> )", block, flags=re.MULTILINE)
        assert language == "python" or not looks_like_code, block


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "docs/index.rst", "docs/install.rst", "docs/guide/first_ten_minutes.rst"),
        *(f"src/evlearn/cluster/{module}.py" for module in ("centroids/ccm", "centroids/ecm", "pairwise/evclus")),
        *(f"src/evlearn/cluster/relational/{module}.py" for module in ("recm", "ecmdd")),
    ],
)
def test_the_first_example_has_default_parameters_and_shows_an_outlier(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    fit = re.search(r"(CCM|ECM|EVCLUS|RECM|ECMdd)\(([^()]*)\)\.fit\(", text)
    parameters = {parameter.partition("=")[0].strip() for parameter in fit[2].split(",")}
    assert parameters == {"n_clusters", "random_state"}
    assert int(re.search(r"\n +outliers +(\d+) ", text[fit.end() :])[1]) > 0


EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_use_names_and_parameters_that_exist(path):
    """Check all examples, because a build of the documentation runs only those that are changed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "evlearn":
            for alias in node.names:
                module = importlib.import_module(node.module)
                assert hasattr(module, alias.name), f"{node.module} has no {alias.name}"
                imported[alias.asname or alias.name] = getattr(module, alias.name)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    for call in calls:
        if call.func.id in imported:
            parameters = inspect.signature(imported[call.func.id]).parameters
            keywords = {keyword.arg for keyword in call.keywords} - {None}
            takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            assert takes_any or keywords <= parameters.keys(), ast.unparse(call)
