"""One word for a thing: what has the same name in two estimators is described in the same words; plain English."""

import importlib.util
import inspect
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString

from evlearn import cluster

ROOT = Path(__file__).resolve().parents[1]

#: Names that mean something of their own in some methods, or of which a method has more to say.
OWN_WORDS = {
    # How a method descends, and what it descends on.
    *("tol", "max_iter", "n_init", "init", "n_jobs", "verbose", "random_state"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    # The same letter in papers that have nothing to do with each other.
    *("alpha", "beta", "gamma", "xi", "q"),
    # What depends on whether samples are rows of features or known by dissimilarities only.
    *("metric", "delta", "delta_", "n_features_in_", "n_neighbors", "n_partners"),
    # Sets that a method has, or leaves out.
    *("focal_sets", "include_omega", "focal_sets_", "credal_partition_", "labels_", "masses_", "masses_file"),
    # Mixtures.
    *("n_clusters", "n_clusters_", "mixture_", "covariance_models", "variance_floor", "prototype_weights_"),
    *("cluster_centers_", "metrics_", "beta_"),
}


def descriptions():
    found = defaultdict(lambda: defaultdict(list))
    for name in cluster.__all__:
        one = getattr(cluster, name)
        if inspect.isclass(one) and hasattr(one, "fit"):
            documentation = NumpyDocString(inspect.getdoc(one))
            for entry in (*documentation["Parameters"], *documentation["Attributes"]):
                for part in entry.name.split(", "):
                    found[part][" ".join(entry.desc)].append(name)
    return {name: dict(texts) for name, texts in found.items()}


FOUND = descriptions()


@pytest.mark.parametrize("name", sorted(set(FOUND) - OWN_WORDS))
def test_the_same_name_is_described_in_the_same_words(name):
    assert len(FOUND[name]) == 1, FOUND[name]


def test_every_exception_is_one():
    assert {name for name in OWN_WORDS if len(FOUND.get(name, ())) < 2} == set()


CHECK_WORDS = ROOT / "docs" / "check_words.py"


@pytest.fixture(scope="module")
def checker():
    specification = importlib.util.spec_from_file_location("check_words", CHECK_WORDS)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("phrase", tomllib.loads((ROOT / "docs" / "words.toml").read_text())["phrase"])
def test_every_listed_phrase_is_found_in_its_example(checker, phrase):
    found = [fault for _, fault in checker.faults(checker.prose_of_page(phrase["example"]))]
    assert any(phrase["instead"] in fault for fault in found)


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
    assert [line for line, _ in checker.faults(checker.prose_of_page(text))] == lines


def test_docstrings_and_texts_of_examples_are_read_and_code_is_not(checker):
    program = (
        '"""A title."""\n\ndef f():\n    """It tells how."""\n    return "tells how"\n\n# %%\n# This tells what.\n'
    )
    assert sorted(line for line, _ in checker.faults(checker.prose_of_program(program))) == [3, 7]


def test_make_lint_looks_for_them():
    assert "docs/check_words.py" in (ROOT / "Makefile").read_text()
