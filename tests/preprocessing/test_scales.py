"""Logarithm, center and scale of columns with gross errors, and the values that are reported as suspicious."""

import numpy as np
import pytest

from evlearn.preprocessing import GowerDistances, TableEncoder

N = 2000


def normal(random):
    return random.normal(50, 10, N)


def skewed(random):
    return np.exp(random.normal(5, 1, N))


def waiting(random):
    return random.gamma(2, 10, N)


def facts_of(values, **parameters):
    encoder = TableEncoder(**parameters).fit({"x": values, "y": np.arange(len(values)) % 7.0})
    return encoder.columns_[0], encoder.describe()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.05])
@pytest.mark.parametrize("wrong", [-1.0, 999.0, 999_999.0, -500.0, 1e12])
@pytest.mark.parametrize("clean", [normal, skewed, waiting])
def test_gross_errors_change_neither_logarithm_nor_scale(clean, wrong, share, seed):
    random = np.random.default_rng(seed)
    values = clean(random)
    expected, _ = facts_of(values)
    values[random.random(N) < share] = wrong
    facts, _ = facts_of(values)
    assert facts["transform"] == expected["transform"] == ("log" if clean is skewed else "none")
    assert facts["scale"] == pytest.approx(expected["scale"], rel=0.15)
    assert facts["center"] == pytest.approx(expected["center"], abs=0.15 * expected["scale"])


@pytest.mark.parametrize("clean", [normal, skewed, waiting])
def test_clean_columns_are_scaled_by_all_but_the_outermost_values(clean):
    values = clean(np.random.default_rng(0))
    facts, text = facts_of(values)
    logs = np.log1p(values / np.median(values)) if clean is skewed else values
    clipped = np.clip(logs, *np.quantile(logs, [0.01, 0.99]))
    assert facts["scale"] == pytest.approx(clipped.std(), rel=0.01)
    assert facts["center"] == pytest.approx(clipped.mean(), abs=0.01 * clipped.std())
    assert facts["suspicions"] == []
    assert "Check" not in text


@pytest.mark.parametrize(("share", "distance"), [(0.03, 8), (0.1, 15), (0.25, 40)])
def test_a_small_cluster_contributes_to_the_scale(share, distance):
    random = np.random.default_rng(0)
    values = random.normal(size=N) + distance * (random.random(N) < share)
    facts, _ = facts_of(values)
    clipped = np.clip(values, *np.quantile(values, [0.01, 0.99]))
    assert facts["scale"] == pytest.approx(clipped.std(), rel=1e-9)
    assert facts["suspicions"] == []


def test_a_single_negative_value_does_not_prevent_the_logarithm():
    for n in (12, 200):
        values = np.exp(np.random.default_rng(0).normal(5, 1.5, n))
        expected, _ = facts_of(values)
        assert expected["transform"] == "log"
        values[3] = -500.0
        assert facts_of(values)[0]["transform"] == "log"


def test_negative_values_keep_their_order_after_the_logarithm():
    values = np.exp(np.random.default_rng(0).normal(5, 1, 300))
    encoder = TableEncoder().fit({"x": values, "y": np.arange(300) % 7.0})
    assert encoder.columns_[0]["transform"] == "log"
    new = np.array([-1000.0, -500.0, -1.0, 0.0, 1.0, 500.0])
    features = encoder.transform({"x": new, "y": np.zeros(6)})
    assert (np.diff(features[:, 0]) > 0).all()
    np.testing.assert_allclose(encoder.inverse_transform(features)["x"], new, rtol=1e-9, atol=1e-9)


def test_signed_numbers_are_not_suspicious():
    random = np.random.default_rng(0)
    for values in (random.normal(size=N), random.normal(3, 1.2, N), random.normal(10, 5, N).round()):
        facts, _ = facts_of(values)
        assert facts["suspicions"] == []
        assert facts["low"] == values.min()


def test_suspicious_values_are_reported_by_column():
    random = np.random.default_rng(0)
    age = random.normal(45, 12, N).clip(16, 90).round()
    age[:4] = [999, 999, 150, -3]
    orders = random.poisson(9, N).astype(float)
    orders[:2] = -1
    days = np.datetime64("2020-01-01") + random.integers(0, 900, N)
    days[7] = np.datetime64("1900-01-01")
    encoder = TableEncoder().fit({"age": age, "orders": orders, "since": days})
    assert encoder.describe().splitlines()[-3:] == [
        "Check age: 1 negative value (-3), 3 values far above all others (999, 150).",
        "Check orders: 2 negative values (-1).",
        "Check since: 1 value far below all others (1900-01-01).",
    ]
    assert encoder.columns_[0]["suspicions"] == [
        {"what": "negative", "count": 1, "examples": [-3.0]},
        {"what": "above", "count": 3, "examples": [999.0, 150.0]},
    ]
    assert encoder.columns_[0]["low"] == 16
    assert "age: numbers from 16 to 8" in encoder.describe()


def test_wrong_dates_do_not_flatten_the_others():
    random = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + random.integers(0, 900, N)
    expected, _ = facts_of(days)
    assert expected["scale"] == pytest.approx(days.astype(int).std(), rel=1e-9)
    days[random.random(N) < 0.03] = np.datetime64("9999-12-31")
    facts, _ = facts_of(days)
    assert facts["scale"] == pytest.approx(expected["scale"], rel=0.05)


def test_standard_scaling_uses_all_values():
    values = normal(np.random.default_rng(0))
    values[:20] = 999_999.0
    facts, text = facts_of(values, scaling="standard")
    assert facts["scale"] == pytest.approx(values.std())
    assert "20 values far above all others (999,999)" in text


def test_a_gross_error_does_not_flatten_dissimilarities():
    random = np.random.default_rng(0)
    values = random.normal(50, 10, 200)
    expected = GowerDistances().fit_transform({"x": values[1:]})
    values[0] = 999_999.0
    distances = GowerDistances().fit_transform({"x": values})
    np.testing.assert_allclose(distances[1:, 1:], expected, rtol=1e-9)
    assert (distances[0, 1:] == 1).all()


def test_columns_of_few_values_are_not_reduced_to_one():
    for values in ([0.0] * 1990 + [1.0] * 10, [0.0] * 1999 + [1e300], [5.0] * 1900 + [5.5] * 99 + [1e6]):
        facts, _ = facts_of(np.array(values))
        assert facts["low"] < facts["high"]
        assert facts["scale"] > 0
