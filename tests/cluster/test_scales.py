"""Warnings about features with very different scales, if distances depend on units."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from evlearn.cluster import CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.exceptions import ScaleWarning
from evlearn.preprocessing import TableEncoder

SCALE_DEPENDENT = [
    *(CCM(2, random_state=0), CECM(2, random_state=0), ECM(2, random_state=0), ECMdd(2, random_state=0)),
    *(SECM(2, random_state=0), EVCLUS(2, random_state=0), RECM(2, random_state=0), EKNNClus(10, random_state=0)),
]
SCALE_INVARIANT = [
    *(ECM(2, metric="adaptive", random_state=0), EVCLUS(2, metric="cosine", random_state=0)),
    *(MergedMixture(2, random_state=0), BootClus(2, n_bootstrap=20, covariance_models="EII", random_state=0)),
]


@pytest.fixture
def customers():
    random = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    return pd.DataFrame(
        {
            "income": 30_000 + 20_000 * group + random.normal(0, 2_000, 60),
            "age": 30 + 30 * group + random.normal(0, 4, 60),
            "visits": 9_000.0 * group + random.normal(0, 500, 60),
            "rate": 0.02 + 0.01 * group + random.normal(0, 0.002, 60),
            "constant": 1.0,
        }
    )


@pytest.mark.parametrize("model", SCALE_DEPENDENT, ids=lambda model: type(model).__name__)
def test_the_warning_names_features_of_little_effect_and_has_the_line_of_the_call(model, customers):
    with pytest.warns(ScaleWarning, match=r"'income' .* 'rate' with 0.\d+ or less hardly count") as record:
        model.fit(customers.drop(columns="age"))
    (warning,) = (warning for warning in record if warning.category is ScaleWarning)
    assert warning.filename == __file__
    assert "'visits'" not in str(warning.message)
    assert f"before {type(model).__name__}" in str(warning.message)


def test_polars_frames_are_checked_and_5_features_are_named(customers):
    with pytest.warns(ScaleWarning, match="'age', 'rate' with"):
        ECM(2, random_state=0).fit(pl.from_pandas(customers))
    table = pd.DataFrame(
        {f"c{k}": customers["rate"] * (1 + k / 10) for k in range(7)} | {"income": customers["income"]}
    )
    with pytest.warns(ScaleWarning, match="'c4' and 2 more"):
        ECM(2, random_state=0).fit(table)


@pytest.mark.parametrize("model", SCALE_INVARIANT, ids=lambda model: type(model).__name__)
def test_no_warning_is_issued_if_units_have_no_effect(model, customers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ScaleWarning)
        model.fit(customers.drop(columns="constant"))


def test_no_warning_is_issued_for_arrays_and_scaled_tables(customers):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        ECM(2, random_state=0).fit(customers.to_numpy())
        ECM(2, random_state=0).fit(customers[["income", "visits"]])
        ECM(2, random_state=0).fit(TableEncoder().set_output(transform="pandas").fit_transform(customers))
