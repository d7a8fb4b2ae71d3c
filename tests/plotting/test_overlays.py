"""Tests of true classes, sizes, prototypes and ellipses in plots of partitions, and of panels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.path import Path
from sklearn.datasets import load_iris, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM, BootClus
from evlearn.plotting import CredalPartitionDisplay, palette

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return ECM(3, random_state=0).fit(X)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def offsets(artist):
    return np.asarray(artist.get_offsets()).reshape(-1, 2)


def legend_of(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def test_true_classes_have_markers_and_clusters_have_colors(model):
    species = np.array(["setosa", "versicolor", "virginica"])[Y]
    display = CredalPartitionDisplay.from_result(model, X, features=[2, 3], y_true=species)
    display.figure_.canvas.draw()
    assert len(display.sure_points_) == len(display.torn_points_) == 9
    labels, verdict = model.labels_, model.credal_partition_.verdict()
    for number, points in enumerate(display.sure_points_):
        cluster, true = divmod(number, 3)
        expected = X[(labels == cluster) & (true == Y) & verdict.sure][:, 2:]
        assert sorted(offsets(points).tolist()) == sorted(expected.tolist())
        assert to_rgba(palette.cluster_color(cluster)) == tuple(points.get_facecolor()[0])
        shape = plt.scatter([0], [0], marker=palette.cluster_marker(true)).get_paths()[0]
        np.testing.assert_array_equal(points.get_paths()[0].vertices, shape.vertices)
    assert legend_of(display)[:6] == ["0", "1", "2", *(f"true class {name}" for name in sorted(set(species)))]


@pytest.mark.parametrize("size", ["plausibility", "belief"])
def test_areas_are_proportional_to_sizes(size):
    masses = np.array([[0, 1.0, 0, 0], [0, 0.7, 0, 0.3], [0.5, 0.5, 0, 0], [0, 0, 0.8, 0.2]])
    partition = CredalPartition(masses, FocalSets.full(2))
    places = np.arange(8.0).reshape(4, 2)
    display = CredalPartitionDisplay.from_result(partition, places, size=size, rule="max_mass")
    areas = {tuple(at): area for points in display.sure_points_ for at, area in _areas(points)}
    sizes = {"plausibility": [1, 1, 0.5], "belief": [1, 0.7, 0.5]}[size]
    observed = np.array([areas[tuple(places[k])] for k in (0, 1, 2) if tuple(places[k]) in areas])
    np.testing.assert_allclose(observed / observed[0], sizes[: len(observed)])
    assert len(observed) >= 2


def _areas(points):
    sizes = np.broadcast_to(points.get_sizes(), len(offsets(points))) if len(offsets(points)) else []
    return zip(offsets(points).tolist(), sizes, strict=True)


@pytest.mark.parametrize("features", [None, [0, 2]])
def test_prototypes_have_the_coordinates_of_equal_samples(model, features):
    display = CredalPartitionDisplay.from_result(model, X, features=features, prototypes=True)
    positions = np.vstack([offsets(artist) for artist in display.prototype_points_])
    if features:
        np.testing.assert_allclose(positions, model.cluster_centers_[:, features])
    else:
        # Projections are linear, so they preserve means.
        middle = [X[k == Y].mean(axis=0) for k in range(3)]
        other = CredalPartitionDisplay.from_result(model.credal_partition_, X, prototypes=middle)
        places = [other.points[k == Y].mean(axis=0) for k in range(3)]
        np.testing.assert_allclose(np.vstack([offsets(artist) for artist in other.prototype_points_]), places)
    assert "prototype" in legend_of(display)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("features", [None, [0, 1], [2, 0]])
def test_ellipses_contain_90_percent_of_their_component(kind, features):
    random = np.random.default_rng(0)
    places, _ = make_blobs(600, n_features=3, centers=[[0, 0, 0], [20, 5, 10]], random_state=0)
    places = places * [1, 1, 1 if kind in ("spherical", "tied") else 2]
    mixture = GaussianMixture(2, covariance_type=kind, random_state=0).fit(places)
    points, labels = mixture.sample(4000)
    order = random.permutation(4000)
    points, labels = points[order], labels[order]
    partition = CredalPartition.from_hard(labels)
    display = CredalPartitionDisplay.from_result(partition, points, features=features, ellipses=mixture)
    for cluster, line in enumerate(display.ellipse_lines_):
        is_inside = Path(line.get_xydata()).contains_points(display.points[labels == cluster])
        assert is_inside.mean() == pytest.approx(0.9, abs=0.025)
    assert "90 % of a component" in legend_of(display)


def test_ellipses_of_bootclus_are_those_of_its_mixture():
    model = BootClus(3, n_bootstrap=20, random_state=0).fit(X)
    display = CredalPartitionDisplay.from_result(model, X, features=[0, 1], ellipses=True)
    for line, mean in zip(display.ellipse_lines_, model.mixture_.means_, strict=True):
        np.testing.assert_allclose(line.get_xydata()[:-1].mean(axis=0), mean[:2], rtol=1e-6)


def test_invalid_arguments_are_explained(model):
    partition = model.credal_partition_
    draw = CredalPartitionDisplay.from_result
    with pytest.raises(ValueError, match="y_true must have a class for each of 150 samples"):
        draw(partition, X, y_true=[0, 1])
    with pytest.raises(ValueError, match="size must be one of"):
        draw(partition, X, size="mass")
    with pytest.raises(ValueError, match=r"prototypes must have shape \(3, 4\).* got \(3, 2\)"):
        draw(partition, X, prototypes=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="ellipses must be a fitted Gaussian mixture"):
        CredalPartitionDisplay.from_result(model, X, ellipses=True)
    with pytest.raises(ValueError, match="ellipses must have 3 components in the space of X"):
        draw(partition, X, ellipses=GaussianMixture(2, random_state=0).fit(X))
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(X)
    for name in ("prototypes", "ellipses"):
        with pytest.raises(ValueError, match=f"{name}=True needs an estimator"):
            CredalPartitionDisplay.from_result(pipeline, X, **{name: True})


# Panels


@pytest.mark.slow
def test_there_is_a_panel_for_each_pair_of_features(model):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    display = CredalPartitionDisplay.from_result(model.credal_partition_, frame, panels="features", y_true=Y)
    display.figure_.canvas.draw()
    pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    for panel_display, panel, (first, second) in zip(display.displays, display.axes_, pairs, strict=True):
        np.testing.assert_array_equal(panel_display.points, X[:, [first, second]])
        assert panel_display.ax_ is panel
        assert panel_display.legend_ is None
    labeled = [panel for panel in display.axes_ if panel.xaxis.label.get_visible() and panel.get_xlabel()]
    assert [panel.get_xlabel() for panel in labeled] == ["a", "b", "c"]
    assert len([panel for panel in display.figure_.axes if panel.get_visible()]) == 6
    assert "true class 1" in legend_of(display)
    subset = CredalPartitionDisplay.from_result(model, X, panels="features", features=[3, 0], legend=False)
    np.testing.assert_array_equal(subset.displays[0].points, X[:, [3, 0]])
    assert subset.legend_ is None


def test_panels_of_clusters_show_their_possible_samples(model):
    display = CredalPartitionDisplay.from_result(model, X, panels="clusters", hulls=True, prototypes=True)
    candidates = model.credal_partition_.verdict().candidates
    assert [panel.get_title() for panel in display.axes_] == ["cluster 0", "cluster 1", "cluster 2"]
    for cluster, panel_display in enumerate(display.displays):
        assert len(panel_display.points) == candidates[:, cluster].sum()
        assert (panel_display.clusters == cluster).all()
        assert (panel_display.torn == (candidates.sum(axis=1) > 1)[candidates[:, cluster]]).all()
        assert [line is not None for line in panel_display.upper_lines_] == [k == cluster for k in range(3)]
        np.testing.assert_allclose(
            panel_display.sizes, model.credal_partition_.to_possibilistic()[candidates[:, cluster], cluster]
        )


def test_many_features_have_to_be_chosen(model):
    wide = np.hstack([X, X, X])
    with pytest.raises(ValueError, match="X has 12 features, but panels show 2 to 8"):
        CredalPartitionDisplay.from_result(model.credal_partition_, wide, panels="features")
    with pytest.raises(ValueError, match="features must name at least 2 columns of X"):
        CredalPartitionDisplay.from_result(model.credal_partition_, wide, panels="features", features=[1])
    with pytest.raises(ValueError, match="panels must be one of"):
        CredalPartitionDisplay.from_result(model.credal_partition_, X, panels="pairs")
    assert (
        len(
            CredalPartitionDisplay.from_result(
                model.credal_partition_, wide, panels="features", features=range(5)
            ).axes_
        )
        == 10
    )
    with pytest.raises(ValueError, match="ax must be None for panels"):
        CredalPartitionDisplay.from_result(model.credal_partition_, X, panels="clusters", ax=plt.subplots()[1])
