"""What transformers of tables share: columns are learned, and found again in other tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from evlearn.preprocessing.columns import learn_column
from evlearn.preprocessing.description import describe_columns, describe_reason
from evlearn.preprocessing.reading import RawColumn, looks_like_number, read_columns, split_columns
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.convergence import warn_caller
from evlearn.utils.validation import check_real


class ReadsTables(TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: `columns_` says what is in the columns of a table."""

    categorical: Sequence[str] | None
    drop: Sequence[str] | None
    weights: Mapping[str, float] | None
    columns_: list[dict[str, Any]]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __sklearn_is_fitted__(self) -> bool:
        return "columns_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _learn(self, X: Any, *, scaling: str, max_categories: int) -> None:
        """Learn what is in the columns, and publish it."""
        parts, named = split_columns(X)
        _check_size(parts, least=2)
        categorical, drop, weights = self._choices([name for name, _ in parts])
        learned = []
        for name, column in read_columns(parts).items():
            settings: dict[str, Any] = {"scaling": scaling, "max_categories": max_categories, "named": named}
            settings |= {"categorical": name in categorical, "weight": float(weights.get(name, 1.0))}
            learned.append(_dropped(name) if name in drop else learn_column(column, **settings))
            if learned[-1].get("reason") in ("mixed", "formats", "dates"):
                _warn_of_text(column, learned[-1])
        if not any(one["features"] for one in learned):
            raise ValueError(f"X has no column that tells rows apart. {describe_columns(learned)}")
        self.n_features_in_ = len(learned)
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array([one["column"] for one in learned], dtype=object)
        self.columns_ = learned

    def _known_columns(self, X: Any) -> dict[str, RawColumn]:
        """The columns of another table that are not left out."""
        parts, named = split_columns(X)
        _check_size(parts, least=1)
        was_named = hasattr(self, "feature_names_in_")
        if not (named and was_named) and len(parts) != self.n_features_in_:
            raise ValueError(
                f"X has {len(parts)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        wanted = [one["column"] for one in self.columns_ if one["features"]]
        if named != was_named:  # columns in their order
            every = [one["column"] for one in self.columns_]
            parts = [(name, part) for name, (_, part) in zip(every, parts, strict=True)]
        found = dict(parts)
        missing = [name for name in wanted if name not in found]
        if missing:
            raise ValueError(
                f"X lacks columns that the encoder was fitted to: {missing}. Add them, or fit it again."
            )
        return read_columns([(name, found[name]) for name in wanted])

    def _choices(self, names: list[str]) -> tuple[set[str], set[str], dict[str, float]]:
        """What the user said about columns, all of which must be there."""
        weights = dict(self.weights or {})
        for parameter in ("categorical", "drop", "weights"):
            value = getattr(self, parameter)
            if isinstance(value, str):
                raise ValueError(f"{parameter} must be a list of names of columns, got {value!r}.")
            unknown = [name for name in value or () if name not in names]
            if unknown:
                raise ValueError(f"{parameter} names columns that X does not have: {unknown}. X has {names}.")
        for name, weight in weights.items():
            check_real(f"weights[{name!r}]", weight, 0, open_low=True)
        return set(self.categorical or ()), set(self.drop or ()), weights


def _check_size(parts: list[tuple[str, Any]], least: int) -> None:
    if not parts:
        raise ValueError("X has 0 feature(s) (shape=(0, 0)) while a minimum of 1 is required: it has no columns.")
    if len(parts[0][1]) < least:
        rows = len(parts[0][1])
        raise ValueError(f"X has {rows} sample(s), while a minimum of {least} is required.")


def _warn_of_text(column: RawColumn, facts: dict[str, Any]) -> None:
    """Warn that a column is left out although its cells look like numbers or dates."""
    if facts["reason"] != "mixed":
        warn_caller(f"the column {column.name!r} is {describe_reason(facts['reason'])}.")
        return
    texts = [cell for cell in column.cells if cell is not None and not looks_like_number(cell)]
    warn_caller(
        f"the column {column.name!r} is left out, because it has numbers, but also {len(texts)} other value(s) "
        f"such as {texts[0]!r}. Correct these values or empty their cells, put the column in drop, or put it "
        "in categorical if its numbers are codes."
    )


def _dropped(name: str) -> dict[str, Any]:
    return {"column": name, "kind": "left out", "reason": "dropped", "missing": 0.0, "weight": 1.0, "features": []}
