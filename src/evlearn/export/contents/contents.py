"""Descriptions of the contents of model files: of estimators, and of classes inside models."""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evlearn.storage.fields import Check, array, flag, number, shortened, whole
from evlearn.utils.specification import Specification

#: Attributes that describe the training samples only, and are not in the file.
TRAINING_SAMPLE_ATTRIBUTES = (
    *("credal_partition_", "masses_", "labels_", "conflict_", "transformed_dissimilarities_"),
    *("intervals_", "mixture_", "_fitted_to"),
)
#: Types that JSON represents directly.
_PLAIN = (bool, int, float, str, NoneType)

POSITIVE = number(0, above=True)
ANY_NUMBER = number(finite=False)
INDICES = array(1, "i", low=0)
#: Largest mass, with rounding errors in single precision.
SHARES = 1 + 1e-4
N_FEATURES: dict[str, Check] = {"n_features_in_": whole(1)}
FEATURE_NAMES: dict[str, Check] = {"feature_names_in_": array(1, "O")}
DESCENT: dict[str, Check] = FEATURE_NAMES | {
    "objective_": ANY_NUMBER,
    "objective_history_": array(1, finite=False),
    "n_iter_": whole(),
    "converged_": flag,
}


def no_validation(estimator: Any) -> None:
    """Do nothing: for estimators whose values are only checked separately."""


def _set(estimator: Any, state: dict[str, Any]) -> Any:
    """Set all fitted attributes of an estimator."""
    for name, value in state.items():
        setattr(estimator, name, value)
    return estimator


@dataclass(frozen=True)
class Contents:
    """The contents of the file of an estimator.

    Attributes
    ----------
    estimator : type
        The class.
    required : dict of str to callable
        Required fitted attributes, and the checks of their values.
    others : dict of str to callable
        Optional fitted attributes, and the checks of their values.
    validate : callable
        Raises unless the attributes of the estimator are consistent.
    parameters : dict of str to callable or None
        Checks of the parameters; None uses the types of the signature.
    nested : frozenset of str
        Parameters and attributes that may be or contain estimators.
    omitted : frozenset of str
        Parameters that follow from the fitted attributes, or that predictions do not need.
    construct : callable or None
        Constructor of the estimator from its parameters; None calls the class.
    get_state : callable or None
        Function from a fitted estimator to its stored attributes; None reads the attributes of these names.
    set_state : callable
        Function from an unfitted estimator and its stored attributes to the fitted estimator.
    """

    estimator: Any
    required: Mapping[str, Check]
    others: Mapping[str, Check]
    validate: Callable[[Any], None] = no_validation
    parameters: Mapping[str, Check] | None = None
    nested: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    construct: Callable[..., Any] | None = None
    get_state: Callable[[Any], dict[str, Any]] | None = None
    set_state: Callable[[Any, dict[str, Any]], Any] = _set

    def state_of(self, estimator: Any) -> dict[str, Any]:
        """Return the attributes of a fitted estimator that a file contains."""
        if self.get_state is not None:
            return self.get_state(estimator)
        names = (self.required.keys() | self.others.keys()) - set(TRAINING_SAMPLE_ATTRIBUTES)
        return {name: value for name, value in vars(estimator).items() if name in names}

    def check(self, name: str, value: object) -> None:
        """Raise unless the value of a fitted attribute is valid."""
        (self.required.get(name) or self.others[name])(f"{self.estimator.__name__}.{name}", value)

    def check_parameter(self, name: str, value: object) -> bool:
        """Raise unless the value of a parameter is valid; return True if the estimator has the parameter."""
        location = f"{self.estimator.__name__}.{name}"
        if self.parameters is None:
            hints = _hints(self.estimator)
            if name not in hints:
                raise ValueError(f"{location} is not a parameter")
            if not _is_of(value, hints[name]):
                raise ValueError(f"{location} has the wrong type: {shortened(value)}")
            return True
        if name not in _names_of_parameters(self.estimator):
            if value is None or value is False:
                return False
            raise ValueError(f"{location} is not a parameter in the installed scikit-learn release")
        self.parameters.get(name, flag)(location, value)
        return True


@dataclass(frozen=True)
class Part:
    """A class whose instances a model file can contain.

    Attributes
    ----------
    kind : type
        The class.
    checks : dict of str to callable
        Checks of its fields.
    to_fields : callable or None
        Function from an instance to its fields; None reads the attributes.
    from_fields : callable or None
        Function from fields to an instance; None calls the class.
    nested : bool
        Whether its fields may contain estimators.
    """

    kind: Any
    checks: Mapping[str, Check]
    to_fields: Callable[[Any], dict[str, Any]] | None = None
    from_fields: Callable[..., Any] | None = None
    nested: bool = False

    def fields(self, value: object) -> dict[str, Any]:
        """Return the fields of an instance."""
        return (
            self.to_fields(value)
            if self.to_fields is not None
            else {name: getattr(value, name) for name in self.checks}
        )

    def make(self, values: dict[str, Any]) -> Any:
        """Create an instance from its fields."""
        return (self.from_fields or self.kind)(**values)

    @property
    def required(self) -> list[str]:
        """The fields without defaults."""
        if self.from_fields is not None:
            return list(self.checks)
        if not is_dataclass(self.kind):
            return [name for name in self.kind._fields if name not in self.kind._field_defaults]
        return [item.name for item in fields(self.kind) if item.default is MISSING and item.init]


@cache
def _names_of_parameters(estimator: type) -> frozenset[str]:
    return frozenset(signature(estimator).parameters)


@cache
def _hints(estimator: type) -> dict[str, Any]:
    return {
        name: hint for name, hint in get_type_hints(estimator.__dict__["__init__"]).items() if name != "return"
    }


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


def check_sets(estimator: Any) -> None:
    """Raise unless an estimator and its model have the same focal sets."""
    if estimator._model.focal_sets != estimator.focal_sets_:
        raise ValueError("its model and focal_sets_ have different sets")


def check_features(estimator: Any, n_features: int) -> None:
    """Raise unless an estimator has this number of features."""
    if estimator.n_features_in_ != n_features:
        raise ValueError(f"it has {n_features} features, but n_features_in_ is {estimator.n_features_in_}")


def check_count(estimator: Any, name: str, count: int) -> None:
    """Raise unless an attribute, if it exists, equals a number that follows from other values."""
    if estimator.__dict__.get(name, count) != count:
        raise ValueError(f"{name} must be {count}, got {shortened(getattr(estimator, name))}")


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


def labels(location: str, value: Any) -> None:
    """Check that a value is an array of distinct class labels."""
    array(1, "iufbO", finite=False)(location, value)
    if len(value) < 2 or len(set(value.tolist())) != len(value):
        raise ValueError(f"{location} must contain at least 2 classes, each once")


def unchecked(location: str, value: object) -> None:
    """Accept any value that a file can contain."""


__all__ = [
    "ANY_NUMBER",
    "DESCENT",
    "FEATURE_NAMES",
    "INDICES",
    "N_FEATURES",
    "POSITIVE",
    "SHARES",
    "TRAINING_SAMPLE_ATTRIBUTES",
    "Contents",
    "Part",
    "any_of",
    "check_count",
    "check_features",
    "check_sets",
    "labels",
    "list_of",
    "unchecked",
]
