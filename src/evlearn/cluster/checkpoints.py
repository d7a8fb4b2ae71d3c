"""The state of a long fit in a file, so that it goes on where it was when its process is killed.

A checkpoint is an ``.npz`` archive of plain arrays, without pickle: ``header`` (JSON as bytes: which fit this
is) and the numbers of the state. It is replaced as a whole. It is for the fit that wrote it: other data or
parameters are refused.
"""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from evlearn.files import check_folder, replacing

SCHEMA = "evlearn.checkpoint"
VERSION = 1
_SECONDS = 1.0  # between two writes; a fit of less than that needs no checkpoint


class Checkpoint:
    """A file that holds the state of a fit while it runs.

    Parameters
    ----------
    path : str or path
        The file.
    identity : dict of str to JSON values
        What makes this fit: data, parameters.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError(f"checkpoint must be None or the path of a file, got {path!r}.")
        self._path = check_folder(path)
        self._identity = identity
        self._written = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """The state in the file.

        Returns
        -------
        dict of str to ndarray or None
            The numbers of the state; None if there is no file.
        """
        if not self._path.exists():
            return None
        try:
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                state = {name: archive[name] for name in archive.files}
            header = json.loads(state.pop("header").tobytes())
            digest = header.pop("digest")
        except (ValueError, KeyError, OSError, EOFError, TypeError, AttributeError, BadZipFile) as error:
            raise ValueError(
                f"checkpoint {self._path.name} cannot be read: it is cut off, or not a checkpoint of evlearn. "
                "Remove it to start anew."
            ) from error
        if (header.get("schema"), header.get("version")) != (SCHEMA, VERSION) or digest != _digest(state):
            raise ValueError(
                f"checkpoint {self._path.name} is damaged or was written by another version of evlearn. "
                "Remove it to start anew."
            )
        self._check(header["identity"])
        return state

    def save(self, state: dict[str, Any], *, force: bool = False) -> None:
        """Write the state, at most once a second.

        Parameters
        ----------
        state : dict of str to array-like
            The numbers of the state.
        force : bool, default=False
            Whether to write in any case.
        """
        now = time.monotonic()
        if not force and now - self._written < _SECONDS:
            return
        arrays = {name: np.asarray(values) for name, values in state.items()}
        header = {"schema": SCHEMA, "version": VERSION, "identity": self._identity, "digest": _digest(arrays)}
        with replacing(self._path) as file:
            arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
            np.savez(file, allow_pickle=False, **arrays)
        self._written = now

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        Path(self._path).unlink(missing_ok=True)

    def _check(self, identity: dict[str, Any]) -> None:
        ours = json.loads(json.dumps(self._identity))
        for key in sorted(ours.keys() | identity.keys()):
            if ours.get(key) != identity.get(key):
                raise ValueError(
                    f"checkpoint {self._path.name} belongs to another fit: {key} was {identity.get(key)!r} and is "
                    f"{ours.get(key)!r} now. Use the same data and parameters, or another file."
                )


def digest_of(values: Any) -> str:
    """A short name for numbers, to tell data apart.

    Parameters
    ----------
    values : ndarray
        The numbers.

    Returns
    -------
    str
        The name.
    """
    values = np.ascontiguousarray(values)
    return hashlib.sha256(repr((values.shape, values.dtype.str)).encode() + values.tobytes()).hexdigest()[:16]


def _digest(state: dict[str, Any]) -> str:
    return "".join(digest_of(state[name]) for name in sorted(state))
