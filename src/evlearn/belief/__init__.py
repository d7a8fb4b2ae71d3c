"""Belief functions on arrays: focal sets, transforms, combination, decisions and measures.

A mass function distributes a unit of belief over sets of possible values. An array of shape ``(..., f)`` contains
any number of mass functions, with a column for each set of a `FocalSets`.

Most functions check shapes but not values, for speed; `check_masses`, `combine` and `CredalPartition` also check
that rows are mass functions.
"""

from evlearn.belief.combination import combine
from evlearn.belief.decision import (
    decide,
    expected_loss,
    interval_dominance,
    loss_matrix,
    maximality,
    partial_assignment,
)
from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.mass_function import MassFunction, expand_masses, reorder_masses
from evlearn.belief.measures import is_kind, mass_distance, nonspecificity
from evlearn.belief.revision import (
    condition,
    contextual_discount,
    discount,
    normalize,
    pignistic,
    plausibility_transform,
)
from evlearn.belief.transforms import (
    belief,
    canonical_weights,
    commonality,
    contour,
    implicability,
    masses_from,
    plausibility,
)
from evlearn.belief.validation import check_masses

__all__ = [
    "FocalSets",
    "MassFunction",
    "belief",
    "canonical_weights",
    "check_masses",
    "combine",
    "commonality",
    "condition",
    "contextual_discount",
    "contour",
    "decide",
    "discount",
    "expand_masses",
    "expected_loss",
    "implicability",
    "interval_dominance",
    "is_kind",
    "loss_matrix",
    "mass_distance",
    "masses_from",
    "maximality",
    "nonspecificity",
    "normalize",
    "partial_assignment",
    "pignistic",
    "plausibility",
    "plausibility_transform",
    "reorder_masses",
]
