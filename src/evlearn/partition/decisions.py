"""Conversion of decisions to the classes of the labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.partition.credal_partition import REJECTED, UNKNOWN
from evlearn.utils.typing import IntArray


def decisions_as_classes(
    decisions: IntArray,
    classes: npt.NDArray[Any],
    *,
    rejected_labels: Sequence[Any],
    unknown_labels: Sequence[Any],
) -> npt.NDArray[Any]:
    """Replace positions by classes, and `REJECTED` and `UNKNOWN` by their labels.

    `rejected_labels` and `unknown_labels` contain one label, or none if the decision is not allowed. The type of
    the result depends on all labels, also on those that do not occur: text, numbers, or objects if types are
    mixed.
    """
    for name, label in [("rejected_label", value) for value in rejected_labels] + [
        ("unknown_label", value) for value in unknown_labels
    ]:
        if label in classes.tolist():
            raise ValueError(f"{name} must not be the name of a class, got {label!r}; choose another label.")
    if rejected_labels and unknown_labels and rejected_labels[0] == unknown_labels[0]:
        raise ValueError(f"rejected_label and unknown_label must differ, but both are {unknown_labels[0]!r}.")
    positions = np.where(decisions == REJECTED, len(classes), decisions)
    positions[decisions == UNKNOWN] = len(classes) + len(rejected_labels)
    return _concatenate(classes, [*rejected_labels, *unknown_labels])[positions]


def _concatenate(classes: npt.NDArray[Any], labels: list[Any]) -> npt.NDArray[Any]:
    """Concatenate classes and labels, without converting numbers to text."""
    if not labels:
        return classes
    values = np.empty(len(classes) + len(labels), dtype=object)
    values[:] = [*classes.tolist(), *labels]
    kinds = {np.asarray(label).dtype.kind for label in labels} | {classes.dtype.kind}
    return np.array(values.tolist()) if len(kinds) == 1 and kinds <= set("iufUb") else values
