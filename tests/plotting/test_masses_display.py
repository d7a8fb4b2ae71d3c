import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgba

from benchmarks.common.measuring import peak_bytes, random_masses
from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.datasets import load_butterfly
from evlearn.plotting import MassesDisplay, palette
from evlearn.plotting.masses_display import _assign_rows


def partition_of(n_samples, focal_sets, seed=0, **names):
    masses = np.random.default_rng(seed).dirichlet(np.full(len(focal_sets), 0.3), n_samples)
    return CredalPartition(masses, focal_sets, **names)


def heights(display):
    return np.array([[bar.get_height() for bar in bars] for bars in display.bars_]).T


def cells(display):
    return np.asarray(display.cells_.get_array())


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


# Bars


def test_few_samples_are_stacked_bars_of_their_masses():
    partition = partition_of(12, FocalSets.full(3))
    display = MassesDisplay.from_result(partition)
    display.figure_.canvas.draw()
    np.testing.assert_allclose(heights(display), partition.masses)
    for column, bars in enumerate(display.bars_):
        bottoms = partition.masses[:, :column].sum(axis=1)
        np.testing.assert_allclose([bar.get_y() for bar in bars], bottoms, atol=1e-12)
        np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in bars], np.arange(12))
        assert all(bar in display.ax_.patches for bar in bars)
    assert display.cells_ is None
    assert display.colorbar_ is None
    assert display.ax_.get_xlabel() == "sample"
    assert display.ax_.get_ylabel() == "mass"
    assert display.ax_.get_ylim() == (0, 1)


def test_the_legend_of_bars_lists_the_sets_from_the_top_beside_the_axes():
    partition = partition_of(12, FocalSets.full(["small", "large"]))
    display = MassesDisplay.from_result(partition)
    display.figure_.canvas.draw()
    assert legend_texts(display) == ["Ω", "{large}", "{small}", "∅"]
    assert display.legend_.get_title().get_text() == "focal set"
    assert display.legend_.get_window_extent().x0 >= display.ax_.get_window_extent().x1
    assert display.legend_.get_window_extent().x1 <= display.figure_.bbox.x1
    without_layout = MassesDisplay.from_result(partition, ax=plt.subplots()[1])
    without_layout.figure_.canvas.draw()
    assert without_layout.legend_.get_window_extent().x1 <= without_layout.ax_.get_window_extent().x1
    assert MassesDisplay.from_result(partition, legend=False).legend_ is None


def test_empty_set_single_clusters_unions_and_the_frame_have_distinct_styles():
    display = MassesDisplay.from_result(partition_of(12, FocalSets.full(4)), max_sets=16)
    looks = {label: bars[0] for label, bars in zip(display.labels_, display.bars_, strict=True)}
    assert looks["∅"].get_facecolor() == to_rgba("black")
    for cluster in range(4):
        assert looks[f"{{{cluster}}}"].get_facecolor() == to_rgba(palette.cluster_color(cluster))
    red, green, blue, _ = looks["Ω"].get_facecolor()
    assert red == green == blue
    for label, bar in looks.items():
        is_union = "," in label
        assert (bar.get_hatch() is not None) == is_union, label
    pair = looks["{0,2}"]
    assert pair.get_facecolor() == to_rgba(palette.cluster_color(0))
    assert pair.get_edgecolor()[:3] == to_rgba(palette.cluster_color(2))[:3]
    assert len({(bar.get_facecolor(), bar.get_edgecolor(), bar.get_hatch()) for bar in looks.values()}) == 16


def test_few_samples_have_names():
    names = [f"sample {letter}" for letter in "abcdefghij"]
    display = MassesDisplay.from_result(partition_of(10, FocalSets.full(2), sample_names=names))
    assert ticks(display.ax_.xaxis) == names
    assert {label.get_rotation() for label in display.ax_.get_xticklabels()} == {90}
    short = MassesDisplay.from_result(partition_of(10, FocalSets.full(2), sample_names=list("abcdefghij")))
    assert {label.get_rotation() for label in short.ax_.get_xticklabels()} == {0}
    unnamed = MassesDisplay.from_result(partition_of(30, FocalSets.full(2)))
    unnamed.figure_.canvas.draw()
    assert all(float(tick).is_integer() for tick in unnamed.ax_.get_xticks())


def test_sets_without_mass_are_omitted_and_those_with_little_mass_combined():
    partition = partition_of(20, FocalSets.full(4))
    display = MassesDisplay.from_result(partition, max_sets=5)
    totals = partition.masses.sum(axis=0)
    heaviest = np.sort(np.argsort(-totals)[:4])
    np.testing.assert_array_equal(display.shown_, heaviest)
    assert display.labels_ == [partition.focal_sets.labels[at] for at in heaviest] + ["12 other sets"]
    np.testing.assert_allclose(heights(display)[:, :4], partition.masses[:, heaviest])
    np.testing.assert_allclose(heights(display).sum(axis=1), 1)
    assert legend_texts(display)[0] == "12 other sets"
    hard = CredalPartition.from_hard([0, 1, 1, 2]).rename(cluster_names=["a", "b", "c"])
    assert MassesDisplay.from_result(hard).labels_ == ["{a}", "{b}", "{c}"]


@pytest.mark.slow
def test_thirty_clusters_have_a_bar_each():
    display = MassesDisplay.from_result(partition_of(30, FocalSets.simple(30)))
    display.figure_.canvas.draw()
    assert len(display.bars_) == len(legend_texts(display)) == 32
    assert display.legend_.get_window_extent().y0 >= 0


# Heat map


@pytest.mark.parametrize("focal_sets", [FocalSets.full(3), FocalSets([[0], [0, 1], [0, 1, 2]], 3)])
def test_many_samples_are_rows_sorted_by_cluster_and_then_by_mass(focal_sets):
    partition = partition_of(100, focal_sets)
    display = MassesDisplay.from_result(partition)
    display.figure_.canvas.draw()
    np.testing.assert_allclose(cells(display), partition.masses[display.order_])
    assert sorted(display.order_) == list(range(100))
    clusters = partition.to_hard()[display.order_]
    assert (np.diff(clusters) >= 0).all()
    sure = np.where(focal_sets.singleton_positions >= 0, partition.masses[:, focal_sets.singleton_positions], 0)
    sorted_masses = sure[display.order_, clusters]
    assert (np.diff(sorted_masses)[np.diff(clusters) == 0] <= 0).all()
    possible = partition.to_possibilistic()[display.order_, clusters]
    tied = (np.diff(clusters) == 0) & (np.diff(sorted_masses) == 0)
    assert (np.diff(possible)[tied] <= 0).all()
    assert display.bars_ == []
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_title() == ""


def test_columns_are_named_after_sets_with_single_clusters_in_their_color():
    partition = partition_of(100, FocalSets.full(["small", "medium", "large"]))
    display = MassesDisplay.from_result(partition)
    assert ticks(display.ax_.xaxis) == list(partition.focal_sets.labels)
    colors = [label.get_color() for label in display.ax_.get_xticklabels()]
    assert colors[1:4] == [palette.cluster_shade(cluster) for cluster in range(3)]
    assert len(set(colors[4:] + colors[:1])) == 1
    np.testing.assert_allclose(display.ax_.get_xticks(), np.arange(8) + 0.5)
    # Lines after the empty set and after the single clusters.
    upright = [line.get_xdata()[0] for line in display.ax_.lines if len(set(line.get_xdata())) == 1]
    assert upright == [1, 4]
    assert display.ax_.get_xlabel() == "focal set"
    assert display.colorbar_.ax.get_ylabel() == "mass"
    assert MassesDisplay.from_result(partition, legend=False).colorbar_ is None


def test_bands_at_the_left_have_the_colors_and_names_of_the_clusters():
    clusters = np.repeat([0, 2, 3], [300, 3, 100])
    partition = CredalPartition.from_rough(np.eye(4)[clusters], cluster_names=["a", "b", "c", "d"])
    display = MassesDisplay.from_result(partition)
    spans = [(band.get_y(), band.get_height()) for band in display.cluster_bands_]
    assert spans == [(0, 300), (300, 3), (303, 100)]
    for cluster, band in zip([0, 2, 3], display.cluster_bands_, strict=True):
        assert band.get_facecolor() == to_rgba(palette.cluster_color(cluster))
        assert band.get_x() + band.get_width() < 0
        assert band in display.ax_.patches
    assert ticks(display.ax_.yaxis) == ["a", "d"]  # 3 of 403 rows are too few for a name
    np.testing.assert_array_equal(display.ax_.get_yticks(), [150, 353])
    assert display.ax_.get_ylabel() == "samples, by their most plausible cluster"


def test_rows_of_very_many_samples_are_means_as_the_title_mentions():
    partition = partition_of(4000, FocalSets.full(3))
    _, ax = plt.subplots()
    ax.set_title("Mine")
    display = MassesDisplay.from_result(partition, max_rows=100, ax=ax)
    display.figure_.canvas.draw()
    assert ax.get_title() == "Mine\n4,000 samples; each row is the mean of up to 40"
    values = cells(display)
    assert 100 <= len(values) <= 103
    np.testing.assert_allclose(values[0], partition.masses[display.order_[:40]].mean(axis=0))
    # Heights of rows are proportional to their samples, so that the total mass is preserved.
    edges = np.asarray(display.cells_.get_coordinates())[:, 0, 1]
    assert edges[-1] == 4000
    np.testing.assert_allclose(np.diff(edges) @ values, partition.masses.sum(axis=0))


def test_no_more_than_forty_columns_are_drawn():
    partition = partition_of(100, FocalSets.pairs(30))
    display = MassesDisplay.from_result(partition)
    display.figure_.canvas.draw()
    assert len(display.labels_) == cells(display).shape[1] == 40
    assert display.labels_[-1] == f"{len(partition.focal_sets) - 39} other sets"
    np.testing.assert_allclose(cells(display).sum(axis=1), 1)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 20))
def test_rows_contain_consecutive_samples_of_one_cluster_and_respect_the_maximum(clusters, max_rows):
    clusters = np.array(clusters)
    order = np.argsort(clusters, kind="stable")
    rows, step = _assign_rows(clusters, order, max_rows)
    sizes = np.bincount(rows)
    assert (sizes > 0).all()
    assert sizes.max() <= step
    assert len(sizes) <= max_rows + len(set(clusters.tolist()))
    assert (np.diff(rows[order]) >= 0).all()
    assert all(len(set(clusters[rows == row].tolist())) == 1 for row in range(len(sizes)))


# Both


@pytest.mark.slow
def test_the_kind_can_be_chosen_and_the_plot_drawn_again_on_given_axes():
    model = ECM(n_clusters=2, delta=5, random_state=0).fit(load_butterfly().data)
    figure, ax = plt.subplots()
    display = MassesDisplay.from_result(model, kind="heatmap", ax=ax)
    assert display.figure_ is figure
    assert cells(display).shape == (12, 4)
    other = plt.subplots()[1]
    assert display.plot(other, kind="bars") is display
    assert display.ax_ is other
    assert display.cells_ is None
    assert display.cluster_bands_ == []
    np.testing.assert_allclose(heights(display), model.masses_, atol=1e-15)
    assert len(MassesDisplay.from_result(partition_of(150, FocalSets.full(2)), kind="bars").bars_) == 4


def test_invalid_input_is_explained():
    partition = partition_of(201, FocalSets.full(2))
    with pytest.raises(
        ValueError, match=r"kind='bars' is for at most 200 samples, but there are 201; use 'heatmap'"
    ):
        MassesDisplay.from_result(partition, kind="bars")
    with pytest.raises(ValueError, match=r"kind must be one of \['auto', 'bars', 'heatmap'\], got 'lines'"):
        MassesDisplay.from_result(partition, kind="lines")
    for name in ("max_sets", "max_rows"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got 0"):
            MassesDisplay.from_result(partition, **{name: 0})
    with pytest.raises(ValueError, match=r"estimator must be fitted and have a credal_partition_, got ECM\(\)"):
        MassesDisplay.from_result(ECM())


@pytest.mark.slow
def test_a_million_samples_are_drawn_without_a_copy_of_their_masses():
    focal_sets = FocalSets.pairs(8)
    masses = random_masses(1_000_000, len(focal_sets), np.float32)
    partition = CredalPartition(masses, focal_sets, validate=False)
    display = MassesDisplay.from_result(partition)
    display.figure_.canvas.draw()
    assert len(cells(display)) <= 508
    assert peak_bytes(lambda: MassesDisplay.from_result(partition)) < masses.nbytes
