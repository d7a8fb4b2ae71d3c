"""Tests of DoubtDisplay."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from evlearn.conformal import ConformalClusterer
from evlearn.plotting import DoubtDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_samples_are_drawn_by_kind_and_counted():
    X = np.vstack([make_blobs(300, 2, centers=[[0, 0], [2.5, 0]], random_state=0)[0], [[30.0, 30]]])
    mixture = GaussianMixture(2, covariance_type="spherical", reg_covar=0.1)
    model = ConformalClusterer(mixture, confidence_level=0.95, n_splits=2, random_state=0).fit(X)
    display = DoubtDisplay.from_sources(model, X)
    counts = model.doubt_.counts()
    assert counts["outlier"] > 0
    for kind, points in display.points_.items():
        assert len(points.get_offsets()) == counts[kind]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"{kind}: {number:,}" for kind, number in counts.items() if number]


def test_an_estimator_without_sources_of_doubt_is_refused():
    X, _ = make_blobs(30, random_state=0)
    with pytest.raises(ValueError, match="must be a fitted ConformalClusterer"):
        DoubtDisplay.from_sources(KMeans(3).fit(X), X)


def test_it_is_drawn_on_given_axes():
    X, _ = make_blobs(60, 4, random_state=0)
    model = ConformalClusterer(KMeans(3), n_splits=1, random_state=0).fit(X)
    _, ax = plt.subplots()
    display = DoubtDisplay.from_sources(model, X, features=[2, 3], ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.points, X[:, 2:])
