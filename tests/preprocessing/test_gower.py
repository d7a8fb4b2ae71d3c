"""Gower's dissimilarities: definition, blocks, and pipelines with relational methods."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from evlearn.cluster import EVCLUS, RECM, ECMdd
from evlearn.preprocessing import GowerDistances, gower_distances


def mixed(n=60, seed=0):
    random = np.random.default_rng(seed)
    group = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "name": [f"customer {k}" for k in range(n)],
            "age": random.normal(30 + 25 * group, 5),
            "plan": np.where(random.random(n) < 0.9, np.array(["basic", "premium"])[group], "family"),
            "size": pd.Categorical(
                np.array(["S", "M", "L"])[random.integers(3, size=n)], ["S", "M", "L"], ordered=True
            ),
            "smoker": random.random(n) < 0.2 + 0.6 * group,
        }
    )
    for column in ("age", "plan", "size"):
        frame.loc[random.choice(n, n // 10, replace=False), column] = None
    return frame, group


def by_definition(frame, first, second, weights):
    total = count = 0.0
    for column in ("age", "plan", "size", "smoker"):
        a, b = frame[column][first], frame[column][second]
        if pd.isna(a) or pd.isna(b):
            continue
        if column == "age":
            dissimilarity = abs(a - b) / (frame["age"].max() - frame["age"].min())
        elif column == "size":
            dissimilarity = abs("SML".index(a) - "SML".index(b)) / 2
        else:
            dissimilarity = float(a != b)
        total, count = total + weights.get(column, 1) * dissimilarity, count + weights.get(column, 1)
    return total / count


@pytest.mark.parametrize("weights", [{}, {"age": 3, "smoker": 0.5}])
def test_dissimilarities_follow_their_definition(weights):
    frame, _ = mixed()
    dissimilarities = gower_distances(frame, weights=weights)
    for first in range(0, 60, 7):
        for second in range(60):
            assert dissimilarities[first, second] == pytest.approx(
                by_definition(frame, first, second, weights), abs=1e-12
            )


@given(st.integers(2, 400), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_dissimilarities_are_symmetric_between_0_and_1_and_equal_row_by_row(n, seed):
    frame, _ = mixed(n, seed)
    dissimilarities = gower_distances(frame)
    assert np.array_equal(dissimilarities, dissimilarities.T)
    assert (np.diag(dissimilarities) == 0).all()
    assert dissimilarities.min() >= 0
    assert dissimilarities.max() <= 1
    transformer = GowerDistances().fit(frame)
    assert np.array_equal(transformer.transform(frame.tail(1)), dissimilarities[-1:])


def test_rows_without_common_columns_have_the_mean_dissimilarity():
    table = {"a": [1, None, 2, None], "b": [None, "x", "y", None]}
    dissimilarities = gower_distances(table)
    defined = [0, 0, 0, 1, 1, 1, 1]
    assert dissimilarities[0, 1] == dissimilarities[3, 0] == pytest.approx(np.mean(defined))
    assert dissimilarities[0, 2] == dissimilarities[1, 2] == 1
    assert (np.diag(dissimilarities) == 0).all()
    assert GowerDistances().fit(table).transform(table)[3, 3] == pytest.approx(np.mean(defined))


def test_new_rows_are_scaled_by_the_training_rows():
    frame, _ = mixed()
    new = pl.DataFrame(
        {"age": [1000.0, None], "plan": ["new", "basic"], "size": ["XL", "M"], "smoker": [True, None]}
    )
    dissimilarities = gower_distances(new, frame)
    assert dissimilarities.shape == (2, 60)
    whole = frame[["age", "plan"]].notna().all(axis=1).to_numpy()
    # A number out of range and an unknown category: 1 each. An unknown ordered category is ignored.
    assert np.allclose(dissimilarities[0, whole], (2 + ~frame["smoker"][whole]) / 3)
    assert not np.isnan(dissimilarities[1]).all()


def test_scikit_learns_checks_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(GowerDistances())


METHODS = {
    "EVCLUS": EVCLUS(2, metric="precomputed", random_state=0),
    # Without missing values, they are squared Euclidean distances.
    "RECM": RECM(2, metric="precomputed", squared_input=True, random_state=0),
    "ECMdd": ECMdd(2, metric="precomputed", random_state=0),
}


@pytest.mark.parametrize("name", METHODS)
def test_relational_methods_cluster_tables_and_predict_new_rows(name):
    frame, group = mixed(100)
    if name == "RECM":
        group = group[frame.notna().all(axis=1)]
        frame = frame.dropna()
    model = make_pipeline(GowerDistances(), METHODS[name]).fit(frame)
    print("fitted")
    assert adjusted_rand_score(group, model[-1].labels_) > 0.6
    new, of_new = mixed(60, seed=1)
    assert adjusted_rand_score(of_new, model.predict(new)) > 0.6


def test_output_has_a_column_for_each_sample():
    frame, _ = mixed(30)
    dissimilarities = GowerDistances(drop=["age"]).set_output(transform="pandas").fit_transform(frame)
    assert dissimilarities.shape == (30, 30)
    assert dissimilarities.columns[0] == "gowerdistances0"
