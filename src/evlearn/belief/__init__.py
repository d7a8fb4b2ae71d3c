"""Belief functions on arrays: focal sets, transforms, combination, decisions and measures.

A mass function spreads a unit of belief over sets of answers instead of single answers. Here an array of shape
``(..., f)`` holds any number of them, with a column for each set of a `FocalSets`.

Functions look at shapes and not at values, to cost no more than their arithmetic; `check_masses`, the combination
rules and `CredalPartition` do check that masses are masses.
"""

from evlearn.belief.columns import arrange, expand
from evlearn.belief.combination import (
    average,
    bold,
    cautious,
    conjunctive,
    dempster,
    disjunctive,
    dubois_prade,
    yager,
)
from evlearn.belief.decision import (
    decide,
    expected_loss,
    interval_dominance,
    loss_matrix,
    maximality,
    partial_assignment,
)
from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.kinds import (
    is_bayesian,
    is_consonant,
    is_dogmatic,
    is_logical,
    is_normal,
    is_simple,
    is_vacuous,
)
from evlearn.belief.mass_function import MassFunction
from evlearn.belief.measures import belief_distance, jousselme_distance, nonspecificity
from evlearn.belief.revision import (
    condition,
    contextual_discount,
    discount,
    is_contradictory,
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
    mass_from_belief,
    mass_from_commonality,
    mass_from_implicability,
    mass_from_plausibility,
    mass_from_weights,
    plausibility,
)
from evlearn.belief.validation import check_masses

__all__ = [
    "FocalSets",
    "MassFunction",
    "arrange",
    "average",
    "belief",
    "belief_distance",
    "bold",
    "canonical_weights",
    "cautious",
    "check_masses",
    "commonality",
    "condition",
    "conjunctive",
    "contextual_discount",
    "contour",
    "decide",
    "dempster",
    "discount",
    "disjunctive",
    "dubois_prade",
    "expand",
    "expected_loss",
    "implicability",
    "interval_dominance",
    "is_bayesian",
    "is_consonant",
    "is_contradictory",
    "is_dogmatic",
    "is_logical",
    "is_normal",
    "is_simple",
    "is_vacuous",
    "jousselme_distance",
    "loss_matrix",
    "mass_from_belief",
    "mass_from_commonality",
    "mass_from_implicability",
    "mass_from_plausibility",
    "mass_from_weights",
    "maximality",
    "nonspecificity",
    "normalize",
    "partial_assignment",
    "pignistic",
    "plausibility",
    "plausibility_transform",
    "yager",
]
