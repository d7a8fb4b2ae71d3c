"""Values in files: JSON, and stored classes as JSON or as plain arrays.

In JSON, values without a JSON type are objects with a single key: ``{"array": ...}``, ``{"objects": ...}``,
``{"tuple": ...}``, ``{"float": "inf"}``, ``{"focal sets": ...}``, ``{"fields": ...}``, ``{"estimator": ...}`` for
a nested estimator, and ``{"ClassName": fields}`` for stored classes (`evlearn.storage.fields`). Reading creates
no other objects. Memory is allocated for the actual content of a file and never for its claimed size.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.storage.fields import (
    LARGEST_CLAIM,
    Schema,
    array,
    check_keys,
    check_names,
    is_estimator,
    schema_of,
    shortened,
    text,
)
from evlearn.utils.chunks import row_blocks

_FAILURES = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError)
_MAX_DIMENSIONS = 4
#: Types of arrays in JSON.
ARRAY_TYPES = ("float64", "float32", "int64", "int32", "bool", "str")
_NOT_FINITE = ("inf", "-inf", "nan")
_PLAIN = (type(None), bool, int, float, str)
#: Number of elements above which an array is written to the archive.
_LARGE = 100_000
#: Types of arrays in the archive.
STORED_TYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")

#: Maximum numbers of clusters and of entries of the membership table that a small file may request.
_CLUSTERS = 10_000
_ENTRIES = 1 << 25

T = TypeVar("T")


@contextmanager
def describe_errors(name: str, description: str, remedy: str) -> Iterator[None]:
    """Re-raise any error as a ValueError that names the file and the reason."""
    try:
        yield
    except _FAILURES as error:
        raise ValueError(f"{name} is not {description} that can be read: {_reason(error)}. {remedy}") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "its structure is broken, because it is nested too deeply"
    if isinstance(error, ArithmeticError):
        return "it holds a number that is too large"
    if isinstance(error, ValueError):
        return str(error).rstrip(".")
    return "its structure is broken"


# JSON


def read_json(content: bytes) -> Any:
    """Return the values of a JSON text."""
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_without_repetition)
        if "\\" in text and ("\\ud" in text or "\\uD" in text):  # unpaired surrogates, which cannot be encoded
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from error
    except UnicodeError as error:
        raise ValueError("it is not text in UTF-8") from error
    except ValueError as error:
        if "digits" in str(error):  # Python's message is about one of its settings
            raise ValueError("it holds a number that is too large") from error
        raise
    return document


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("its structure is broken, because a name occurs twice")
    return document


def array_of(place: str, content: Any) -> npt.NDArray[Any]:
    """Return the array that JSON describes by its type, its shape and its values.

    The memory layout affects the last bit of products, so an array in column-major order is marked as such.
    """
    check_keys(place, content, ("type", "shape", "values"), ("order",))
    text("F")(f"{place}.order", content.get("order", "F"))
    kind, shape, values = content["type"], content["shape"], content["values"]
    if not isinstance(kind, str) or kind not in ARRAY_TYPES:
        raise ValueError(f"{place} must be an array of one of {ARRAY_TYPES}, got {shortened(kind)}")
    if not (isinstance(shape, list) and set(map(type, shape)) <= {int} and len(shape) <= _MAX_DIMENSIONS):
        raise ValueError(f"{place} has no valid shape: {shortened(shape)}")
    if min(shape, default=0) < 0 or not isinstance(values, list) or math.prod(shape) != len(values):
        size = f"{len(values)} values" if isinstance(values, list) else "no list of values"
        raise ValueError(f"{place} claims the shape {shortened(shape)} and brings {size}")
    if not values and max(shape) > LARGEST_CLAIM:
        raise ValueError(f"{place} is empty and claims the shape {shortened(shape)}, which is too large")
    if not _are_of(kind, values):
        raise ValueError(f"{place} is an array of {kind} and holds values of another kind")
    with np.errstate(over="ignore"):  # infinite values are rejected later if necessary
        data = np.array(values, dtype=object if kind == "str" else kind).reshape(shape)
    return np.asfortranarray(data) if "order" in content else data


def _are_of(kind: str, values: list[Any]) -> bool:
    """Return True if all values are of a kind; strings stand for numbers that are not finite."""
    if kind in ("bool", "str") or (values and isinstance(values[0], str)):
        return set(map(type, values)) <= {bool if kind == "bool" else str} and not kind.startswith("int")
    return kind.startswith("float") if (total := _sum(values)) is float else total is int


def _sum(values: Iterable[Any]) -> type | None:
    """Return the type of the sum of numbers, or None if there are other values. Faster than a loop."""
    try:
        return type(sum(values))
    except TypeError:
        return None


def table_of(place: str, rows: Any, n_columns: int) -> npt.NDArray[np.float64]:
    """Return a table from a list of rows."""
    if not isinstance(rows, list) or set(map(type, rows)) != {list} or set(map(len, rows)) != {n_columns}:
        raise ValueError(f"{place} must be rows of {n_columns} numbers each")
    if _sum(map(sum, rows)) is None:
        raise ValueError(f"{place} must hold numbers only")
    values = np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=len(rows) * n_columns)
    return values.reshape(len(rows), n_columns)


# Focal sets


def read_focal_sets(sets: Any, frame: Any, *, n_values: int = 0) -> FocalSets:
    """Convert JSON to focal sets, and raise a ValueError if it is invalid.

    `n_values` is the number of other values in the file.
    """
    size = frame if isinstance(frame, int) else len(frame)
    if isinstance(frame, bool) or size < 1:
        raise ValueError(f"the number of clusters is {shortened(frame)}")
    if not isinstance(sets, list) or not sets or set(map(type, sets)) != {list}:
        raise ValueError(f"focal_sets must be a list of lists, got {shortened(sets)}")
    lengths = [len(members) for members in sets]
    elements = list(chain.from_iterable(sets))
    if not set(map(type, elements)) <= {int}:
        raise ValueError("focal_sets must contain cluster numbers")
    check_size(size, len(sets), n_values=n_values + len(elements))
    if elements and not 0 <= min(elements) <= max(elements) < size:
        raise ValueError(f"focal_sets has an element outside the frame of {size} clusters")
    membership = np.zeros((len(sets), size), dtype=bool)
    membership[np.repeat(np.arange(len(sets)), lengths), elements] = True
    if any(sorted(set(members)) != members for members in sets):
        raise ValueError("a set in focal_sets is not sorted, or contains a cluster twice")
    return sorted_sets(membership, frame)


def check_size(n_clusters: int, n_sets: int, *, n_values: int) -> None:
    """Raise a ValueError if a table of focal sets is much larger than the file, which has `n_values` values."""
    if n_clusters > max(_CLUSTERS, n_values) or n_sets * n_clusters > max(_ENTRIES, 10 * n_values):
        raise ValueError(
            f"a table of {n_sets} focal sets by {shortened(n_clusters)} clusters is too large for such a file"
        )


def sorted_sets(membership: npt.NDArray[Any], frame: Any = None) -> FocalSets:
    """Return the focal sets of a membership table, and raise a ValueError if they are in another order."""
    focal_sets = FocalSets.from_membership(membership, frame)
    if len(focal_sets) != len(membership) or any(
        not np.array_equal(focal_sets.membership[rows], membership[rows]) for rows in row_blocks(len(membership))
    ):
        raise ValueError("focal_sets is not sorted, or contains a set twice")
    return focal_sets


# Writing


@dataclass
class Encoder:
    """Encoder of values as JSON, with large arrays for an archive."""

    arrays: dict[str, Any] = field(default_factory=dict)

    def estimator(self, name: str, estimator: Any) -> dict[str, Any]:
        """Encode an estimator."""
        raise NotImplementedError

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
        if is_estimator(type(value)):
            return {"estimator": self.estimator("", value)}
        schema = schema_of(type(value).__name__)
        if schema is not None and schema.kind is type(value):
            fields = schema.get_fields(value).items()
            return {schema.kind.__name__: {key: self.value(item, f"{location}.{key}") for key, item in fields}}
        if isinstance(value, (tuple, set, frozenset)):
            return {"tuple": [self.value(item, location) for item in value]}
        raise TypeError(
            f"{location} is {value!r}, which a JSON file cannot hold; use joblib.dump for this estimator."
        )

    def _array(self, array: Any, location: str) -> dict[str, Any]:
        if array.size > _LARGE and array.dtype.newbyteorder("<").str in STORED_TYPES:
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


def _encode_sets(value: FocalSets, location: str) -> dict[str, Any]:
    try:
        check_size(value.frame_size, len(value), n_values=int(value.sizes.sum()))
    except ValueError as error:
        raise TypeError(f"{location}: {error}; use joblib.dump for this estimator.") from error
    names = None if value.names is None else list(value.names)
    return {"focal sets": {"frame": names or value.frame_size, "sets": [list(members) for members in value]}}


# Reading


@dataclass(frozen=True)
class Decoder:
    """Decoder of values from JSON and its archive."""

    arrays: dict[str, Any]

    def estimator(self, document: Any, *, fitted: bool) -> tuple[str, Any]:
        """Decode the name of a step and its estimator, with its fitted attributes if `fitted`."""
        raise NotImplementedError

    def schema_of(self, name: str) -> Schema | None:
        """Return the schema of a stored class; None if there is none."""
        return schema_of(name)

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
        schema = self.schema_of(kind)
        if schema is None or is_estimator(schema.kind) or not (parts or schema.is_specification):
            raise ValueError(f"{location} names the class {shortened(kind)}, which is not a class of models")
        return self._part(f"{location}.{kind}", schema, content)

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

    def _part(self, location: str, schema: Schema, content: Any) -> Any:
        schema.check_keys(location, content)
        values = {
            name: self.value(item, f"{location}.{name}", parts=True, nested=schema.fields[name].nested)
            for name, item in content.items()
        }
        schema.check(f"{location}.", values)
        return schema.make(values)


def _decode_sets(location: str, content: Any) -> FocalSets:
    check_keys(location, content, ("frame", "sets"))
    frame = content["frame"]
    if type(frame) is not int:
        check_names(f"{location}.frame", frame)
    return read_focal_sets(content["sets"], frame)


# Plain arrays


def to_arrays(part: Any) -> dict[str, Any]:
    """Return the fields of an instance of a stored class as plain arrays, with prefixes for inner fields."""
    schema, arrays = schema_of(type(part).__name__), dict[str, Any]()
    assert schema is not None
    for name, value in schema.get_fields(part).items():
        if isinstance(value, FocalSets):
            arrays[name] = value.membership
        elif schema.fields[name].part is not None and value is not None:
            arrays |= {f"{name}_{key}": item for key, item in to_arrays(value).items()}
        elif value is not None:
            arrays[name] = np.asarray(value)
    return arrays


def from_arrays(kind: type[T], arrays: Mapping[str, Any], location: str = "the state") -> T:
    """Create an instance of a stored class from plain arrays, and raise a ValueError if they are invalid."""
    schema, values = schema_of(kind.__name__), dict(arrays)
    assert schema is not None
    for name, item in schema.fields.items():
        inner = [key for key in arrays if key.startswith(f"{name}_")]
        if item.part is FocalSets and name in values:
            values[name] = _sets_of(name, values[name])
        elif item.part is not None and inner:
            fields = {key.removeprefix(f"{name}_"): values.pop(key) for key in inner}
            values[name] = from_arrays(item.part, fields, f"{location}.{name}")
    schema.check_keys(location, values)
    schema.check("", values)
    part: T = schema.make(values)
    return part


def _sets_of(name: str, table: Any) -> FocalSets:
    array(2, "ub")(name, table)
    try:
        return sorted_sets(table)
    except ValueError as error:
        raise ValueError(f"{name} are not sorted sets") from error
