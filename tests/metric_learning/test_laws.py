"""Laws of all transformers: the order and the form of rows and constraints do not matter."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris

from evlearn.constraints import PairwiseConstraints
from evlearn.metric_learning import FDA, PCCA, KernelFDA, KernelPCCA, LocalFDA

X, Y = load_iris(return_X_y=True)
SOME = np.where(np.random.default_rng(0).random(150) < 0.3, Y, -1)
MODELS = {
    "FDA": FDA(),
    "LocalFDA": LocalFDA(),
    "KernelFDA": KernelFDA(),
    "PCCA": PCCA(random_state=0),
    "KernelPCCA": KernelPCCA(random_state=0),
}
#: Largest relative differences: PCCA ends at a tolerance, and the others are solved in one step. The loss of
#: KernelPCCA is so flat that only its value is compared.
TOLERANCES = {"FDA": 1e-9, "LocalFDA": 1e-9, "KernelFDA": 1e-9, "PCCA": 1e-4}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, rows=X, labels=SOME, **known):
    return clone(MODELS[name]).fit(rows, labels, **known)


def assert_same(name, model, other, rows=X):
    """Compare the learned distances."""
    if name == "KernelPCCA":
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-3)
        return
    expected = pdist(model.transform(rows))
    np.testing.assert_allclose(pdist(other.transform(rows)), expected, atol=TOLERANCES[name] * expected.max())


@every_model
def test_a_row_has_the_same_features_alone_and_in_any_batch(name):
    model = fitted(name)
    together = model.transform(X)
    scale = np.abs(together).max()
    alone = np.vstack([model.transform(X[k : k + 1]) for k in range(len(X))])
    np.testing.assert_allclose(alone, together, atol=1e-9 * scale)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(model.transform(X[order]), together[order], atol=1e-9 * scale)


@every_model
def test_the_order_of_rows_does_not_matter(name):
    order = np.random.default_rng(2).permutation(len(X))
    assert_same(name, fitted(name), fitted(name, X[order], SOME[order]))


@every_model
def test_rows_without_a_label_do_not_matter(name):
    assert_same(name, fitted(name), fitted(name, X[SOME >= 0], SOME[SOME >= 0]))


@pytest.mark.parametrize("copies", [2, 10])
@pytest.mark.parametrize("name", ["FDA", "LocalFDA", "KernelFDA"])
def test_repeating_all_rows_changes_nothing(name, copies):
    repeated = fitted(name, np.repeat(X, copies, axis=0), np.repeat(SOME, copies))
    assert_same(name, fitted(name), repeated)


@every_model
def test_precision_layout_and_copies_of_a_model_do_not_matter(name):
    model = fitted(name)
    expected = model.transform(X)
    frozen = np.asfortranarray(X)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(fitted(name, frozen).transform(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), expected)
    whole = (10 * X).round().astype(np.int32)
    assert_same(name, fitted(name, whole.astype(np.float64)), fitted(name, whole), whole)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(model.transform(single), model.transform(single.astype(np.float64)))
    assert_same(name, fitted(name, single.astype(np.float64)), fitted(name, single), single)


@pytest.mark.parametrize("name", ["PCCA", "KernelPCCA"])
def test_the_order_and_the_repetition_of_constraints_do_not_matter(name):
    random = np.random.default_rng(3)
    pairs = random.choice(150, (80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    known = PairwiseConstraints(must_link=pairs[same], cannot_link=pairs[~same])
    model = fitted(name, constraints=known)
    order = random.permutation(len(pairs))
    again, together = pairs[order][:, ::-1], same[order]
    other = PairwiseConstraints(must_link=np.vstack([again[together]] * 2), cannot_link=again[~together])
    np.testing.assert_array_equal(fitted(name, constraints=other).transform(X), model.transform(X))
    places = np.argsort(order := random.permutation(150))
    moved = PairwiseConstraints(must_link=places[pairs[same]], cannot_link=places[pairs[~same]])
    assert_same(name, model, fitted(name, X[order], SOME[order], constraints=moved))


@every_model
def test_the_names_of_classes_do_not_matter(name):
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)
    named = np.where(SOME >= 0, names[SOME], None)
    np.testing.assert_array_equal(fitted(name, labels=named).transform(X), fitted(name).transform(X))


@pytest.mark.parametrize("name", ["KernelFDA", "KernelPCCA"])
def test_features_far_from_the_origin_are_the_same_in_every_batch(name):
    # Squared distances by products would lose the digits that distinguish samples.
    model = fitted(name, X + 1000)
    together = model.transform(X + 1000)
    alone = np.vstack([model.transform(X[k : k + 1] + 1000) for k in range(len(X))])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-9)
