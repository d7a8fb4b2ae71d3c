"""Tests of the estimators with the settings of the papers."""

import importlib

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from evlearn import papers
from evlearn.cluster import BootClus, Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.utils.parameters import with_switches


@pytest.mark.parametrize("name", papers.__all__)
def test_clones_keep_the_settings_and_parameters_replace_them(name):
    if name == "nn_evclus":
        pytest.importorskip("torch")
    estimator = getattr(papers, name)(5)
    copy = clone(estimator)
    assert repr(copy) == repr(estimator)
    assert copy._switches == estimator._switches
    defaults = type(estimator)()
    changed = {
        key: value
        for key, value in estimator.get_params(deep=False).items()
        if repr(value) != repr(getattr(defaults, key))
    }
    assert changed or copy._switches != defaults._switches
    assert getattr(papers, name)(5, max_iter=7).max_iter == 7


@pytest.mark.parametrize(
    ("n_clusters", "sets", "level"), [(4, "pairs", 0.9), (7, "simple", 0.5), (31, "simple", 0.1)]
)
def test_nn_evclus_has_the_settings_of_section_4_1(n_clusters, sets, level):
    pytest.importorskip("torch")
    model = papers.nn_evclus(n_clusters)
    assert (model.focal_sets, model.d0, model.init) == (sets, Quantile(level), ("random", None))


def test_k_cevclus_increases_the_weight_of_constraints_in_3_fits():
    X, y = make_bananas(60, random_state=0)
    constraints = PairwiseConstraints.sample(y, 20, random_state=0)
    model = papers.k_cevclus(2, xi=0.7, random_state=0)
    explicit = with_switches(clone(model), constraint_schedule=[0, 0.05, 0.7])
    masses = model.fit(X, constraints=constraints).masses_
    np.testing.assert_array_equal(masses, explicit.fit(X, constraints=constraints).masses_)


def test_bootclus_selects_the_covariance_model_once():
    X = load_iris().data
    options = {"n_bootstrap": 40, "random_state": 0}
    automatic = papers.bootclus(3, **options).fit(X)
    fixed = papers.bootclus(3, model=automatic.mixture_.model_, **options).fit(X)
    np.testing.assert_allclose(automatic.intervals_.lower, fixed.intervals_.lower, atol=1e-6)
    np.testing.assert_allclose(automatic.intervals_.upper, fixed.intervals_.upper, atol=1e-6)
    repeated = with_switches(BootClus(3, **options), variance_floor=0.0).fit(X)
    widths = [np.mean(model.intervals_.upper - model.intervals_.lower) for model in (fixed, repeated)]
    assert widths[0] <= widths[1]


def test_enn_counts_prototypes_for_all_classes_together():
    X, y = make_bananas(100, random_state=0)
    assert len(papers.enn(3, random_state=0).fit(X, y).prototypes_) == 3


def test_the_module_has_no_torch():
    assert not hasattr(importlib.import_module("evlearn.papers"), "NNEVCLUS")
