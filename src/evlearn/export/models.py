"""Model files of fitted estimators, as JSON and without pickle: reading a file executes no code.

A file contains the name of the class, its parameters, and its fitted attributes except the masses and labels of
the training set, which `CredalPartition.save` writes. Values without a JSON type are objects with a single key:
``{"array": ...}``, ``{"objects": ...}``, ``{"tuple": ...}``, ``{"float": "inf"}``, ``{"focal sets": ...}``,
``{"fields": ...}``, ``{"estimator": ...}`` for a nested estimator, and ``{"ClassName": fields}`` for the few
classes that `evlearn.export.contents` lists. Reading creates no other objects and ignores parameters of the run,
such as paths and numbers of workers. Large arrays are in a separate archive in the same folder.
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
from evlearn.export.contents import (
    NAMES,
    SPECIFICATIONS,
    TRANSFORMERS,
    Contents,
    Part,
    contents_of,
    n_features_out,
    part_of,
)
from evlearn.storage.archives import read_archive, write_archive
from evlearn.storage.fields import (
    ARRAY_TYPES,
    LARGEST_CLAIM,
    array_of,
    check_keys,
    check_names,
    describe_errors,
    flag,
    read_json,
    shortened,
    text,
)
from evlearn.storage.partitions import check_size, read_focal_sets
from evlearn.utils.files import atomic_write
from evlearn.utils.places import RemotePath, to_path
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import RUN_TIME

SCHEMA = "evlearn.model"
VERSION = 2
_NOT_FINITE = ("inf", "-inf", "nan")
_PLAIN = (type(None), bool, int, float, str)
#: Number of elements above which an array is written to the archive.
_LARGE = 100_000
_STORED_TYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")


def save_model(estimator: EstimatorLike, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a JSON file, to predict with it elsewhere.

    The file does not contain the masses and labels of the training samples: save ``credal_partition_`` for these.
    For `BootClus` it contains the mixtures of all resamples (a few megabytes), but not the first mixture.

    Parameters
    ----------
    estimator : object
        A fitted evlearn estimator, or a pipeline that ends with one. The other steps can be imputers, scalers,
        encoders, ``ColumnTransformer``, ``PCA``, ``TruncatedSVD`` and evlearn transformers. For a search such as
        ``GridSearchCV``, the best estimator is written.
    path : str or path
        The file or URL, with the suffix ``.json``. An existing file is replaced. Arrays of more than 100,000
        numbers are written to a file with the same name and the suffix ``.npz``: keep the 2 files together. An
        ``.npz`` file that does not belong to an existing model of that name is never replaced.

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
    encoder = _Encoder()
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("model", estimator)]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "evlearn": evlearn.__version__,
        "pipeline": isinstance(estimator, Pipeline),
        "steps": encoder.steps(steps),
    }
    if encoder.arrays:
        check_archive(place)
        with atomic_write(archive_of(place)) as file:
            write_archive(file, encoder.arrays)
        document["beside"] = _digest(encoder.arrays)
    with atomic_write(place) as file:
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode())


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file of `save_model`.

    Reading executes no code, so files from untrusted sources are safe.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The fitted estimator. Its predictions are bit-identical to those of the saved estimator. It does not
        contain the training samples.

    See Also
    --------
    save_model : Write the file, with an example.
    """
    place = _check_name(path)
    with _error_context(place):
        document = read_json(place.read_bytes())
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        if document.get("version") != VERSION:
            raise ValueError(
                f"it has schema version {shortened(document.get('version'))}, and this release reads "
                f"version {VERSION}; fit the estimator again and save it with this release"
            )
        check_keys("the file", document, ("schema", "version", "evlearn", "pipeline", "steps"), ("beside",))
        flag("pipeline", document["pipeline"])
        decoder = _Decoder(_read_arrays(place, document["beside"]) if "beside" in document else {})
        steps = decoder.steps(document["steps"])
        if not document["pipeline"] and len(steps) > 1:
            raise ValueError(f"it has {len(steps)} steps but is not a pipeline")
        return Pipeline(steps) if document["pipeline"] else steps[0][1]


def archive_of(path: str | os.PathLike[str] | RemotePath) -> Path | RemotePath:
    """Return the path of the archive with the large arrays of a model file."""
    return to_path(path).with_suffix(".npz")


def check_archive(path: str | os.PathLike[str] | RemotePath) -> None:
    """Raise if the archive of a model at `path` would replace a file that does not belong to the model there."""
    place, archive = to_path(path), archive_of(path)
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


def _read_arrays(path: Path | RemotePath, digest: Any) -> dict[str, Any]:
    """Read the archive of a model file, and check that its digest matches."""
    archive = archive_of(path)
    if not archive.is_file():
        raise ValueError(f"its large arrays are in {archive.name}, which is not in the same folder")
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


def _error_context(path: Path | RemotePath) -> AbstractContextManager[None]:
    return describe_errors(path.name, "a model", "Write such files with evlearn.save_model.")


def _check_name(path: str | os.PathLike[str]) -> Path | RemotePath:
    place = to_path(path)
    if place.suffix.lower() != ".json":
        raise ValueError(f"path must end in .json, got {str(path)!r}.")
    return place


# Writing


@dataclass
class _Encoder:
    """Encoder of estimators and values as JSON, with large arrays for the archive."""

    arrays: dict[str, Any] = field(default_factory=dict)

    def steps(self, steps: list[tuple[str, Any]]) -> list[Any]:
        """Encode the steps of a pipeline; feature names are stored for the first step only."""
        first, *others = steps
        return [self.estimator(*first), *(self.estimator(*step, inner=True) for step in others)]

    def estimator(self, name: str, estimator: Any, *, inner: bool = False) -> dict[str, Any]:
        """Encode a fitted estimator, or the parameters of an unfitted one."""
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
        state = contents.state_of(estimator)
        if inner and state.pop("feature_names_in_", None) is not None and kind == "ColumnTransformer":
            raise TypeError("a ColumnTransformer with column names must be the first step; use joblib.dump.")
        return document | {"learned": {key: self.value(value, f"{kind}.{key}") for key, value in state.items()}}

    def _parameters(self, contents: Contents, estimator: Any) -> dict[str, Any]:
        kind, document = type(estimator).__name__, {}
        for key, parameter in estimator.get_params(deep=False).items():
            if key in RUN_TIME or key in contents.omitted:
                continue
            value = _plain(parameter)
            if isinstance(value, BaseEstimator) and key not in contents.nested:
                raise TypeError(f"{kind}.{key} is {value!r}, which a model file cannot hold; use joblib.dump.")
            if contents.parameters is not None:  # an estimator from scikit-learn, perhaps with newer parameters
                try:
                    contents.check_parameter(key, value)
                except ValueError as error:
                    raise TypeError(f"{error}; use joblib.dump for this estimator.") from error
            document[key] = self.value(value, f"{kind}.{key}")
        return document

    def value(self, value: object, location: str) -> Any:
        """Encode a value; `location` names it in errors."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, np.generic):
            return self.value(value.item(), location)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list):
            return [self.value(item, location) for item in value]
        if isinstance(value, np.ndarray):
            return self._array(value, location)
        if isinstance(value, dict) and all(type(key) is str for key in value):
            return {"fields": {key: self.value(item, f"{location}.{key}") for key, item in value.items()}}
        if isinstance(value, FocalSets):
            return _encode_sets(value, location)
        if isinstance(value, BaseEstimator):
            return {"estimator": self.estimator("", value)}
        part = part_of(type(value).__name__)
        if part is not None and part.kind is type(value):
            fields = part.fields(value).items()
            return {part.kind.__name__: {name: self.value(field, f"{location}.{name}") for name, field in fields}}
        if isinstance(value, (tuple, set, frozenset)):
            return {"tuple": [self.value(item, location) for item in value]}
        raise TypeError(
            f"{location} is {value!r}, which a JSON file cannot hold; use joblib.dump for this estimator."
        )

    def _array(self, array: Any, location: str) -> dict[str, Any]:
        if array.size > _LARGE and array.dtype.newbyteorder("<").str in _STORED_TYPES:
            name = f"array {len(self.arrays)}"
            self.arrays[name] = array
            return {"array": {"beside": name} | _order(array)}
        kind = "str" if array.dtype.kind in "OU" else array.dtype.name
        values = array.ravel().tolist()
        if kind == "str" and array.ndim == 1 and not all(type(item) is str for item in values):
            if not all(type(item) in _PLAIN for item in values):
                raise TypeError(f"{location} contains values that a model file cannot hold; use joblib.dump.")
            return {"objects": [self.value(item, location) for item in values]}
        if kind not in ARRAY_TYPES:
            raise TypeError(
                f"{location} is an array of {array.dtype}, which a model file cannot hold; use joblib.dump."
            )
        if kind.startswith("float") and not np.isfinite(array).all():
            values = [repr(number) for number in values]
        return {"array": {"type": kind, "shape": list(array.shape), "values": values} | _order(array)}


def _order(array: Any) -> dict[str, str]:
    return {"order": "F"} if array.flags.f_contiguous and not array.flags.c_contiguous else {}


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _plain(value: object) -> Any:
    """Convert a parameter to a storable value: no random state, and data types as names."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, (np.generic, int, float))):
        return np.dtype(value).name
    if isinstance(value, range):
        return list(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _encode_sets(value: FocalSets, location: str) -> dict[str, Any]:
    try:
        check_size(value.frame_size, len(value), n_values=int(value.sizes.sum()))
    except ValueError as error:
        raise TypeError(f"{location}: {error}; use joblib.dump for this estimator.") from error
    names = None if value.names is None else list(value.names)
    return {"focal sets": {"frame": names or value.frame_size, "sets": [list(members) for members in value]}}


# Reading


@dataclass(frozen=True)
class _Decoder:
    """Decoder of estimators and values from JSON and its archive."""

    arrays: dict[str, Any]

    def steps(self, document: Any, *, fitted: bool = True) -> list[tuple[str, Any]]:
        """Decode the steps of a pipeline, and check that they fit together."""
        if not isinstance(document, list) or not document:
            raise ValueError("it has no steps")
        steps = [self.estimator(step, fitted=fitted) for step in document]
        _check_steps(steps, fitted)
        return steps

    def estimator(self, document: Any, *, fitted: bool) -> tuple[str, Any]:
        """Decode the name of a step and its estimator, with its fitted attributes if `fitted`."""
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
        if not fitted:  # a parameter of another estimator
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
        state = {}
        for key, value in document.items():
            state[key] = self.value(value, f"{kind}.{key}", parts=True, nested=key in contents.nested)
            contents.check(key, state[key])
        if state["n_features_in_"] > LARGEST_CLAIM:
            raise ValueError(f"{kind}.n_features_in_ is {state['n_features_in_']}, which is too large")
        names = state.get("feature_names_in_")
        if names is not None and len(names) != state["n_features_in_"]:
            raise ValueError(f"{kind}.feature_names_in_ must have a name for each feature")
        restored = contents.set_state(estimator, state)
        check_is_fitted(restored)
        contents.validate(restored)
        return restored

    def value(self, value: object, location: str, *, parts: bool, nested: bool = False) -> Any:
        """Decode a value; parts and estimators are allowed only if `parts` or `nested` is true."""
        if isinstance(value, list):
            return [self.value(item, location, parts=parts, nested=nested) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise ValueError(
                f"{location} is an object with {len(value)} names, and must have exactly one, its type"
            )
        ((kind, content),) = value.items()
        if kind == "array":
            return self._array(location, content)
        if kind == "float":
            text(*_NOT_FINITE)(location, content)
            return float(content)
        if kind in ("tuple", "objects"):
            return self._sequence(kind, location, content, parts=parts, nested=nested)
        if kind == "fields" and isinstance(content, dict):
            return {key: self.value(item, f"{location}.{key}", parts=False) for key, item in content.items()}
        if kind == "focal sets":
            return _decode_sets(location, content)
        if kind == "estimator" and nested:
            return self.estimator(content, fitted=parts)[1]
        part = part_of(kind) if parts or kind in SPECIFICATIONS else None
        if part is None:
            raise ValueError(f"{location} names the class {shortened(kind)}, which is not a class of models")
        return self._part(f"{location}.{kind}", part, content)

    def _sequence(self, kind: str, location: str, content: Any, *, parts: bool, nested: bool) -> Any:
        if not isinstance(content, list):
            raise ValueError(f"{location} must be a list, got {shortened(content)}")
        values = [self.value(item, location, parts=parts, nested=nested) for item in content]
        if kind == "tuple":
            return tuple(values)
        if not all(type(item) in _PLAIN for item in values):
            raise ValueError(f"{location} must be a list of text and numbers")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array

    def _array(self, location: str, content: Any) -> Any:
        if not isinstance(content, dict) or "beside" not in content:
            return array_of(location, content)
        check_keys(location, content, ("beside",), ("order",))
        text("F")(f"{location}.order", content.get("order", "F"))
        name = content["beside"]
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"{location} is missing from the archive")
        return np.asfortranarray(self.arrays[name]) if "order" in content else self.arrays[name]

    def _part(self, location: str, part: Part, content: Any) -> Any:
        check_keys(location, content, part.required, part.checks)
        decoded = {
            name: self.value(item, f"{location}.{name}", parts=True, nested=part.nested)
            for name, item in content.items()
        }
        for name, value in decoded.items():
            part.checks[name](f"{location}.{name}", value)
        return part.make(decoded)


def _name_of(document: Any) -> str:
    text()("the name of a step", document["name"])
    return str(document["name"])


def _decode_sets(location: str, content: Any) -> FocalSets:
    check_keys(location, content, ("frame", "sets"))
    frame = content["frame"]
    if type(frame) is not int:
        check_names(f"{location}.frame", frame)
    return read_focal_sets(content["sets"], frame)


def _check_steps(steps: list[tuple[str, Any]], fitted: bool) -> None:
    """Raise unless each step can follow the previous one."""
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name or not name for name in names):
        raise ValueError(f"the names of its steps are not valid in a pipeline: {shortened(names)}")
    for (name, step), (_, next_step) in pairwise((name, step) for name, step in steps if step != "passthrough"):
        if not isinstance(step, (*TRANSFORMERS, Pipeline)):
            raise ValueError(f"the step {shortened(name)} is not a transformer, and not the last step")
        if fitted and n_features_out(step) != next_step.n_features_in_:
            raise ValueError(
                f"the step {shortened(name)} does not return as many features as the next step expects"
            )


__all__ = ["load_model", "save_model"]
