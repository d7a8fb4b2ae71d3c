"""Selection of numbers of clusters and other parameters on subsamples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import BPEC, ECM, EVCLUS, BootClus, EKNNClus, belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import ParameterSelection, select_n_clusters, select_parameter
from evlearn.model_selection import select as module
from evlearn.model_selection.subsamples import draw_subsamples, share_neighbors
from evlearn.neighbors import find_neighbors

CRITERIA = ["auto", "peaks", "eknnclus", "stability", "silhouette", "nonspecificity", "objective", "stress"]


@pytest.fixture(scope="module")
def fourclass():
    return make_fourclass(400, random_state=0)[0]


@pytest.fixture(scope="module")
def separated():
    """Return data with 4 well-separated clusters."""
    random = np.random.RandomState(0)
    return np.vstack([random.normal(center, 0.3, size=(40, 2)) for center in ((0, 0), (9, 0), (0, 9), (9, 9))])


def table(reference_file, name, n_columns):
    return np.loadtxt(reference_file(f"data/{name}.csv"), delimiter=",", skiprows=1, usecols=range(n_columns))


# The recommended default


@pytest.mark.slow
def test_the_default_finds_the_four_clusters_of_fourclass_with_every_seed(reference_file):
    X = table(reference_file, "fourclass", 2)
    assert [select_n_clusters(ECM(), X, random_state=seed).best for seed in range(5)] == [4] * 5


@pytest.mark.slow
def test_the_default_finds_2_or_3_clusters_in_iris():
    X = load_iris().data
    assert {select_n_clusters(ECM(), X, random_state=seed).best for seed in range(5)} <= {2, 3}


@pytest.mark.slow
def test_the_default_finds_the_four_families_of_proteins_with_every_seed(reference_file):
    with np.load(reference_file("data/protein_D.npz")) as file:
        D = file["D"]
    model = EVCLUS(metric="precomputed")
    assert [select_n_clusters(model, D, random_state=seed).best for seed in range(5)] == [4] * 5


@pytest.mark.slow
def test_the_default_finds_the_fifteen_clusters_of_s2(reference_file):
    selection = select_n_clusters(ECM(), table(reference_file, "s2", 2), range(2, 21), n_repeats=3, random_state=0)
    assert selection.best == 15
    assert selection.confidence > 0.5


def test_votes_agree_for_separated_clusters_and_disagree_for_noise(separated):
    noise = np.random.RandomState(0).uniform(size=(300, 2))
    sure, unsure = (select_n_clusters(ECM(), X, random_state=0) for X in (separated, noise))
    assert (sure.best, sure.confidence) == (4, 1.0)
    assert unsure.confidence < 0.5


@pytest.mark.slow
def test_numbers_with_at_least_60_percent_of_votes_are_correct(reference_file):
    for name, n_columns, n_classes, is_reliable in (
        ("wine", 13, 3, True),
        ("wdbc", 30, 2, True),
        ("r15", 2, 15, False),
        ("aggregation", 2, 7, False),
        ("flame", 2, 2, False),
        ("jain", 2, 2, False),
    ):
        X = table(reference_file, name, n_columns)
        X = X if n_columns == 2 else StandardScaler().fit_transform(X)  # features of different units
        selection = select_n_clusters(ECM(), X, range(2, 21), random_state=0)
        assert (selection.best == n_classes) == is_reliable, name
        assert (selection.confidence >= 0.6) == is_reliable, name


# Criteria


@pytest.mark.parametrize(
    "criterion", [pytest.param(name, marks=[] if name == "stability" else pytest.mark.slow) for name in CRITERIA]
)
@pytest.mark.slow
def test_all_criteria_find_separated_clusters(separated, criterion):
    # The stress requires distant pairs for all numbers of clusters, so d0 is fixed.
    model = EVCLUS(d0=9.0)
    selection = select_n_clusters(model, separated, range(2, 7), criterion=criterion, n_repeats=3, random_state=0)
    assert selection.best == 4, str(selection)


@pytest.mark.slow
def test_nonspecificity_of_fourclass_is_that_of_the_specification(reference_file):
    X = table(reference_file, "fourclass", 2)
    model = ECM(alpha=2, delta=20**0.5, n_init=20, random_state=0, focal_sets="full", beta=2, init="k-means++")
    selection = select_n_clusters(model, X, range(2, 7), criterion="nonspecificity", n_repeats=1, sample_size=1.0)
    np.testing.assert_allclose(selection.curve, [0.2475, 0.2358, 0.2285, 0.2626, 0.3092], atol=1e-3)
    assert selection.best == 4


def test_peaks_of_all_samples_are_those_of_the_graph(fourclass):
    selection = select_n_clusters(ECM(), fourclass, range(1, 11), criterion="peaks", n_repeats=1, sample_size=1.0)
    graph = belief_peaks(fourclass)
    np.testing.assert_array_equal(selection.curves[0], graph.gaps[:10])
    assert selection.best == len(graph.peaks())


@pytest.mark.parametrize("kind", ["plain", "copies", "wide", "far", "few"])
@pytest.mark.parametrize("sample_size", ["auto", 0.5, 1.0])
def test_a_shared_search_for_neighbors_gives_the_same_curves(fourclass, kind, sample_size):
    random = np.random.RandomState(0)
    X = {
        "plain": fourclass,
        "copies": np.repeat(fourclass[:150], 3, axis=0),
        "wide": make_blobs(300, 30, centers=5, random_state=0)[0],
        "far": fourclass + 1e6,
        "few": fourclass[:12],
    }[kind]
    model = ECM() if kind != "few" else EKNNClus(n_neighbors=4)
    settings = {"n_repeats": 8, "sample_size": sample_size, "fit_params": {}, "random": random, "reseed": True}
    samples = draw_subsamples(model, X, **settings)
    shared = share_neighbors(samples, None)
    assert all(sample.neighbors is not None for sample in shared)
    criteria = [module.eknnclus] if kind == "copies" else [module.eknnclus, module.peaks]
    for criterion in criteria:  # neighbors at equal distances, which are arbitrary, change the graph of peaks
        for first, second in zip(samples, shared, strict=True):
            curves = [criterion(sample, range(1, 20)) for sample in (first, second)]
            np.testing.assert_allclose(*curves, rtol=1e-9, atol=1e-12)


def test_samples_with_few_neighbors_in_a_subsample_are_searched():
    # The nearest neighbors of the first half are not in the subsample.
    X = np.random.RandomState(0).normal(size=(300, 2)) * 0.1 + np.repeat([[0, 0], [9, 9]], 150, axis=0)
    rows = np.r_[:10, 150:300]
    expected = find_neighbors(X[rows], 20, metric="euclidean", n_jobs=None, keep=True).sort()
    table = find_neighbors(X, 40, metric="euclidean", n_jobs=None, keep=True).sort()
    np.testing.assert_array_equal(table.select(rows, 20).sort().indices, expected.indices)
    np.testing.assert_array_equal(table.select(rows, 20).sort().distances, expected.distances)


def test_eknnclus_uses_its_own_parameters(fourclass):
    model = EKNNClus(n_neighbors=20, q=0.5)
    selection = select_n_clusters(
        model, fourclass, range(1, 41), criterion="eknnclus", n_repeats=2, random_state=0
    )
    other = select_n_clusters(ECM(), fourclass, range(1, 41), criterion="eknnclus", n_repeats=2, random_state=0)
    assert all(first > second for first, second in zip(selection.choices, other.choices, strict=True))


def test_bic_is_that_of_the_mixture_and_needs_no_bootstrap():
    X = load_iris().data
    mixture = ParsimoniousGaussianMixture(range(1, 4), covariance_models="VEV", random_state=0).fit(X)
    for model in (
        ParsimoniousGaussianMixture(covariance_models="VEV", random_state=0),
        BootClus(covariance_models="VEV", n_bootstrap=10**6, random_state=0),
    ):
        selection = select_n_clusters(model, X, range(1, 4), criterion="bic", n_repeats=1, sample_size=1.0)
        np.testing.assert_allclose(selection.curve, mixture.bic_table_[0], rtol=1e-6)
        assert selection.best == 2
        assert selection.name == "n_components"
    selection = select_n_clusters(
        GaussianMixture(random_state=0), X, range(1, 5), criterion="bic", n_repeats=1, sample_size=1.0
    )
    assert selection.best == 2


def test_held_out_stress_uses_pairs_outside_the_subsample():
    X = make_fourclass(120, random_state=1)[0]
    D = pairwise_distances(X)
    kwargs = {"criterion": "stress", "n_repeats": 2, "random_state": 0, "sample_size": 80}
    model = EVCLUS(d0=5.0)
    rows, matrix = (
        select_n_clusters(model.set_params(metric=metric), data, range(2, 5), **kwargs)
        for metric, data in (("euclidean", X), ("precomputed", D))
    )
    np.testing.assert_allclose(rows.curves, matrix.curves, rtol=1e-6)
    # The fits do not depend on the samples outside the subsamples.
    training = select_n_clusters(
        EVCLUS(d0=5.0, random_state=0), X, range(2, 5), criterion="objective", n_repeats=1
    )
    assert (rows.curve > training.curve).all()


@pytest.mark.slow
def test_scikit_learn_clusterers_support_criteria_of_labels(separated):
    for model in (KMeans(n_init=3), AgglomerativeClustering()):
        for criterion in ("auto", "stability", "silhouette", "peaks"):
            selection = select_n_clusters(
                model, separated, range(2, 7), criterion=criterion, n_repeats=3, random_state=0
            )
            assert selection.best == 4, (model, criterion)
    D = pairwise_distances(separated)
    model = AgglomerativeClustering(metric="precomputed", linkage="average")
    for criterion in ("auto", "stability", "silhouette"):
        assert select_n_clusters(model, D, criterion=criterion, n_repeats=2, random_state=0).best == 4, criterion


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ("nonspecificity", r"needs an estimator with credal_partition_ after its fit, got KMeans.*stability"),
        ("objective", "needs an estimator with objective_"),
        ("bic", "needs an estimator with bic .* use a mixture or BootClus"),
        (
            "stress",
            r"criterion=\"stress\" requires EVCLUS, got KMeans\(\); use EVCLUS, or use criterion=\"stability\"",
        ),
    ],
)
def test_unsupported_clusterers_raise_an_error(separated, criterion, message):
    with pytest.raises(ValueError, match=message):
        select_n_clusters(KMeans(), separated, range(2, 5), criterion=criterion, n_repeats=1)


# Samples


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_workers(fourclass):
    for criterion in ("auto", "stability"):
        sequential, parallel = (
            select_n_clusters(
                ECM(n_init=1),
                fourclass,
                range(2, 5),
                criterion=criterion,
                n_repeats=3,
                random_state=1,
                n_jobs=n_jobs,
            )
            for n_jobs in (1, 2)
        )
        np.testing.assert_array_equal(sequential.curves, parallel.curves)


def test_a_seed_repeats_the_result_and_another_changes_it(fourclass):
    curves = [
        select_n_clusters(ECM(), fourclass, criterion="peaks", n_repeats=2, random_state=seed).curves
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(curves[0], curves[1])
    assert (curves[0] != curves[2]).any()


@pytest.mark.slow
def test_the_estimator_stays_as_it_is(fourclass):
    model = ECM(random_state=3)
    select_n_clusters(model, fourclass[:80], [2, 3], criterion="nonspecificity", n_repeats=2, random_state=0)
    assert model.get_params() == ECM(random_state=3).get_params()
    assert not hasattr(model, "masses_")


@pytest.mark.slow
def test_frames_lists_and_pipelines_are_read(fourclass):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(fourclass, columns=["a", "b"])
    kwargs = {"criterion": "nonspecificity", "n_repeats": 2, "random_state": 0}
    plain = select_n_clusters(ECM(), StandardScaler().fit_transform(fourclass), [2, 3], **kwargs)
    for X in (frame, fourclass.tolist()):
        selection = select_n_clusters(make_pipeline(StandardScaler(), ECM()), X, [2, 3], **kwargs)
        np.testing.assert_allclose(selection.curves, plain.curves, rtol=1e-6)


@pytest.mark.slow
def test_constraints_require_fits_to_all_samples(fourclass):
    constraints = PairwiseConstraints([(0, 1)], [(0, 399)])
    kwargs = {"criterion": "objective", "n_repeats": 1, "fit_params": {"constraints": constraints}}
    model = EVCLUS(random_state=0, max_iter=3, tol=1.0)
    free = select_n_clusters(model, fourclass, [2, 3, 4], criterion="objective", n_repeats=1, sample_size=1.0)
    bound = select_n_clusters(model, fourclass, [2, 3, 4], sample_size=1.0, **kwargs)
    assert (free.curves != bound.curves).all()
    with pytest.raises(ValueError, match=r"fit_params=\['constraints'\] are for all samples"):
        select_n_clusters(model, fourclass, [2, 3, 4], **kwargs)


def test_an_interruption_keeps_completed_subsamples(fourclass, monkeypatch):
    seeds = []

    def interrupted_peaks(sample, numbers):
        if len(seeds) == 3:
            raise KeyboardInterrupt
        seeds.append(sample.seed)
        return np.arange(len(numbers), dtype=float)

    criterion = module.CRITERIA["peaks"]
    monkeypatch.setitem(module.CRITERIA, "peaks", type(criterion)("gap", "largest", 1, at_once=interrupted_peaks))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        selection = select_n_clusters(ECM(), fourclass, [2, 3, 4], criterion="peaks", random_state=0)
    assert len(selection.curves) == 3
    assert selection.best == 4


def test_progress_is_printed(fourclass, capsys):
    select_n_clusters(ECM(), fourclass, criterion="peaks", n_repeats=2, verbose=1)
    assert capsys.readouterr().out.splitlines()[-1] == "select n_clusters task    2 of 2"


# Other parameters


@pytest.mark.slow
def test_other_parameters_are_selected_by_the_same_procedure(fourclass):
    model = ECM(n_clusters=4, random_state=0)
    selection = select_parameter(model, fourclass, "delta", [8.0, 2.0, 4.0], n_repeats=1, sample_size=1.0)
    expected = [
        ECM(n_clusters=4, delta=delta, random_state=0).fit(fourclass).credal_partition_.nonspecificity()
        for delta in (2.0, 4.0, 8.0)
    ]
    np.testing.assert_array_equal(selection.values, [2.0, 4.0, 8.0])
    np.testing.assert_array_equal(selection.curve, expected)
    assert selection.best == [2.0, 4.0, 8.0][int(np.argmin(expected))]
    numbers = select_parameter(ECM(), fourclass, "n_clusters", range(2, 8), criterion="auto", random_state=0)
    reference = select_n_clusters(ECM(), fourclass, range(2, 8), random_state=0)
    np.testing.assert_array_equal(numbers.curves, reference.curves)


# The result


@given(st.lists(st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_best_value_has_the_most_votes_and_shares_add_up_to_one(curves):
    selection = ParameterSelection("n_clusters", np.arange(2, 6), np.array(curves), "x", "smallest")
    assert selection.votes.sum() == len(curves)
    assert selection.shares.sum() == pytest.approx(1.0)
    assert selection.choices.count(selection.best) == selection.votes.max()
    assert selection.confidence == selection.votes.max() / len(curves)
    np.testing.assert_allclose(selection.curve, np.mean(curves, axis=0), atol=1e-12)
    np.testing.assert_allclose(selection.spread, np.std(curves, axis=0), atol=1e-7)


@pytest.mark.parametrize(
    ("curve", "elbow"),
    [
        ([8.0, 2.0, 1.0, 0.0], 3),  # farthest below the line from (2, 8) to (5, 0)
        ([9.0, 6.0, 3.0, 0.0], None),  # the line itself
        ([9.0, 8.0, 7.0, 0.0], None),  # above it
        ([9.0, np.nan, 1.0, 0.0], 4),
    ],
)
def test_an_elbow_is_what_is_farthest_below_the_line_from_the_first_to_the_last(curve, elbow):
    selection = ParameterSelection("n_clusters", np.arange(2, 6), np.array([curve]), "x", "elbow")
    assert selection.choices == [elbow]


def test_subsamples_without_a_vote_count_against_the_suggestion():
    curves = np.array([[0, 1.0, 0], [np.nan] * 3, [0, 1.0, 0], [1.0, 0, 0]])
    selection = ParameterSelection("n_clusters", np.arange(2, 5), curves, "share of votes", "largest")
    assert selection.choices == [3, None, 3, 2]
    assert (selection.best, selection.confidence) == (3, 0.5)
    assert repr(selection) == "ParameterSelection(n_clusters=3, chosen by 2 of 4, criterion='share of votes')"
    np.testing.assert_array_equal(selection.curve, selection.shares)
    np.testing.assert_array_equal(selection.curve, [0.25, 0.5, 0.0])
    np.testing.assert_allclose(selection.spread**2, selection.shares * (1 - selection.shares))
    assert "0.5   2 of 4   <- suggested" in str(selection)
    assert str(selection).splitlines()[-1].split() == ["none", "of", "them", "1", "of", "4"]
    assert "±" not in str(selection)
    no_votes = ParameterSelection("n_clusters", np.arange(2, 5), curves[1:2], "share of votes", "largest")
    assert (no_votes.best, no_votes.confidence) == (None, 0)
    np.testing.assert_array_equal(no_votes.curve, [0, 0, 0])


def make_selection(*votes, name="n_clusters"):
    """Return a selection with these numbers of votes for 2, 3, ...; the last number is that of no votes."""
    places = np.repeat(np.arange(len(votes)), votes)
    curves = np.where((places < len(votes) - 1)[:, None], places[:, None] == np.arange(len(votes) - 1), np.nan)
    return ParameterSelection(name, np.arange(2, len(votes) + 1), curves, "share of votes", "largest")


def test_a_weak_vote_is_the_first_line_of_the_text():
    # 4 clusters with 32.5 % of the votes, for data with 5 clusters.
    weak = make_selection(2, 1, 13, 4, 20)
    assert str(weak).splitlines()[0] == (
        "Warning: The number of clusters is uncertain: 4 got 32 %, 5 got 10 %, 2 got 5 % of the votes. Compare "
        "the results of these values, and choose one by what you know about the data."
    )
    assert (
        make_selection(1, 23, 16)
        .problems[0]
        .startswith("The number of clusters is uncertain: 3 got 57 %, 2 got 2 % of")
    )
    assert (
        "3 got 40 % of the votes. Compare it with other values, and choose" in make_selection(0, 4, 6).problems[0]
    )
    assert (
        make_selection(1, 2, 2, name="q")
        .problems[0]
        .startswith("The choice of q is uncertain: 3 got 40 %, 2 got 20 %")
    )
    assert make_selection(0, 0, 5).problems == (
        "The number of clusters is unknown: no subsample chose one. Try other values, or choose one yourself.",
    )
    strong = make_selection(3, 6, 1)
    assert strong.problems == ()
    assert str(strong).split()[0] == "n_clusters"


def test_subsamples_without_a_vote_lower_all_shares():
    # 6 clusters in a row, with only 2 and 3 as candidate numbers.
    X = np.random.default_rng(0).normal(size=(180, 2)) * 0.1 + np.repeat(np.arange(6), 30)[:, None]
    selection = select_n_clusters(ECM(), X, [2, 3], n_repeats=2, random_state=0)
    assert selection.votes.sum() < len(selection.curves)
    np.testing.assert_array_equal(selection.curve, selection.shares)
    assert selection.confidence == selection.curve.max()
    assert "none of them" in str(selection)


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion": "gap"}, r"criterion must be one of \['auto', 'nonspecificity'.*got 'gap'"),
        ({"n_repeats": 0}, "n_repeats must be a whole number of at least 1, got 0"),
        ({"n_clusters": 4}, r"n_clusters must be the numbers to compare, got 4; give several whole numbers"),
        ({"n_clusters": [2, 2]}, r"n_clusters must be different numbers, got \[2, 2\]"),
        ({"n_clusters": [1, 2], "criterion": "silhouette"}, "at least 2, got 1"),
        ({"n_clusters": [2, 3], "criterion": "objective"}, r"at least 3 .* got \[2, 3\]"),
        ({"sample_size": 1.5}, "sample_size must be a number above 0 and at most 1, got 1.5"),
        ({"sample_size": 1}, "sample_size must be .* at least 2, got 1"),
        (
            {"sample_size": 1.0, "criterion": "stress"},
            "requires samples outside the subsamples; use a sample_size below 1.0",
        ),
        ({"estimator": ECM}, r"estimator must be an estimator such as ECM\(\)"),
        ({"estimator": EKNNClus(), "criterion": "stability"}, "must have a parameter n_clusters, got EKNNClus"),
        ({"estimator": BPEC(min_bel=0.5), "criterion": "stability"}, "could not be fitted with n_clusters=2"),
        ({"X": "rows.parquet"}, "X is str, from which no subsample can be drawn; set sample_size=1.0"),
    ],
)
def test_errors_name_the_parameter_and_its_value(fourclass, arguments, message):
    inputs = {"estimator": EVCLUS(), "X": fourclass[:60], **arguments}
    with pytest.raises(ValueError, match=message):
        select_n_clusters(inputs.pop("estimator"), inputs.pop("X"), **inputs)


def test_criteria_of_cluster_numbers_do_not_support_other_parameters(fourclass):
    with pytest.raises(ValueError, match="criterion='peaks' counts clusters and does not depend on delta"):
        select_parameter(ECM(), fourclass, "delta", [1.0, 2.0], criterion="peaks")
    with pytest.raises(ValueError, match=r"estimator must be an estimator such as ECM\(\)"):
        select_parameter(ECM, fourclass, "delta", [1.0, 2.0])
    with pytest.raises(ValueError, match="must have a parameter gamma"):
        select_parameter(ECM(), fourclass, "gamma", [1.0, 2.0])
    with pytest.raises(ValueError, match="each of delta must be a number"):
        select_parameter(ECM(), fourclass, "delta", ["x"])


# Results without information


@pytest.mark.slow
def test_partitions_that_are_always_alike_are_not_stable(separated):
    model = DBSCAN()
    selection = select_parameter(
        model, separated, "eps", [1e-9, 1.0, 100.0], criterion="stability", random_state=0
    )
    assert selection.best == 1.0
    assert np.isnan(selection.curves[:, [0, 2]]).all()
    single = select_n_clusters(ECM(), separated[::16], [3], criterion="stability", sample_size=3, random_state=0)
    assert single.best is None


def test_identical_samples_suggest_no_number():
    assert select_n_clusters(ECM(), np.ones((30, 2)), [2, 3, 4], random_state=0).best is None


@pytest.mark.parametrize("name", ["masses.npy", "masses.parquet"])
def test_a_search_does_not_write_to_the_files_of_the_user(name, separated, tmp_path):
    path = tmp_path / name
    model = ECM(store_masses=path, checkpoint=tmp_path / "state.npz")
    selection = select_n_clusters(model, separated, [3, 4], criterion="stability", n_repeats=2, random_state=0)
    assert selection.best == 4
    assert not list(tmp_path.iterdir())
