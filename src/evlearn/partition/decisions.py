"""Decisions about classes, called as the labels call them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.partition.credal_partition import REFUSED, UNKNOWN
from evlearn.utils.typing import IntArray


def called_by_class(
    decisions: IntArray, classes: npt.NDArray[Any], *, refused: Sequence[Any], unknown: Sequence[Any]
) -> npt.NDArray[Any]:
    """Classes instead of their positions, and labels instead of `REFUSED` and `UNKNOWN`.

    `refused` and `unknown` hold a label each, or nothing where that decision was not allowed. The type of the
    result depends on the labels and not on what was decided: text or numbers if all are, and objects otherwise.
    """
    for name, label in [("rejected_label", one) for one in refused] + [("unknown_label", one) for one in unknown]:
        if label in classes.tolist():
            raise ValueError(f"{name} must not be the name of a class, got {label!r}; choose another label.")
    if refused and unknown and refused[0] == unknown[0]:
        raise ValueError(f"rejected_label and unknown_label must differ, but both are {unknown[0]!r}.")
    positions = np.where(decisions == REFUSED, len(classes), decisions)
    positions[decisions == UNKNOWN] = len(classes) + len(refused)
    return _joined(classes, [*refused, *unknown])[positions]


def _joined(classes: npt.NDArray[Any], labels: list[Any]) -> npt.NDArray[Any]:
    """Classes and labels in one array, without turning numbers to text."""
    if not labels:
        return classes
    objects = np.empty(len(classes) + len(labels), dtype=object)
    objects[:] = [*classes.tolist(), *labels]
    kinds = {np.asarray(label).dtype.kind for label in labels} | {classes.dtype.kind}
    return np.array(objects.tolist()) if len(kinds) == 1 and kinds <= set("iufUb") else objects
