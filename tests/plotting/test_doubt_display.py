from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.common.measuring import peak_bytes, random_masses
from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.datasets import load_butterfly
from evlearn.plotting import DoubtDisplay


def partition_of(n_samples, focal_sets, seed=0):
    masses = np.random.default_rng(seed).dirichlet(np.ones(len(focal_sets)), n_samples)
    return CredalPartition(masses, focal_sets)


def cells(mesh):
    return np.asarray(np.ma.filled(mesh.get_array(), np.nan))


def by_definition(partition):
    doubts = np.zeros((partition.n_clusters, partition.n_clusters))
    for members, mass in zip(partition.focal_sets, partition.masses.mean(axis=0), strict=True):
        if len(members) == 1:
            doubts[members[0], members[0]] = mass
        pairs = list(combinations(members, 2))
        for first, second in pairs:
            doubts[first, second] += mass / len(pairs)
            doubts[second, first] += mass / len(pairs)
    return doubts


@pytest.mark.parametrize("focal_sets", [FocalSets.full(4), FocalSets.pairs(5), FocalSets([[0, 1], [0, 1, 2]], 3)])
def test_the_matrix_follows_the_definition_and_is_drawn(focal_sets):
    partition = partition_of(50, focal_sets)
    display = DoubtDisplay.from_result(partition)
    display.figure_.canvas.draw()
    expected = by_definition(partition)
    np.testing.assert_allclose(display.doubts, expected, atol=1e-15)
    lower_triangle = np.tri(partition.n_clusters, dtype=bool)
    np.testing.assert_allclose(cells(display.cells_)[lower_triangle], 100 * expected[lower_triangle])
    assert np.isnan(cells(display.cells_)[~lower_triangle]).all()


def test_equal_masses_of_sure_and_torn_samples_have_equal_colors():
    partition = CredalPartition.from_rough([[1, 0], [1, 1], [1, 0], [1, 1], [0, 1]])
    display = DoubtDisplay.from_result(partition)
    display.figure_.canvas.draw()
    colors = display.cells_.get_facecolor().reshape(2, 2, 4)
    np.testing.assert_array_equal(colors[0, 0], colors[1, 0])
    assert not np.array_equal(colors[0, 0], colors[1, 1])
    assert display.cells_.get_clim() == (0, pytest.approx(40))
    assert display.colorbar_.ax.get_ylabel() == "average mass, %"


def test_cells_without_mass_stay_empty():
    display = DoubtDisplay.from_result(CredalPartition.from_hard([0, 1, 1, 2]))
    assert [text.get_text() for text in display.texts_] == ["25.0 %", "50.0 %", "25.0 %"]


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 100))
@pytest.mark.slow
def test_cells_and_the_empty_set_add_up_to_one(n_clusters, n_samples, seed):
    display = DoubtDisplay.from_result(partition_of(n_samples, FocalSets.full(n_clusters), seed))
    assert np.tril(display.doubts).sum() + display.empty_mass == pytest.approx(1)
    np.testing.assert_array_equal(display.doubts, display.doubts.T)
    plt.close(display.figure_)


def test_all_cells_on_and_below_the_diagonal_have_numbers():
    partition = partition_of(20, FocalSets.full(["small", "medium", "large"]))
    display = DoubtDisplay.from_result(partition)
    display.figure_.canvas.draw()
    places = [(row, column) for row in range(3) for column in range(row + 1)]
    assert [text.get_text() for text in display.texts_] == [f"{100 * display.doubts[at]:.1f} %" for at in places]
    assert [text.get_position() for text in display.texts_] == [
        (column + 0.5, row + 0.5) for row, column in places
    ]
    assert set(display.texts_) <= set(display.ax_.texts)
    # Dark cells have white numbers.
    darkest = max(range(6), key=lambda at: display.doubts[places[at]])
    assert display.texts_[darkest].get_color() == "white"


def test_clusters_are_named_on_both_axes_from_the_top_left():
    partition = partition_of(20, FocalSets.full(["small", "medium", "large"]))
    display = DoubtDisplay.from_result(partition)
    for labels in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [label.get_text() for label in labels] == ["small", "medium", "large"]
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_xlabel() == display.ax_.get_ylabel() == "cluster"


def test_the_title_shows_the_mass_of_the_empty_set_and_the_outliers():
    partition = CredalPartition.from_rough([[1, 0], [1, 1], [0, 0], [0, 1]])
    display = DoubtDisplay.from_result(partition)
    assert display.ax_.get_title().splitlines() == [
        "Diagonal: sure of a cluster. Below: torn between 2 clusters.",
        "No cluster (∅): 25.0 %; outliers: 1 of 4 samples",
    ]


def test_thirty_clusters_have_no_numbers():
    display = DoubtDisplay.from_result(partition_of(200, FocalSets.pairs(30)))
    display.figure_.canvas.draw()
    assert display.texts_ == []
    assert len(display.ax_.get_xticklabels()) == 30
    numbered = DoubtDisplay.from_result(partition_of(20, FocalSets.pairs(13)), numbers=True)
    assert len(numbered.texts_) == 13 * 14 / 2
    assert DoubtDisplay.from_result(partition_of(20, FocalSets.full(2)), numbers=False).texts_ == []


@pytest.mark.parametrize("n_clusters", [1, 100])
def test_one_cluster_and_a_hundred_can_be_drawn(n_clusters):
    display = DoubtDisplay.from_result(CredalPartition.from_hard(np.arange(200) % n_clusters))
    display.figure_.canvas.draw()
    assert len(display.ax_.get_xticklabels()) <= 40
    np.testing.assert_allclose(np.diag(display.doubts), 1 / n_clusters)


def test_from_estimator_draws_the_partition_of_the_fit_on_given_axes():
    model = ECM(n_clusters=2, delta=5, random_state=0).fit(load_butterfly().data)
    figure, ax = plt.subplots()
    display = DoubtDisplay.from_result(model, ax=ax)
    np.testing.assert_allclose(display.doubts, by_definition(model.credal_partition_))
    assert display.figure_ is figure
    other = plt.subplots()[1]
    assert display.plot(other) is display
    assert display.ax_ is other
    assert len(other.texts) == 3


def test_invalid_input_is_explained():
    with pytest.raises(ValueError, match=r"estimator must be fitted and have a credal_partition_, got ECM\(\)"):
        DoubtDisplay.from_result(ECM())
    with pytest.raises(ValueError, match="numbers must be True, False or 'auto', got 'yes'"):
        DoubtDisplay.from_result(CredalPartition.from_hard([0, 1]), numbers="yes")


@pytest.mark.slow
def test_a_million_samples_are_summed_in_blocks():
    focal_sets = FocalSets.pairs(8)
    masses = random_masses(1_000_000, len(focal_sets), np.float32)
    partition = CredalPartition(masses, focal_sets, validate=False)
    DoubtDisplay.from_result(partition[:10])  # permanent allocations of matplotlib
    assert peak_bytes(lambda: DoubtDisplay.from_result(partition)) < masses.nbytes / 5
