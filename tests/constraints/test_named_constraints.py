"""Constraints by name do not depend on row numbers, and apply to any subset of samples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import CECM, EVCLUS
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.metric_learning import PCCA
from evlearn.model_selection import cross_val_mass

NUMBERS = PairwiseConstraints(must_link=[(0, 1), (2, 5)], cannot_link=[(1, 4), (3, 5)])
TEXT = {number: f"row {number}" for number in range(8)}


def name_constraints(constraints, names):
    pairs = [
        [(names[a], names[b]) for a, b in pairs.tolist()]
        for pairs in (constraints.must_link, constraints.cannot_link)
    ]
    return NamedConstraints(*pairs)


@pytest.fixture(scope="module")
def flowers():
    """Return Iris data with names in random order, the species, and constraints by number and by name."""
    order = np.random.default_rng(0).permutation(150)
    names = [f"flower {number}" for number in order]
    data = load_iris(as_frame=True)
    X = data.data.iloc[order].set_index(pd.Index(names))
    y = data.target.to_numpy()[order]
    constraints = PairwiseConstraints.sample(y, 60, random_state=0)
    return X, y, constraints, name_constraints(constraints, names)


@given(st.permutations(range(8)), st.integers(6, 8))
def test_names_identify_samples_in_any_subset_and_any_order(order, n_left):
    numbers = [name for name in order if name < 6 or name < n_left]
    assert name_constraints(NUMBERS, TEXT).select([TEXT[sample] for sample in numbers]) == NUMBERS.take(numbers)


@given(st.lists(st.integers(0, 7), unique=True, min_size=1).filter(lambda samples: set(samples) & set(range(6))))
def test_constraints_with_a_missing_sample_are_ignored(numbers):
    assert name_constraints(NUMBERS, TEXT).select(pd.Index([TEXT[sample] for sample in numbers])) == NUMBERS.take(
        numbers
    )


def test_names_can_be_any_labels_of_an_index():
    days = pd.date_range("2026-01-01", periods=3)
    pairs = pd.DataFrame({"one": days[[0, 1]], "other": days[[1, 2]]})
    assert NamedConstraints(pairs).select(days).must_link.tolist() == [[0, 1], [1, 2]]
    assert NamedConstraints(np.array([[1001, 1003]])).select(pd.Index([1003, 7, 1001])).must_link.tolist() == [
        [0, 2]
    ]
    tuples = pd.MultiIndex.from_product([["a", "b"], [0, 1]])
    assert NamedConstraints([(("a", 0), ("b", 1))]).select(tuples).must_link.tolist() == [[0, 3]]


def test_a_pair_counts_once():
    constraints = NamedConstraints([("a", "b"), ("b", "a"), ("a", "b")], zip("ac", "de", strict=True))
    assert repr(constraints) == "NamedConstraints(1 must-link, 2 cannot-link)"
    assert constraints.must_link == (("a", "b"),)
    assert constraints.cannot_link == (("a", "d"), ("c", "e"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["ab"],), r"must_link must be pairs of names such as .*, got 'ab' in it"),
        (([("a", "b", "c")],), r"must_link must be pairs of names"),
        (([], [1]), r"cannot_link must be pairs of names"),
        (([("a", "b")], [("b", "a")]), r"\('a', 'b'\) is a pair that must be in one cluster and that cannot be"),
        (([], [("a", "a")]), r"do not separate a sample from itself"),
    ],
)
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        NamedConstraints(*arguments)


def test_names_that_are_unknown_or_not_unique_are_refused():
    constraints = NamedConstraints([("anna", "ben")])
    with pytest.raises(ValueError, match=r"such as 'anna', but none of them is among the 2 samples.* such as 0;"):
        constraints.select(range(2))
    with pytest.raises(ValueError, match="'ben' is in a constraint, and 2 samples have that name"):
        constraints.select(["ben", "anna", "ben"])
    assert len(constraints.select(["anna", "carl", "carl", "ben"])) == 1
    assert len(NamedConstraints().select([])) == 0


@pytest.mark.parametrize(
    "estimator",
    [
        CECM(3, random_state=0),
        EVCLUS(3, random_state=0),
        EVCLUS(3, metric="precomputed", random_state=0),
        PCCA(2, random_state=0),
        PCCA(1, kernel="rbf", gamma=0.1, max_iter=20, random_state=0),
    ],
    ids=["CECM", "EVCLUS", "precomputed", "PCCA", "kernel PCCA"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_convert_names_to_numbers(flowers, estimator):
    X, _, numbered, by_names = flowers
    if getattr(estimator, "metric", "") == "precomputed":
        distances = np.linalg.norm(X.to_numpy()[:, None] - X.to_numpy(), axis=2)
        X = pd.DataFrame(distances, index=X.index)
    first, second = (clone(estimator).fit(X, constraints=constraints) for constraints in (numbered, by_names))
    attribute = "masses_" if hasattr(first, "masses_") else "objective_history_"
    assert np.array_equal(getattr(first, attribute), getattr(second, attribute))


@pytest.mark.slow
def test_names_survive_the_splits_of_a_search(flowers):
    X, y, numbered, by_names = flowers
    splits = list(StratifiedKFold(3).split(X, y))
    grid = {"constraint_weight": [0.1, 0.5]}
    search = GridSearchCV(CECM(3, random_state=0), grid, scoring="adjusted_rand_score", cv=splits, refit=False)
    search.fit(X, y, constraints=by_names)
    for k, (train, test) in enumerate(splits):
        for weight, score in zip(
            grid["constraint_weight"], search.cv_results_[f"split{k}_test_score"], strict=True
        ):
            model = CECM(3, constraint_weight=weight, random_state=0).fit(
                X.iloc[train], constraints=numbered.take(train)
            )
            assert score == adjusted_rand_score(y[test], model.predict(X.iloc[test]))


@pytest.mark.slow
def test_names_pass_through_a_pipeline_that_keeps_frames(flowers):
    X, _, numbered, by_names = flowers
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), CECM(3, random_state=0))
    model = clone(pipeline).fit(X, cecm__constraints=by_names)
    expected = make_pipeline(StandardScaler(), CECM(3, random_state=0)).fit(X, cecm__constraints=numbered)
    assert np.array_equal(model[-1].masses_, expected[-1].masses_)
    masses = [
        cross_val_mass(pipeline, X, cv=3, params={"cecm__constraints": constraints}).masses
        for constraints in (numbered, by_names)
    ]
    assert np.array_equal(*masses)


def test_data_without_names_are_refused_with_a_remedy(flowers):
    X, _, _, by_names = flowers
    with pytest.raises(ValueError, match=r"X is ndarray, which has none: pass a pandas frame .*set_output"):
        CECM(3).fit(X.to_numpy(), constraints=by_names)
    with pytest.raises(TypeError, match=r"must be PairwiseConstraints, got list; .* NamedConstraints"):
        CECM(3).fit(X, constraints=[(0, 1)])
