"""Project rules: documented names, correct defaults, light imports, no leftovers."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import evlearn

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    "evlearn",
    "evlearn.belief",
    "evlearn.partition",
    "evlearn.metrics",
    "evlearn.datasets",
    "evlearn.ensemble",
    "evlearn.exceptions",
    "evlearn.explain",
    "evlearn.active",
    "evlearn.constraints",
    "evlearn.classify",
    "evlearn.cluster",
    "evlearn.conformal",
    "evlearn.metric_learning",
    "evlearn.mixture",
    "evlearn.model_selection",
    "evlearn.neural",
    "evlearn.papers",
    "evlearn.plotting",
    "evlearn.preprocessing",
]
EXTRAS = ["torch", "dask", "distributed", "pyarrow", "matplotlib", "pandas", "polars"]


def public_names():
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            if not name.startswith("__"):
                yield f"{module}.{name}"


def public_objects():
    """Yield every public object once, and the public methods of classes."""
    for path in public_names():
        module, name = path.rsplit(".", 1)
        public_object = getattr(importlib.import_module(module), name)
        if module == "evlearn.partition" and name in evlearn.__all__:
            continue
        yield path, public_object
        if inspect.isclass(public_object):
            for member, value in inspect.getmembers(public_object):
                defined_here = any(
                    member in base.__dict__ for base in public_object.__mro__ if "evlearn" in base.__module__
                )
                made_by_sklearn = re.fullmatch(r"set_\w+_request", member)
                if not member.startswith("_") and callable(value) and defined_here and not made_by_sklearn:
                    yield f"{path}.{member}", value


def documented_names():
    """Return the entries of all autosummary lists of the API reference."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.rst")):
        module = "evlearn"
        for block in re.split(r"(?=^\.\. )", page.read_text(), flags=re.MULTILINE):
            if match := re.match(r"\.\. (?:currentmodule|module|py:module):: (\S+)", block):
                module = match[1]
            if block.startswith(".. autosummary::"):
                for entry in re.findall(r"^ +([A-Za-z_][\w.]*)$", block, flags=re.MULTILINE):
                    yield entry if entry.startswith("evlearn.") else f"{module}.{entry}"


def modules_imported_by(path):
    """Return all modules that a file imports, also inside functions and for type checking."""
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom):
            yield from (statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names))
        elif isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)


@pytest.mark.parametrize("package", ["belief", "blocks", "utils"])
def test_modules_of_basic_packages_do_not_import_each_other_in_cycles(package):
    paths = (ROOT / "src" / "evlearn" / package).glob("*.py")
    imports = {f"evlearn.{package}.{path.stem}": set(modules_imported_by(path)) for path in paths}
    assert len(list(TopologicalSorter(imports).static_order())) >= len(imports)  # raises CycleError


def test_only_packages_and_public_modules_define_all():
    source = ROOT / "src" / "evlearn"
    modules = [path for path in source.rglob("*.py") if path.name != "__init__.py"]
    names = [path.name for path in modules if re.search("^__all__", path.read_text(), re.MULTILINE)]
    assert sorted(names) == ["exceptions.py", "papers.py"]


def test_every_public_name_has_exactly_one_api_page():
    def target(path):
        module, name = path.rsplit(".", 1)
        return id(getattr(importlib.import_module(module), name))

    documented = list(documented_names())
    pages = [target(path) for path in documented]
    assert len(pages) == len(set(pages)), "a name has two pages"
    assert set(pages) == {target(path) for path in public_names()}


@pytest.mark.parametrize(("path", "value"), [pytest.param(*entry, id=entry[0]) for entry in public_objects()])
def test_documented_parameters_and_defaults_are_those_of_the_signature(path, value):
    documentation = ClassDoc(value) if inspect.isclass(value) else FunctionDoc(value)
    if "See Also" not in documentation and not inspect.getdoc(value):
        pytest.fail(f"{path} has no docstring")
    # Abstract classes document attributes instead of parameters; warnings have Python's constructor.
    if inspect.isabstract(value) or (inspect.isclass(value) and issubclass(value, Warning)):
        return
    if inspect.isclass(value) and "Parameters" not in inspect.getdoc(value):  # a record, returned by functions
        documented = {field.name: field.type for field in documentation["Attributes"]}
    else:
        documented = {
            name.strip(" *"): field.type for field in documentation["Parameters"] for name in field.name.split(",")
        }
    signature = inspect.signature(value).parameters
    expected = [name for name in signature if name != "self"]
    assert list(documented) == expected, path
    for name in expected:
        stated = re.search(r"default=(.+)$", documented[name])
        default = signature[name].default
        if default is inspect.Parameter.empty:
            assert stated is None, f"{path}: {name} has no default"
        else:
            assert stated, f"{path}: the default of {name} is not documented"
            assert _is_default(stated[1], default), f"{path}: {name} is {default!r} and not {stated[1]}"


def _is_default(text, default):
    stated = eval(text, {"__builtins__": {}}, {"None": None, "True": True, "False": False, "range": range})
    return stated is default if default is None or isinstance(default, bool) else stated == default


def test_docstrings_can_be_read_in_a_terminal():
    for path, value in public_objects():
        roles = re.findall(r":[a-z:]+:`[^`]*`", inspect.getdoc(value))
        assert not roles, f"{path} has {roles}: say it in plain words, and cite as docs/citations.py does"


def test_citations_in_docstrings_are_in_the_bibliography():
    spec = importlib.util.spec_from_file_location("citations", ROOT / "docs" / "citations.py")
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    references = docs.citations()
    for path, value in public_objects():
        text = inspect.getdoc(value)
        cited = docs.PATTERN.findall(text)
        assert set(cited) <= set(references), path
        assert cited or "References\n---" not in text, path


@pytest.mark.slow
def test_the_readme_runs_as_pasted_and_prints_the_shown_output():
    readme = (ROOT / "README.md").read_text()
    code = "".join(re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL))
    (printed,) = re.findall(r"```text\n(.*?)```", readme, flags=re.DOTALL)
    assert run(f"import matplotlib; matplotlib.use('Agg')\n{code}") == printed


def test_the_version_is_defined_once():
    assert f"version: '{evlearn.__version__}'" in (ROOT / "meson.build").read_text()
    for file in ("pyproject.toml", "CITATION.cff", "docs/citing.rst", "src/evlearn/__init__.py"):
        assert evlearn.__version__ not in (ROOT / file).read_text(), file


@pytest.mark.slow
def test_the_package_is_marked_as_typed():
    assert (ROOT / "src" / "evlearn" / "py.typed").is_file()
    output = run("import evlearn, pathlib; print((pathlib.Path(evlearn.__file__).parent / 'py.typed').is_file())")
    assert output.strip() == "True"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout


@pytest.mark.slow
def test_importing_evlearn_loads_no_extra_and_neither_scipy_nor_scikit_learn():
    unwanted = ["scipy", "sklearn", "joblib", *EXTRAS]
    loaded = run(f"import sys, evlearn; print([m for m in {unwanted} if m in sys.modules])")
    assert loaded.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(set(MODULES) - {"evlearn.plotting", "evlearn.neural"}))
def test_no_module_loads_an_extra_that_scikit_learn_does_not_load_itself(module):
    loaded = run(
        f"import sys, sklearn.base; before = set(sys.modules); import {module};"
        f"print([m for m in {EXTRAS} if m in sys.modules and m not in before])"
    )
    assert loaded.strip() == "[]"


def test_the_namespace_shows_public_packages_and_functions_only():
    packages = {module.split(".")[1] for module in MODULES if "." in module}
    assert set(dir(evlearn)) == packages | set(evlearn.__all__)


def estimators():
    """Yield every public estimator class once."""
    for path, public_object in public_objects():
        is_class = inspect.isclass(public_object) and path.endswith(f".{public_object.__name__}")
        if is_class and hasattr(public_object, "fit"):
            yield public_object


def test_the_public_surface_stays_small():
    assert len(list(public_names())) <= 164, len(list(public_names()))
    counts = {kind.__name__: len(inspect.signature(kind).parameters) for kind in estimators()}
    assert sum(counts.values()) <= 306, counts
    assert counts["NNEVCLUS"] <= 24
    assert counts["EVCLUS"] <= 18
    assert counts["ECM"] <= 17


@pytest.mark.slow
def test_packages_are_loaded_on_first_access():
    code = "import sys, evlearn; {}; print(*[m in sys.modules for m in ('sklearn', 'evlearn.cluster')])"
    assert run(code.format("dir(evlearn)")).split() == ["False", "False"]
    assert run(code.format("evlearn.cluster.ECM, evlearn.classify, evlearn.datasets")).split() == ["True", "True"]
    assert all(inspect.ismodule(getattr(evlearn, name)) for name in set(dir(evlearn)) - set(evlearn.__all__))


@pytest.mark.slow
@pytest.mark.parametrize(("package", "needs"), [("plotting", "matplotlib"), ("neural", "torch")])
def test_a_missing_extra_is_named(package, needs):
    output = run(
        f"import sys, evlearn; sys.modules[{needs!r}] = None; print(hasattr(evlearn, {package!r}))\n"
        f"try: evlearn.{package}\nexcept AttributeError as error: print(error)\n"
        f"try: from evlearn import {package}\nexcept ImportError as error: print(error)"
    )
    is_loaded, *texts = output.strip().split("\n")
    assert is_loaded == "False"
    assert len(texts) == 2
    for text in texts:
        assert "pip install" in text
        assert f"evlearn.{package} needs" in text


@pytest.mark.timing
def test_importing_costs_little_more_than_the_dependencies():
    # A ratio of CPU times of one process, so that a busy machine affects both parts.
    code = (
        "import time; start = time.process_time(); import numpy, scipy, sklearn.base; base = time.process_time();"
        "import evlearn; print((time.process_time() - base) / (base - start))"
    )
    extra = np.median([float(run(code)) for _ in range(5)])
    assert extra <= 0.1


def test_nothing_returns_a_sample():
    # The replacement of "object" by "sample" must not affect types of results.
    for path, public in public_objects():
        assert not re.search(r"Returns\n\s*-+\n\s*samples?\n", inspect.getdoc(public) or ""), path


def test_no_file_names_a_machine_or_a_registry():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    suspicious = re.compile(r"/work/|/root/|/tmp/|pypi\.org|/opt/")
    for name in tracked:
        path = ROOT / name
        if path.suffix in (".py", ".toml", ".md", ".rst", ".cfg", ".build", ".yml", ".bib", "") and path.is_file():
            text = path.read_text(errors="ignore")
            if path.name != Path(__file__).name:
                assert not suspicious.search(text), name
