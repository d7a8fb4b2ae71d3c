"""Small arrays, which are read without many questions, are read as others are."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import ECM, MergedMixture

X, Y = make_blobs(60, n_features=3, centers=2, random_state=0)
MODELS = {
    "ECM": ECM(2, random_state=0).fit(X),
    "mixture": MergedMixture(2, component_numbers=2, random_state=0).fit(X),
    "neighbours": EvidentialKNNClassifier(5).fit(X, Y),
    "prototypes": EvidentialNeuralClassifier(4, random_state=0).fit(X, Y),
    "for and against": EvidentialRBFClassifier(2, random_state=0).fit(X, Y),
}
KINDS = {
    "a list": lambda rows: rows.tolist(),
    "another order": np.asfortranarray,
    "every second row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "whole numbers beside": lambda rows: pd.DataFrame(rows).to_numpy(dtype=object),
    "a subclass": lambda rows: rows.view(np.memmap),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_rows_say_the_same_in_every_kind_of_array(name, kind):
    model = MODELS[name]
    expected = model.predict_mass(X[:7]).masses
    np.testing.assert_allclose(model.predict_mass(KINDS[kind](X[:7])).masses, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_wrong_with_a_row_is_said(name):
    model = MODELS[name]
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features as input"):
        model.predict_mass(X[:1, :2].copy())
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        model.predict_mass(X[:0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        model.predict_mass(X[0])
    infinite = X[:1].copy()
    infinite[0, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict_mass(infinite)
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict_mass(X[:1].astype(complex))


@pytest.mark.parametrize("name", ["ECM", "mixture", "neighbours"])
def test_a_gap_in_a_row_is_still_doubt(name):
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    assert MODELS[name].predict_mass(gap).masses.shape[0] == 1


@pytest.mark.parametrize("name", ["prototypes", "for and against"])
def test_a_gap_in_a_row_is_still_refused(name):
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MODELS[name].predict_mass(gap)


def test_a_model_that_knows_names_still_warns_of_arrays():
    model = ECM(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict_mass(X[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_mass(pd.DataFrame(X[:1], columns=["a", "b", "c"]))


@pytest.mark.parametrize("estimator", [ECM(2), EvidentialKNNClassifier()], ids=lambda one: type(one).__name__)
def test_two_columns_of_one_name_are_refused_by_name(estimator):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["age", "size", "age"])
    with pytest.raises(ValueError, match="X has more than one column with the name 'age'"):
        estimator.fit(frame, np.arange(30) % 2)
