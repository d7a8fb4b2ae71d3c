"""What is known about samples: constraints on pairs, or labels of some."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.labels import label_codes
from evlearn.utils.typing import IntArray

#: Beyond this many pairs of labelled samples, so many are drawn.
MOST_PAIRS = 20_000


def known_pairs(
    constraints: PairwiseConstraints | None, y: Any, X: npt.NDArray[Any], random: np.random.RandomState, name: str
) -> PairwiseConstraints:
    """The constraints a user gave, or those that labels imply."""
    if constraints is not None:
        pairs = constraints
    elif y is not None:
        pairs = _pairs_of_labels(read_labels(y, X), random)
    else:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None, and so are constraints; write "
            "fit(X, constraints=PairwiseConstraints(...)), or give labels as y."
        )
    if pairs.n_cannot_link == 0:
        raise ValueError(
            f"{name} needs at least one cannot-link, or labels of more than one class, or else nothing keeps "
            f"samples apart; got {pairs} of n_samples={len(X)} samples."
        )
    return pairs


def known_classes(y: Any, X: npt.NDArray[Any], name: str) -> tuple[IntArray, IntArray]:
    """The labelled samples and their classes.

    Returns
    -------
    labelled : ndarray of int of shape (n_labelled,)
        The samples that have a label.
    classes : ndarray of int of shape (n_labelled,)
        Their classes, numbered from 0; at least two.
    """
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    codes = read_labels(y, X)
    (labelled,) = np.nonzero(codes >= 0)
    classes = codes[labelled]
    n_classes = len(np.unique(classes))
    if n_classes < 2:
        raise ValueError(
            f"{name} needs labels of at least two classes, got {n_classes} class(es) among {len(labelled)} "
            f"labelled of n_samples={len(X)} samples; -1, NaN and None mean that a sample has no label."
        )
    return labelled, classes


def read_labels(y: Any, X: npt.NDArray[Any]) -> IntArray:
    """Labels as numbers, with -1 for samples that have none."""
    given = y if hasattr(y, "__array__") or isinstance(y, list) else np.asarray(y)
    if getattr(given, "ndim", 1) == 2 and given.shape[1] == 1:  # a column, as frames give them
        given = np.asarray(given)[:, 0]
    codes = label_codes(given, -1, "y")
    check_consistent_length(X, codes)
    return codes


def _pairs_of_labels(codes: IntArray, random: np.random.RandomState) -> PairwiseConstraints:
    n_labelled = int((codes >= 0).sum())
    if n_labelled * (n_labelled - 1) // 2 <= MOST_PAIRS:
        return PairwiseConstraints.from_labels(codes)
    return PairwiseConstraints.sample(codes, MOST_PAIRS, random_state=random)
