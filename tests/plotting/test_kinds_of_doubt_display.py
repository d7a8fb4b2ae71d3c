"""KindsOfDoubtDisplay: every kind of doubt has its own look and its number."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from evlearn.conformal import ConformalClusterer
from evlearn.plotting import KindsOfDoubtDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_samples_are_drawn_by_kind_and_counted():
    X = np.vstack([make_blobs(300, 2, centers=[[0, 0], [2.5, 0]], random_state=0)[0], [[30.0, 30]]])
    mixture = GaussianMixture(2, covariance_type="spherical", reg_covar=0.1)
    model = ConformalClusterer(mixture, coverage=0.95, n_replications=2, random_state=0).fit(X)
    display = KindsOfDoubtDisplay.from_estimator(model, X)
    counts = model.doubt_.counts()
    assert counts["outlier"] > 0
    for kind, points in display.points_.items():
        assert len(points.get_offsets()) == counts[kind]
    written = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert written == [f"{kind}: {number:,}" for kind, number in counts.items() if number]


def test_an_estimator_without_kinds_of_doubt_is_refused():
    X, _ = make_blobs(30, random_state=0)
    with pytest.raises(ValueError, match="must be a fitted ConformalClusterer"):
        KindsOfDoubtDisplay.from_estimator(KMeans(3).fit(X), X)


def test_it_is_drawn_where_it_is_asked_to():
    X, _ = make_blobs(60, 4, random_state=0)
    model = ConformalClusterer(KMeans(3), n_replications=1, random_state=0).fit(X)
    _, ax = plt.subplots()
    display = KindsOfDoubtDisplay.from_estimator(model, X, features=[2, 3], ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.points, X[:, 2:])
