"""Masses of training data, which are recognized by their values and not by their number of rows."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import load_model, save_model
from evlearn.cluster import BPEC, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus
from evlearn.ensemble import CredalEnsemble
from evlearn.partition.estimators import digest_of_data, partition_of

random = np.random.RandomState(0)
X = np.vstack([random.normal(size=(15, 2)), random.normal(size=(15, 2)) + 5])
# NEW has as many rows as X, and the same first and last row.
NEW = X[::-1].copy()
NEW[[0, -1]] = X[[0, -1]]

MODELS = [
    ECM(2, random_state=0),
    BPEC(2),
    EVCLUS(2, random_state=0),
    CECM(2, random_state=0),
    EKNNClus(5, random_state=0),
    BootClus(2, n_bootstrap=10, random_state=0),
    RECM(2, random_state=0),
    SECM(2, connectivity=partial(kneighbors_graph, n_neighbors=5), random_state=0),
    ECMdd(2, random_state=0),
    CredalEnsemble([ECM(2), ECM(3)], random_state=0),
    make_pipeline(StandardScaler(), EVCLUS(2, random_state=0)),
]
parametrize_models = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: type(model[-1] if hasattr(model, "steps") else model).__name__
)


@parametrize_models
def test_training_data_have_the_masses_of_the_fit_and_new_data_those_of_the_prediction(model):
    fitted_model = clone(model).fit(X)
    clusterer = fitted_model[-1] if hasattr(fitted_model, "steps") else fitted_model
    assert partition_of(fitted_model, X) == clusterer.credal_partition_
    np.testing.assert_array_equal(clusterer.probabilities_, clusterer.credal_partition_.to_fuzzy())
    for variant in (X.tolist(), np.asfortranarray(X), X.copy()):
        assert partition_of(fitted_model, variant) == clusterer.credal_partition_
    transformed_data = fitted_model[:-1].transform(NEW) if clusterer is not fitted_model else NEW
    assert partition_of(fitted_model, NEW) == clusterer.predict_mass(transformed_data)
    assert partition_of(pickle.loads(pickle.dumps(fitted_model)), X) == clusterer.credal_partition_


def test_sample_names_are_those_of_the_frame_of_the_call():
    model = EVCLUS(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"], index=range(100, 130)))
    other = pd.DataFrame(X, columns=["a", "b"], index=range(7, 37))
    assert partition_of(model, other).sample_names[0] == "7"
    np.testing.assert_array_equal(partition_of(model, other).masses, model.masses_)


def test_a_loaded_model_predicts_because_its_file_has_no_training_masses(tmp_path):
    model = EVCLUS(2, random_state=0).fit(X)
    save_model(model, tmp_path / "model.json")
    loaded_model = load_model(tmp_path / "model.json")
    assert "_fitted_to" not in (tmp_path / "model.json").read_text()
    assert partition_of(loaded_model, X) == model.predict_mass(X)


def test_equal_data_have_the_same_digest_and_other_data_a_different_digest():
    numbers = X.astype(np.float32)
    digest = digest_of_data(numbers)
    copies = [numbers.astype(np.float64), numbers.tolist(), pd.DataFrame(numbers), numbers[:, :]]
    assert {digest_of_data(data) for data in copies} == {digest}
    others = [numbers[::-1], numbers.T, numbers[:-1], np.nextafter(numbers, np.inf), numbers.reshape(15, 4)]
    assert len({digest_of_data(data) for data in others} | {digest}) == len(others) + 1
    assert digest_of_data(sparse.csr_matrix(X)) == digest_of_data(sparse.coo_matrix(X))
    assert digest_of_data(sparse.csr_matrix(X)) != digest_of_data(sparse.csr_matrix(NEW))
    assert digest_of_data("rows.parquet") is None
    assert digest_of_data([["a", "b"]]) is None
