"""Models with many clusters compute lists of masses, which are those of the arrays."""

import numpy as np
import pytest
from joblib import parallel_config

from evlearn.belief import FocalSets
from evlearn.cluster import CCM, ECM, FocalFamily
from evlearn.cluster.centroids import model as models
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.sparse_rows import SparseRows

N_CLUSTERS, N_FEATURES = 120, 80
RANDOM = np.random.RandomState(0)
CENTERS = 2 * RANDOM.normal(size=(N_CLUSTERS, N_FEATURES))
LABELS = RANDOM.randint(N_CLUSTERS, size=3000)
ROWS = CENTERS[LABELS] + RANDOM.normal(size=(3000, N_FEATURES))
ROWS[:30] = RANDOM.uniform(-6, 6, size=(30, N_FEATURES))
ROWS[30:60] = (CENTERS[0] + CENTERS[1]) / 2 + RANDOM.normal(size=(30, N_FEATURES)) / 9
PAIRS = sorted({(0, 1)} | {(k, k + 1 + k % 3) for k in range(N_CLUSTERS - 4)})


def make_model(method, beta=1.02, rule=True):
    """Return a model with pairs of clusters."""
    sets = FocalSets.pairs(N_CLUSTERS, [*PAIRS, (3, 100), (7, 90)], include_omega=False)
    arguments = {"gamma": 1.0} if method == "ccm" else {"alpha": 0.6}
    costs = getattr(SetCosts, method)(sets, beta=beta, delta=40.0, **arguments)
    reaches = np.linspace(12, 14, N_CLUSTERS)
    outliers = OutlierRule(reaches, 9.0) if rule else None
    return EuclideanModel(costs, Coordinates(np.zeros(N_FEATURES), 0.25), CENTERS / 4, outliers=outliers)


def in_units(model):
    """Return a model whose rule for outliers is in the coordinates of the prototypes."""
    rule = model.outliers and OutlierRule(model.outliers.reaches / 4, model.outliers.steepness)
    return EuclideanModel(model.costs, model.coordinates, model.prototypes, outliers=rule)


@pytest.mark.parametrize("method", ["ecm", "ccm"])
@pytest.mark.parametrize("rule", [True, False])
@pytest.mark.parametrize("beta", [1.005, 1.02, 1.3])
def test_masses_are_those_of_arrays(method, rule, beta):
    """Lists contain the masses of the arrays, and omit at most 1e-13 of them."""
    model = in_units(make_model(method, beta, rule))
    lists, masses = model.assign_sparse(ROWS), model.assign(ROWS)
    np.testing.assert_allclose(lists.toarray(), masses, rtol=0, atol=1e-12)
    assert (lists.toarray()[:, 1:].argmax(axis=1) == masses[:, 1:].argmax(axis=1)).all()


@pytest.mark.parametrize("method", ["ecm", "ccm"])
def test_fits_are_those_of_arrays(method, monkeypatch):
    """Statistics and the next prototypes are equal up to rounding, with and without weights."""
    weights = RANDOM.uniform(size=len(ROWS))
    for sample_weight in (None, weights):
        model = in_units(make_model(method))
        expected = model.collect(ROWS, sample_weight)
        next_prototypes = model.solve(expected).prototypes
        with monkeypatch.context() as patch:
            patch.setattr(models, "_MANY_CLUSTERS", 2)
            model = in_units(make_model(method))
            statistics = model.collect(ROWS, sample_weight)
            prototypes = model.solve(statistics).prototypes
        assert statistics.cost == pytest.approx(expected.cost, rel=1e-10)
        np.testing.assert_allclose(statistics.powers, expected.powers, atol=1e-9)
        np.testing.assert_allclose(statistics.sums, expected.sums, atol=1e-8)
        np.testing.assert_allclose(prototypes, next_prototypes, atol=1e-9)


@pytest.fixture(scope="module")
def fitted():
    """Return CCM with many clusters."""
    return CCM(N_CLUSTERS, random_state=0, max_iter=5, init=CENTERS).fit(ROWS)


def test_fitted_masses_are_sparse(fitted):
    """A fit stores lists of masses, and every prediction agrees with them."""
    partition = fitted.credal_partition_
    assert isinstance(partition.mass_table, SparseRows)
    assert "masses_" not in fitted.__dict__
    np.testing.assert_array_equal(fitted.masses_, partition.masses)
    assert fitted.predict_mass(ROWS) == partition
    np.testing.assert_array_equal(fitted.predict(ROWS), partition.to_hard())
    np.testing.assert_array_equal(fitted.predict_set(ROWS), partition.verdict().candidates)
    np.testing.assert_allclose(fitted.predict_proba(ROWS), partition.to_fuzzy(), atol=1e-12)
    assert len(fitted.predict_frame(ROWS)) == len(ROWS)


def test_processes_write_the_same_lists(fitted):
    """Workers in other processes write lists to files."""
    with parallel_config("loky"):
        model = CCM(N_CLUSTERS, random_state=0, max_iter=5, init=CENTERS, n_jobs=2).fit(ROWS)
    assert model.credal_partition_ == fitted.credal_partition_


def test_parquet_files_contain_sets_and_masses(fitted, tmp_path):
    """A folder of Parquet files contains the positions of sets, and the masses on them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(fitted.predict_mass(ROWS, out=tmp_path / "masses.parquet"))
    assert table.column_names == ["sets", "masses"]
    lists = fitted.credal_partition_.mass_table
    assert table["sets"].combine_chunks().flatten().to_pylist() == lists.columns.tolist()
    assert table["masses"].combine_chunks().flatten().to_pylist() == lists.values.tolist()


def test_parquet_files_of_frames_have_16_bytes_per_row(fitted, tmp_path):
    """The columns do not depend on the number of clusters."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(fitted.predict_frame(ROWS, out=tmp_path / "frame.parquet"))
    assert [str(kind) for kind in table.schema.types] == ["int32", "int32", "float", "float"]
    assert len(table) == len(ROWS)
    frame = fitted.predict_frame(ROWS)
    for name in table.column_names:
        np.testing.assert_allclose(table[name].to_numpy(), frame[name].astype(float), rtol=1e-6)
    with pytest.raises(ValueError, match=r"ends in \.parquet"):
        fitted.predict_frame(ROWS, out=tmp_path / "frame.csv")


@pytest.mark.parametrize("estimator", [ECM, CCM])
def test_memory_of_400_clusters(estimator):
    """Masses of separate clusters take at most 64 bytes per sample."""
    random = np.random.RandomState(0)
    centers = 4 * random.normal(size=(400, 16))
    rows = (centers[np.arange(2000) % 400] + random.normal(size=(2000, 16))).astype(np.float32)
    sets = FocalFamily("auto", include_omega=False)
    model = estimator(400, focal_sets=sets, init=centers, max_iter=2, random_state=0).fit(rows)
    assert model.credal_partition_.mass_table.nbytes <= 64 * len(rows)
