"""Missing values as doubt in EvidentialKNNClassifier."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.utils import get_tags

import evlearn
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), load_iris().target_names[y]


def with_holes(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted(iris):
    """Fitted to complete data, to data with gaps, and to data with gaps and doubtful labels."""
    X, y = iris
    plausible = 0.3 + 0.7 * (load_iris().target[:, None] == np.arange(3))
    return [
        EvidentialKNNClassifier().fit(X, y),
        EvidentialKNNClassifier().fit(with_holes(X, 0.2), y),
        EvidentialKNNClassifier().fit(with_holes(X, 0.2), plausible),
    ]


def test_samples_without_gaps_have_the_same_bits_beside_samples_with_gaps(fitted, iris):
    holes = with_holes(iris[0], 0.1)
    whole = ~np.isnan(holes).any(axis=1)
    for model in fitted:
        beside, alone = model.predict_mass(holes), model.predict_mass(iris[0][whole])
        np.testing.assert_array_equal(beside.masses[whole], alone.masses)


def test_gaps_of_new_samples_change_nothing_of_a_fit_to_complete_ones(iris):
    X, y = iris
    model = EvidentialKNNClassifier().fit(X, y)
    assert model.gamma_.tolist() == EvidentialKNNClassifier().fit(pd.DataFrame(X), y).gamma_.tolist()


def test_a_sample_that_has_no_value_at_all_is_total_ignorance(fitted):
    for model in fitted:
        nothing = model.predict_mass(np.full((2, 4), np.nan))
        np.testing.assert_array_equal(nothing.masses[:, -1], 1)
        np.testing.assert_allclose(model.predict_proba(np.full((2, 4), np.nan)), 1 / 3)
        assert (model.decide(np.full((2, 4), np.nan), rejection_cost=0.5) == "refused").all()


def test_doubt_grows_with_the_share_that_is_missing(fitted, iris):
    X = iris[0]
    order = np.random.default_rng(1).random(X.shape)
    for model in fitted:
        shares = (0, 0.2, 0.4, 0.6, 1)
        doubts = [model.predict_mass(np.where(order < share, np.nan, X)).doubt().mean() for share in shares]
        assert (np.diff(doubts) > 0).all(), doubts


def test_classes_are_still_found(iris):
    X, y = iris
    holes, train = with_holes(X, 0.2), np.arange(len(X)) % 2 == 0
    model = EvidentialKNNClassifier().fit(holes[train], y[train])
    assert model.score(holes[~train], y[~train]) > 0.85
    # Completions of training samples are like others of their class, so that complete samples are told as well.
    assert model.score(X[~train], y[~train]) > 0.9


def test_frames_with_missing_values_of_any_kind_say_the_same(iris):
    X, y = with_holes(iris[0], 0.2), iris[1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = EvidentialKNNClassifier().fit(X, y).predict_mass(X).masses
    for kind in (frame, frame.astype("Float64").convert_dtypes(), pl.from_pandas(frame), X.tolist()):
        np.testing.assert_array_equal(EvidentialKNNClassifier().fit(kind, y).predict_mass(kind).masses, expected)


def test_a_model_file_keeps_what_is_known_about_gaps(fitted, iris, tmp_path):
    holes = with_holes(iris[0], 0.3, seed=5)
    for model in fitted:
        evlearn.save_model(model, tmp_path / "model.json")
        again = evlearn.load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict_mass(holes).masses, model.predict_mass(holes).masses)


def test_others_say_what_to_do(iris):
    X, y = iris
    assert get_tags(EvidentialKNNClassifier()).input_tags.allow_nan
    for one in (EvidentialNeuralClassifier(), EvidentialRBFClassifier()):
        assert not get_tags(one).input_tags.allow_nan
        with pytest.raises(ValueError, match=r"contains NaN\. .* put an imputer such as .* turns gaps into doubt"):
            one.fit(with_holes(X, 0.1), y)


def test_a_fit_to_sparse_features_knows_nothing_about_gaps(iris):
    model = EvidentialKNNClassifier().fit(csr_array(iris[0]), iris[1])
    with pytest.raises(ValueError, match="does not know what samples with gaps may look like"):
        model.predict(with_holes(iris[0], 0.1))
