"""Invariance of all transformers with respect to the order and the form of rows and constraints."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris

from evlearn.constraints import PairwiseConstraints
from evlearn.metric_learning import FDA, PCCA, LocalFDA

X, Y = load_iris(return_X_y=True)
LABELS = np.where(np.random.default_rng(0).random(150) < 0.3, Y, -1)
MODELS = {
    "FDA": FDA(),
    "LocalFDA": LocalFDA(),
    "kernel FDA": FDA(kernel="rbf"),
    "PCCA": PCCA(random_state=0),
    "kernel PCCA": PCCA(kernel="rbf", random_state=0),
}
#: Maximum relative differences: PCCA ends at a tolerance, and the others are solved in a single step. The loss of
#: PCCA with a kernel is so flat that only its value is compared.
TOLERANCES = {"FDA": 1e-9, "LocalFDA": 1e-9, "kernel FDA": 1e-9, "PCCA": 1e-4}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, rows=X, labels=LABELS, **settings):
    return clone(MODELS[name]).fit(rows, labels, **settings)


def assert_same(name, model, other, rows=X):
    """Check that the learned distances are equal."""
    if name == "kernel PCCA":
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-3)
        return
    expected = pdist(model.transform(rows))
    np.testing.assert_allclose(pdist(other.transform(rows)), expected, atol=TOLERANCES[name] * expected.max())


@every_model
def test_a_row_has_the_same_features_in_every_batch(name):
    model = fitted(name)
    batch = model.transform(X)
    scale = np.abs(batch).max()
    single_rows = np.vstack([model.transform(X[k : k + 1]) for k in range(len(X))])
    np.testing.assert_allclose(single_rows, batch, atol=1e-9 * scale)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(model.transform(X[order]), batch[order], atol=1e-9 * scale)


@every_model
def test_the_order_of_rows_does_not_matter(name):
    order = np.random.default_rng(2).permutation(len(X))
    assert_same(name, fitted(name), fitted(name, X[order], LABELS[order]))


@every_model
def test_unlabeled_rows_do_not_matter(name):
    assert_same(name, fitted(name), fitted(name, X[LABELS >= 0], LABELS[LABELS >= 0]))


@pytest.mark.parametrize("copies", [2, 10])
@pytest.mark.parametrize("name", ["FDA", "LocalFDA", "kernel FDA"])
def test_repeating_all_rows_changes_nothing(name, copies):
    repeated = fitted(name, np.repeat(X, copies, axis=0), np.repeat(LABELS, copies))
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


@pytest.mark.parametrize("name", ["PCCA", "kernel PCCA"])
def test_the_order_and_repetition_of_constraints_do_not_matter(name):
    random = np.random.default_rng(3)
    pairs = random.choice(150, (80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    is_must_link = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    constraints = PairwiseConstraints(must_link=pairs[is_must_link], cannot_link=pairs[~is_must_link])
    model = fitted(name, constraints=constraints)
    order = random.permutation(len(pairs))
    reordered, flags = pairs[order][:, ::-1], is_must_link[order]
    other = PairwiseConstraints(must_link=np.vstack([reordered[flags]] * 2), cannot_link=reordered[~flags])
    np.testing.assert_array_equal(fitted(name, constraints=other).transform(X), model.transform(X))
    positions = np.argsort(order := random.permutation(150))
    permuted = PairwiseConstraints(
        must_link=positions[pairs[is_must_link]], cannot_link=positions[pairs[~is_must_link]]
    )
    assert_same(name, model, fitted(name, X[order], LABELS[order], constraints=permuted))


@every_model
def test_the_names_of_classes_do_not_matter(name):
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)
    text_labels = np.where(LABELS >= 0, names[LABELS], None)
    np.testing.assert_array_equal(fitted(name, labels=text_labels).transform(X), fitted(name).transform(X))


@pytest.mark.parametrize("name", ["kernel FDA", "kernel PCCA"])
def test_features_far_from_the_origin_are_the_same_in_every_batch(name):
    # Squared distances from scalar products would lose the digits in which the samples differ.
    model = fitted(name, X + 1000)
    batch = model.transform(X + 1000)
    single_rows = np.vstack([model.transform(X[k : k + 1] + 1000) for k in range(len(X))])
    np.testing.assert_allclose(single_rows, batch, rtol=0, atol=1e-9)
