"""EVCLUS compared with the R package, from its starts, and with published tables."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import belief as bf
from evlearn.cluster import EVCLUS, Quantile
from evlearn.cluster.pairwise.pair_graph import draw_partners
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import load_butterfly
from evlearn.utils.parameters import with_switches

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # S2 with the quantile of the papers causes this warning.
    pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning"),
]


def read_table(reference_file, name):
    table = np.genfromtxt(reference_file(f"data/{name}.csv"), delimiter=",", names=True)
    # Columns of text are read as NaN.
    columns = [column for column in table.dtype.names if column != "y" and not np.isnan(table[column]).any()]
    return np.column_stack([table[column] for column in columns]), table["y"] if "y" in table.dtype.names else None


@pytest.fixture
def data(reference_file):
    def load(name):
        if name == "protein":
            with np.load(reference_file("data/protein_D.npz")) as file:
                return file["D"], file["y"].ravel()
        return read_table(reference_file, name)

    return load


CASES = {
    "kevclus_butterfly_c2_full": ("butterfly", {}),
    "kevclus_fourclass_c4_simple_k100_DJ": ("fourclass", {}),
    "kevclus_fourclass_c4_selpairs_k100_DJ": ("fourclass", {}),
    "kevclus_iris_c3_full_fullD": ("iris", {}),
    "kevclus_protein_c4_simple_fullD": ("protein", {"metric": "precomputed", "d0": 13.64}),
    "kevclus_protein_c4_full_fullD": ("protein", {"metric": "precomputed", "d0": 13.64}),
    "kevclus_s2_c15_simple_k100_DJ": ("s2", {}),
}


def like_r(case, data, **settings):
    """Return EVCLUS with the start, partners, order and number of sweeps of R, the data, and the masses of R."""
    arrays = case.arrays
    start, focal_sets = bf.reorder_masses(arrays["m0"], arrays["F"].astype(int), arrays["F"].shape[1])
    model = EVCLUS(
        focal_sets.frame_size,
        focal_sets=focal_sets,
        init=start,
        n_partners=arrays["J_1b"] - 1 if "J_1b" in arrays else "all",
        tol=0,
        max_iter=case.scalars["iterations"],
        **({"d0": Quantile(0.9)} | settings),
    )
    with_switches(model, pair_update="own", shuffle=False)
    return model, data, bf.reorder_masses(arrays["mass"], arrays["F"].astype(int), focal_sets.frame_size)[0]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow_cells("kevclus_s2_c15_simple_k100_DJ")
def test_same_start_and_partners_give_the_masses_and_the_stress_of_r(reference, data, name):
    case = reference(name)
    source, settings = CASES[name]
    model, X, masses = like_r(case, data(source)[0], **settings)
    model.fit(X)
    assert model.objective_ == pytest.approx(case.scalars["stress_final_masses"], rel=1e-6)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow_cells("kevclus_s2_c15_simple_k100_DJ")
def test_the_stopping_rule_of_the_papers_ends_where_r_does(reference, data, name):
    case = reference(name)
    source, settings = CASES[name]
    model, X, masses = like_r(case, data(source)[0], **settings)
    with_switches(model.set_params(max_iter=1000, tol=1e-5), stopping="average").fit(X)
    assert model.n_iter_ == case.scalars["iterations"]
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-4)


def test_the_objective_of_r_norm_2_is_the_mean_squared_difference(reference, data):
    case = reference("kevclus_butterfly_c2_full_norm2")
    model, X, masses = like_r(case, data("butterfly")[0], loss="mse")
    model.fit(X)
    assert model.objective_ == pytest.approx(case.scalars["crit"], rel=1e-4)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "source", "weight"),
    [
        ("kcevclus_butterfly_c2_full", "butterfly", 0.3),
        ("kcevclus_bananas200_c2_full_200const", "bananas_n200_seed7", 0.5),
        ("kcevclus_iris_c3_full_100const", "iris", 0.5),
    ],
)
def test_constrained_fits_reach_the_objective_and_the_masses_of_r(reference, data, name, source, weight):
    case = reference(name)
    model, X, masses = like_r(case, data(source)[0])
    constraints = PairwiseConstraints(case.arrays["ML_1b"] - 1, case.arrays["CL_1b"] - 1)
    # R starts with the full weight.
    with_switches(model.set_params(constraint_weight=weight), constraint_schedule=(weight,)).fit(
        X, constraints=constraints
    )
    with_switches(model.set_params(max_iter=1000, tol=1e-5), stopping="average")
    n_sweeps = model.fit(X, constraints=constraints).n_iter_
    assert n_sweeps == case.scalars["iterations"]
    assert model.stress_ == pytest.approx(case.scalars["stress_part_final"], rel=1e-4)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-4)


def test_butterfly_table_of_the_nnevclus_paper(reference_file):
    table = np.genfromtxt(reference_file("seed_tables/nnevclus_table01.csv"), delimiter=",", names=True)
    published = np.column_stack([table[name] for name in ("m_empty", "m_w1", "m_w2", "m_omega")])
    for seed in range(5):
        model = EVCLUS(2, focal_sets="full", d0=11, random_state=seed, tol=1e-9).fit(load_butterfly().data)
        partition = model.credal_partition_
        if model.labels_[0] == 0:  # the right wing is the first cluster of the paper
            partition = partition.permute_clusters([1, 0])
        np.testing.assert_allclose(partition.masses, published, rtol=0, atol=0.01)


@pytest.mark.slow
def test_protein_has_the_published_agreement_and_stress(data):
    D, y = data("protein")
    settings = {"metric": "precomputed", "d0": D.max()}
    # One sample is nearly equally plausible in 2 clusters, and only precise fits of several starts agree about it.
    for seed in range(2):
        model = EVCLUS(4, n_init=5, tol=1e-9, max_iter=20_000, random_state=seed, **settings).fit(D)
        assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.989, abs=0.0005)
        assert model.objective_ <= 0.002365
    models = [EVCLUS(4, random_state=seed, **settings).fit(D) for seed in range(5)]
    assert all(model.objective_ <= 0.002365 for model in models)
    assert all(adjusted_rand_score(y, model.labels_) > 0.97 for model in models)


def test_fourclass_has_the_published_loss(data):
    X, _ = data("fourclass")
    # In the paper, each sample draws 100 partners, and about 100 other samples draw it.
    for seed in range(3):
        partners = draw_partners(len(X), 100, np.random.RandomState(seed))
        model = EVCLUS(4, focal_sets="pairs", d0=Quantile(0.9), n_partners=partners, loss="mse", random_state=seed)
        model.fit(X)
        assert 0.0045 <= model.objective_ <= 0.00495  # exact descent ends slightly below R


@pytest.mark.parametrize(
    ("name", "quantile", "standardized", "published"),
    [("wine", 0.9, True, 0.915), ("seeds", 0.9, True, 0.811), ("iris", 0.6, False, 0.771)],
)
def test_published_agreement_with_the_classes(data, name, quantile, standardized, published):
    X, y = data(name)
    X = StandardScaler().fit_transform(X) if standardized else X
    model = EVCLUS(3, focal_sets="full", d0=Quantile(quantile), n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(published, abs=0.02)


def test_reference_fits_report_too_few_sweeps(reference, data):
    model, X, _ = like_r(reference("kevclus_butterfly_c2_full"), data("butterfly")[0])
    with pytest.warns(ConvergenceWarning, match="max_iter=22"):
        model.fit(X)
