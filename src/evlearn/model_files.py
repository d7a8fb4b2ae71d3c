"""Fitted estimators in files, without pickle: JSON that other programs can read and that runs nothing when read.

A file holds the name of the class, its parameters, and what `fit` learned but for the masses and labels of the
training set, which are the business of `CredalPartition.save`. Values that JSON does not know are objects with a
single key: ``{"array": ...}``, ``{"tuple": ...}``, ``{"float": "inf"}``, ``{"focal sets": ...}``, and
``{"ClassName": fields}`` for the few classes that `evlearn.model_contents` lists. Reading makes nothing else, and
takes no word from the file on how to run: paths and numbers of workers are those of whoever reads it.
"""

import json
import math
import os
from contextlib import AbstractContextManager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import evlearn
from evlearn.belief import FocalSets
from evlearn.model_contents import (
    ESTIMATORS,
    OF_TRAINING_OBJECTS,
    PARTS,
    TRANSFORMERS,
    n_features_out,
)
from evlearn.partition.storage import check_size, read_focal_sets
from evlearn.utils.files import replacing
from evlearn.utils.stored_values import (
    ARRAY_TYPES,
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


def save_model(estimator: EstimatorLike, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a JSON file, to predict with it elsewhere.

    The masses and labels of the training samples are not in the file: save ``credal_partition_`` for these. Of
    `BootClus` there are the mixtures of all resamples, some megabytes, and not the first one.

    Parameters
    ----------
    estimator : object
        A fitted clusterer of `evlearn.cluster`, or a `sklearn.pipeline.Pipeline` of scalers of scikit-learn,
        transformers of `evlearn.metric_learning` and one of these.
    path : str or path
        The file, which ends in ``.json``. An older file is replaced.

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
    >>> model = ECM(2, delta=5, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evlearn.save_model(model, Path(folder) / "model.json")
    ...     again = evlearn.load_model(Path(folder) / "model.json")
    >>> again.predict_mass(X) == model.credal_partition_
    True
    """
    path = _check_name(path)
    check_is_fitted(estimator)
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("model", estimator)]
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "evlearn": evlearn.__version__,
        "pipeline": isinstance(estimator, Pipeline),
        "steps": [_encode_estimator(name, step) for name, step in steps],
    }
    with replacing(path) as file:
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode())


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save_model` wrote. Nothing in the file is run, so that files of others are safe.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    sample
        The fitted estimator. It predicts what the saved one did, to the last bit, and does not know the samples
        that it was fitted to.

    See Also
    --------
    save_model : Write the file, with an example.
    """
    path = _check_name(path)
    with _explaining(path):
        document = read_json(path.read_bytes())
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"it does not carry the schema {SCHEMA}")
        if document.get("version") != VERSION:
            raise ValueError(
                f"it has schema version {shortened(document.get('version'))}, and this release reads "
                f"version {VERSION}"
            )
        check_keys("the file", document, ("schema", "version", "evlearn", "pipeline", "steps"))
        flag("pipeline", document["pipeline"])
        if not isinstance(document["steps"], list) or not document["steps"]:
            raise ValueError("it has no steps")
        steps = [_decode_estimator(step) for step in document["steps"]]
        _check_steps(steps, document["pipeline"])
        return Pipeline(steps) if document["pipeline"] else steps[0][1]


def _explaining(path: Path) -> AbstractContextManager[None]:
    return explaining(path.name, "a model", "Write such files with evlearn.save_model.")


def _check_name(path: str | os.PathLike[str]) -> Path:
    if Path(path).suffix.lower() != ".json":
        raise ValueError(f"path must end in .json, got {str(path)!r}.")
    return Path(path)


# Estimators


def _encode_estimator(name: str, estimator: Any) -> dict[str, Any]:
    kind = type(estimator).__name__
    if kind not in ESTIMATORS or ESTIMATORS[kind].estimator is not type(estimator):
        raise TypeError(
            f"estimator must be one of {sorted(ESTIMATORS)}, or a pipeline of these, got {kind}; "
            "use joblib.dump for others."
        )
    parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in RUN_TIME}
    known = ESTIMATORS[kind].required.keys() | ESTIMATORS[kind].others.keys()
    learned = {
        key: value for key, value in vars(estimator).items() if key in known and key not in OF_TRAINING_OBJECTS
    }
    return {
        "name": name,
        "class": kind,
        "parameters": {key: _encode(_plain(value), f"{kind}.{key}") for key, value in parameters.items()},
        "learned": {key: _encode(value, f"{kind}.{key}") for key, value in learned.items()},
    }


def _plain(value: Any) -> Any:
    """A parameter without what only a running program has: the state of a random generator."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _decode_estimator(document: Any) -> tuple[str, BaseEstimator]:
    check_keys("a step", document, ("name", "class", "parameters", "learned"))
    text()("the name of a step", document["name"])
    kind = document["class"]
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise ValueError(f"its class is {shortened(kind)} and not one of {sorted(ESTIMATORS)}")
    contents = ESTIMATORS[kind]
    estimator = contents.estimator(**_decode_parameters(kind, document["parameters"]))
    learned = document["learned"]
    check_keys(kind, learned, contents.required, contents.others)
    for key, value in learned.items():
        decoded = _decode(value, f"{kind}.{key}", parts=True)
        (contents.required.get(key) or contents.others[key])(f"{kind}.{key}", decoded)
        setattr(estimator, key, decoded)
    check_is_fitted(estimator)
    contents.agree(estimator)
    if hasattr(estimator, "feature_names_in_") and len(estimator.feature_names_in_) != estimator.n_features_in_:
        raise ValueError(f"{kind}.feature_names_in_ must have a name for each feature")
    return document["name"], estimator


def _decode_parameters(kind: str, document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError(f"{kind} has no parameters")
    decoded = {
        key: _decode(value, f"{kind}.{key}", parts=False) for key, value in document.items() if key not in RUN_TIME
    }
    return {key: value for key, value in decoded.items() if ESTIMATORS[kind].check_parameter(key, value)}


def _check_steps(steps: list[tuple[str, Any]], pipeline: bool) -> None:
    """Raise unless each step can follow the one before."""
    if not pipeline and len(steps) > 1:
        raise ValueError(f"it has {len(steps)} steps and is no pipeline")
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name or not name for name in names):
        raise ValueError(f"the names of its steps cannot be those of a pipeline: {shortened(names)}")
    for (name, step), (_, after) in pairwise(steps):
        if not isinstance(step, TRANSFORMERS):
            raise ValueError(f"the step {shortened(name)} is no transformer, and not the last")
        if n_features_out(step) != after.n_features_in_:
            raise ValueError(f"the step {shortened(name)} does not give as many features as the next one takes")


# Values


def _encode(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), where)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encode(one, where) for one in value]
    if isinstance(value, np.ndarray):
        return {"array": _encode_array(value, where)}
    if isinstance(value, FocalSets):
        try:
            check_size(value.frame_size, len(value), brought=int(value.sizes.sum()))
        except ValueError as error:
            raise TypeError(f"{where}: {error}; use joblib.dump for this estimator.") from error
        names = None if value.names is None else list(value.names)
        return {"focal sets": {"frame": names or value.frame_size, "sets": [list(one) for one in value]}}
    kind = type(value).__name__
    if kind in PARTS and PARTS[kind][0] is type(value):
        return {kind: {name: _encode(getattr(value, name), f"{where}.{name}") for name in PARTS[kind][1]}}
    if isinstance(value, (tuple, set, frozenset)):
        return {"tuple": [_encode(one, where) for one in value]}
    raise TypeError(f"{where} is {value!r}, which a JSON file cannot hold; use joblib.dump for this estimator.")


def _encode_array(array: Any, where: str) -> dict[str, Any]:
    kind = "str" if array.dtype.kind in "OU" else array.dtype.name
    values = array.ravel().tolist()
    if kind not in ARRAY_TYPES or (kind == "str" and not all(isinstance(one, str) for one in values)):
        raise TypeError(f"{where} is an array of {array.dtype}, which a model file cannot hold; use joblib.dump.")
    if kind.startswith("float") and not np.isfinite(array).all():
        values = [repr(one) for one in values]
    return {"type": kind, "shape": list(array.shape), "values": values}


def _decode(value: Any, where: str, *, parts: bool) -> Any:
    """A value from what JSON holds of it; the classes of parts only where they may be."""
    if isinstance(value, list):
        return [_decode(one, where, parts=parts) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"{where} is a sample with {len(value)} names, and must have one that says what it is")
    ((kind, content),) = value.items()
    if kind == "array":
        return array_of(where, content)
    if kind == "float":
        text(*_NOT_FINITE)(where, content)
        return float(content)
    if kind == "tuple":
        if not isinstance(content, list):
            raise ValueError(f"{where} must be a list, got {shortened(content)}")
        return tuple(_decode(one, where, parts=parts) for one in content)
    if kind == "focal sets":
        return _decode_sets(where, content)
    if not parts or kind not in PARTS:
        raise ValueError(f"{where} names the class {shortened(kind)}, which is not one of models")
    return _decode_part(f"{where}.{kind}", *PARTS[kind], content)


def _decode_sets(where: str, content: Any) -> FocalSets:
    check_keys(where, content, ("frame", "sets"))
    frame = content["frame"]
    if type(frame) is not int:
        check_names(f"{where}.frame", frame)
    return read_focal_sets(content["sets"], frame)


def _decode_part(where: str, part: Any, checks: dict[str, Any], content: Any) -> Any:
    check_keys(where, content, _needed(part), checks)
    decoded = {name: _decode(one, f"{where}.{name}", parts=True) for name, one in content.items()}
    for name, one in decoded.items():
        checks[name](f"{where}.{name}", one)
    return part(**decoded)


@cache
def _needed(part: Any) -> list[str]:
    """The fields of a part that have no default."""
    if not is_dataclass(part):
        return [name for name in part._fields if name not in part._field_defaults]
    return [one.name for one in fields(part) if one.default is MISSING]


__all__ = ["load_model", "save_model"]
