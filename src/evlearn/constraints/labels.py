"""Conversion of labels, some of which may be missing, to whole numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray, IntArray


def label_codes(labels: npt.ArrayLike, unlabeled: Any, name: str) -> IntArray:
    """Return a number for each label, and -1 for samples without a label."""
    values = np.asarray(labels)
    if values.dtype.kind in "US" and not hasattr(labels, "__array__"):
        # NumPy has converted other values in this list, such as NaN or -1, to text.
        values = np.asarray(labels, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one label for each sample, got an array of shape {values.shape}.")
    missing = _missing(values, unlabeled)
    codes = np.full(len(values), -1, dtype=np.intp)
    if values.dtype.kind == "O":
        # Labels of different types cannot be sorted, so not np.unique.
        numbers: dict[Any, int] = {}
        codes[~missing] = [numbers.setdefault(label, len(numbers)) for label in values[~missing]]
    else:
        codes[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return codes


def _missing(labels: npt.NDArray[Any], unlabeled: Any) -> BoolArray:
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        missing |= np.fromiter((_is_missing(label) for label in labels), dtype=bool, count=len(labels))
        missing[~missing] = [bool(label == unlabeled) for label in labels[~missing]]
        return missing
    if labels.dtype.kind == "f":
        missing |= np.isnan(labels)
    return np.asarray(missing | (labels == unlabeled))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # the comparison of pandas.NA with itself is undefined
        return True
