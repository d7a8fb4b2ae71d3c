"""Tests of the study of cluster tracking: its computations, and recorded figures against targets."""

import numpy as np
import pytest

from benchmarks.studies.answers import tracking
from evlearn.cluster import CCM

#: Share of samples with preserved numbers, of draws in which a change of a class is detected, and of unchanged
#: draws without an event.
TARGETS = {"preserved": 0.95, "detected": 0.9, "quiet": 0.9}
#: Share of the samples with preserved numbers among those that the best permutation would preserve.
OF_BOUND = 0.98


def pair():
    """Return 2 models of the same blobs, of which the second has one more blob."""
    centers = 9.0 * np.eye(4)
    random = np.random.default_rng(0)
    y_old, y = np.repeat([0, 1, 2], 40), np.repeat([0, 1, 2, 3], 40)
    X_old, X = (centers[labels] + random.normal(size=(len(labels), 4)) for labels in (y_old, y))
    models = CCM(3, random_state=0).fit(X_old), CCM(4, random_state=1).fit(X)
    return tracking.Comparison(*models, X_old, X, y_old, y)


@pytest.mark.parametrize("method", tracking.METHODS)
def test_all_methods_track_separate_clusters(method):
    example = pair()
    scores = tracking.judge(example, tracking.METHODS[method](example), "addition", 3)
    assert scores["identity"] == scores["cluster of the class"] == 1
    if method in (tracking.TRACKING, tracking.HUNGARIAN):
        assert scores["detected"]
        assert scores["other events"] == 0


def test_prototypes_of_removed_clusters_are_omitted_and_those_of_new_ones_bisect_clusters():
    example = pair()
    centers = tracking.start_from(example.new, example.X, example.X_old, 3)
    np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(example.old.cluster_centers_, axis=0), atol=1.5)
    assert tracking.start_from(example.old, example.X_old, example.X, 4).shape == (4, 4)
