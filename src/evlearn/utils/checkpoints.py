"""The state of a long fit in a file, so that it goes on where it was when its process is killed.

A checkpoint is an archive of plain arrays (`evlearn.utils.archives`): ``header`` (JSON as bytes: which fit this
is) and the numbers of the state. It is replaced as a whole. It is for the fit that wrote it: a fit with another
parameter, or with one number of its data changed, is refused.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from evlearn.utils.archives import header_array, read_archive, write_archive
from evlearn.utils.files import check_folder, replacing, sweep_beside
from evlearn.utils.places import place_of
from evlearn.utils.stored_values import check_keys, explaining, read_json
from evlearn.utils.validation import RUN_TIME

SCHEMA = "evlearn.checkpoint"
VERSION = 3
_SECONDS = 1.0  # between two writes; a fit of less than that needs no checkpoint
_TYPES = ("|u1", "|b1", "<i4", "<i8", "<f4", "<f8")

State = TypeVar("State")


class RowsOfFit(Protocol):
    """What a checkpoint asks of the data (`evlearn.blocks.Rows`)."""

    n_features: int
    dtype: Any

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *, n_jobs: int | None) -> Any:
        """Call a function with every block."""


class Checkpoint:
    """A file that holds the state of a fit while it runs."""

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError(f"checkpoint must be None or the path of a file, got {path!r}.")
        self._path = check_folder(place_of(path))
        if isinstance(self._path, Path):
            sweep_beside(self._path)
        self._identity = identity
        self._written = time.monotonic()

    def load(self, read: Callable[[dict[str, Any]], State]) -> State | None:
        """The state in the file."""
        if not self._path.exists():
            return None
        with self._explaining():
            with self._path.open("rb") as file:
                state = read_archive(file, _TYPES)
            check_keys("the file", state, ("header",), state)
            header = read_json(state.pop("header").tobytes())
            if not isinstance(header, dict) or (header.get("schema"), header.get("version")) != (SCHEMA, VERSION):
                raise ValueError("it was written by another version of evlearn, or is no checkpoint")
            check_keys("the header", header, ("schema", "version", "identity", "digest"))
            check_keys("the identity", header["identity"], (), header["identity"])
            if header["digest"] != _digest(state):
                raise ValueError("it is damaged")
        self._check(header["identity"])
        with self._explaining():
            return read(state)

    def save(self, state: dict[str, Any], *, force: bool = False) -> None:
        """Write the state, at most once a second."""
        now = time.monotonic()
        if not force and now - self._written < _SECONDS:
            return
        arrays = {name: np.asarray(values) for name, values in state.items()}
        header = {"schema": SCHEMA, "version": VERSION, "identity": self._identity, "digest": _digest(arrays)}
        with replacing(self._path) as file:
            write_archive(file, {"header": header_array(header), **arrays})
        self._written = now

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        self._path.unlink(missing_ok=True)

    def _explaining(self) -> Any:
        advice = "Choose another name for the checkpoint; or delete this file, if it is an old one, to start anew."
        return explaining(f"checkpoint {self._path.name}", "a state", advice)

    def _check(self, identity: dict[str, Any]) -> None:
        ours = json.loads(json.dumps(self._identity))
        for key in sorted(ours.keys() | identity.keys(), key=lambda one: (one != "method", one)):
            if ours.get(key) != identity.get(key):
                raise ValueError(
                    f"checkpoint {self._path.name} belongs to another fit: {key} was {identity.get(key)!r} and is "
                    f"{ours.get(key)!r} now. Use the same data and parameters, or another file."
                )


def identity_of(estimator: Any, rows: RowsOfFit, **others: Any) -> dict[str, Any]:
    """What makes a fit: the method, all its parameters but those that say how to run, and all its data."""
    parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in RUN_TIME}
    return {
        "method": type(estimator).__name__,
        "n_samples": len(rows),
        "n_features": rows.n_features,
        "dtype": str(rows.dtype),
        "data": _digest_of_rows(rows, estimator.n_jobs),
        **{key: _described(value) for key, value in {**parameters, **others}.items()},
    }


def _described(value: Any) -> Any:
    """A value in JSON, the same for the same value in any process: arrays by a digest, functions by their code."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        return plain if not isinstance(plain, float) or np.isfinite(plain) else repr(plain)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "membership") and hasattr(value, "frame"):  # a FocalSets
        return {"sets": [list(one) for one in value], "frame": list(value.frame)}
    if isinstance(value, (set, frozenset)):
        return sorted((_described(one) for one in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_described(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _described(one) for key, one in value.items()}
    if isinstance(value, partial):
        return [_described(value.func), _described(value.args), _described(value.keywords)]
    return _described_sample(value)


def _described_sample(value: Any) -> Any:
    kind = type(value).__name__
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return kind  # where chance comes from, which the state no longer asks
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return digest_of(array) if array.dtype != object else _described(array.tolist())
    if isinstance(code := getattr(value, "__code__", None), type(_described.__code__)):
        body = repr((code.co_code, code.co_names, [one for one in code.co_consts if not hasattr(one, "co_code")]))
        return f"{value.__module__}.{value.__qualname__} {hashlib.sha256(body.encode()).hexdigest()[:16]}"
    if hasattr(value, "get_params") and not isinstance(value, type):  # with what it has learned, if it is fitted
        return {kind: _described(vars(value))}
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


def _digest_of_rows(rows: RowsOfFit, n_jobs: int | None) -> str:
    """A short name for all rows. It depends on the blocks in which they are read, and these on their number."""
    parts = "".join(rows.map(_digest_of_block, n_jobs=n_jobs))
    return digest_of(np.frombuffer(parts.encode(), dtype=np.uint8))


def _digest_of_block(block: Any, weights: Any = None) -> str:
    return digest_of(block)


def digest_of(values: Any) -> str:
    """A short name for numbers, to tell data apart."""
    values = np.ascontiguousarray(values)
    content = hashlib.sha256(repr((values.shape, values.dtype.str)).encode())
    content.update(values.reshape(-1).view(np.uint8).data)
    return content.hexdigest()[:16]


def _digest(state: dict[str, Any]) -> str:
    return "".join(digest_of(state[name]) for name in sorted(state))
