"""One word for a thing: what has the same name in two estimators is described in the same words."""

import inspect
from collections import defaultdict

import pytest
from numpydoc.docscrape import NumpyDocString

from evlearn import cluster

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
