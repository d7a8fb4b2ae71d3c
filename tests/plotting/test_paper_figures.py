"""Tests of the content of the figures of the source documents."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.studies.reproduction import figures
from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import BeliefPeaksDisplay, CredalPartitionDisplay, MassesDisplay, RelationalDisplay


def offsets(artist):
    return np.asarray(artist.get_offsets()).reshape(-1, 2)


def points_of(artists):
    return {tuple(point) for artist in artists for point in offsets(artist).tolist()}


def n_of(artists):
    return sum(len(offsets(artist)) for artist in artists)


def corners(line):
    return {tuple(point) for point in line.get_xydata().tolist()}


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


# The butterfly: NN-EVCLUS paper, Figure 1 and Example 2; Bootclus paper, Figures 1 and 2


@pytest.fixture(scope="module")
def butterfly():
    X = load_butterfly().data
    return X, EVCLUS(2, focal_sets="full", d0=11, tol=1e-9, random_state=0).fit(X)


def test_the_butterfly_has_sample_6_torn_and_sample_12_outside(butterfly):
    X, model = butterfly
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass")
    assert points_of(display.torn_points_) == {tuple(X[5])}
    assert points_of([display.outlier_points_]) == {tuple(X[11])}
    wings = {frozenset(map(tuple, X[:5].tolist())), frozenset(map(tuple, X[6:11].tolist()))}
    assert {frozenset(points_of([artist])) for artist in display.sure_points_} == wings


def test_the_butterfly_has_solid_hulls_of_wings_and_dashed_ones_with_sample_6(butterfly):
    X, model = butterfly
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass")
    left = model.labels_[0]
    tips = {left: X[[0, 1, 3]], 1 - left: X[[7, 9, 10]]}
    inner = {left: X[4], 1 - left: X[6]}
    for cluster in range(2):
        outside = {tuple(point) for point in tips[cluster].tolist()}
        assert corners(display.lower_lines_[cluster]) == outside | {tuple(inner[cluster])}
        assert corners(display.upper_lines_[cluster]) == outside | {tuple(X[5])}
        assert display.lower_lines_[cluster].get_linestyle() == "-"
        assert display.upper_lines_[cluster].get_linestyle() == "--"


def test_the_legend_of_the_butterfly_is_complete(butterfly):
    X, model = butterfly
    texts = legend_texts(CredalPartitionDisplay.from_result(model, X, rule="max_mass"))
    marks = ["torn between 2: 1 (8.3 %)", "outlier: 1 (8.3 %)", "sure samples", "possible samples"]
    assert texts == ["0", "1", *marks]


def test_the_bars_of_the_butterfly_are_the_published_masses(butterfly, reference_file):
    _, model = butterfly
    table = np.genfromtxt(reference_file("seed_tables/nnevclus_table01.csv"), delimiter=",", skip_header=1)
    published = table[:, 1:]  # the paper numbers the right wing first
    if model.labels_[0] == 0:
        published = published[:, [0, 2, 1, 3]]
    display = MassesDisplay.from_result(model)
    assert display.labels_ == ["∅", "{0}", "{1}", "Ω"]
    heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_]).T
    np.testing.assert_allclose(heights, published, rtol=0, atol=0.01)
    np.testing.assert_array_equal(heights[[5, 11]].argmax(axis=1), [3, 0])


def test_the_pairs_of_the_butterfly_without_its_outlier_are_those_of_the_bootclus_paper():
    model = ECM(2, alpha=1, beta=2, delta=100, random_state=0).fit(load_butterfly().data[:11])
    display = RelationalDisplay.from_result(model, parts=("belief", "plausibility"))
    place = {number: index for index, number in enumerate(display.order.tolist())}
    belief, plausibility = (display.matrices[part][place[3], place[4]] for part in ("belief", "plausibility"))
    assert belief == pytest.approx(0.485, abs=0.005)
    assert plausibility == pytest.approx(0.908, abs=0.005)
    # Sample 6 is torn between the wings: its pairs have belief 0 and plausibility 1.
    np.testing.assert_allclose(display.matrices["belief"][place[5]], 0, atol=1e-3)
    np.testing.assert_allclose(display.matrices["plausibility"][place[5]], 1, atol=1e-3)


# Four classes: NN-EVCLUS paper, Figures 2, 3 and 7; the lecture of 2017


@pytest.fixture(scope="module")
def fourclass(shared):
    X, y = figures.load()["fourclass"]
    return X, y, figures.fit_fourclass(X)


def test_fourclass_has_four_hulls_of_each_kind_and_outliers(fourclass):
    X, _, model = fourclass
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass")
    assert len(display.lower_lines_) == len(display.upper_lines_) == 4
    assert all(line is not None and len(corners(line)) >= 3 for line in display.lower_lines_)
    for lower, upper in zip(display.lower_lines_, display.upper_lines_, strict=True):
        assert corners(upper) != corners(lower)  # samples are torn around every cluster
    assert 5 <= len(offsets(display.outlier_points_)) <= 15
    assert 50 <= n_of(display.torn_points_) <= 90
    assert n_of(display.sure_points_) + n_of(display.torn_points_) + len(offsets(display.outlier_points_)) == 400
    kinds = [text.partition(":")[0] for text in legend_texts(display)[4:]]
    assert [*kinds[:1], *kinds[-3:]] == ["torn between 2", "outlier", "sure samples", "possible samples"]


def test_each_cluster_of_fourclass_is_one_class_and_outliers_are_far_out(fourclass):
    X, y, model = fourclass
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.72, abs=0.03)
    sure = model.credal_partition_.to_rough(kind="lower")
    majority = [np.bincount(y[members]).argmax() for members in sure.T]
    assert sorted(majority) == [1, 2, 3, 4]
    from_middle = np.linalg.norm(X - X.mean(axis=0), axis=1)
    outliers = model.credal_partition_.outliers()
    assert from_middle[outliers].min() > np.median(from_middle)


def test_fourclass_reaches_the_published_loss_in_a_few_dozens_of_iterations(fourclass):
    _, _, model = fourclass
    assert model.objective_ == pytest.approx(4.75e-3, abs=0.25e-3)
    assert 10 <= model.n_iter_ <= 60


def test_fourclass_has_four_peaks_one_in_each_class(fourclass):
    X, y, _ = fourclass
    display = BeliefPeaksDisplay.from_data(X, n_neighbors=50, q=0.9)
    assert sorted(y[display.peaks]) == [1, 2, 3, 4]
    assert len(display.labels_) == 4


def test_our_sample_of_four_classes_has_the_same_properties():
    X, _ = make_fourclass(400, random_state=0)
    model = figures.fit_fourclass(X)
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass")
    assert all(len(corners(line)) >= 3 for line in [*display.lower_lines_, *display.upper_lines_])
    assert len(offsets(display.outlier_points_)) > 3
    assert n_of(display.torn_points_) > 30
    assert len(BeliefPeaksDisplay.from_data(X, n_neighbors=50).peaks) == 4


# Proteins: the lecture of 2017, and Table 6 of the NN-EVCLUS paper


@pytest.fixture(scope="module")
def protein(shared):
    D, y = figures.load()["protein"]
    return D, y, figures.fit_protein(D)


def test_protein_has_the_published_agreement(protein):
    _, y, model = protein
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.989, abs=0.0005)
    assert figures.n_errors(y, model.labels_) <= 2  # "Only 2 errors"


def test_protein_has_four_clusters_apart_and_nobody_torn(protein):
    D, y, model = protein
    partition = figures.name_clusters(model.credal_partition_, y)
    display = CredalPartitionDisplay.from_result(partition, figures.classical_scaling(D), rule="max_mass")
    names = [text.partition(":")[0] for text in legend_texts(display)]
    assert names == ["G", "HA", "HB", "M", "outlier", "sure samples", "possible samples"]
    assert n_of(display.torn_points_) == 0
    for lower, upper in zip(display.lower_lines_, display.upper_lines_, strict=True):
        assert len(corners(lower)) >= 3
        assert corners(upper) == corners(lower)  # no sample is torn
    outliers = ~partition.to_rough().any(axis=1)
    assert len(offsets(display.outlier_points_)) == outliers.sum()
    assert 30 <= outliers.sum() <= 55
    # Most of them are "heterogeneous globins", which differ from all others.
    assert (y[outliers] == "G").sum() > outliers.sum() / 2


def test_classical_scaling_returns_points_of_a_plane_up_to_a_motion():
    points = np.random.default_rng(0).standard_normal((20, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    coordinates = figures.classical_scaling(distances)
    np.testing.assert_allclose(np.linalg.norm(coordinates[:, None] - coordinates, axis=2), distances, atol=1e-12)


# The command


@pytest.mark.usefixtures("shared")
@pytest.mark.slow
def test_the_command_draws_every_figure_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["figures", str(tmp_path)])
    figures.main()
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(figures.SOURCES)
    assert all(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))
    output = capsys.readouterr().out
    assert "torn: sample 6, outlier: sample 12" in output
    assert "4 peaks, in classes 1, 2, 3, 4" in output
    assert "ARI 0.989" in output
    assert plt.get_fignums() == []
