"""Model files of fitted estimators, as JSON and without pickle: reading a file executes no code.

A file contains the name of the class, its parameters, and its fitted attributes except the masses and labels of
the training set, which `CredalPartition.save` writes. Values without a JSON type are objects with a single key:
``{"array": ...}``, ``{"objects": ...}``, ``{"tuple": ...}``, ``{"float": "inf"}``, ``{"focal sets": ...}``,
``{"fields": ...}``, ``{"estimator": ...}`` for a nested estimator, and ``{"ClassName": fields}`` for the few
classes that `evlearn.storage.fields.stored` registers. Reading creates no other objects and ignores parameters of
the run, such as paths and numbers of workers. Large arrays are in a separate archive in the same folder.
"""

import importlib
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import evlearn
from evlearn.export.sklearn_steps import n_features_out
from evlearn.storage.archives import digest_of_arrays, read_archive, write_archive
from evlearn.storage.codec import (
    STORED_TYPES,
    Decoder,
    Encoder,
    describe_errors,
    read_json,
)
from evlearn.storage.fields import (
    LARGEST_CLAIM,
    EstimatorSchema,
    Schema,
    check_keys,
    flag,
    schema_of,
    shortened,
    stored_estimators,
    text,
)
from evlearn.utils.files import atomic_write
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.urls import RemotePath, to_path
from evlearn.utils.validation import RUN_TIME

SCHEMA = "evlearn.model"
VERSION = 2


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
    encoder = _ModelEncoder()
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
        document["beside"] = digest_of_arrays(encoder.arrays)
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
    with describe_errors(place.name, "a model", "Write such files with evlearn.save_model."):
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
        decoder = _ModelDecoder(_read_arrays(place, document["beside"]) if "beside" in document else {})
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
        arrays = read_archive(file, STORED_TYPES)
    if digest != digest_of_arrays(arrays):
        raise ValueError(f"{archive.name} belongs to another model")
    return arrays


def _check_name(path: str | os.PathLike[str]) -> Path | RemotePath:
    place = to_path(path)
    if place.suffix.lower() != ".json":
        raise ValueError(f"path must end in .json, got {str(path)!r}.")
    return place


# Writing


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


# Reading


def _name_of(document: Any) -> str:
    text()("the name of a step", document["name"])
    return str(document["name"])


def _check_steps(steps: list[tuple[str, Any]], fitted: bool) -> None:
    """Raise unless each step can follow the previous one."""
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name or not name for name in names):
        raise ValueError(f"the names of its steps are not valid in a pipeline: {shortened(names)}")
    for (name, step), (_, next_step) in pairwise((name, step) for name, step in steps if step != "passthrough"):
        if not isinstance(step, Pipeline) and (hasattr(step, "predict") or not hasattr(step, "transform")):
            raise ValueError(f"the step {shortened(name)} is not a transformer, and not the last step")
        if fitted and n_features_out(step) != next_step.n_features_in_:
            raise ValueError(
                f"the step {shortened(name)} does not return as many features as the next step expects"
            )


#: Packages with stored classes.
_PACKAGES = ("classify", "cluster", "conformal", "ensemble", "metric_learning", "mixture", "preprocessing")


#: Stored classes of `evlearn.neural`, which is imported only for these, because torch is slow to import.
_NEURAL = ("NNEVCLUS", "NeuralModel", "EvidentialNetwork", "Reader", "Solver")


for _package in _PACKAGES:
    importlib.import_module(f"evlearn.{_package}")


_NAMES = sorted({*stored_estimators(), "NNEVCLUS"})


def find_schema(name: Any) -> Schema | None:
    """Return the schema of a stored class by its name; None if there is none."""
    if name in _NEURAL:
        try:
            importlib.import_module("evlearn.neural")
        except ImportError as error:
            raise ValueError(f"networks need torch: {error}") from error
    return schema_of(name)


class _ModelEncoder(Encoder):
    """Encoder of estimators."""

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
        schema = find_schema(kind)
        if not isinstance(schema, EstimatorSchema) or schema.kind is not type(estimator):
            raise TypeError(
                f"estimator must be one of {_NAMES}, or a pipeline of these, got {kind}; "
                "use joblib.dump for others."
            )
        document = {"name": name, "class": kind, "parameters": self._parameters(schema, estimator)}
        if not _is_fitted(estimator):
            return document
        state = schema.state_of(estimator)
        if inner and state.pop("feature_names_in_", None) is not None and kind == "ColumnTransformer":
            raise TypeError("a ColumnTransformer with column names must be the first step; use joblib.dump.")
        return document | {"learned": {key: self.value(value, f"{kind}.{key}") for key, value in state.items()}}

    def _parameters(self, schema: EstimatorSchema, estimator: Any) -> dict[str, Any]:
        kind, document = type(estimator).__name__, {}
        for key, parameter in estimator.get_params(deep=False).items():
            if key in RUN_TIME or key in schema.omitted:
                continue
            value = _plain(parameter)
            if isinstance(value, BaseEstimator) and not schema.holds_estimators(key):
                raise TypeError(f"{kind}.{key} is {value!r}, which a model file cannot hold; use joblib.dump.")
            if schema.parameters is not None:  # an estimator from scikit-learn, perhaps with newer parameters
                try:
                    schema.check_parameter(key, value)
                except ValueError as error:
                    raise TypeError(f"{error}; use joblib.dump for this estimator.") from error
            document[key] = self.value(value, f"{kind}.{key}")
        return document


class _ModelDecoder(Decoder):
    """Decoder of estimators."""

    def schema_of(self, name: str) -> Schema | None:
        """Return the schema of a stored class; None if there is none."""
        return find_schema(name)

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
        schema = find_schema(kind)
        if not isinstance(schema, EstimatorSchema):
            raise ValueError(f"its class is {shortened(kind)} and not one of {_NAMES}")
        estimator = schema.create(self._parameters(schema, document["parameters"]))
        if not fitted:  # a parameter of another estimator
            return _name_of(document), estimator
        return _name_of(document), self._fitted(schema, estimator, document.get("learned"))

    def _parameters(self, schema: EstimatorSchema, document: Any) -> dict[str, Any]:
        kind = schema.kind.__name__
        if not isinstance(document, dict):
            raise ValueError(f"{kind} has no parameters")
        decoded = {
            key: self.value(value, f"{kind}.{key}", parts=False, nested=schema.holds_estimators(key))
            for key, value in document.items()
            if key not in RUN_TIME and key not in schema.omitted
        }
        return {key: value for key, value in decoded.items() if schema.check_parameter(key, value)}

    def _fitted(self, schema: EstimatorSchema, estimator: Any, document: Any) -> Any:
        kind = schema.kind.__name__
        schema.check_keys(kind, document)
        state = {
            key: self.value(value, f"{kind}.{key}", parts=True, nested=key in schema.nested)
            for key, value in document.items()
        }
        schema.check(f"{kind}.", state)
        if state["n_features_in_"] > LARGEST_CLAIM:
            raise ValueError(f"{kind}.n_features_in_ is {state['n_features_in_']}, which is too large")
        names = state.get("feature_names_in_")
        if names is not None and len(names) != state["n_features_in_"]:
            raise ValueError(f"{kind}.feature_names_in_ must have a name for each feature")
        restored = schema.restore(estimator, state)
        check_is_fitted(restored)
        schema.check_consistency(restored)
        return restored
