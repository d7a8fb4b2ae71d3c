"""Base class of values that specify a parameter of an estimator, such as a quantile or a metric."""

from dataclasses import fields
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
