"""Masses from landmarks: equal for features and for dissimilarities to all training samples."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.datasets import make_fourclass

SETS = FocalSets.simple(3)


@pytest.mark.parametrize("kind", ["exponential", "linear"])
def test_dissimilarities_to_landmarks_are_selected_from_those_to_all_training_samples(kind):
    random = np.random.RandomState(0)
    training, new = random.standard_normal((40, 2)), random.standard_normal((15, 2))
    chosen = np.sort(random.choice(40, 12, replace=False))
    masses = random_masses(12, len(SETS), random)
    transform = Transform(kind, 2.0)
    expected = LandmarkModel(chosen, training[chosen], masses, SETS, transform, "euclidean").assign(new)
    result = LandmarkModel(chosen, None, masses, SETS, transform, "precomputed").assign(cdist(new, training))
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-8)


def test_prediction_from_dissimilarities_is_prediction_from_features():
    X, _ = make_fourclass(260, random_state=0)
    training, new = X[:220], X[220:]
    model = EVCLUS(4, solver="landmark", n_landmarks=50, random_state=0).fit(training)
    relational = EVCLUS(4, solver="landmark", n_landmarks=50, metric="precomputed", random_state=0)
    relational.fit(cdist(training, training))
    np.testing.assert_allclose(
        relational.predict_mass(cdist(new, training)).masses, model.predict_mass(new).masses, rtol=0, atol=1e-6
    )
