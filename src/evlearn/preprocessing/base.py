"""Base class of table transformers, which learn columns and select them from other tables."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from evlearn.preprocessing.columns import learn_column
from evlearn.preprocessing.description import describe_columns, describe_reason
from evlearn.preprocessing.reading import RawColumn, looks_like_number, read_columns, split_columns
from evlearn.preprocessing.stored_facts import facts_of_column
from evlearn.storage import fields
from evlearn.utils.convergence import CallbackSupportMixin, warn_caller
from evlearn.utils.validation import check_real


class BaseTableTransformer(TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of table transformers. `columns_` describes the columns of the table."""

    categorical: Sequence[str] | None
    drop: Sequence[str] | None
    weights: Mapping[str, float] | None
    columns_: fields.Stored[Annotated[list[dict[str, Any]], fields.list_of(facts_of_column, min_length=1)]]
    n_features_in_: fields.Stored[fields.PositiveCount]
    feature_names_in_: fields.StoredIfSet[fields.FeatureNames]

    def __sklearn_is_fitted__(self) -> bool:
        return "columns_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _learn(self, X: Any, *, scaling: str, max_categories: int) -> None:
        """Learn the types and values of the columns, and set the fitted attributes."""
        parts, has_names = split_columns(X)
        _check_n_rows(parts, minimum=2)
        categorical, drop, weights = self._column_options([name for name, _ in parts])
        columns = []
        for name, column in read_columns(parts).items():
            settings: dict[str, Any] = {
                "scaling": scaling,
                "max_categories": max_categories,
                "has_names": has_names,
            }
            settings |= {"categorical": name in categorical, "weight": float(weights.get(name, 1.0))}
            columns.append(_facts_of_dropped_column(name) if name in drop else learn_column(column, **settings))
            if columns[-1].get("reason") in ("mixed", "formats", "dates"):
                _warn_of_text(column, columns[-1])
        if not any(facts["features"] for facts in columns):
            raise ValueError(f"X has no column that distinguishes rows. {describe_columns(columns)}")
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)
        if has_names:
            self.feature_names_in_ = np.array([facts["column"] for facts in columns], dtype=object)
        self.columns_ = columns

    def _fitted_columns(self, X: Any) -> dict[str, RawColumn]:
        """Return the columns of another table that are in use."""
        parts, has_names = split_columns(X)
        _check_n_rows(parts, minimum=1)
        had_names = hasattr(self, "feature_names_in_")
        if not (has_names and had_names) and len(parts) != self.n_features_in_:
            raise ValueError(
                f"X has {len(parts)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        names_in_use = [facts["column"] for facts in self.columns_ if facts["features"]]
        if has_names != had_names:  # columns are matched by position
            all_names = [facts["column"] for facts in self.columns_]
            parts = [(name, part) for name, (_, part) in zip(all_names, parts, strict=True)]
        parts_by_name = dict(parts)
        missing = [name for name in names_in_use if name not in parts_by_name]
        if missing:
            raise ValueError(
                f"X lacks columns that the encoder was fitted to: {missing}. Add them, or fit the encoder again."
            )
        return read_columns([(name, parts_by_name[name]) for name in names_in_use])

    def _column_options(self, names: list[str]) -> tuple[set[str], set[str], dict[str, float]]:
        """Return the parameters that refer to columns, and raise a ValueError if X lacks any of these columns."""
        weights = dict(self.weights or {})
        for parameter in ("categorical", "drop", "weights"):
            value = getattr(self, parameter)
            if isinstance(value, str):
                raise ValueError(f"{parameter} must be a list of column names, got {value!r}.")
            unknown = [name for name in value or () if name not in names]
            if unknown:
                raise ValueError(f"{parameter} contains columns that X does not have: {unknown}. X has {names}.")
        for name, weight in weights.items():
            check_real(f"weights[{name!r}]", weight, 0, open_low=True)
        return set(self.categorical or ()), set(self.drop or ()), weights

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        names = [column["column"] for column in self.columns_]
        feature_names = self.__dict__.get("feature_names_in_")
        if len(names) != self.n_features_in_ or len(set(names)) != len(names):
            raise ValueError("columns_ must describe each column once")
        if feature_names is not None and list(feature_names) != names:
            raise ValueError("feature_names_in_ must be the names of columns_")
        if not any(column["features"] for column in self.columns_):
            raise ValueError("columns_ must have at least one feature")
        self._column_options(names)


def _check_n_rows(parts: list[tuple[str, Any]], minimum: int) -> None:
    if not parts:
        raise ValueError("X has 0 feature(s) (shape=(0, 0)) while a minimum of 1 is required: it has no columns.")
    if len(parts[0][1]) < minimum:
        n_rows = len(parts[0][1])
        raise ValueError(f"X has {n_rows} sample(s), while a minimum of {minimum} is required.")


def _warn_of_text(column: RawColumn, facts: dict[str, Any]) -> None:
    """Warn that a column is left out, although its cells look like numbers or dates."""
    if facts["reason"] != "mixed":
        warn_caller(f"the column {column.name!r} is {describe_reason(facts['reason'])}.")
        return
    texts = [cell for cell in column.cells if cell is not None and not looks_like_number(cell)]
    warn_caller(
        f"the column {column.name!r} is left out, because it has numbers, but also {len(texts)} other value(s) "
        f"such as {texts[0]!r}. Correct or delete these values, list the column in drop, or list it in "
        "categorical if its numbers are codes."
    )


def _facts_of_dropped_column(name: str) -> dict[str, Any]:
    return {"column": name, "kind": "left out", "reason": "dropped", "missing": 0.0, "weight": 1.0, "features": []}
