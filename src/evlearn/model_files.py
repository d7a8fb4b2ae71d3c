"""Fitted estimators in files, without pickle: JSON that other programs can read and that runs nothing when read.

A file holds the name of the class, its parameters, and what `fit` learned but for the masses and labels of the
training set, which are the business of `CredalPartition.save`. Values that JSON does not know are objects with a
single key: ``{"array": ...}``, ``{"objects": ...}``, ``{"tuple": ...}``, ``{"float": "inf"}``,
``{"focal sets": ...}``, ``{"fields": ...}``, ``{"estimator": ...}`` for one inside another, and
``{"ClassName": fields}`` for the few classes that `evlearn.model_contents` lists. Reading makes nothing else, and
takes no word from the file on how to run: paths and numbers of workers are those of whoever reads it. Large arrays
are in an archive beside the file.
"""

import hashlib
import json
import math
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import evlearn
from evlearn.belief import FocalSets
from evlearn.model_contents import NAMES, TRANSFORMERS, Contents, Part, contents_of, n_features_out, part_of
from evlearn.partition.storage import check_size, read_focal_sets
from evlearn.utils.archives import read_archive, write_archive
from evlearn.utils.files import replacing
from evlearn.utils.places import Place, place_of
from evlearn.utils.stored_values import (
    ARRAY_TYPES,
    LARGEST_CLAIM,
    array_of,
    check_keys,
    check_names,
    explaining,
    flag,
    read_json,
    shortened,
    text,
)
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import RUN_TIME

SCHEMA = "evlearn.model"
VERSION = 1
_NOT_FINITE = ("inf", "-inf", "nan")
_PLAIN = (type(None), bool, int, float, str)
#: Numbers in an array from which on it is written beside the file.
_LARGE = 100_000
_STORED_TYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")


def save_model(estimator: EstimatorLike, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a JSON file, to predict with it elsewhere.

    The masses and labels of the training samples are not in the file: save ``credal_partition_`` for these. For
    `BootClus` it has the mixtures of all resamples, some megabytes, but not the first one.

    Parameters
    ----------
    estimator : object
        A fitted evlearn estimator; or a pipeline, also with a ``ColumnTransformer``, of imputers, scalers,
        encoders, scikit-learn's ``PCA`` and ``TruncatedSVD``, our transformers, and one of these at its end.
        Of a search such as ``GridSearchCV``, the best estimator is written.
    path : str or path
        The file, or a URL, which ends in ``.json``. An older file is replaced. If there are arrays of more than
        100,000 numbers, they go to a file with the same name that ends in ``.npz``: keep the two together. An
        ``.npz`` file that does not belong to an older model of that name is never replaced.

    See Also
    --------
    load_model : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evlearn.save_model(model, Path(folder) / "model.json")
    ...     again = evlearn.load_model(Path(folder) / "model.json")
    >>> again.predict_mass(X) == model.credal_partition_
    True
    """
    place = _check_name(path)
    estimator = getattr(estimator, "best_estimator_", estimator)
    check_is_fitted(estimator)
    writing = _Writing()
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("model", estimator)]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "evlearn": evlearn.__version__,
        "pipeline": isinstance(estimator, Pipeline),
        "steps": writing.steps(steps),
    }
    if writing.beside:
        check_archive(place)
        with replacing(archive_of(place)) as file:
            write_archive(file, writing.beside)
        document["beside"] = _digest(writing.beside)
    with replacing(place) as file:
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode())


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save_model` wrote. Nothing in the file is run, so files from others are safe.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The fitted estimator. It predicts what the saved one did, to the last bit, and does not keep the samples
        that it was fitted to.

    See Also
    --------
    save_model : Write the file, with an example.
    """
    place = _check_name(path)
    with _explaining(place):
        document = read_json(place.read_bytes())
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"it does not carry the schema {SCHEMA}")
        if document.get("version") != VERSION:
            raise ValueError(
                f"it has schema version {shortened(document.get('version'))}, and this release reads "
                f"version {VERSION}"
            )
        check_keys("the file", document, ("schema", "version", "evlearn", "pipeline", "steps"), ("beside",))
        flag("pipeline", document["pipeline"])
        reading = _Reading(_read_beside(place, document["beside"]) if "beside" in document else {})
        steps = reading.steps(document["steps"])
        if not document["pipeline"] and len(steps) > 1:
            raise ValueError(f"it has {len(steps)} steps and is no pipeline")
        return Pipeline(steps) if document["pipeline"] else steps[0][1]


def archive_of(path: str | os.PathLike[str] | Place) -> Path | Place:
    """Return the file beside a model file that holds its large arrays."""
    return place_of(path).with_suffix(".npz")


def check_archive(path: str | os.PathLike[str] | Place) -> None:
    """Raise if the arrays of a model at `path` would replace a file that belongs to no older model there."""
    place, archive = place_of(path), archive_of(path)
    if not archive.exists():
        return
    try:
        document = json.loads(place.read_bytes())
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict) or "beside" not in document:
        raise FileExistsError(
            f"the large arrays of the model {place.name} are written to {archive.name}, and that file exists and "
            "does not belong to the model; choose another name for the model, or move the file."
        )


def _read_beside(path: Path | Place, digest: Any) -> dict[str, Any]:
    """The arrays in the archive beside a file, which is known by its name and by what is in it."""
    archive = archive_of(path)
    if not archive.is_file():
        raise ValueError(f"its large arrays are in {archive.name}, which is not beside it")
    with archive.open("rb") as file:
        arrays = read_archive(file, _STORED_TYPES)
    if digest != _digest(arrays):
        raise ValueError(f"{archive.name} belongs to another model")
    return arrays


def _digest(arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _explaining(path: Path | Place) -> AbstractContextManager[None]:
    return explaining(path.name, "a model", "Write such files with evlearn.save_model.")


def _check_name(path: str | os.PathLike[str]) -> Path | Place:
    place = place_of(path)
    if place.suffix.lower() != ".json":
        raise ValueError(f"path must end in .json, got {str(path)!r}.")
    return place


# Writing


@dataclass
class _Writing:
    """Estimators and values as JSON, and large arrays for the archive beside it."""

    beside: dict[str, Any] = field(default_factory=dict)

    def steps(self, steps: list[tuple[str, Any]]) -> list[Any]:
        """The steps of a pipeline. After the first, names of features are what the step before gives."""
        first, *others = steps
        return [self.estimator(*first), *(self.estimator(*one, inner=True) for one in others)]

    def estimator(self, name: str, estimator: Any, *, inner: bool = False) -> dict[str, Any]:
        """A fitted estimator, or one with its parameters alone, if that is all that it has."""
        if isinstance(estimator, str):
            return {"name": name, "class": estimator}
        if isinstance(estimator, Pipeline):
            return {"name": name, "class": "Pipeline", "steps": self.steps(estimator.steps)}
        kind = type(estimator).__name__
        contents = contents_of(kind)
        if contents is None or contents.estimator is not type(estimator):
            raise TypeError(
                f"estimator must be one of {NAMES}, or a pipeline of these, got {kind}; "
                "use joblib.dump for others."
            )
        document = {"name": name, "class": kind, "parameters": self._parameters(contents, estimator)}
        if not _is_fitted(estimator):
            return document
        learned = contents.learned(estimator)
        if inner and learned.pop("feature_names_in_", None) is not None and kind == "ColumnTransformer":
            raise TypeError("a ColumnTransformer with names of columns must be the first step; use joblib.dump.")
        return document | {"learned": {key: self.value(one, f"{kind}.{key}") for key, one in learned.items()}}

    def _parameters(self, contents: Contents, estimator: Any) -> dict[str, Any]:
        kind, found = type(estimator).__name__, {}
        for key, given in estimator.get_params(deep=False).items():
            if key in RUN_TIME or key in contents.omitted:
                continue
            value = _plain(given)
            if isinstance(value, BaseEstimator) and key not in contents.nested:
                raise TypeError(f"{kind}.{key} is {value!r}, which a model file cannot hold; use joblib.dump.")
            if contents.parameters is not None:  # of scikit-learn, some of whose parameters we do not know
                try:
                    contents.check_parameter(key, value)
                except ValueError as error:
                    raise TypeError(f"{error}; use joblib.dump for this estimator.") from error
            found[key] = self.value(value, f"{kind}.{key}")
        return found

    def value(self, value: Any, where: str) -> Any:
        """A value of any kind that a file can hold."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, np.generic):
            return self.value(value.item(), where)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list):
            return [self.value(one, where) for one in value]
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, dict) and all(type(key) is str for key in value):
            return {"fields": {key: self.value(one, f"{where}.{key}") for key, one in value.items()}}
        if isinstance(value, FocalSets):
            return _encode_sets(value, where)
        if isinstance(value, BaseEstimator):
            return {"estimator": self.estimator("", value)}
        part = part_of(type(value).__name__)
        if part is not None and part.kind is type(value):
            fields = part.fields(value).items()
            return {part.kind.__name__: {name: self.value(one, f"{where}.{name}") for name, one in fields}}
        if isinstance(value, (tuple, set, frozenset)):
            return {"tuple": [self.value(one, where) for one in value]}
        raise TypeError(
            f"{where} is {value!r}, which a JSON file cannot hold; use joblib.dump for this estimator."
        )

    def _array(self, array: Any, where: str) -> dict[str, Any]:
        if array.size > _LARGE and array.dtype.newbyteorder("<").str in _STORED_TYPES:
            name = f"array {len(self.beside)}"
            self.beside[name] = array
            return {"array": {"beside": name} | _order(array)}
        kind = "str" if array.dtype.kind in "OU" else array.dtype.name
        values = array.ravel().tolist()
        if kind == "str" and array.ndim == 1 and not all(type(one) is str for one in values):
            if not all(type(one) in _PLAIN for one in values):
                raise TypeError(f"{where} holds values that a model file cannot hold; use joblib.dump.")
            return {"objects": [self.value(one, where) for one in values]}
        if kind not in ARRAY_TYPES:
            raise TypeError(
                f"{where} is an array of {array.dtype}, which a model file cannot hold; use joblib.dump."
            )
        if kind.startswith("float") and not np.isfinite(array).all():
            values = [repr(one) for one in values]
        return {"array": {"type": kind, "shape": list(array.shape), "values": values} | _order(array)}


def _order(array: Any) -> dict[str, str]:
    return {"order": "F"} if array.flags.f_contiguous and not array.flags.c_contiguous else {}


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _plain(value: Any) -> Any:
    """A parameter without what only a running program has: the state of a random generator, types of numbers."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, (np.generic, int, float))):
        return np.dtype(value).name
    if isinstance(value, range):
        return list(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _encode_sets(value: FocalSets, where: str) -> dict[str, Any]:
    try:
        check_size(value.frame_size, len(value), brought=int(value.sizes.sum()))
    except ValueError as error:
        raise TypeError(f"{where}: {error}; use joblib.dump for this estimator.") from error
    names = None if value.names is None else list(value.names)
    return {"focal sets": {"frame": names or value.frame_size, "sets": [list(one) for one in value]}}


# Reading


@dataclass(frozen=True)
class _Reading:
    """Estimators and values from JSON, and from the archive beside it."""

    beside: dict[str, Any]

    def steps(self, document: Any, *, fitted: bool = True) -> list[tuple[str, Any]]:
        """The steps of a pipeline, each of which can follow the one before."""
        if not isinstance(document, list) or not document:
            raise ValueError("it has no steps")
        steps = [self.estimator(step, fitted=fitted) for step in document]
        _check_steps(steps, fitted)
        return steps

    def estimator(self, document: Any, *, fitted: bool) -> tuple[str, Any]:
        """An estimator and its name; fitted, where that is needed."""
        if not isinstance(document, dict):
            raise ValueError(f"a step must be an object with names, got {shortened(document)}")
        kind = document.get("class")
        if kind == "passthrough":
            check_keys("a step", document, ("name", "class"))
            return _name_of(document), kind
        if kind == "Pipeline":
            check_keys("a step", document, ("name", "class", "steps"))
            return _name_of(document), Pipeline(self.steps(document["steps"], fitted=fitted))
        check_keys("a step", document, ("name", "class", "parameters"), ("learned",))
        contents = contents_of(kind)
        if contents is None:
            raise ValueError(f"its class is {shortened(kind)} and not one of {NAMES}")
        estimator = (contents.construct or contents.estimator)(
            **self._parameters(contents, document["parameters"])
        )
        if not fitted:  # a parameter of another one
            return _name_of(document), estimator
        return _name_of(document), self._fitted(contents, estimator, document.get("learned"))

    def _parameters(self, contents: Contents, document: Any) -> dict[str, Any]:
        kind = contents.estimator.__name__
        if not isinstance(document, dict):
            raise ValueError(f"{kind} has no parameters")
        decoded = {
            key: self.value(value, f"{kind}.{key}", parts=False, nested=key in contents.nested)
            for key, value in document.items()
            if key not in RUN_TIME and key not in contents.omitted
        }
        return {key: value for key, value in decoded.items() if contents.check_parameter(key, value)}

    def _fitted(self, contents: Contents, estimator: Any, document: Any) -> Any:
        kind = contents.estimator.__name__
        check_keys(kind, document, contents.required, contents.others)
        learned = {}
        for key, value in document.items():
            learned[key] = self.value(value, f"{kind}.{key}", parts=True, nested=key in contents.nested)
            contents.check(key, learned[key])
        if learned["n_features_in_"] > LARGEST_CLAIM:
            raise ValueError(f"{kind}.n_features_in_ is {learned['n_features_in_']}, which is too large")
        names = learned.get("feature_names_in_")
        if names is not None and len(names) != learned["n_features_in_"]:
            raise ValueError(f"{kind}.feature_names_in_ must have a name for each feature")
        made = contents.made(estimator, learned)
        check_is_fitted(made)
        contents.agree(made)
        return made

    def value(self, value: Any, where: str, *, parts: bool, nested: bool = False) -> Any:
        """A value from what JSON holds of it; the classes of parts, and estimators, only where they may be."""
        if isinstance(value, list):
            return [self.value(one, where, parts=parts, nested=nested) for one in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise ValueError(
                f"{where} is an object with {len(value)} names, and must have one that says what it is"
            )
        ((kind, content),) = value.items()
        if kind == "array":
            return self._array(where, content)
        if kind == "float":
            text(*_NOT_FINITE)(where, content)
            return float(content)
        if kind in ("tuple", "objects"):
            return self._several(kind, where, content, parts=parts, nested=nested)
        if kind == "fields" and isinstance(content, dict):
            return {key: self.value(one, f"{where}.{key}", parts=False) for key, one in content.items()}
        if kind == "focal sets":
            return _decode_sets(where, content)
        if kind == "estimator" and nested:
            return self.estimator(content, fitted=parts)[1]
        part = part_of(kind) if parts else None
        if part is None:
            raise ValueError(f"{where} names the class {shortened(kind)}, which is not one of models")
        return self._part(f"{where}.{kind}", part, content)

    def _several(self, kind: str, where: str, content: Any, *, parts: bool, nested: bool) -> Any:
        if not isinstance(content, list):
            raise ValueError(f"{where} must be a list, got {shortened(content)}")
        found = [self.value(one, where, parts=parts, nested=nested) for one in content]
        if kind == "tuple":
            return tuple(found)
        if not all(type(one) in _PLAIN for one in found):
            raise ValueError(f"{where} must be a list of words and numbers")
        objects = np.empty(len(found), dtype=object)
        objects[:] = found
        return objects

    def _array(self, where: str, content: Any) -> Any:
        if not isinstance(content, dict) or "beside" not in content:
            return array_of(where, content)
        check_keys(where, content, ("beside",), ("order",))
        text("F")(f"{where}.order", content.get("order", "F"))
        name = content["beside"]
        if not isinstance(name, str) or name not in self.beside:
            raise ValueError(f"{where} is in an archive that does not hold it")
        return np.asfortranarray(self.beside[name]) if "order" in content else self.beside[name]

    def _part(self, where: str, part: Part, content: Any) -> Any:
        check_keys(where, content, part.needed, part.checks)
        decoded = {
            name: self.value(one, f"{where}.{name}", parts=True, nested=part.nested)
            for name, one in content.items()
        }
        for name, one in decoded.items():
            part.checks[name](f"{where}.{name}", one)
        return part.make(decoded)


def _name_of(document: Any) -> str:
    text()("the name of a step", document["name"])
    return str(document["name"])


def _decode_sets(where: str, content: Any) -> FocalSets:
    check_keys(where, content, ("frame", "sets"))
    frame = content["frame"]
    if type(frame) is not int:
        check_names(f"{where}.frame", frame)
    return read_focal_sets(content["sets"], frame)


def _check_steps(steps: list[tuple[str, Any]], fitted: bool) -> None:
    """Raise unless each step can follow the one before."""
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name or not name for name in names):
        raise ValueError(f"the names of its steps cannot be those of a pipeline: {shortened(names)}")
    for (name, step), (_, after) in pairwise((name, step) for name, step in steps if step != "passthrough"):
        if not isinstance(step, (*TRANSFORMERS, Pipeline)):
            raise ValueError(f"the step {shortened(name)} is no transformer, and not the last")
        if fitted and n_features_out(step) != after.n_features_in_:
            raise ValueError(f"the step {shortened(name)} does not give as many features as the next one takes")


__all__ = ["load_model", "save_model"]
