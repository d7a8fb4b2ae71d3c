import matplotlib.pyplot as plt
import numpy as np
import pytest

from benchmarks.common.measuring import peak_bytes
from evlearn.datasets import load_butterfly
from evlearn.plotting import PairsDisplay


class Distances:
    """Attributes of an estimator that learns from dissimilarities."""

    def fit(self, X):
        first, second = np.triu_indices(len(X), 1)
        self.transformed_dissimilarities_ = 1 - np.exp(-np.linalg.norm(X[first] - X[second], axis=1))
        self.conflict_ = self.transformed_dissimilarities_**2
        return self


def test_few_pairs_are_points_about_the_diagonal():
    estimator = Distances().fit(load_butterfly().data)
    display = PairsDisplay.from_estimator(estimator)
    display.figure_.canvas.draw()
    np.testing.assert_array_equal(
        display.points_[0].get_offsets(),
        np.column_stack([estimator.transformed_dissimilarities_, estimator.conflict_]),
    )
    assert display.densities_ == [None]
    np.testing.assert_array_equal(display.diagonals_[0].get_xydata(), [[0, 0], [1, 1]])
    assert display.axes_[0].get_xlabel() == "transformed dissimilarity"
    assert display.axes_[0].get_ylabel() == "degree of conflict"
    difference = estimator.transformed_dissimilarities_ - estimator.conflict_
    assert f"(root mean squared difference {np.sqrt(np.mean(difference**2)):.3g})" in display.axes_[0].get_title()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_pairs_are_counted_in_cells(dtype):
    random = np.random.default_rng(0)
    dissimilarities, conflicts = random.random((2, 50_000)).astype(dtype)
    dissimilarities[:3], conflicts[:3] = [0, 1, 1], [0, 0, 1]
    display = PairsDisplay.from_pairs(dissimilarities, conflicts)
    display.figure_.canvas.draw()
    counts = np.ma.filled(display.densities_[0].get_array(), 0)
    assert display.points_ == [None]
    assert counts.sum() == 50_000
    expected, _, _ = np.histogram2d(conflicts, dissimilarities, bins=100, range=[[0, 1], [0, 1]])
    # Values on the edge of a cell depend on rounding.
    assert np.abs(counts.reshape(100, 100) - expected).sum() <= 10
    assert display.colorbars_[0].ax.get_ylabel() == "pairs"


def test_pairs_that_all_fall_into_one_cell_can_be_drawn():
    display = PairsDisplay.from_pairs(np.full(10, 0.5), np.full(10, 0.5), max_points=5)
    display.figure_.canvas.draw()
    assert np.ma.filled(display.densities_[0].get_array(), 0).sum() == 10


def test_the_diagram_can_be_drawn_again_on_given_axes():
    figure, ax = plt.subplots()
    display = PairsDisplay.from_pairs([0.1, 0.2], [0.2, 0.1])
    assert display.plot(ax, max_points=1) is display
    assert display.axes_ == [ax]
    assert display.figure_ is figure
    assert display.densities_[0] is not None


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([0.1, 0.2], [0.1]), "dissimilarities has 2 pairs and conflicts has 1"),
        (([[0.1, 0.2]], [0.1]), r"dissimilarities must be one number per pair, got shape \(1, 2\)"),
        (([], []), "dissimilarities must be one number per pair"),
        (([0.5, 3.0], [0.1, 0.2]), "dissimilarities must lie between 0 and 1, got values from 0.5 to 3;"),
        (([0.5, 0.1], [0.1, np.nan]), "conflicts must lie between 0 and 1, got values from nan"),
    ],
)
def test_invalid_pairs_are_explained(pairs, message):
    with pytest.raises(ValueError, match=message):
        PairsDisplay.from_pairs(*pairs)


def test_estimators_that_do_not_learn_from_dissimilarities_are_refused():
    with pytest.raises(
        ValueError, match=r"have transformed_dissimilarities_ and conflict_, .* got <.*use from_pairs"
    ):
        PairsDisplay.from_estimator(Distances())


@pytest.mark.slow
def test_ten_million_pairs_need_little_additional_memory():
    dissimilarities, conflicts = np.random.default_rng(0).random((2, 10_000_000), dtype=np.float32)
    PairsDisplay.from_pairs([0.0], [0.0])  # permanent allocations of matplotlib
    assert peak_bytes(lambda: PairsDisplay.from_pairs(dissimilarities, conflicts)) < conflicts.nbytes / 4
