"""Consistent words: equal names have equal descriptions in all estimators; plain English."""

import ast
import importlib.util
import inspect
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString

from evlearn import cluster

ROOT = Path(__file__).resolve().parents[1]

#: Names with different meanings in some methods, or with method-specific descriptions.
OWN_WORDS = {
    # Optimization and objective.
    *("tol", "max_iter", "n_init", "init", "n_jobs", "verbose", "random_state"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    # The same letter with different meanings in different papers.
    *("alpha", "beta", "q"),
    # Different for samples with features and samples with dissimilarities only.
    *("metric", "delta", "delta_", "n_features_in_", "n_landmarks", "n_neighbors", "n_partners"),
    # Focal sets of a method.
    *("focal_sets", "focal_sets_", "credal_partition_", "labels_", "masses_", "constraint_weight"),
    # Mixtures.
    *("n_clusters", "mixture_", "covariance_models", "prototype_weights_"),
    *("cluster_centers_", "metrics_"),
}


def descriptions():
    texts_by_name = defaultdict(lambda: defaultdict(list))
    for name in cluster.__all__:
        member = getattr(cluster, name)
        if inspect.isclass(member) and hasattr(member, "fit"):
            documentation = NumpyDocString(inspect.getdoc(member))
            for entry in (*documentation["Parameters"], *documentation["Attributes"]):
                for part in entry.name.split(", "):
                    texts_by_name[part][" ".join(entry.desc)].append(name)
    return {name: dict(texts) for name, texts in texts_by_name.items()}


DESCRIPTIONS = descriptions()


@pytest.mark.parametrize("name", sorted(set(DESCRIPTIONS) - OWN_WORDS))
def test_the_same_name_is_described_in_the_same_words(name):
    assert len(DESCRIPTIONS[name]) == 1, DESCRIPTIONS[name]


def test_every_exception_is_needed():
    assert {name for name in OWN_WORDS if len(DESCRIPTIONS.get(name, ())) < 2} == set()


CHECK_WORDS = ROOT / "docs" / "check_words.py"


@pytest.fixture(scope="module")
def checker():
    specification = importlib.util.spec_from_file_location("check_words", CHECK_WORDS)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("phrase", tomllib.loads((ROOT / "docs" / "words.toml").read_text())["phrase"])
def test_every_listed_phrase_is_found_in_its_example(checker, phrase):
    faults = [fault for _, fault in checker.page_faults(phrase["example"])]
    assert any(phrase["instead"] in fault for fault in faults)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A good page.\n\nIt tells how\nto choose.\n", [2]),
        (".. code-block:: text\n\n   It tells how.\n\nWell.\n", []),
        (">>> print('tells how')\n", []),
        (f"{'word ' * 60}.\n", [0]),
    ],
)
def test_phrases_and_long_sentences_are_found_in_pages_and_not_in_code(checker, text, lines):
    assert [line for line, _ in checker.page_faults(text)] == lines


def test_docstrings_and_texts_of_examples_are_read_and_code_is_not(checker):
    program = (
        '"""A title."""\n\ndef f():\n    """It tells how."""\n    return "tells how"\n\n# %%\n# This tells what.\n'
    )
    assert {line for line, _ in checker.program_faults(program)} == {3, 7}


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ('def f():\n    """Whether it works."""\n', "a docstring that starts with 'Whether'"),
        ("found = 1\n", "the name 'found'; use a noun"),
        ("def f(one):\n    return [given for given in one]\n", "the name 'one'; use a noun"),
        ("def told():\n    pass\n", "the name 'told'; use a noun"),
        ('raise ValueError("the model tells how")\n', "write 'explains, shows, says'"),
        ('ax.set_title("Nobody is sure")\n', "write 'a person, any caller, all samples' or similar"),
        ("x = 1  # nobody reads this\n", "write 'a person, any caller, all samples' or similar"),
    ],
)
def test_summaries_names_and_strings_are_checked(checker, program, fault):
    assert any(fault in text for _, text in checker.program_faults(program))


@pytest.mark.slow
def test_few_bound_names_are_on_the_list(checker):
    """At most 1 % of the names, and in fact none beyond public names of records, are on the list."""
    n_names = n_faults = 0
    for path in (ROOT / "src" / "evlearn").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        n_names += sum(len(checker.bound_names(node)) for node in ast.walk(ast.parse(text)))
        n_faults += sum("the name" in fault for _, fault in checker.program_faults(text))
    assert n_faults <= 0.01 * n_names


def test_make_lint_checks_words():
    assert "docs/check_words.py" in (ROOT / "Makefile").read_text()
