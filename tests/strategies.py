"""Hypothesis strategies: random families of focal sets and random mass functions on them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evlearn import CredalPartition
from evlearn.belief import FocalSets


@st.composite
def families(draw, max_size=4, full=False):
    size = draw(st.integers(1, max_size))
    if full or draw(st.booleans()):
        return FocalSets.full(size)
    table = draw(hnp.arrays(bool, st.tuples(st.integers(1, 6), st.just(size))))
    return FocalSets.from_membership(table)


@st.composite
def masses_on(draw, focal_sets, n_rows, positive=False):
    """Draw masses in steps, so that zeros, ties and certainty occur; `positive` keeps every mass above 0."""
    weights = draw(hnp.arrays(np.int64, (n_rows, len(focal_sets)), elements=st.integers(int(positive), 6)))
    empty = weights.sum(axis=1) == 0
    weights[empty, draw(st.integers(0, len(focal_sets) - 1))] = 1
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def mass_functions(draw, n_arrays=1, max_size=4, full=False, positive=False, normal=False, omega=False):
    """Draw a family of focal sets and `n_arrays` arrays of mass functions on it."""
    focal_sets = draw(families(max_size, full))
    if omega:
        focal_sets = focal_sets.with_omega()
    n_rows = draw(st.integers(1, 4))
    arrays = [draw(masses_on(focal_sets, n_rows, positive)) for _ in range(n_arrays)]
    if normal:
        focal_sets = focal_sets.with_omega()
        arrays = [_normal(array, focal_sets) for array in arrays]
    return focal_sets, *arrays


def _normal(masses, focal_sets):
    wide = np.zeros((len(masses), len(focal_sets)))
    wide[:, : masses.shape[1]] = masses
    wide[:, -1] += wide[:, 0] if len(focal_sets) > 1 else 0
    wide[:, 0] = 0
    return wide


@st.composite
def partitions(draw, n_samples, max_size=4):
    focal_sets = draw(families(max_size))
    return CredalPartition(draw(masses_on(focal_sets, n_samples)), focal_sets)


def labels(n_samples, n_clusters=3):
    return hnp.arrays(np.int64, n_samples, elements=st.integers(0, n_clusters - 1))


def checks_of_classifiers(estimator):
    """Return scikit-learn checks that treat any estimator with `predict_proba` as a classifier."""
    reason = "it asks for the tags of a classifier, and for a probability of each class in y"
    names = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    return dict.fromkeys(names, reason) if estimator.__sklearn_tags__().input_tags.sparse else {}
