"""Training masses are those of the training data, known by their numbers and not by how many there are."""

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
NEW = X[::-1].copy()  # as many, with the same first and last rows as those of X but for their order
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
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: type(model[-1] if hasattr(model, "steps") else model).__name__
)


@every_model
def test_old_objects_have_the_masses_of_the_fit_and_new_ones_those_of_the_prediction(model):
    fitted = clone(model).fit(X)
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    assert partition_of(fitted, X) == last.credal_partition_
    for again in (X.tolist(), np.asfortranarray(X), X.copy()):
        assert partition_of(fitted, again) == last.credal_partition_
    seen = fitted[:-1].transform(NEW) if last is not fitted else NEW
    assert partition_of(fitted, NEW) == last.predict_mass(seen)
    assert partition_of(pickle.loads(pickle.dumps(fitted)), X) == last.credal_partition_


def test_the_names_are_those_of_the_frame_that_is_asked_about():
    model = EVCLUS(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"], index=range(100, 130)))
    other = pd.DataFrame(X, columns=["a", "b"], index=range(7, 37))
    assert partition_of(model, other).sample_names[0] == "7"
    np.testing.assert_array_equal(partition_of(model, other).masses, model.masses_)


def test_a_model_from_a_file_predicts_because_its_file_has_no_training_masses(tmp_path):
    model = EVCLUS(2, random_state=0).fit(X)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert "_fitted_to" not in (tmp_path / "model.json").read_text()
    assert partition_of(again, X) == model.predict_mass(X)


def test_the_same_numbers_have_one_digest_and_others_another():
    numbers = X.astype(np.float32)
    digest = digest_of_data(numbers)
    same = [numbers.astype(np.float64), numbers.tolist(), pd.DataFrame(numbers), numbers[:, :]]
    assert {digest_of_data(one) for one in same} == {digest}
    others = [numbers[::-1], numbers.T, numbers[:-1], np.nextafter(numbers, np.inf), numbers.reshape(15, 4)]
    assert len({digest_of_data(one) for one in others} | {digest}) == len(others) + 1
    assert digest_of_data(sparse.csr_matrix(X)) == digest_of_data(sparse.coo_matrix(X))
    assert digest_of_data(sparse.csr_matrix(X)) != digest_of_data(sparse.csr_matrix(NEW))
    assert digest_of_data("rows.parquet") is None
    assert digest_of_data([["a", "b"]]) is None
