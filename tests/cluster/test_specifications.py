"""Values that specify parameters of clusterers: focal families, quantiles, metrics and solvers."""

import pytest
from sklearn.base import clone

from evlearn.cluster import ECM, EVCLUS, AdaptiveMetric, BootClus, FocalFamily, Quantile
from evlearn.datasets import load_butterfly
from evlearn.neural import Solver
from evlearn.utils.parameters import with_switches

X = load_butterfly().data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FocalFamily("some"), "kind must be one of .* got 'some'"),
        (lambda: FocalFamily(include_omega=1), "include_omega must be True or False, got 1"),
        (lambda: FocalFamily(n_neighbors=0), "n_neighbors must be a whole number of at least 1, got 0"),
        (lambda: Quantile(0), "level must be a number above 0 and at most 1, got 0"),
        (lambda: Quantile(1.5), "level must be a number above 0 and at most 1, got 1.5"),
        (lambda: AdaptiveMetric(2), "reg_covar must be a number at least 0 and at most 1, got 2"),
        (lambda: Solver("sgd"), "name must be one of .* got 'sgd'"),
        (lambda: Solver(batch_size=1), "batch_size must be 'auto' or a whole number of at least 2, got 1"),
        (lambda: Solver(learning_rate=0), "learning_rate must be 'auto' or a number above 0, got 0"),
        (
            lambda: Solver(validation_fraction=2),
            "validation_fraction must be a number .* at most 1",
        ),
        (lambda: Solver(patience=0), "patience must be a whole number of at least 1, got 0"),
    ],
)
def test_invalid_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_a_name_stands_for_a_family():
    for kind in ("simple", "pairs", "full", "neighbor_pairs"):
        model = ECM(2, focal_sets=kind, random_state=0).fit(X)
        expected = ECM(2, focal_sets=FocalFamily(kind), random_state=0).fit(X)
        assert model.focal_sets_ == expected.focal_sets_
        assert (model.masses_ == expected.masses_).all()


def test_specifications_survive_cloning_and_compare_equal():
    model = ECM(focal_sets=FocalFamily("pairs", include_omega=False), metric=AdaptiveMetric(0.1))
    copy = clone(model)
    assert copy.focal_sets == model.focal_sets
    assert copy.metric == model.metric
    assert Quantile(0.5) == Quantile(0.5) != Quantile(0.6)


def test_clones_keep_switches_and_unknown_switches_are_refused():
    model = with_switches(EVCLUS(2), stopping="average")
    assert clone(model)._switches == model._switches
    assert EVCLUS(2)._switches["stopping"] == "last"
    with pytest.raises(ValueError, match=r"BootClus has no switches \['speed'\]"):
        with_switches(BootClus(2), speed=1)


def test_fields_are_nested_parameters():
    model = clone(EVCLUS(d0=Quantile(0.9))).set_params(d0__level=0.5)
    assert model.d0 == Quantile(0.5)
    assert model.get_params()["d0__level"] == 0.5
    with pytest.raises(ValueError, match="level must be a number above 0"):
        model.set_params(d0__level=2)
    with pytest.raises(ValueError, match=r"no parameters \['rate'\]"):
        model.set_params(d0__rate=0.1)
