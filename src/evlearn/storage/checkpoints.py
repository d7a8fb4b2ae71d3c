"""Checkpoint files with the state of a long fit, so that it can resume after its process was killed.

A checkpoint is an archive of plain arrays (`evlearn.storage.archives`): ``header`` (JSON as bytes, which
identifies the fit) and the arrays of the state. The file is replaced atomically. Only the fit that wrote it can
load it: a fit with another parameter or any changed value in its data is rejected.
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

from evlearn.storage.archives import digest_of_arrays, header_array, read_archive, write_archive
from evlearn.storage.codec import describe_errors, read_json
from evlearn.storage.fields import check_keys
from evlearn.utils.files import atomic_write, check_folder, remove_leftovers_of
from evlearn.utils.urls import to_path
from evlearn.utils.validation import RUN_TIME

SCHEMA = "evlearn.checkpoint"
VERSION = 4
_SECONDS = 1.0  # minimum time between two writes
_TYPES = ("|u1", "|b1", "<i4", "<i8", "<f4", "<f8")

State = TypeVar("State")


class FitData(Protocol):
    """Data of a fit as a checkpoint requires them (`evlearn.RowDataset`)."""

    n_features: int
    dtype: Any

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *, n_jobs: int | None) -> Any:
        """Call a function with each block."""


class Checkpoint:
    """File with the state of a running fit."""

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError(f"checkpoint must be None or the path of a file, got {path!r}.")
        self._path = check_folder(to_path(path))
        if isinstance(self._path, Path):
            remove_leftovers_of(self._path)
        self._identity = identity
        self._written = time.monotonic()

    def load(self, parse: Callable[[dict[str, Any]], State]) -> State | None:
        """Return the state in the file."""
        if not self._path.exists():
            return None
        with self._explaining():
            with self._path.open("rb") as file:
                state = read_archive(file, _TYPES)
            check_keys("the file", state, ("header",), state)
            header = read_json(state.pop("header").tobytes())
            if not isinstance(header, dict) or (header.get("schema"), header.get("version")) != (SCHEMA, VERSION):
                raise ValueError("it was written by another version of evlearn, or is not a checkpoint")
            check_keys("the header", header, ("schema", "version", "identity", "digest"))
            check_keys("the identity", header["identity"], (), header["identity"])
            if header["digest"] != digest_of_arrays(state):
                raise ValueError("it is damaged")
        self._check(header["identity"])
        with self._explaining():
            return parse(state)

    def save(self, state: dict[str, Any], *, force: bool = False) -> None:
        """Write the state, at most once per second."""
        current = time.monotonic()
        if not force and current - self._written < _SECONDS:
            return
        arrays = {name: np.asarray(values) for name, values in state.items()}
        header = {
            "schema": SCHEMA,
            "version": VERSION,
            "identity": self._identity,
            "digest": digest_of_arrays(arrays),
        }
        with atomic_write(self._path) as file:
            write_archive(file, {"header": header_array(header), **arrays})
        self._written = current

    def remove(self) -> None:
        """Remove the file after the end of the fit."""
        self._path.unlink(missing_ok=True)

    def _explaining(self) -> Any:
        advice = (
            "Choose another name for the checkpoint; or delete this file, if it is an old one, to start again."
        )
        return describe_errors(f"checkpoint {self._path.name}", "a state", advice)

    def _check(self, identity: dict[str, Any]) -> None:
        expected = json.loads(json.dumps(self._identity))
        for key in sorted(expected.keys() | identity.keys(), key=lambda name: (name != "method", name)):
            if expected.get(key) != identity.get(key):
                raise ValueError(
                    f"checkpoint {self._path.name} belongs to another fit: {key} was {identity.get(key)!r} and is "
                    f"{expected.get(key)!r} now. Use the same data and parameters, or another file."
                )


def identity_of(estimator: Any, rows: FitData, **others: Any) -> dict[str, Any]:
    """Return the identity of a fit: its method, parameters except those in RUN_TIME, and data."""
    parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in RUN_TIME}
    return {
        "method": type(estimator).__name__,
        "n_samples": len(rows),
        "n_features": rows.n_features,
        "dtype": str(rows.dtype),
        "data": _digest_of_rows(rows, estimator.n_jobs),
        **{key: _to_json(value) for key, value in {**parameters, **others}.items()},
    }


def _to_json(value: Any) -> Any:
    """Convert a value to JSON, in the same way in any process: arrays by digests, functions by their code."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        return plain if not isinstance(plain, float) or np.isfinite(plain) else repr(plain)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "membership") and hasattr(value, "frame"):  # a FocalSets
        return {"sets": [list(focal_set) for focal_set in value], "frame": list(value.frame)}
    if isinstance(value, (set, frozenset)):
        return sorted((_to_json(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, partial):
        return [_to_json(value.func), _to_json(value.args), _to_json(value.keywords)]
    return _object_to_json(value)


def _object_to_json(value: Any) -> Any:
    kind = type(value).__name__
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return kind  # the state no longer depends on it
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return digest_of(array) if array.dtype != object else _to_json(array.tolist())
    if isinstance(code := getattr(value, "__code__", None), type(_to_json.__code__)):
        body = repr(
            (code.co_code, code.co_names, [value for value in code.co_consts if not hasattr(value, "co_code")])
        )
        return f"{value.__module__}.{value.__qualname__} {hashlib.sha256(body.encode()).hexdigest()[:16]}"
    if hasattr(value, "get_params") and not isinstance(value, type):  # with fitted attributes, if any
        return {kind: _to_json(vars(value))}
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


def _digest_of_rows(rows: FitData, n_jobs: int | None) -> str:
    """Return a digest of all rows. It depends on the blocks in which they are read, and these on their number."""
    parts = "".join(rows.map(_digest_of_block, n_jobs=n_jobs))
    return digest_of(np.frombuffer(parts.encode(), dtype=np.uint8))


def _digest_of_block(block: Any, weights: Any = None) -> str:
    return digest_of(block)


def digest_of(values: Any) -> str:
    """Return a short digest of an array, to compare data."""
    values = np.ascontiguousarray(values)
    content = hashlib.sha256(repr((values.shape, values.dtype.str)).encode())
    content.update(values.reshape(-1).view(np.uint8).data)
    return content.hexdigest()[:16]
