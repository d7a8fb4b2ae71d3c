import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from evlearn import CredalPartition
from evlearn.cluster import EVCLUS
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import RelationalDisplay


@pytest.fixture(scope="module")
def fourclass():
    X, _ = make_fourclass(120, random_state=0)
    return EVCLUS(n_clusters=4, random_state=0).fit(X), pairwise_distances(X)


def draw(display):
    display.figure_.canvas.draw()
    return display


def matrix_of(display, number):
    return np.asarray(display.images_[number].get_array())


def test_the_panels_are_plausibility_and_belief_of_the_same_cluster(fourclass):
    model, _ = fourclass
    display = draw(RelationalDisplay.from_result(model))
    pairs = model.credal_partition_.relational()
    place = np.ix_(display.order, display.order)
    np.testing.assert_allclose(matrix_of(display, 0), (pairs.same_cluster + pairs.unknown)[place])
    np.testing.assert_allclose(matrix_of(display, 1), pairs.same_cluster[place])
    assert [panel.get_title() for panel in display.axes_] == [
        "plausibility of the same cluster",
        "belief of the same cluster",
    ]
    assert [image.get_clim() for image in display.images_] == [(0, 1), (0, 1)]
    (bar,) = display.colorbars_
    assert bar.ax.get_ylabel() == "degree"


def test_samples_are_sorted_by_cluster_from_sure_to_torn_with_outliers_last(fourclass):
    model, _ = fourclass
    display = RelationalDisplay.from_result(model)
    assert sorted(display.order) == list(range(120))
    ordered = model.credal_partition_[display.order]
    outliers = ordered.outliers()
    assert outliers.any()
    assert (np.diff(outliers.astype(int)) >= 0).all()
    clusters, doubt = ordered.to_hard()[~outliers], ordered.doubt()[~outliers]
    assert (np.diff(clusters) >= 0).all()
    assert all((np.diff(doubt[clusters == cluster]) >= 0).all() for cluster in range(4))
    assert display.group_names == ["0", "1", "2", "3", "outliers"]
    assert display.group_sizes.tolist() == [*np.bincount(clusters), outliers.sum()]


def test_lines_and_names_mark_the_clusters():
    partition = CredalPartition.from_hard([0, 1, 1, 0, 0, 2], cluster_names=["low", "middle", "high"])
    display = draw(RelationalDisplay.from_result(partition))
    for panel, borders in zip(display.axes_, display.borders_, strict=True):
        places = {(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in borders}
        assert places == {((0, 1), (2.5, 2.5)), ((2.5, 2.5), (0, 1)), ((0, 1), (4.5, 4.5)), ((4.5, 4.5), (0, 1))}
        assert [text.get_text() for text in panel.get_xticklabels()] == ["low", "middle", "high"]
        assert [text.get_text() for text in panel.get_yticklabels()] == ["low", "middle", "high"]
        assert panel.get_xticks().tolist() == [1, 3.5, 5]
        assert panel.get_xlabel() == "samples by cluster"


def test_dissimilarities_are_shown_in_the_same_order(fourclass):
    model, dissimilarities = fourclass
    display = draw(RelationalDisplay.from_result(model, dissimilarities=dissimilarities, parts=["belief"]))
    assert [panel.get_title() for panel in display.axes_] == ["dissimilarity", "belief of the same cluster"]
    np.testing.assert_array_equal(matrix_of(display, 0), dissimilarities[np.ix_(display.order, display.order)])
    assert [bar.ax.get_ylabel() for bar in display.colorbars_] == ["dissimilarity", "degree"]
    # Small dissimilarities and large degrees have the same color.
    assert display.images_[0].get_cmap()(0.0) == display.images_[1].get_cmap()(1.0)


def test_a_subset_of_many_samples_is_drawn_with_small_clusters():
    labels = np.repeat([0, 1], [100_000, 10])
    display = draw(RelationalDisplay.from_result(CredalPartition.from_hard(labels), max_samples=200))
    assert display.group_sizes.tolist() == [190, 10]
    assert matrix_of(display, 0).shape == (200, 200)
    assert display.axes_[0].get_xlabel() == "samples by cluster (a subset: 200 of 100,010)"
    assert len(set(display.order)) == 200


def test_the_plot_can_be_drawn_again_on_given_axes(fourclass):
    model, _ = fourclass
    figure, axes = plt.subplots(1, 2)
    display = RelationalDisplay.from_result(model)
    assert display.plot(axes) is display
    assert display.axes_ == list(axes)
    assert display.figure_ is figure
    display_on_axes = RelationalDisplay.from_result(model, parts=["plausibility"], ax=axes[0])
    assert display_on_axes.axes_ == [axes[0]]


@pytest.mark.slow
def test_many_clusters_have_lines_but_no_names():
    display = draw(RelationalDisplay.from_result(CredalPartition.from_hard(np.arange(30))))
    assert len(display.borders_[0]) == 2 * 29
    assert len(display.axes_[0].get_xticks()) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parts": ["mass"]}, r"parts must be a list of distinct names from \['plausibility', 'belief'\]"),
        ({"parts": "belief"}, "parts must be a list"),
        ({"parts": []}, "parts is empty and dissimilarities is None"),
        ({"max_samples": 0}, "max_samples must be a whole number of at least 1"),
        (
            {"dissimilarities": np.zeros((3, 2))},
            r"square matrix of the 3 samples of the partition, got shape \(3, 2",
        ),
    ],
)
def test_invalid_arguments_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        RelationalDisplay.from_result(CredalPartition.from_hard([0, 1, 1]), **arguments)


def test_there_is_one_panel_for_each_of_the_axes():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax has 1 axes but there are 2 panels; pass one for each"):
        RelationalDisplay.from_result(CredalPartition.from_hard([0, 1, 1]), ax=ax)


def test_estimators_have_to_be_fitted():
    with pytest.raises(ValueError, match=r"must be fitted and have a credal_partition_.*call fit first"):
        RelationalDisplay.from_result(EVCLUS(n_clusters=2))
    model = EVCLUS(n_clusters=2, random_state=0).fit(load_butterfly().data)
    assert RelationalDisplay.from_result(model).n_samples == 12
