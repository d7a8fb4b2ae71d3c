"""Hostile inputs of the robustness study, by groups, as changes of valid data."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from evlearn.constraints import PairwiseConstraints

N = 30


def good_data():
    """Return 3 clear clusters and their labels."""
    y = np.arange(N) % 3
    centers = np.array([[0.0, 0, 1], [9, 0, -1], [0, 9, 0]])
    return centers[y] + np.random.default_rng(0).normal(scale=0.7, size=(N, 3)), y


@dataclass(frozen=True)
class Hostile:
    """Hostile input: a change of X, whether labels should be unchanged, and other arguments of ``fit``."""

    change: Any = lambda X: X
    harmless: bool = False
    arguments: Any = lambda y: {}

    def apply(self, X, y):
        """Return the changed X, y of its length, and other arguments of ``fit``."""
        changed = self.change(X.copy())
        shape = np.shape(changed) if isinstance(changed, np.ndarray) else ()
        return changed, (y[: shape[0]] if shape and shape[0] < len(y) else y), self.arguments(y)


def with_value(value):
    def change(X):
        X[3, 1] = value
        return X

    return change


def with_column(values):
    def change(X):
        X[:, 1] = values
        return X

    return change


def times(factor):
    return lambda X: X * factor


def as_type(dtype):
    return lambda X: X.astype(dtype)


def read_only(X):
    X.flags.writeable = False
    return X


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


def memory_map(X):
    path = Path(tempfile.mkdtemp()) / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def strided(X):
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    return wide[::2, ::2]


def object_with(value):
    def change(X):
        X = X.astype(object)
        X[3, 1] = value
        return X

    return change


def text_column(X):
    return pd.DataFrame(X).assign(name="a text")


def missing_in_frame(X):
    frame = pd.DataFrame(X).convert_dtypes()
    frame.iloc[3, 1] = pd.NA
    return frame


VALUES = {
    "NaN": Hostile(with_value(np.nan)),
    "inf": Hostile(with_value(np.inf)),
    "minus inf": Hostile(with_value(-np.inf)),
    "one value 1e9": Hostile(with_value(1e9)),
    "one value 1e150": Hostile(with_value(1e150)),
    "one value 1e300": Hostile(with_value(1e300)),
    "all times 1e-300": Hostile(times(1e-300)),
    "all times 1e-150": Hostile(times(1e-150), harmless=True),
    "all times 1e150": Hostile(times(1e150), harmless=True),
    "all times 1e300": Hostile(times(1e300)),
    "1e8 from zero": Hostile(lambda X: X + 1e8),
    "a column of 1e150": Hostile(with_column(1e150)),
    "single precision, 1e30": Hostile(lambda X: (X * 1e30).astype(np.float32), harmless=True),
    "single precision, 1e-30": Hostile(lambda X: (X * 1e-30).astype(np.float32), harmless=True),
}
SHAPES = {
    "no rows": Hostile(lambda X: X[:0]),
    "no columns": Hostile(lambda X: X[:, :0]),
    "one row": Hostile(lambda X: X[:1]),
    "two rows": Hostile(lambda X: X[:2]),
    "four rows": Hostile(lambda X: X[:4]),
    "one column": Hostile(lambda X: X[:, :1]),
    "one dimension": Hostile(lambda X: X[:, 0]),
    "three dimensions": Hostile(lambda X: X[:, :, None]),
    "a number": Hostile(lambda X: 3.0),
    "None": Hostile(lambda X: None),
    "ragged lists": Hostile(lambda X: [[1.0, 2.0], [3.0]] * (len(X) // 2)),
    "more columns than rows": Hostile(lambda X: np.tile(X[:10], 5) + 1e-3 * np.arange(10)[:, None] ** 2),
}
CONTENTS = {
    "all rows alike": Hostile(lambda X: np.repeat(X[:1], len(X), axis=0)),
    "all zero": Hostile(times(0)),
    "all alike but one": Hostile(lambda X: np.vstack([np.repeat(X[:1], len(X) - 1, axis=0), X[1:2]])),
    "each row many times": Hostile(lambda X: np.tile(X[:3], (len(X) // 3, 1)), harmless=True),
    "a constant column": Hostile(with_column(7)),
    "columns that repeat": Hostile(lambda X: np.hstack([X, X])),
    "zeros and ones": Hostile(lambda X: (X > 3).astype(float)),
    "one far outlier": Hostile(lambda X: np.vstack([X[:-1], np.full((1, X.shape[1]), 1e6)])),
}
TYPES = {
    "whole numbers": Hostile(as_type(int)),
    "small integers": Hostile(as_type(np.int8)),
    "booleans": Hostile(lambda X: X > 3),
    "half precision": Hostile(as_type(np.float16)),
    "long double": Hostile(as_type(np.longdouble), harmless=True),
    "complex": Hostile(lambda X: X + 1j),
    "text": Hostile(as_type(str)),
    "objects that are numbers": Hostile(as_type(object), harmless=True),
    "objects, one a text": Hostile(object_with("a")),
    "objects, one None": Hostile(object_with(None)),
    "objects, one a list": Hostile(object_with([1, 2])),
    "dates": Hostile(as_type("M8[s]")),
    "sparse": Hostile(sparse.csr_array),
    "lists": Hostile(lambda X: X.tolist(), harmless=True),
    "data frame": Hostile(pd.DataFrame, harmless=True),
    "frame with a column of text": Hostile(text_column),
    "frame with a missing value": Hostile(missing_in_frame),
    "masked": Hostile(lambda X: np.ma.masked_array(X, mask=np.zeros(X.shape)), harmless=True),
    "a dictionary": Hostile(lambda X: {"a": X}),
    "a file that is not there": Hostile(lambda X: "no such file.parquet"),
}
MEMORY = {
    "read-only": Hostile(read_only, harmless=True),
    "Fortran order": Hostile(np.asfortranarray, harmless=True),
    "every other row and column": Hostile(strided, harmless=True),
    "backwards in memory": Hostile(lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1], harmless=True),
    "big-endian": Hostile(as_type(">f8"), harmless=True),
    "unaligned": Hostile(unaligned, harmless=True),
    "memory map": Hostile(memory_map, harmless=True),
}
LABELS = {
    "y None": Hostile(arguments=lambda y: {"y": None}),
    "y of one class": Hostile(arguments=lambda y: {"y": np.zeros_like(y)}),
    "y all different": Hostile(arguments=lambda y: {"y": np.arange(len(y))}),
    "y one object of a class": Hostile(arguments=lambda y: {"y": (np.arange(len(y)) == 5).astype(int)}),
    "y too short": Hostile(arguments=lambda y: {"y": y[:-1]}),
    "y continuous": Hostile(arguments=lambda y: {"y": y + 0.5 * np.sin(np.arange(len(y)))}),
    "y with NaN": Hostile(arguments=lambda y: {"y": np.where(y == 1, np.nan, y)}),
    "y two columns": Hostile(arguments=lambda y: {"y": np.column_stack([y, y])}),
    "y texts": Hostile(arguments=lambda y: {"y": np.array(["a", "b", "ccc"])[y]}),
    "y texts and numbers": Hostile(arguments=lambda y: {"y": np.array([1, "b", None], dtype=object)[y]}),
    "y empty": Hostile(arguments=lambda y: {"y": y[:0]}),
}


def constrained(must_link, cannot_link):
    return Hostile(arguments=lambda y: {"constraints": PairwiseConstraints(must_link, cannot_link)})


CONSTRAINTS = {
    "constraints: a pair in both": constrained([[0, 1]], [[1, 0]]),
    "constraints: contradictory in a chain": constrained([[0, 1], [1, 2]], [[0, 2]]),
    "constraints: all cannot-link": constrained([], np.argwhere(np.triu(np.ones((N, N)), 1))),
    "constraints: none": constrained([], []),
    "constraints: out of range": constrained([[0, 99]], []),
    "constraints: negative numbers": constrained([[0, -1]], []),
    "constraints: fractions": constrained([[0, 1.5]], []),
    "constraints: triples": constrained([[0, 1, 2]], []),
    "constraints: an array": Hostile(arguments=lambda y: {"constraints": np.array([[0, 1]])}),
}


def with_entry(row, column, value):
    def change(D):
        D[row, column] = value
        return D

    return change


DISSIMILARITIES = {
    "asymmetric": Hostile(with_entry(0, 1, 100)),
    "a negative dissimilarity": Hostile(lambda D: with_entry(1, 0, -1)(with_entry(0, 1, -1)(D))),
    "not square": Hostile(lambda D: D[:, :-1]),
    "nonzero diagonal": Hostile(with_entry(2, 2, 5)),
    "all dissimilarities zero": Hostile(times(0)),
    "all dissimilarities one": Hostile(lambda D: 1.0 - np.eye(len(D))),
    "one object": Hostile(lambda D: D[:1, :1]),
    "two objects": Hostile(lambda D: D[:2, :2]),
    "squares, far from metric": Hostile(lambda D: D**6),
    "random, no structure": Hostile(lambda D: np.triu(np.sin(D) ** 2, 1) + np.triu(np.sin(D) ** 2, 1).T),
}
FIT = VALUES | SHAPES | CONTENTS | TYPES | MEMORY
NEW_ONLY = {
    "other number of columns": Hostile(lambda X: np.hstack([X, X])),
    "columns by other names": Hostile(
        lambda X: pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    ),
}
#: Frames for models that were fitted to a frame with the columns a, b, ...; all must be rejected.
HEADERS = {
    "headers: other names": lambda frame: frame.add_prefix("the "),
    "headers: another order": lambda frame: frame[frame.columns[::-1]],
    "headers: one is missing": lambda frame: frame.iloc[:, :-1],
    "headers: one too many": lambda frame: frame.assign(more=1.0),
    "headers: one by another name": lambda frame: frame.rename(columns={"a": "A"}),
    "headers: two alike": lambda frame: frame.rename(columns={"b": "a"}),
}
NEW = FIT | NEW_ONLY


def with_headers(X):
    """Return data as a frame with letters as column names."""
    return pd.DataFrame(X, columns=list("abcdefghij"[: X.shape[1]]))


GROUPS = {
    "values": VALUES,
    "shapes": SHAPES,
    "contents": CONTENTS,
    "types": TYPES,
    "memory": MEMORY,
    "labels": LABELS,
    "constraints": CONSTRAINTS,
    "dissimilarities": DISSIMILARITIES,
}
# Values that are passed to each parameter of each estimator.
PARAMETERS = {
    "None": None,
    "a text": "nonsense",
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "40": 40,
    "NaN": float("nan"),
    "inf": float("inf"),
    "True": True,
    "an empty list": [],
    "a matrix": np.full((2, 2), np.nan),
    "an object": object(),
}
