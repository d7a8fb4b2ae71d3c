"""One word for a thing: what has the same name in two estimators is described in the same words; plain English."""

import inspect
import re
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


#: Phrases that read as translated, each with a sentence it was found in and what to write instead.
TRANSLATED = [
    (r"\btake (CCM|ECM|EVCLUS|BPEC|CECM|RECM|it (if|for)|another method)\b", "Take ECM if ...", "use"),
    (r"(, |; |: |\. )take ``", "If clusters are long, take ``metric``.", "use"),
    (r"\b(is|are) told (in|about|by|of)\b", "What is new is told in the changelog.", "see ..., or: ... lists"),
    (r"\btells? (how|what|who|which|all|more|of)\b", "The page tells how to choose.", "explains, shows, says"),
    (r"\bwhat was taken\b", "alpha_ tells what was taken.", "the value used"),
    (r"\bin the manner of scikit-learn\b", "It works in the manner of scikit-learn.", "with scikit-learn's API"),
    (
        r"\b(estimator|classifier|clusterer|transformer|mixture|forest|metric)s? of scikit-learn\b(?!')",
        "It is an estimator of scikit-learn.",
        "a scikit-learn estimator",
    ),
    (r"\bnetworks? of PyTorch\b", "Any network of PyTorch will do.", "any PyTorch network"),
    (r"\b(frame|frames) of (pandas|polars|Spark)\b", "A frame of pandas is read.", "a pandas frame"),
    (
        r"\b(metric|network|function|functions|start|numbers|parameters) of (your|its|their) own\b",
        "Give a network of your own.",
        "your own network",
    ),
    (r"\bmust be had\b", "A label, since a label must be had.", "because it must return a label"),
    (r"\bis yours to choose\b", "n_clusters is yours to choose.", "you choose"),
    (r"\bwho is (sure|torn|an outlier)\b", "It shows who is sure.", "which samples are sure"),
    (r"\b(tears?|tearing) (nobody|no|few|fewer|more|still)\b", "It tears fewer.", "fewer are torn"),
    (r"\bnobody is (sure|torn)\b", "With 2 nobody is sure.", "no sample is sure"),
    (r"\bhand(s|ed)? on\b", "A pipeline hands on y.", "passes on"),
    (r"\banew\b", "Weights are drawn anew.", "again"),
    (r"\bas a rule\b", "That is enough as a rule.", "usually"),
    (r"\bmelt together\b", "Clusters melt together.", "merge"),
    (r"\bit shall\b", "It shall hold.", "should"),
    (r"\bsearch of neighbours\b", "The search of neighbours is exact.", "the neighbour search"),
    (r"\b(?-i:Differences) to\b", "Differences to R", "Differences from"),
    (r"\bthe irises\b", "Twenty pairs of the irises.", "the Iris data"),
    (r"\bhalf way\b", "A sample half way between two clusters.", "halfway"),
    (r"\bfrom zero on\b", "How it works, from zero on.", "from scratch"),
    (
        r"\bonly once (it is|they are) whole\b",
        "Files have their names only once they are whole.",
        "are written atomically",
    ),
]
PAGES = [ROOT / "README.md", ROOT / "docs/index.rst", *sorted((ROOT / "docs/guide").glob("*.rst"))]


@pytest.mark.parametrize(("pattern", "sentence", "better"), TRANSLATED)
def test_no_page_has_a_phrase_that_reads_as_translated(pattern, sentence, better):
    phrase = re.compile(pattern.replace(" ", r"\s+"), flags=re.IGNORECASE)
    assert phrase.search(sentence)
    for page in PAGES:
        prose = re.sub(r"^ *(>>>|\.\.\.|\$) .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found = phrase.search(prose)
        assert found is None, f"{page.name}: {found[0]!r}; write {better!r} or the like"
