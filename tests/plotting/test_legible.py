"""Tests that plots are legible: nothing is cut off at the border, for few and for many clusters."""

from itertools import pairwise

import numpy as np
import pytest

from evlearn import CredalPartition
from evlearn.cluster.model_based.intervals import PairIntervals
from evlearn.plotting import (
    BeliefPeaksDisplay,
    ClusterNumberDisplay,
    CredalPartitionDisplay,
    DoubtDisplay,
    MassesDisplay,
    PairsDisplay,
    RelationalDisplay,
    RiskCoverageDisplay,
)
from evlearn.plotting.pairs_display import PairHistogram


def example(n_samples, n_clusters):
    random = np.random.default_rng(0)
    centers = np.stack(np.divmod(np.arange(n_clusters), 6), axis=1)
    labels = np.arange(n_samples) % n_clusters
    X = centers[labels] + 0.2 * random.normal(size=(n_samples, 2))
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    possibilities = np.exp(-4 * squares + 4 * squares.min(axis=1, keepdims=True))
    possibilities[:2] *= 0.1
    return X, CredalPartition.from_possibilistic(possibilities)


def cut_off(figure):
    """Return the overhang of the drawn artists beyond the figure, in inches."""
    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    return max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [2, 4, 12, 30])
@pytest.mark.parametrize("n_samples", [40, 600])
@pytest.mark.parametrize("display", [CredalPartitionDisplay, DoubtDisplay, MassesDisplay, RelationalDisplay])
def test_nothing_of_a_partition_is_cut_off(display, n_samples, n_clusters):
    X, partition = example(n_samples, n_clusters)
    data = (X,) if display is CredalPartitionDisplay else ()
    assert cut_off(display.from_result(partition, *data).figure_) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [2, 5, 12])
@pytest.mark.parametrize("panels", ["features", "clusters"])
def test_nothing_of_panels_is_cut_off(panels, n_clusters):
    X, partition = example(200, n_clusters)
    X = np.hstack([X, X[:, ::-1] ** 2])
    classes = np.where(X[:, 0] > 0, "a long name of a class", "another")
    display = CredalPartitionDisplay.from_result(partition, X, panels=panels, y_true=classes)
    assert cut_off(display.figure_) < 0.01


@pytest.mark.slow
def test_nothing_of_the_other_displays_is_cut_off():
    random = np.random.default_rng(0)
    small, large = random.random((2, 50)), random.random((2, 9000))
    intervals = PairIntervals(np.zeros((9000, 2), dtype=int), *random.random((4, 9000)))
    displays = [
        ClusterNumberDisplay.from_values(range(2, 32), random.random(30), name="a long name of a method"),
        BeliefPeaksDisplay.from_data(example(120, 4)[0], n_neighbors=10),
        RiskCoverageDisplay.from_predictions(small[0] > 0.5, small[1] > 0.5, small[0], name="a long name " * 5),
        PairsDisplay.from_pairs(*small),
        PairsDisplay.from_pairs(*large),
        PairsDisplay(
            panels=[
                PairHistogram(large[k, :500], small[k, :2], small[k, 2:4], "a long name " * 5) for k in range(2)
            ]
        ).plot(),
        PairsDisplay.from_intervals(intervals),
        PairsDisplay.from_intervals(intervals, probabilities=large[0]),
    ]
    for display in displays:
        assert cut_off(display.figure_) < 0.01, display


def test_the_name_of_a_cluster_does_not_hide_its_few_samples():
    X, partition = example(60, 30)
    display = CredalPartitionDisplay.from_result(partition, X)
    display.figure_.canvas.draw()
    assert len(display.names_) == 30
    for name, cluster in zip(display.names_, np.unique(display.clusters), strict=True):
        members = (display.clusters == cluster) & ~display.outliers
        top = display.ax_.transData.transform(X[members])[:, 1].max()
        assert name.get_window_extent().y0 > top


@pytest.mark.slow
def test_the_names_of_thirty_clusters_do_not_overlap():
    display = DoubtDisplay.from_result(example(600, 30)[1])
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert len(boxes) == 30
    assert all(left.x1 <= right.x0 + 0.5 for left, right in pairwise(boxes))


def test_hardly_any_doubt_is_pale():
    possibilities = np.maximum(np.eye(3)[np.arange(300) % 3], 1e-6)
    display = DoubtDisplay.from_result(CredalPartition.from_possibilistic(possibilities))
    torn = display.cells_.get_array()[np.tri(3, k=-1, dtype=bool)]
    assert 0 < torn.max() < 0.001 * display.cells_.get_clim()[1]
