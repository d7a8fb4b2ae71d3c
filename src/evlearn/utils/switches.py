"""Private options of estimators that only the reproduction of R and of the papers needs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class Switchable:
    """Base class of estimators with switches; clones keep them."""

    #: Switches with their defaults.
    _switches: Mapping[str, Any] = MappingProxyType({})

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        if "_switches" in self.__dict__:
            copy._switches = self._switches
        return copy


def with_switches(estimator: Any, **values: Any) -> Any:
    """Set switches of an estimator, and return it."""
    defaults = type(estimator)._switches
    if unknown := values.keys() - defaults.keys():
        raise ValueError(f"{type(estimator).__name__} has no switches {sorted(unknown)}; use {sorted(defaults)}.")
    estimator._switches = {**estimator._switches, **values}
    return estimator
