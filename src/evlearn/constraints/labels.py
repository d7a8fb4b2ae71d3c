"""Labels of which some may be missing, as whole numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray, IntArray


def label_codes(labels: npt.ArrayLike, unlabelled: Any, name: str) -> IntArray:
    """A number for each label, and -1 for samples without one."""
    given = np.asarray(labels)
    if given.dtype.kind in "US" and not hasattr(labels, "__array__"):
        # NumPy turned what was not text in this list, such as NaN or -1, into text.
        given = np.asarray(labels, dtype=object)
    if given.ndim != 1:
        raise ValueError(f"{name} must be one label for each sample, got an array of shape {given.shape}.")
    missing = _missing(given, unlabelled)
    codes = np.full(len(given), -1, dtype=np.intp)
    if given.dtype.kind == "O":
        # Labels of different types cannot be sorted, so not np.unique.
        numbers: dict[Any, int] = {}
        codes[~missing] = [numbers.setdefault(label, len(numbers)) for label in given[~missing]]
    else:
        codes[~missing] = np.unique(given[~missing], return_inverse=True)[1]
    return codes


def _missing(labels: npt.NDArray[Any], unlabelled: Any) -> BoolArray:
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        missing |= np.fromiter((_is_missing(label) for label in labels), dtype=bool, count=len(labels))
        missing[~missing] = [bool(label == unlabelled) for label in labels[~missing]]
        return missing
    if labels.dtype.kind == "f":
        missing |= np.isnan(labels)
    return np.asarray(missing | (labels == unlabelled))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA does not know whether it equals itself
        return True
