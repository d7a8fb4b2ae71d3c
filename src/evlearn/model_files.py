"""Fitted estimators in files, without pickle: JSON that other programs can read and that runs nothing when read.

A file holds the name of the class, its parameters, and what `fit` learned but for the masses and labels of the
training set, which are the business of `CredalPartition.save`. Values that JSON does not know are objects with a
single key: ``{"array": ...}``, ``{"tuple": ...}``, ``{"float": "inf"}``, ``{"focal sets": ...}``, and
``{"ClassName": fields}`` for the few classes that are listed below. Reading makes nothing else.
"""

import json
import math
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

import evlearn
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus
from evlearn.cluster.adaptive import AdaptiveModel
from evlearn.cluster.bootclus import BootstrapModel
from evlearn.cluster.eknnclus import NeighborModel
from evlearn.cluster.landmarks import LandmarkModel
from evlearn.cluster.medoids import MedoidModel, Medoids
from evlearn.cluster.neighbor_evidence import Support
from evlearn.cluster.pairs import Transform
from evlearn.cluster.prototypes import Coordinates, EuclideanModel, SetCosts, Statistics
from evlearn.cluster.relational import RelationalModel
from evlearn.cluster.squares import Squares
from evlearn.files import replacing
from evlearn.metric_learning import FDA, PCCA, KernelFDA, KernelPCCA, LocalFDA
from evlearn.mixture.bootstrap import GaussianReplicates
from evlearn.mixture.em import Mixture
from evlearn.mixture.units import Units
from evlearn.partition.storage import read_focal_sets

SCHEMA = "evlearn.model"
VERSION = 1
_MOST_FEATURES = 10_000_000  # beyond that a number in a file is an error, and would fill the memory

_CLUSTERERS = (BPEC, BootClus, CCM, CECM, ECM, ECMdd, EKNNClus, EVCLUS, RECM)
_TRANSFORMERS = (
    *(MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler),
    *(PCCA, KernelPCCA, FDA, LocalFDA, KernelFDA),
)
_ESTIMATORS = {one.__name__: one for one in (*_CLUSTERERS, *_TRANSFORMERS)}
_PARTS: dict[str, Any] = {
    one.__name__: one
    for one in (
        AdaptiveModel,
        BootstrapModel,
        Coordinates,
        EuclideanModel,
        GaussianReplicates,
        LandmarkModel,
        MedoidModel,
        Medoids,
        Mixture,
        NeighborModel,
        RelationalModel,
        SetCosts,
        Squares,
        Statistics,
        Support,
        Transform,
        Units,
    )
}
_OF_TRAINING_OBJECTS = (
    *("credal_partition_", "masses_", "labels_", "conflict_", "transformed_dissimilarities_"),
    *("intervals_", "mixture_"),
)
_ARRAY_TYPES = ("float64", "float32", "int64", "int32", "bool", "str")


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a JSON file, to predict with it elsewhere.

    The masses and labels of the training objects are not in the file: save ``credal_partition_`` for these. Of
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
    object
        The fitted estimator. It predicts what the saved one did, to the last bit, and does not know the objects
        that it was fitted to.

    See Also
    --------
    save_model : Write the file, with an example.
    """
    path = _check_name(path)
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"it does not carry the schema {SCHEMA}")
        if document.get("version") != VERSION:
            raise ValueError(
                f"it has schema version {document.get('version')!r}, and this release reads version {VERSION}"
            )
        steps = [_decode_estimator(step) for step in document["steps"]]
        if not steps or (len(steps) > 1 and not document["pipeline"]):
            raise ValueError(f"it has {len(steps)} steps and is no pipeline")
        return Pipeline(steps) if document["pipeline"] else steps[0][1]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError) as error:
        reason = "its structure is broken" if isinstance(error, (LookupError, RecursionError)) else str(error)
        raise ValueError(
            f"{path.name} is not a model that can be read: {reason}. Write such files with evlearn.save_model."
        ) from error


def _check_name(path: str | os.PathLike[str]) -> Path:
    if Path(path).suffix.lower() != ".json":
        raise ValueError(f"path must end in .json, got {str(path)!r}.")
    return Path(path)


# Estimators


def _encode_estimator(name: str, estimator: Any) -> dict[str, Any]:
    kind = type(estimator).__name__
    if _ESTIMATORS.get(kind) is not type(estimator):
        raise TypeError(
            f"estimator must be one of {sorted(_ESTIMATORS)}, or a pipeline of these, got {kind}; "
            "use joblib.dump for others."
        )
    parameters = estimator.get_params(deep=False)
    learned = {
        key: value
        for key, value in vars(estimator).items()
        if key not in parameters and key not in _OF_TRAINING_OBJECTS
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


def _decode_estimator(document: dict[str, Any]) -> tuple[str, BaseEstimator]:
    kind = document["class"]
    if kind not in _ESTIMATORS:
        raise ValueError(f"its class is {kind!r} and not one of {sorted(_ESTIMATORS)}")
    parameters = {key: _decode(value) for key, value in document["parameters"].items()}
    estimator = _ESTIMATORS[kind](**parameters)
    for key, value in document["learned"].items():
        if not (key.endswith("_") or key.startswith("_")) or hasattr(_ESTIMATORS[kind], key):
            raise ValueError(f"{kind} does not learn {key!r}")
        setattr(estimator, key, _decode(value))
    check_is_fitted(estimator)
    _check_consistent(estimator)
    _check_usable(estimator)
    return str(document["name"]), estimator


def _check_consistent(estimator: Any) -> None:
    """Models check themselves; here, that they fit the estimator around them."""
    model = getattr(estimator, "_model", None)
    n_features = getattr(model, "n_features", None)
    if n_features is not None and n_features != estimator.n_features_in_:
        raise ValueError(f"its model is for {n_features} attributes, and n_features_in_ is not")
    if model is not None and model.focal_sets != estimator.focal_sets_:
        raise ValueError("its model and focal_sets_ are about other sets")


def _check_usable(estimator: Any) -> None:
    """Whatever is missing, or of another kind than it should be, shows when it is used."""
    n_features = estimator.n_features_in_
    if not isinstance(n_features, int) or not 0 < n_features <= _MOST_FEATURES:
        raise ValueError(f"n_features_in_ is {n_features!r}")
    ask = getattr(estimator, "predict", None) or estimator.transform
    with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(ValueError):  # of values, not of structure
        warnings.simplefilter("ignore")
        ask(np.ones((1, n_features)))


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
        names = None if value.names is None else list(value.names)
        return {"focal sets": {"frame": names or value.frame_size, "sets": [list(one) for one in value]}}
    kind = type(value).__name__
    if _PARTS.get(kind) is type(value):
        names = [one.name for one in fields(value)] if is_dataclass(value) else value._fields
        return {kind: {name: _encode(getattr(value, name), f"{where}.{name}") for name in names}}
    if isinstance(value, (tuple, set, frozenset)):
        return {"tuple": [_encode(one, where) for one in value]}
    raise TypeError(f"{where} is {value!r}, which a JSON file cannot hold; use joblib.dump for this estimator.")


def _encode_array(array: Any, where: str) -> dict[str, Any]:
    kind = "str" if array.dtype.kind in "OU" else array.dtype.name
    values = array.ravel().tolist()
    if kind not in _ARRAY_TYPES or (kind == "str" and not all(isinstance(one, str) for one in values)):
        raise TypeError(f"{where} is an array of {array.dtype}, which a model file cannot hold; use joblib.dump.")
    if kind.startswith("float") and not np.isfinite(array).all():
        values = [repr(one) for one in values]
    return {"type": kind, "shape": list(array.shape), "values": values}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in _DECODERS:
        return _DECODERS[kind](content)
    if kind not in _PARTS:
        raise ValueError(f"it names the class {kind!r}, which is not one of models")
    return _PARTS[kind](**{name: _decode(one) for name, one in content.items()})


def _decode_array(content: dict[str, Any]) -> Any:
    if content["type"] not in _ARRAY_TYPES:
        raise ValueError(f"it has an array of {content['type']!r}")
    if None in content["values"]:
        raise ValueError("it has an array with a value that is missing")
    dtype = object if content["type"] == "str" else np.dtype(content["type"])
    return np.array(content["values"], dtype=dtype).reshape(content["shape"])


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "array": _decode_array,
    "float": float,
    "tuple": lambda content: tuple(_decode(one) for one in content),
    "focal sets": lambda content: read_focal_sets(content["sets"], content["frame"]),
}

__all__ = ["load_model", "save_model"]
