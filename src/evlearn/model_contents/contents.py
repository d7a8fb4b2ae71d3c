"""What the file of an estimator holds, of any class, and what a class inside a model holds."""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evlearn.utils.stored_values import Check, array, flag, number, shortened, whole

#: What is about the training set alone, and not in the file.
OF_TRAINING_OBJECTS = (
    *("credal_partition_", "masses_", "labels_", "conflict_", "transformed_dissimilarities_"),
    *("intervals_", "mixture_", "_fitted_to"),
)
#: What JSON holds as it is.
_PLAIN = (bool, int, float, str, NoneType)

POSITIVE = number(0, above=True)
ANY_NUMBER = number(finite=False)
INDICES = array(1, "i", low=0)
#: The largest mass, with rounding in single precision.
SHARES = 1 + 1e-4
N_FEATURES: dict[str, Check] = {"n_features_in_": whole(1)}
FEATURE_NAMES: dict[str, Check] = {"feature_names_in_": array(1, "O")}
DESCENT: dict[str, Check] = FEATURE_NAMES | {
    "objective_": ANY_NUMBER,
    "objective_history_": array(1, finite=False),
    "n_iter_": whole(),
    "converged_": flag,
}


def nothing_to_agree(estimator: Any) -> None:
    """For estimators whose values are checked one by one."""


def _set(estimator: Any, learned: dict[str, Any]) -> Any:
    """The default way to bring a fitted estimator back: all that it has learned is set."""
    for name, value in learned.items():
        setattr(estimator, name, value)
    return estimator


@dataclass(frozen=True)
class Contents:
    """What the file of an estimator holds.

    Attributes
    ----------
    estimator : type
        The class.
    required : dict of str to callable
        What it has learned in any case, and what that must be.
    others : dict of str to callable
        What it may have learned besides.
    agree : callable
        Raises unless the parts of the estimator agree with each other.
    parameters : dict of str to callable or None
        What its parameters must be; None if the signature says so.
    nested : frozenset of str
        Parameters and learned values that may be estimators, or hold some.
    omitted : frozenset of str
        Parameters that follow from what is learned, or that a prediction does not need.
    construct : callable or None
        From parameters to an estimator; None calls the class.
    told : callable or None
        From an estimator to what it has learned; None means its attributes of these names.
    made : callable
        From an estimator with parameters, and what it has learned, to the fitted one.
    """

    estimator: Any
    required: Mapping[str, Check]
    others: Mapping[str, Check]
    agree: Callable[[Any], None] = nothing_to_agree
    parameters: Mapping[str, Check] | None = None
    nested: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    construct: Callable[..., Any] | None = None
    told: Callable[[Any], dict[str, Any]] | None = None
    made: Callable[[Any, dict[str, Any]], Any] = _set

    def learned(self, estimator: Any) -> dict[str, Any]:
        """What a fitted estimator has learned, and a file holds."""
        if self.told is not None:
            return self.told(estimator)
        known = (self.required.keys() | self.others.keys()) - set(OF_TRAINING_OBJECTS)
        return {name: value for name, value in vars(estimator).items() if name in known}

    def check(self, name: str, value: Any) -> None:
        """Raise unless a learned value is what it must be."""
        (self.required.get(name) or self.others[name])(f"{self.estimator.__name__}.{name}", value)

    def check_parameter(self, name: str, value: Any) -> bool:
        """Raise unless the value of a parameter is of its kind; say whether the estimator has such a parameter."""
        where = f"{self.estimator.__name__}.{name}"
        if self.parameters is None:
            hints = _hints(self.estimator)
            if name not in hints:
                raise ValueError(f"{where} is not a parameter")
            if not _is_of(value, hints[name]):
                raise ValueError(f"{where} is of the wrong kind: {shortened(value)}")
            return True
        if name not in _names_of_parameters(self.estimator):
            if value is None or value is False:
                return False
            raise ValueError(f"{where} is not a parameter in the release of scikit-learn that is installed")
        self.parameters.get(name, flag)(where, value)
        return True


@dataclass(frozen=True)
class Part:
    """A class that a file may name inside a model.

    Attributes
    ----------
    kind : type
        The class.
    checks : dict of str to callable
        What its fields must be.
    told : callable or None
        From one of it to its fields; None means the attributes.
    made : callable or None
        From fields to one of it; None calls the class.
    nested : bool
        Whether its fields may hold estimators.
    """

    kind: Any
    checks: Mapping[str, Check]
    told: Callable[[Any], dict[str, Any]] | None = None
    made: Callable[..., Any] | None = None
    nested: bool = False

    def fields(self, value: Any) -> dict[str, Any]:
        """The fields of one of it."""
        return self.told(value) if self.told is not None else {name: getattr(value, name) for name in self.checks}

    def make(self, values: dict[str, Any]) -> Any:
        """One of it, from fields."""
        return (self.made or self.kind)(**values)

    @property
    def needed(self) -> list[str]:
        """The fields that have no default."""
        if self.made is not None:
            return list(self.checks)
        if not is_dataclass(self.kind):
            return [name for name in self.kind._fields if name not in self.kind._field_defaults]
        return [one.name for one in fields(self.kind) if one.default is MISSING and one.init]


@cache
def _names_of_parameters(estimator: type) -> frozenset[str]:
    return frozenset(signature(estimator).parameters)


@cache
def _hints(estimator: type) -> dict[str, Any]:
    return {
        name: hint for name, hint in get_type_hints(estimator.__dict__["__init__"]).items() if name != "return"
    }


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a signature asks for; whole numbers are numbers, words are any words."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return any(_is_of_kind(value, kind) for kind in kinds)


def _is_of_kind(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return type(value) in {type(one) for one in get_args(kind)}
    if kind in _PLAIN:
        return type(value) is kind or (kind is float and type(value) is int)
    # Arrays, sequences and sets of many types; a file holds no paths but as words.
    return type(value) not in _PLAIN and get_origin(kind) is not os.PathLike


# What several estimators need


def check_sets(estimator: Any) -> None:
    """Raise unless the sets of an estimator are those of its model."""
    if estimator._model.focal_sets != estimator.focal_sets_:
        raise ValueError("its model and focal_sets_ are about other sets")


def check_features(estimator: Any, n_features: int) -> None:
    """Raise unless an estimator is for so many features."""
    if estimator.n_features_in_ != n_features:
        raise ValueError(f"it is for {n_features} features, and n_features_in_ is {estimator.n_features_in_}")


def check_count(estimator: Any, name: str, count: int) -> None:
    """Raise unless a number, if it is there, is what other values say."""
    if estimator.__dict__.get(name, count) != count:
        raise ValueError(f"{name} must be {count}, got {shortened(getattr(estimator, name))}")


def listed(check: Check, *, fewest: int = 0) -> Check:
    """A check: the value is a list or tuple of values that pass another check."""

    def check_all(where: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or len(value) < fewest:
            raise ValueError(f"{where} must be a list of at least {fewest}, got {shortened(value)}")
        for k, one in enumerate(value):
            check(f"{where}[{k}]", one)

    return check_all


def either(*checks: Check) -> Check:
    """A check: the value passes one of several checks."""

    def check_any(where: str, value: Any) -> None:
        for one in checks[:-1]:
            try:
                return one(where, value)
            except ValueError:
                continue
        return checks[-1](where, value)

    return check_any


def labels(where: str, value: Any) -> None:
    """A check: the value is an array of names of classes, each once."""
    array(1, "iufbO", finite=False)(where, value)
    if len(value) < 2 or len(set(value.tolist())) != len(value):
        raise ValueError(f"{where} must hold at least two classes, each once")


def unchecked(where: str, value: Any) -> None:
    """A check that passes everything that a file can hold."""


__all__ = [
    "ANY_NUMBER",
    "DESCENT",
    "FEATURE_NAMES",
    "INDICES",
    "N_FEATURES",
    "OF_TRAINING_OBJECTS",
    "POSITIVE",
    "SHARES",
    "Contents",
    "Part",
    "check_count",
    "check_features",
    "check_sets",
    "either",
    "labels",
    "listed",
    "unchecked",
]
