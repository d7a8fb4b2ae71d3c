"""ECM and BPEC compared with the R package, from its starts, and with published tables."""

import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import belief as bf
from evlearn import papers
from evlearn.cluster import AdaptiveMetric, FocalFamily
from evlearn.datasets import load_butterfly

pytestmark = pytest.mark.filterwarnings(
    "ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning"  # R's number of iterations
)

ECM_CASES = [
    "ecm_butterfly_c2_full",
    "ecm_butterfly_c2_full_delta5_tight",
    "ecm_fourclass_c4_full",
    "ecm_fourclass_c4_pairs_alpha3_noOmega",
    "ecm_fourclass_c4_pairs_noOmega",
    "ecm_fourclass_c4_simple",
    "ecm_iris_c3_full",
    "ecm_iris_c3_full_tight",
    "ecm_iris_c3_simple_alpha2_beta1.5",
    "ecm_s2_c15_simple",
]
BPEC_CASES = [
    "bpec_butterfly_full_d5_euclid",
    "bpec_fourclass_full_d3_euclid",
    "bpec_fourclass_pairs_d3_mahal",
    "bpec_iris_full_d3_mahal",
]


def read_table(reference_file, name):
    table = np.genfromtxt(reference_file(f"data/{name}.csv"), delimiter=",", names=True)
    columns = [
        column for column in table.dtype.names if column != "y" and not np.isnan(table[column]).any()
    ]  # names are text
    return np.column_stack([table[column] for column in columns]), table["y"] if "y" in table.dtype.names else None


@pytest.fixture
def case(reference_file, reference):
    """Return a case of R: data, arrays, and the common settings."""

    def load(name):
        arrays = reference(name).arrays
        facts = json.loads(reference_file(f"{name}.json").read_text())
        F = arrays["F"].astype(int)
        masses, focal_sets = bf.reorder_masses(arrays["mass"], F, F.shape[1])
        settings = {parameter: facts["parameters"][parameter] for parameter in ("alpha", "beta", "delta")}
        settings |= {"focal_sets": focal_sets, "tol": 0}
        X = read_table(reference_file, name.split("_")[1])[0]
        return X, arrays, masses, settings, facts["scalars"]["iterations"], facts["parameters"]

    return load


@pytest.mark.parametrize("name", ECM_CASES)
def test_the_same_start_gives_the_masses_the_prototypes_and_the_objectives_of_r(case, name):
    X, arrays, masses, settings, n_iter, _ = case(name)
    # The masses that R returns are one iteration older than its prototypes.
    model = papers.ecm(len(arrays["g0"]), init=arrays["g0"], max_iter=n_iter - 1, **settings).fit(X)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.objective_history_, arrays["J_trace"], rtol=1e-12)
    later = model.set_params(max_iter=n_iter).fit(X)
    np.testing.assert_allclose(later.cluster_centers_, arrays["g"], rtol=0, atol=1e-12)
    if "newx" in arrays:
        predicted, _ = bf.reorder_masses(arrays["mass_pred"], arrays["F"].astype(int), later.n_clusters)
        np.testing.assert_allclose(later.predict_mass(arrays["newx"]).masses, predicted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ECM_CASES)
def test_labels_and_nonspecificity_are_those_of_r(case, reference, name):
    X, arrays, _, settings, n_iter, _ = case(name)
    model = papers.ecm(len(arrays["g0"]), init=arrays["g0"], max_iter=n_iter - 1, **settings).fit(X)
    assert model.credal_partition_.nonspecificity() == pytest.approx(reference(name).scalars["N"], abs=1e-12)
    # R selects randomly among labels whose plausibilities differ by less than 1e-5.
    plausibility = model.credal_partition_.to_possibilistic()
    chosen = np.take_along_axis(plausibility, arrays["y_pl_1b"].reshape(-1, 1) - 1, axis=1)[:, 0]
    np.testing.assert_allclose(chosen, plausibility.max(axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", BPEC_CASES)
def test_the_same_peaks_give_the_masses_the_metrics_and_the_objectives_of_r(case, name):
    X, arrays, masses, settings, n_iter, r_settings = case(name)
    metric = "adaptive" if r_settings["distance"] else "euclidean"
    model = papers.bpec(
        init=arrays["g"], metric=AdaptiveMetric(0) if metric == "adaptive" else metric, max_iter=n_iter, **settings
    ).fit(X)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.objective_history_, arrays["J_trace"], rtol=1e-12)
    np.testing.assert_allclose(model.cluster_centers_, arrays["g"], rtol=1e-14, atol=1e-14)
    if metric == "adaptive":
        F = arrays["F"][1:]
        metrics = np.einsum("jk,kde->dej", F, model.metrics_) / F.sum(axis=1)
        np.testing.assert_allclose(metrics, arrays["S"], rtol=0, atol=1e-12 * np.abs(arrays["S"]).max())


def test_butterfly_example_of_the_bootclus_paper():
    # Its 11 samples are those without the outlier; its table contains masses on the left wing, the right wing and
    # both.
    model = papers.ecm(2, delta=100, tol=1e-10, random_state=0).fit(load_butterfly().data[:11])
    partition = model.credal_partition_
    if model.labels_[0] == 0:
        partition = partition.permute_clusters([1, 0])
    np.testing.assert_allclose(partition.masses[3, 1:], [0.049, 0.863, 0.088], rtol=0, atol=0.001)
    np.testing.assert_allclose(partition.masses[4, 1:], [0.074, 0.558, 0.368], rtol=0, atol=0.005)
    assert model.objective_ == pytest.approx(17.8024, abs=5e-5)


def count_by_class(y, masses):
    """Return the number of samples of each class (row) with their largest mass on each set."""
    largest = masses.argmax(axis=1)
    return np.array([np.bincount(largest[y == label], minlength=masses.shape[1]) for label in np.unique(y)])


def published(reference_file, name):
    path = reference_file(f"seed_tables/{name}.csv")
    return np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:].astype(int)


def test_iris_table_of_the_bootclus_paper_up_to_one_sample(reference_file):
    X, y = read_table(reference_file, "iris")
    start = np.array([X[y == label].mean(axis=0) for label in (1, 2, 3)])  # clusters in the order of the classes
    model = papers.ecm(3, focal_sets=[(0,), (1,), (2,), (1, 2)], delta=100, init=start, tol=1e-9).fit(X)
    assert model.objective_ == pytest.approx(48.2808, abs=5e-5)
    counts = count_by_class(y, model.masses_)
    assert (counts[:, 0] == 0).all()
    differences = counts[:, 1:] - published(reference_file, "bootclus_table07")
    np.testing.assert_array_equal(differences, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, -1]])


@pytest.mark.parametrize("seed", range(3))
def test_diabetes_table_of_the_bootclus_paper(reference_file, seed):
    X, y = read_table(reference_file, "diabetes_mclust")
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    model = papers.ecm(
        3, focal_sets=FocalFamily("neighbor_pairs", include_omega=False), delta=100, random_state=seed
    ).fit(X)
    assert model.objective_ == pytest.approx(57.3527, abs=0.0005)
    # Clusters are identified with the class of most of their samples.
    order = [np.bincount(model.labels_[y == label], minlength=3).argmax() for label in (2, 3)]
    order = [({0, 1, 2} - set(order)).pop(), *order]
    partition = model.credal_partition_.permute_clusters(order)
    assert [tuple(focal_set) for focal_set in partition.focal_sets] == [(), (0,), (1,), (2,), (0, 1)]
    counts = count_by_class(y, partition.masses)
    assert (counts[:, 0] == 0).all()
    np.testing.assert_array_equal(counts[:, 1:], published(reference_file, "bootclus_table11"))


@pytest.mark.parametrize(("name", "index"), [("wine", 0.85), ("seeds", 0.73), ("iris", 0.62)])
@pytest.mark.parametrize("seed", range(3))
def test_published_agreement_with_the_classes(reference_file, name, index, seed):
    X, y = read_table(reference_file, name)
    model = papers.ecm(3, focal_sets=FocalFamily("pairs", include_omega=False), delta=5, random_state=seed)
    labels = model.fit_predict(StandardScaler().fit_transform(X))
    # With one of the seeds, a sample is equally plausible in 2 clusters: 0.730 or 0.741.
    assert adjusted_rand_score(y, labels) == pytest.approx(index, abs=0.0115)


@pytest.mark.slow
def test_nonspecificity_is_smallest_with_the_right_number_of_clusters(reference_file):
    X, _ = read_table(reference_file, "fourclass")
    values = [
        papers.ecm(c, alpha=2, delta=20**0.5, n_init=5, max_iter=2000, random_state=0)
        .fit(X)
        .credal_partition_.nonspecificity()
        for c in range(2, 7)
    ]
    assert np.argmin(values) == 4 - 2
    np.testing.assert_allclose(values[:3], [0.2475, 0.2358, 0.2285], rtol=0, atol=0.001)
    # With too many clusters there are several minima with nearly the same objective.
    np.testing.assert_allclose(values[3:], [0.2626, 0.3092], rtol=0, atol=0.02)
