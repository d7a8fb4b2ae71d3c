"""Specifications of parameters, such as a quantile, and private options for the reproduction of R and papers."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Self


class Specification:
    """Base class of dataclasses whose fields are nested parameters of estimators.

    With ``d0=Quantile(0.9)``, for example, ``set_params(d0__level=0.5)`` and grid searches work as for nested
    estimators.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the fields by name.

        Parameters
        ----------
        deep : bool, default=True
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        dict
            The fields.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Set some fields, and check all of them.

        Parameters
        ----------
        **params
            Fields by name.

        Returns
        -------
        Specification
            The changed value.
        """
        names = self.get_params().keys()
        if unknown := params.keys() - names:
            raise ValueError(f"{type(self).__name__} has no parameters {sorted(unknown)}; use {sorted(names)}.")
        for name, value in params.items():
            setattr(self, name, value)
        self.__post_init__()
        return self

    def __post_init__(self) -> None:
        """Check the fields."""


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
