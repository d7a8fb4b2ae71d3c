"""Training information of transformers: constraints on pairs of samples, or labels."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import label_codes
from evlearn.utils.typing import IntArray

#: Maximum number of constraints from labels. If there are more pairs, this number is drawn at random.
MAX_PAIRS = 20_000


def training_pairs(
    constraints: PairwiseConstraints | None, y: Any, X: npt.NDArray[Any], random: np.random.RandomState, name: str
) -> PairwiseConstraints:
    """Return the constraints, or those that follow from the labels."""
    if constraints is not None:
        pairs = constraints
    elif y is not None:
        pairs = _pairs_of_labels(read_labels(y, X), random)
    else:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None, and there are no constraints; use "
            "fit(X, constraints=PairwiseConstraints(...)), or pass labels as y."
        )
    if pairs.n_cannot_link == 0:
        raise ValueError(
            f"{name} requires at least one cannot-link, or labels of at least 2 classes, because otherwise all "
            f"samples would get the same features; got {pairs} of n_samples={len(X)} samples."
        )
    return pairs


def labeled_classes(y: Any, X: npt.NDArray[Any], name: str) -> tuple[IntArray, IntArray]:
    """Return the labeled samples and their classes.

    Returns
    -------
    labeled : ndarray of int of shape (n_labeled,)
        Indices of the samples that have a label.
    classes : ndarray of int of shape (n_labeled,)
        Their classes, numbered from 0. There are at least 2.
    """
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    codes = read_labels(y, X)
    (labeled,) = np.nonzero(codes >= 0)
    classes = codes[labeled]
    n_classes = len(np.unique(classes))
    if n_classes < 2:
        raise ValueError(
            f"{name} requires labels of at least 2 classes, got {n_classes} class(es) among {len(labeled)} "
            f"labeled of n_samples={len(X)} samples; samples with the label -1, NaN or None are unlabeled."
        )
    return labeled, classes


def read_labels(y: Any, X: npt.NDArray[Any]) -> IntArray:
    """Return labels as integers, with -1 for unlabeled samples."""
    labels = y if hasattr(y, "__array__") or isinstance(y, list) else np.asarray(y)
    if getattr(labels, "ndim", 1) == 2 and labels.shape[1] == 1:  # a single column of a frame
        labels = np.asarray(labels)[:, 0]
    codes = label_codes(labels, -1, "y")
    check_consistent_length(X, codes)
    return codes


def _pairs_of_labels(codes: IntArray, random: np.random.RandomState) -> PairwiseConstraints:
    n_labeled = int((codes >= 0).sum())
    if n_labeled * (n_labeled - 1) // 2 <= MAX_PAIRS:
        return PairwiseConstraints.from_labels(codes)
    return PairwiseConstraints.sample(codes, MAX_PAIRS, random_state=random)
