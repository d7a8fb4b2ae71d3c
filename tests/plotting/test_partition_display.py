import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.colors import to_rgb, to_rgba
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from benchmarks.common.measuring import random_masses
from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import CredalPartitionDisplay, palette
from evlearn.plotting.plane import cluster_hulls, convex_hull
from evlearn.plotting.sampling import allocate, draw_subset


@pytest.fixture
def butterfly(reference_file):
    table = np.genfromtxt(reference_file("seed_tables/nnevclus_table01.csv"), delimiter=",", skip_header=1)
    masses = table[:, 1:] / table[:, 1:].sum(axis=1, keepdims=True)
    return CredalPartition(masses, FocalSets.full(2)), load_butterfly().data


def vague_partition(X, n_clusters, seed=0):
    """Return consonant masses from distances to some samples, with a few outliers."""
    centers = X[np.random.default_rng(seed).choice(len(X), n_clusters, replace=False)]
    closeness = np.exp(-((X[:, None] - centers) ** 2).sum(axis=2))
    possibilities = closeness / closeness.max(axis=1, keepdims=True)
    possibilities[:: max(2, len(X) // 5)] *= 0.1
    return CredalPartition.from_possibilistic(possibilities)


def offsets(artist):
    return np.asarray(artist.get_offsets()).reshape(-1, 2)


def rows(points):
    return {tuple(point) for point in np.asarray(points).tolist()}


def corners(line):
    return rows(line.get_xydata())


def draw(display):
    display.figure_.canvas.draw()
    return display


# Content


def test_the_butterfly_has_two_wings_one_torn_object_and_one_outlier(butterfly):
    partition, X = butterfly
    display = draw(CredalPartitionDisplay.from_result(partition, X, rule="max_mass"))
    # The paper numbers the right wing first.
    assert [rows(offsets(artist)) for artist in display.sure_points_] == [rows(X[6:11]), rows(X[:5])]
    assert rows(np.vstack([offsets(artist) for artist in display.torn_points_])) == {(0, 0)}
    assert rows(offsets(display.outlier_points_)) == {(10, 10)}
    assert corners(display.lower_lines_[1]) == rows(X[[0, 1, 3, 4]])
    assert corners(display.upper_lines_[1]) == rows(X[[0, 1, 3, 5]])
    assert display.ax_.get_title() == ""


def test_objects_have_the_color_and_marker_of_their_most_plausible_cluster():
    X, _ = make_fourclass(300, random_state=0)
    partition = vague_partition(X, 4)
    display = draw(CredalPartitionDisplay.from_result(partition, X))
    labels, outliers = partition.to_hard(), partition.outliers()
    sure = partition.verdict().sure
    assert sure.any()
    assert outliers.any()
    assert (~sure & ~outliers).any()
    for k in range(4):
        filled, hollow = display.sure_points_[k], display.torn_points_[k]
        np.testing.assert_array_equal(offsets(filled), X[sure & (labels == k)])
        np.testing.assert_array_equal(offsets(hollow), X[~sure & ~outliers & (labels == k)])
        np.testing.assert_array_equal(filled.get_facecolor(), [to_rgba(palette.cluster_color(k))])
        np.testing.assert_allclose(hollow.get_edgecolor()[0, :3], 0.7 * np.array(to_rgb(palette.cluster_color(k))))
    np.testing.assert_array_equal(offsets(display.outlier_points_), X[outliers])
    np.testing.assert_array_equal(display.outlier_points_.get_edgecolor(), [to_rgba("black")])


@pytest.mark.parametrize("rule", ["max_mass", "interval_dominance"])
def test_hulls_have_members_of_the_approximations_as_corners_and_hold_all_others(rule):
    X, _ = make_fourclass(300, random_state=1)
    partition = vague_partition(X, 3)
    display = CredalPartitionDisplay.from_result(partition, X, rule=rule)
    for members, hulls, lines in (
        (partition.to_rough(rule, kind="lower"), display.lower_hulls, display.lower_lines_),
        (partition.to_rough(rule), display.upper_hulls, display.upper_lines_),
    ):
        for k in range(3):
            assert corners(lines[k]) == rows(hulls[k]) <= rows(X[members[:, k]])
            edges = np.roll(hulls[k], -1, axis=0) - hulls[k]
            to_points = X[members[:, k]][:, None] - hulls[k]
            turns = edges[:, 0] * to_points[..., 1] - edges[:, 1] * to_points[..., 0]
            assert turns.min() >= -1e-9
    assert display.lower_lines_[0].get_linestyle() == "-"
    assert display.upper_lines_[0].get_linestyle() == "--"


@pytest.mark.parametrize("level", [0.5, 2 / 3, 0.9])
def test_the_picture_shows_the_verdict_at_the_level_that_is_asked_for(level):
    X, _ = make_fourclass(300, random_state=1)
    partition = vague_partition(X, 3)
    verdict = partition.verdict(level)
    display = CredalPartitionDisplay.from_result(partition, X, level=level)
    np.testing.assert_array_equal(display.torn, verdict.torn)
    np.testing.assert_array_equal(display.outliers, verdict.outlier)
    lower, upper = cluster_hulls(X, verdict.candidates)
    for artist, other in zip([*display.lower_hulls, *display.upper_hulls], [*lower, *upper], strict=True):
        np.testing.assert_array_equal(artist, other)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts[-2:] == ["sure samples", "possible samples"]


def test_interval_dominance_shows_no_outlier(butterfly):
    display = CredalPartitionDisplay.from_result(*butterfly, rule="interval_dominance")
    assert len(offsets(display.outlier_points_)) == 0
    assert not any("outlier" in text.get_text() for text in display.legend_.get_texts())


def test_hulls_and_legend_can_be_left_out(butterfly):
    display = draw(CredalPartitionDisplay.from_result(*butterfly, hulls=False, legend=False))
    assert len(display.ax_.lines) == 0
    assert display.legend_ is None
    assert display.names_ == []


def test_the_plot_can_be_drawn_again_on_given_axes(butterfly):
    partition, X = butterfly
    figure, axes = plt.subplots(1, 2)
    display = CredalPartitionDisplay.from_result(partition, X, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.plot(ax=axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert rows(offsets(display.outlier_points_)) == {(10, 10)}


def test_the_legend_names_clusters_and_marks_and_stays_inside_axes_that_have_neighbors(butterfly):
    partition, X = butterfly
    renamed = partition.rename(cluster_names=["_right wing", "a name that is much too long to be read"])
    _, ax = plt.subplots()
    display = draw(CredalPartitionDisplay.from_result(renamed, X, rule="max_mass", ax=ax))
    assert [text.get_text().strip() for text in display.legend_.get_texts()] == [
        "_right wing",
        "a name that is much too…",
        "torn between 2: 1 (8.3 %)",
        "outlier: 1 (8.3 %)",
        "sure samples",
        "possible samples",
    ]
    legend_box, axes_box = display.legend_.get_window_extent(), ax.get_window_extent()
    assert axes_box.x0 <= legend_box.x0
    assert legend_box.x1 <= axes_box.x1
    display_alone = draw(CredalPartitionDisplay.from_result(renamed, X))
    assert display_alone.legend_.get_window_extent().x0 >= display_alone.ax_.get_window_extent().x1
    assert display_alone.legend_.get_window_extent().x1 <= display_alone.figure_.bbox.x1


# Coordinates


def test_column_names_of_a_data_frame_become_axis_labels(butterfly):
    partition, X = butterfly
    for library in (pd, pl):
        frame = library.DataFrame({"length": X[:, 0], "kind": ["text"] * 12, "width": X[:, 1]})
        for features in (["length", "width"], (0, 2)):
            display = CredalPartitionDisplay.from_result(partition, frame, features=features)
            assert display.ax_.get_xlabel() == "length"
            assert display.ax_.get_ylabel() == "width"
            np.testing.assert_array_equal(display.points, X)


def test_arrays_and_lists_have_numbered_axes(butterfly):
    partition, X = butterfly
    display = CredalPartitionDisplay.from_result(partition, X.tolist(), features=(1, 0))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 1", "feature 0")
    np.testing.assert_array_equal(display.points, X[:, ::-1])


def test_more_than_two_features_are_shown_by_principal_components():
    X = load_iris().data
    display = CredalPartitionDisplay.from_result(vague_partition(X, 3), X)
    np.testing.assert_allclose(display.points, PCA(2).fit_transform(X), atol=1e-12)
    assert display.ax_.get_xlabel() == "principal component 1 (92% of the variance)"
    assert display.ax_.get_ylabel() == "principal component 2 (5% of the variance)"
    chosen = CredalPartitionDisplay.from_result(vague_partition(X, 3), X, features=(2, 3))
    np.testing.assert_array_equal(chosen.points, X[:, 2:])


def test_equal_samples_can_be_drawn():
    partition = CredalPartition.from_hard([0, 1, 1, 0])
    display = draw(CredalPartitionDisplay.from_result(partition, np.ones((4, 3))))
    assert display.lower_lines_ == [None, None]
    assert display.ax_.get_xlabel() == "principal component 1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: {"X": X[:11]}, "X has 11 rows but the partition has 12 samples"),
        (lambda X: {"X": X[:, :1]}, "X has 1 column and a plot needs 2"),
        (lambda X: {"X": X[:, 0]}, r"a column for each feature, got shape \(12,\)"),
        (lambda X: {"X": np.where(X == 10, np.nan, X)}, "in 1 rows, first in row 11"),
        (lambda X: {"X": X.astype(str).astype(object) + "?"}, "choose 2 numeric columns with `features`"),
        (lambda X: {"X": sparse.csr_array(X)}, "dense table with numbers"),
        (lambda X: {"X": X, "features": (0, 2)}, "features has 2, .* numbers from 0 to 1"),
        (lambda X: {"X": X, "features": (0, -1)}, "features has -1, which is not a column"),
        (lambda X: {"X": X, "features": ("x", 1)}, "features has 'x'.*feature 0, feature 1"),
        (lambda X: {"X": X, "features": "ab"}, "features must name 2 columns of X, got 'ab'"),
        (lambda X: {"X": X, "features": (0, 1, 0)}, "features must name 2 columns"),
        (lambda X: {"X": X, "rule": "best"}, "rule must be one of"),
        (lambda X: {"X": X, "max_points": 0}, "max_points must be a positive whole number, got 0"),
    ],
)
def test_invalid_arguments_are_explained(butterfly, change, message):
    partition, X = butterfly
    with pytest.raises(ValueError, match=message):
        CredalPartitionDisplay.from_result(partition, **change(X))


def test_principal_components_need_two_samples():
    with pytest.raises(ValueError, match=r"X has 1 row, .*choose 2 columns"):
        CredalPartitionDisplay.from_result(CredalPartition.from_hard([0]), [[1, 2, 3]])


# Estimators


class NearestCenter:
    """Minimal clusterer: consonant masses from distances to given centers."""

    def __init__(self, centers):
        self.centers = centers

    def fit(self, X):
        self.credal_partition_ = self.predict_mass(X)
        return self

    def predict_mass(self, X):
        closeness = np.exp(-((np.asarray(X)[:, None] - self.centers) ** 2).sum(axis=2))
        return CredalPartition.from_possibilistic(closeness / closeness.max(axis=1, keepdims=True))


def test_an_estimator_shows_its_fitted_partition_or_predictions():
    X, _ = make_fourclass(100, random_state=0)
    estimator = NearestCenter(np.array([[0, 0], [4, 4]])).fit(X)
    fitted_display = CredalPartitionDisplay.from_result(estimator, pd.DataFrame(X, columns=["a", "b"]))
    np.testing.assert_array_equal(fitted_display.clusters, estimator.credal_partition_.to_hard())
    assert fitted_display.ax_.get_ylabel() == "b"
    new, _ = make_fourclass(70, random_state=1)
    predicted = CredalPartitionDisplay.from_result(estimator, new.tolist(), features=(1, 0), max_points=50)
    np.testing.assert_array_equal(predicted.clusters, estimator.predict_mass(new).to_hard())
    assert len(predicted.drawn_) == 50


def test_estimators_without_masses_are_refused():
    X, _ = make_fourclass(20, random_state=0)
    with pytest.raises(ValueError, match=r"estimator must have predict_mass.*got KMeans.*pass the partition"):
        CredalPartitionDisplay.from_result(KMeans(2, n_init=1).fit(X), X)
    fitted_only = NearestCenter(np.array([[0, 0], [4, 4]])).fit(X)

    class WithoutPrediction:
        credal_partition_ = fitted_only.credal_partition_

    with pytest.raises(ValueError, match=r"estimator must have predict_mass.*pass the partition"):
        CredalPartitionDisplay.from_result(WithoutPrediction(), X)


# Degenerate hulls


@given(arrays(float, st.tuples(st.integers(0, 12), st.just(2)), elements=st.integers(-3, 3).map(float)))
def test_hulls_have_points_as_corners_and_the_same_extent(points):
    hull = convex_hull(points)
    assert rows(hull) <= rows(points)
    assert len(rows(hull)) == len(hull) == len(rows(points)) or len(hull) >= 2 or len(rows(points)) < 2
    for direction in ([1, 0], [0, 1], [1, 1], [2, -1]):
        if len(points):
            assert (hull @ direction).max() == (points @ direction).max()
            assert (hull @ direction).min() == (points @ direction).min()


@given(st.data())
def test_hulls_of_hulls_are_the_hulls_of_the_approximations(data):
    n_clusters = data.draw(st.sampled_from([1, 3, 8, 70]))
    seed = data.draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    candidates = random.random((40, n_clusters)) < random.choice([0.02, 0.3, 0.6])
    points = random.standard_normal((40, 2))
    lower, upper = cluster_hulls(points, candidates)
    sure = candidates & (candidates.sum(axis=1, keepdims=True) == 1)
    for k in range(n_clusters):
        assert rows(lower[k]) == rows(convex_hull(points[sure[:, k]]))
        assert rows(upper[k]) == rows(convex_hull(points[candidates[:, k]]))


@pytest.mark.parametrize("scale", [1e-9, 1, 1e9])
def test_features_on_very_different_scales_still_have_an_area(scale):
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]]) * [1, scale]
    assert rows(convex_hull(square)) == rows(square[:4])


def test_collinear_clusters_have_a_segment_and_clusters_of_one_sample_no_hull():
    X = np.array([[0, 0], [2, 2], [1, 1], [5, 0], [5, 0], [9, 9], [8, 0], [8, 3]], dtype=float)
    display = draw(CredalPartitionDisplay.from_result(CredalPartition.from_hard([0, 0, 0, 1, 1, 2, 3, 3]), X))
    line = display.lower_lines_[0].get_xydata()
    assert rows(line) == {(0, 0), (2, 2)}
    assert len(line) == 2
    assert display.lower_lines_[1] is None
    assert display.lower_lines_[2] is None
    assert corners(display.lower_lines_[3]) == {(8, 0), (8, 3)}


def test_a_cluster_without_samples_and_a_partition_of_outliers_can_be_drawn():
    masses = np.zeros((3, 4))
    masses[:, 0] = 1
    X = np.eye(3)[:, :2]
    display = draw(CredalPartitionDisplay.from_result(CredalPartition(masses, FocalSets.full(2)), X))
    assert rows(offsets(display.outlier_points_)) == rows(X)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["0", "1", "outlier: 3 (100 %)"]


# Many clusters, many samples


def test_thirty_clusters_are_named_in_the_plot_and_not_in_the_legend():
    X = np.random.default_rng(0).random((900, 2)) + 3 * np.array([divmod(k, 6) for k in range(30)]).repeat(30, 0)
    labels = np.arange(30).repeat(30)
    display = draw(CredalPartitionDisplay.from_result(CredalPartition.from_hard(labels), X))
    assert [text.get_text() for text in display.names_] == [str(k) for k in range(30)]
    for k, text in enumerate(display.names_):
        np.testing.assert_allclose(text.get_position(), np.median(X[labels == k], axis=0))
    assert len(display.legend_.get_texts()) == 0  # all samples are sure, and hulls are omitted
    assert display.legend_.get_title().get_text() == "30 clusters,\nnamed in the plot"
    assert len({(palette.cluster_color(k), palette.cluster_marker(k)) for k in range(210)}) == 210


@pytest.mark.slow
def test_the_legend_has_at_most_twelve_entries():
    for n_clusters in (8, 9, 100):
        masses = np.vstack([random_masses(50, n_clusters + 2), np.eye(n_clusters + 2)])
        partition = CredalPartition(masses, FocalSets.simple(n_clusters))
        X = np.random.default_rng(0).random((len(masses), 2))
        display = draw(CredalPartitionDisplay.from_result(partition, X))
        assert len(display.legend_.get_texts()) <= 12
        assert len(display.names_) == (n_clusters if n_clusters == 9 else 0)


def test_thirty_colors_are_far_from_each_other_from_white_and_from_black():
    colors = np.array([to_rgb(palette.cluster_color(k)) for k in range(30)] + [(0, 0, 0), (1, 1, 1)])
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    roots = np.cbrt(linear @ to_xyz.T / to_xyz.sum(axis=1))
    lab = np.column_stack(
        [116 * roots[:, 1], 500 * (roots[:, 0] - roots[:, 1]), 200 * (roots[:, 1] - roots[:, 2])]
    )
    distances = np.linalg.norm(lab[:, None] - lab, axis=2)[np.triu_indices(32, 1)]
    assert distances.min() > 15


def test_a_subset_of_many_samples_is_drawn_and_mentioned_in_the_title():
    X, _ = make_fourclass(4000, random_state=0)
    partition = vague_partition(X, 4)
    whole = CredalPartitionDisplay.from_result(partition, X)
    display = draw(CredalPartitionDisplay.from_result(partition, X, max_points=1000))
    assert len(display.drawn_) == 1000
    assert display.ax_.get_title() == "1,000 of 4,000 samples; gray: density of all samples"
    assert (
        partition[display.drawn_].summary().n_outliers == partition.summary().n_outliers
    )  # all, because they are few
    for sampled, full in zip(display.lower_hulls, whole.lower_hulls, strict=True):
        np.testing.assert_array_equal(sampled, full)
    points = [
        offsets(artist) for artist in (*display.sure_points_, *display.torn_points_, display.outlier_points_)
    ]
    assert rows(np.vstack(points)) == rows(X[display.drawn_])
    repeated = CredalPartitionDisplay.from_result(partition, X, max_points=1000)
    np.testing.assert_array_equal(repeated.drawn_, display.drawn_)
    other = repeated.plot(max_points=1000, random_state=1)
    assert not np.array_equal(other.drawn_, display.drawn_)


def test_the_note_on_the_subset_follows_an_existing_title():
    X, _ = make_fourclass(100, random_state=0)
    _, ax = plt.subplots()
    ax.set_title("Mine")
    CredalPartitionDisplay.from_result(CredalPartition.from_hard(np.arange(100) % 2), X, ax=ax, max_points=40)
    assert ax.get_title() == "Mine\n40 of 100 samples; gray: density of all samples"


def test_rare_outliers_remain_rare_and_the_legend_counts_all():
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    candidates = np.zeros((len(X), 2), dtype=bool)
    candidates[:, 0] = True
    candidates[:3000, 1] = True
    candidates[3000:3600] = False
    display = draw(CredalPartitionDisplay.from_result(CredalPartition.from_rough(candidates), X, max_points=5000))
    assert len(offsets(display.outlier_points_)) == 30  # the same share as in all samples
    assert sum(len(offsets(artist)) for artist in display.torn_points_) == 150
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts[2:4] == ["torn between 2: 3,000 (3 %)", "outlier: 600 (0.6 %)"]
    assert np.expm1(display.density_.get_array()).sum() == pytest.approx(100_000)  # of all samples
    assert CredalPartitionDisplay.from_result(CredalPartition.from_hard([0, 1]), X[:2]).density_ is None


def test_the_core_of_a_torn_sample_has_the_color_of_the_other_cluster():
    candidates = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    partition = CredalPartition.from_rough(candidates)
    display = draw(CredalPartitionDisplay.from_result(partition, np.arange(10.0).reshape(5, 2)))
    first, other = display.torn_points_[:2]
    colors = [to_rgba(color) for color in (palette.cluster_color(1), palette.cluster_color(2), "white")]
    np.testing.assert_array_equal(first.get_facecolor(), colors)
    np.testing.assert_array_equal(other.get_facecolor(), colors[1:2])
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts[3:5] == ["torn between 2: 3 (60 %)", "torn between more: 1 (20 %)"]


def test_more_than_six_clusters_have_no_hulls_unless_requested():
    X = np.random.default_rng(0).random((70, 2))
    six, seven = (CredalPartition.from_hard(np.arange(70) % number) for number in (6, 7))
    assert len(CredalPartitionDisplay.from_result(six, X).lower_lines_) == 6
    assert CredalPartitionDisplay.from_result(seven, X).lower_lines_ == []
    assert len(CredalPartitionDisplay.from_result(seven, X, hulls=True).lower_lines_) == 7
    with pytest.raises(ValueError, match="hulls must be True, False or 'auto', got 'some'"):
        CredalPartitionDisplay.from_result(six, X, hulls="some")


@given(st.integers(1, 500), st.lists(st.integers(0, 1000), min_size=3, max_size=3))
def test_shares_of_a_subset_sum_to_its_size_and_do_not_exceed_the_counts(size, counts):
    shares = allocate(size, counts)
    assert shares.sum() == min(size, sum(counts))
    assert (shares >= 0).all()
    assert (shares <= counts).all()
    assert (shares >= np.minimum(counts, size // 40)).all()


def test_a_subset_contains_samples_of_the_smallest_clusters():
    clusters = np.repeat([0, 1, 3], [100_000, 5, 50])
    objects = np.arange(len(clusters)) * 2
    chosen = draw_subset(objects, 1000, clusters, np.random.RandomState(0))
    assert len(set(chosen.tolist())) == 1000
    counts = np.bincount(clusters[chosen // 2])
    assert counts[1] == 5
    assert counts[3] >= 20


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [2, 30])
def test_a_subset_of_a_million_samples_is_drawn(n_clusters):
    X = np.random.default_rng(0).standard_normal((1_000_000, 2), dtype=np.float32)
    # 50 % of the samples are torn between all clusters, inside all upper hulls.
    masses = random_masses(len(X), n_clusters + 2, np.float32)
    masses /= masses.max(axis=1, keepdims=True)
    masses **= 40
    masses[: len(X) // 2, -1] += n_clusters
    masses /= masses.sum(axis=1, keepdims=True)
    partition = CredalPartition(masses, FocalSets.simple(n_clusters), validate=False)
    display = draw(CredalPartitionDisplay.from_result(partition, X))
    assert len(display.drawn_) == 20_000
    assert len(display.upper_lines_) == (2 if n_clusters == 2 else 0)


@pytest.mark.parametrize("n_features", [2, 3])
@pytest.mark.parametrize("value", [-3.4e38, 1.7e308])
def test_remote_samples_are_drawn_at_the_edge_and_mentioned_on_the_axis(n_features, value):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, n_features))
    X[7, 1] = value
    display = CredalPartitionDisplay.from_result(CredalPartition.from_hard([0, 1] * 20), X)
    display.ax_.figure.canvas.draw()
    assert np.ptp(display.ax_.get_xlim()) < 20
    assert np.ptp(display.ax_.get_ylim()) < 20
    assert display.ax_.get_xlabel().startswith("1 remote sample at the edge; ")
