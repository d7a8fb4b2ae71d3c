"""Stored classes, which are estimators and the parts of their models, and constraints on their fields.

A class is stored if it has the decorator `stored`: its annotations say what a file contains. Files name these
classes only, and nothing else can be loaded. Files may come from other programs and are not trusted: compiled code
does not check the bounds of arrays, so all values that reach it are checked here, or in the `__post_init__` of the
part that contains them. A `ValueError` names any value whose type, shape or range is wrong.
"""

import dataclasses
import inspect
import math
import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, is_dataclass
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import EstimatorLike, FloatArray, IntArray

#: Function of the position of a value in the file and the value; it raises if the value is invalid.
Check: TypeAlias = Callable[[str, Any], None]

#: Maximum size that a file may claim without data, such as the number of columns of an empty table.
LARGEST_CLAIM = 1_000_000

_LARGEST_FORM = 1e100  # squared distances do not overflow
_LARGEST = 2**63 - 1  # NumPy converts larger whole numbers to objects


def check_keys(place: str, document: Any, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raise unless a value is a JSON object with these names."""
    if not isinstance(document, dict):
        raise ValueError(f"{place} must be an object with names, got {shortened(document)}")
    required = list(required)
    missing = [name for name in required if name not in document]
    if missing:
        raise ValueError(f"its structure is broken, because {place} lacks {missing[0]!r}")
    unknown = document.keys() - set(required) - set(optional)
    if unknown:
        raise ValueError(f"{place} must not have {shortened(min(unknown))}")


def check_names(place: str, names: Any) -> None:
    """Raise unless a value is a list of names."""
    if not isinstance(names, list) or not set(map(type, names)) <= {str}:
        raise ValueError(f"{place} is not a list of names")


# Constraints on values


def number(low: float = -math.inf, high: float = math.inf, *, above: bool = False, finite: bool = True) -> Check:
    """Return a check that a value is a number between two bounds."""

    def check(place: str, value: Any) -> None:
        is_valid = type(value) in (int, float) and low <= value <= high and not (above and value == low)
        if not is_valid or abs(value) > (
            _LARGEST if type(value) is int else sys.float_info.max if finite else math.inf
        ):
            raise ValueError(f"{place} must be a number{_bounds_text(low, high, above)}, got {shortened(value)}")

    return check


def whole(low: int = 0, high: int = _LARGEST) -> Check:
    """Return a check that a value is a whole number between two bounds."""

    def check(place: str, value: object) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{place} must be a whole number of at least {low}, got {shortened(value)}")

    return check


def flag(place: str, value: object) -> None:
    """Check that a value is true or false."""
    if type(value) is not bool:
        raise ValueError(f"{place} must be true or false, got {shortened(value)}")


def text(*choices: str) -> Check:
    """Return a check that a value is text, or one of the choices."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            allowed = f"one of {list(choices)}" if choices else "a word"
            raise ValueError(f"{place} must be {allowed}, got {shortened(value)}")

    return check


def sentences(place: str, value: object) -> None:
    """Check that a value is a list or tuple of lines of text."""
    if not isinstance(value, (list, tuple)) or not all(type(line) is str for line in value):
        raise ValueError(f"{place} must be a list of sentences, got {shortened(value)}")
    if any(len(line.splitlines()) != 1 or not line.isprintable() for line in value):
        raise ValueError(f"{place} must have one line of text for each sentence, got {shortened(value)}")


def array(
    n_dimensions: int, kinds: str = "f", *, low: float = -math.inf, high: float = math.inf, finite: bool = True
) -> Check:
    """Return a check that a value is an array with values between two bounds."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != n_dimensions or value.dtype.kind not in kinds:
            raise ValueError(f"{place} must be an array of {n_dimensions} dimensions, got {shortened(value)}")
        if value.size == 0 or value.dtype.kind in "bO" or not (finite or low > -math.inf or high < math.inf):
            return
        # NaN if any value is NaN, and then no comparison holds; in double precision, as the bounds are.
        minimum, maximum = value.min().item(), value.max().item()
        if not (low <= minimum and maximum <= high and not (finite and max(-minimum, maximum) == math.inf)):
            raise ValueError(f"{place} must hold finite numbers{_bounds_text(low, high, False)}")

    return check


def quadratic_forms(place: str, value: Any) -> None:
    """Check that a value is an array of symmetric matrices without negative eigenvalues."""
    array(3, low=-_LARGEST_FORM, high=_LARGEST_FORM)(place, value)
    if value.shape[1] != value.shape[2] or not np.allclose(value, value.transpose(0, 2, 1), rtol=1e-6, atol=0):
        raise ValueError(f"{place} must hold symmetric matrices")
    squares = np.linalg.eigvalsh(value)
    if (squares[:, 0] < -1e-6 * squares[:, -1]).any():
        raise ValueError(f"{place} must hold positive semi-definite matrices")


def covariance(place: str, value: Any) -> None:
    """Check that a value is a covariance matrix that is not singular, or a vector of variances."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        array(1, low=np.finfo(float).tiny)(place, value)
        return
    array(2)(place, value)
    quadratic_forms(place, value[None])
    sizes = np.linalg.eigvalsh(value)
    if sizes.size and not sizes[0] > 1e-14 * sizes[-1]:
        raise ValueError(f"{place} must be a covariance matrix that is not singular")


def ascending(place: str, value: Any) -> None:
    """Check that a value is an array of numbers in ascending order, which may be infinite."""
    array(1, finite=False)(place, value)
    if np.isnan(value).any() or (np.diff(value) < 0).any():
        raise ValueError(f"{place} must be numbers in ascending order")


def class_labels(place: str, value: Any) -> None:
    """Check that a value is an array of distinct class labels."""
    array(1, "iufbO", finite=False)(place, value)
    if len(value) < 2 or len(set(value.tolist())) != len(value):
        raise ValueError(f"{place} must contain at least 2 classes, each once")


def predictor(place: str, value: object) -> None:
    """Check that a value is a clusterer or classifier that predicts."""
    if not any(hasattr(value, name) for name in ("predict_mass", "predict_proba", "predict")):
        raise ValueError(f"{place} must be a clusterer that predicts")


def optional(check: Check) -> Check:
    """Return a check that a value is missing or passes another check."""

    def check_or_none(place: str, value: object) -> None:
        if value is not None:
            check(place, value)

    return check_or_none


def list_of(check: Check, *, min_length: int = 0) -> Check:
    """Return a check that a value is a list or tuple whose items pass another check."""

    def check_all(location: str, value: object) -> None:
        if not isinstance(value, (list, tuple)) or len(value) < min_length:
            raise ValueError(f"{location} must be a list of at least {min_length} items, got {shortened(value)}")
        for k, item in enumerate(value):
            check(f"{location}[{k}]", item)

    return check_all


def any_of(*checks: Check) -> Check:
    """Return a check that a value passes one of several checks."""

    def check_any(location: str, value: object) -> None:
        for check in checks[:-1]:
            try:
                return check(location, value)
            except ValueError:
                continue
        return checks[-1](location, value)

    return check_any


def instance(*classes: type) -> Check:
    """Return a check that a value is an instance of one of these classes."""

    def check(place: str, value: object) -> None:
        if not isinstance(value, classes):
            names = " or ".join(kind.__name__ for kind in classes)
            raise ValueError(f"{place} must be of {names}, got {shortened(value)}")

    return check


def shortened(value: object) -> str:
    """Return a short representation of a value for an error message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if type(value) is int and abs(value) > 10**40:  # Python limits the length of printed numbers
        return "a number of more than 40 digits"
    return reprlib.repr(value) if isinstance(value, (int, float, str, list, dict)) else type(value).__name__


def _bounds_text(low: float, high: float, above: bool) -> str:
    bounds = [] if low == -math.inf else [f"above {low:g}" if above else f"of at least {low:g}"]
    bounds += [] if high == math.inf else [f"of at most {high:g}"]
    return "".join(f" {bound}" for bound in [" and ".join(bounds)] if bound)


# Annotations of fields

#: Largest mass, with rounding errors in single precision.
LARGEST_MASS = 1 + 1e-4
PositiveNumber: TypeAlias = Annotated[float, number(0, above=True)]
NonnegativeNumber: TypeAlias = Annotated[float, number(0)]
#: Number that may be infinite.
ExtendedNumber: TypeAlias = Annotated[float, number(finite=False)]
PositiveExtendedNumber: TypeAlias = Annotated[float, number(0, above=True, finite=False)]
NonnegativeExtendedNumber: TypeAlias = Annotated[float, number(0, finite=False)]
#: Number whose square neither overflows nor underflows.
SquarableNumber: TypeAlias = Annotated[float, number(1e-154, 1e154)]
Fraction: TypeAlias = Annotated[float, number(0, 1)]
PositiveCount: TypeAlias = Annotated[int, whole(1)]
Vector: TypeAlias = Annotated[FloatArray, array(1)]
Matrix: TypeAlias = Annotated[FloatArray, array(2)]
NonnegativeVector: TypeAlias = Annotated[FloatArray, array(1, low=0)]
NonnegativeMatrix: TypeAlias = Annotated[FloatArray, array(2, low=0)]
#: Vector of numbers whose inverses are finite.
PositiveVector: TypeAlias = Annotated[FloatArray, array(1, low=np.finfo(float).tiny)]
#: Vector of divisors, with a safety margin.
ScaleVector: TypeAlias = Annotated[FloatArray, array(1, low=1e-300)]
#: Vector of numbers that may be infinite or NaN.
ExtendedVector: TypeAlias = Annotated[FloatArray, array(1, finite=False)]
Indices: TypeAlias = Annotated[IntArray, array(1, "i", low=0)]
Masses: TypeAlias = Annotated[FloatArray, array(2, low=0, high=LARGEST_MASS)]
FeatureNames: TypeAlias = Annotated[npt.NDArray[Any], array(1, "O")]
ClassLabels: TypeAlias = Annotated[npt.NDArray[Any], class_labels]
Sentences: TypeAlias = Annotated[tuple[str, ...], sentences]


# Stored classes

#: Parameters that describe the training samples only.
_TRAINING_SAMPLE_PARAMETERS = frozenset({"connectivity", "clusterer"})
#: Types that JSON represents directly.
_PLAIN = (bool, int, float, str, NoneType)

T = TypeVar("T")
Kind = TypeVar("Kind", bound=type)
_ALWAYS, _IF_SET = "always", "if set"
#: Annotation of a fitted attribute of an estimator that files always contain.
Stored = Annotated[T, _ALWAYS]
#: Annotation of a fitted attribute that files contain if the estimator has it.
StoredIfSet = Annotated[T, _IF_SET]
#: Item of the annotation of a field that is or contains estimators.
NESTED = "estimators"


@dataclass(frozen=True)
class Field:
    """A stored field.

    Attributes
    ----------
    check : callable
        Check of its value.
    required : bool, default=True
        Whether each file contains it.
    nested : bool, default=False
        Whether it may be or contain an estimator.
    part : type or None, default=None
        Its class, if it is a stored class or `FocalSets`.
    """

    check: Check
    required: bool = True
    nested: bool = False
    part: Any = None


@dataclass(frozen=True)
class Schema:
    """Fields of a stored class.

    Attributes
    ----------
    kind : type
        The class.
    fields : dict of str to Field
        Fields by name.
    """

    kind: Any
    fields: Mapping[str, Field]

    @cached_property
    def required(self) -> list[str]:
        """Names of the fields that each file contains."""
        return [name for name, field in self.fields.items() if field.required]

    @cached_property
    def nested(self) -> frozenset[str]:
        """Names of the fields that may contain estimators."""
        return frozenset(name for name, field in self.fields.items() if field.nested)

    @property
    def is_specification(self) -> bool:
        """True if instances can be values of parameters."""
        return issubclass(self.kind, Specification)

    def check_keys(self, location: str, values: Any) -> None:
        """Raise unless a value has the names of the fields."""
        check_keys(location, values, self.required, self.fields)

    def check(self, location: str, values: Mapping[str, Any]) -> None:
        """Raise unless the values of all fields are valid; `location` precedes their names in errors."""
        for name, value in values.items():
            self.fields[name].check(location + name, value)

    def get_fields(self, part: Any) -> dict[str, Any]:
        """Return the fields of a part of a model."""
        if hasattr(part, "to_stored"):
            return dict(part.to_stored())
        return {name: getattr(part, name) for name in self.fields}

    def make(self, values: dict[str, Any]) -> Any:
        """Create a part of a model from its fields."""
        return getattr(self.kind, "from_stored", self.kind)(**values)


@dataclass(frozen=True)
class EstimatorSchema(Schema):
    """Fitted attributes and parameters in the file of an estimator.

    Attributes
    ----------
    parameters : dict of str to callable or None
        Checks of the parameters; None uses the types of the signature.
    nested_parameters : tuple of str
        Parameters that may be estimators, if `parameters` is given; otherwise their types tell.
    omitted : frozenset of str
        Parameters that follow from the fitted attributes, or that predictions do not need.
    construct : callable or None
        Constructor of the estimator from its parameters; None calls the class.
    get_state : callable or None
        Function from a fitted estimator to its stored attributes; None reads the attributes of these names.
    set_state : callable or None
        Function from an unfitted estimator and its stored attributes to the fitted estimator; None sets these.
    validate : callable or None
        Raises unless the attributes of the estimator are consistent; None calls its method ``_after_loading``.
    """

    parameters: Mapping[str, Check] | None = None
    nested_parameters: tuple[str, ...] = ()
    omitted: frozenset[str] = _TRAINING_SAMPLE_PARAMETERS
    construct: Callable[..., Any] | None = None
    get_state: Callable[[Any], dict[str, Any]] | None = None
    set_state: Callable[[Any, dict[str, Any]], Any] | None = None
    validate: Callable[[Any], None] | None = None

    def create(self, parameters: dict[str, Any]) -> Any:
        """Return an estimator with these parameters; others have their default, or are None."""
        signature = inspect.signature(self.kind).parameters
        without_default = {name for name, item in signature.items() if item.default is inspect.Parameter.empty}
        required = sorted(self.omitted & without_default)
        return (self.construct or self.kind)(**dict.fromkeys(required), **parameters)

    def state_of(self, estimator: Any) -> dict[str, Any]:
        """Return the attributes of a fitted estimator that a file contains."""
        if self.get_state is not None:
            return self.get_state(estimator)
        return {name: value for name, value in vars(estimator).items() if name in self.fields}

    def restore(self, estimator: Any, state: dict[str, Any]) -> Any:
        """Return the fitted estimator with its stored attributes."""
        if self.set_state is not None:
            return self.set_state(estimator, state)
        for name, value in state.items():
            setattr(estimator, name, value)
        return estimator

    def check_consistency(self, estimator: Any) -> None:
        """Raise unless the attributes of an estimator are consistent."""
        if self.validate is not None:
            self.validate(estimator)
        elif hasattr(estimator, "_after_loading"):
            estimator._after_loading()

    def holds_estimators(self, name: str) -> bool:
        """Return True if a parameter may be or contain an estimator."""
        if self.parameters is not None:
            return name in self.nested_parameters
        return _holds_estimators(_hints(self.kind).get(name))

    def check_parameter(self, name: str, value: object) -> bool:
        """Raise unless the value of a parameter is valid; return True if the estimator has the parameter."""
        location = f"{self.kind.__name__}.{name}"
        if self.parameters is None:
            hints = _hints(self.kind)
            if name not in hints:
                raise ValueError(f"{location} is not a parameter")
            if not _is_of(value, hints[name]):
                raise ValueError(f"{location} has the wrong type: {shortened(value)}")
            return True
        if name not in inspect.signature(self.kind).parameters:
            if value is None or value is False:
                return False
            raise ValueError(f"{location} is not a parameter in the installed scikit-learn release")
        self.parameters.get(name, flag)(location, value)
        return True


#: All stored classes by name.
_KINDS: dict[str, Any] = {}
#: Their schemas, made on first use, because annotations may refer to classes that are defined later.
_SCHEMAS: dict[str, Schema] = {}


def stored(kind: Kind) -> Kind:
    """Declare that files can contain instances of a class, with its annotated fields.

    These are all fields of a dataclass or named tuple, and attributes of an estimator with `Stored` or
    `StoredIfSet`. A type such as ``bool`` or ``FocalSets`` is its own constraint; numbers and arrays have
    ``Annotated[..., check]``.
    """
    _register(kind)
    return kind


def stored_as(**checks: Check) -> Callable[[Kind], Kind]:
    """Declare the same with other fields, which the methods `to_stored` and `from_stored` convert."""

    def decorate(kind: Kind) -> Kind:
        _register(kind, Schema(kind, {name: Field(check) for name, check in checks.items()}))
        return kind

    return decorate


def register_estimator(schema: EstimatorSchema) -> None:
    """Declare that files can contain an estimator of another library."""
    _register(schema.kind, schema)


def schema_of(name: Any) -> Schema | None:
    """Return the schema of a stored class by its name, or None; its module must have been imported."""
    if not isinstance(name, str) or name not in _KINDS:
        return None
    if name not in _SCHEMAS:
        _SCHEMAS[name] = _annotated_schema(_KINDS[name])
    return _SCHEMAS[name]


def stored_estimators() -> list[str]:
    """Return the names of the stored classes of estimators that have been imported."""
    return sorted(name for name, kind in _KINDS.items() if is_estimator(kind))


def _register(kind: Any, schema: Schema | None = None) -> None:
    if _KINDS.setdefault(kind.__name__, kind) is not kind:
        raise TypeError(f"2 stored classes have the name {kind.__name__}")
    if schema is not None:
        _SCHEMAS[kind.__name__] = schema


def _annotated_schema(kind: type) -> Schema:
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("evlearn."):
            hints |= inspect.get_annotations(base, eval_str=True)
    required = _required_fields(kind, hints)
    fields = {name: _field(f"{kind.__name__}.{name}", hints[name], required[name]) for name in required}
    return (EstimatorSchema if is_estimator(kind) else Schema)(kind, fields)


def is_estimator(kind: Any) -> bool:
    """Return True for the class of an estimator."""
    return hasattr(kind, "get_params") and not issubclass(kind, Specification)


def _required_fields(kind: Any, hints: dict[str, Any]) -> dict[str, bool]:
    """Return the names of the stored fields, with True for those that each file contains."""
    if is_estimator(kind):
        marks = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
        return {name: _ALWAYS in mark for name, mark in marks.items() if _ALWAYS in mark or _IF_SET in mark}
    if is_dataclass(kind):
        return {item.name: item.default is MISSING for item in dataclasses.fields(kind) if item.init}
    return {name: name not in kind._field_defaults for name in kind._fields}


def _field(location: str, hint: Any, required: bool) -> Field:
    check = _check_of(hint)
    if check is None:
        raise TypeError(f"{location} needs a constraint: Annotated[{hint}, ...]")
    classes = [kind for kind in (hint, *get_args(hint)) if kind is FocalSets or kind in _KINDS.values()]
    return Field(check, required, _holds_estimators(hint), classes[0] if classes else None)


def _check_of(hint: Any) -> Check | None:
    """Return the check of an annotation, or None if it says too little."""
    checks: list[Check] = [item for item in getattr(hint, "__metadata__", ()) if callable(item)]
    if checks:
        return checks[-1]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _check_of(arguments[0])
    if origin is Literal:
        return text(*arguments)
    if origin in (Union, UnionType):
        return _check_of_union(arguments)
    if origin in (list, tuple, Sequence):
        check = _check_of(arguments[0])
        return None if check is None else list_of(check)
    if hint in _CHECKS:
        return _CHECKS[hint]
    return instance(hint) if isinstance(hint, type) and origin is None and hint is not object else None


def _check_of_union(arguments: tuple[Any, ...]) -> Check | None:
    kinds = [kind for kind in arguments if kind is not NoneType]
    checks = [check for check in map(_check_of, kinds) if check is not None]
    if len(checks) < len(kinds):
        return None
    are_classes = all(isinstance(kind, type) and kind not in _CHECKS for kind in kinds)
    check = checks[0] if len(checks) == 1 else instance(*kinds) if are_classes else any_of(*checks)
    return optional(check) if len(kinds) < len(arguments) else check


_CHECKS: dict[Any, Check] = {bool: flag, str: text(), int: whole(), float: number()}


def _holds_estimators(hint: Any) -> bool:
    """Return True if values of an annotation may be or contain estimators."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint is not EstimatorLike and is_estimator(hint)
    return NESTED in getattr(hint, "__metadata__", ()) or any(map(_holds_estimators, get_args(hint)))


@cache
def _hints(estimator: type) -> dict[str, Any]:
    """Return the types of the parameters of an estimator."""
    hints = get_type_hints(estimator.__dict__["__init__"])
    return {name: hint for name, hint in hints.items() if name != "return"}


def _is_of(value: object, hint: Any) -> bool:
    """Return True if a value has the type of a hint; ints pass as floats, and any text passes as a literal."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return any(_is_of_kind(value, kind) for kind in kinds)


def _is_of_kind(value: object, kind: Any) -> bool:
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return type(value) in {type(literal) for literal in get_args(kind)}
    if kind in _PLAIN:
        return type(value) is kind or (kind is float and type(value) is int)
    if isinstance(kind, type) and issubclass(kind, Specification):
        return isinstance(value, kind)
    # Arrays, sequences and sets of many types. Paths are stored as text.
    return type(value) not in _PLAIN and get_origin(kind) is not os.PathLike


# Checks for several estimators


def check_features(estimator: Any, n_features: int) -> None:
    """Raise unless an estimator has this number of features."""
    if estimator.n_features_in_ != n_features:
        raise ValueError(f"it has {n_features} features, but n_features_in_ is {estimator.n_features_in_}")


def check_count(estimator: Any, name: str, count: int) -> None:
    """Raise unless an attribute, if it exists, equals a number that follows from other values."""
    if estimator.__dict__.get(name, count) != count:
        raise ValueError(f"{name} must be {count}, got {shortened(getattr(estimator, name))}")
