"""What a model file may hold of transformers of tables: what they have learned of each column."""

from typing import Any

from evlearn.model_contents.contents import FEATURE_NAMES, N_FEATURES, POSITIVE, Contents, listed
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.utils.cells import CURRENCIES
from evlearn.utils.stored_values import (
    Check,
    array,
    check_keys,
    check_length,
    flag,
    number,
    optional,
    shortened,
    text,
    whole,
)

_NUMBERS: dict[str, Check] = {
    "transform": text("none", "log"),
    "unit": POSITIVE,
    "low": number(),
    "high": number(),
    "center": number(),
    "scale": POSITIVE,
    "decimal": text(".", ","),
    "currency": optional(text(*CURRENCIES)),
}
_CATEGORIES: dict[str, Check] = {
    "categories": listed(text(), fewest=2),
    "frequencies": listed(number(0, 1)),
    "pooled": flag,
    "exact": flag,
    "merged": listed(text()),
}
_SOURCES = ("number", "duration", "date", "yes/no", "text")
_DATES = ("date", "day/month/year", "month/day/year")
_KINDS: dict[str, dict[str, Check]] = {
    "number": _NUMBERS | {"source": text("number", "amount", "percentage", "duration")},
    "date": _NUMBERS | {"source": text(*_DATES)},
    "yes/no": _CATEGORIES | {"size": POSITIVE, "source": text("yes/no")},
    "category": _CATEGORIES | {"size": POSITIVE, "source": text(*_SOURCES)},
    "ordered": _CATEGORIES | {"center": number(), "scale": POSITIVE, "source": text(*_SOURCES)},
    "left out": {"reason": text()},
}
_EVERY: dict[str, Check] = {
    "column": text(),
    "kind": text(*_KINDS),
    "missing": number(0, 1),
    "weight": POSITIVE,
    "features": listed(text()),
}


def _suspicion(where: str, value: Any) -> None:
    """Raise unless a value describes suspicious cells of a column."""
    check_keys(where, value, ("what", "count", "examples"))
    text("above", "below", "negative", "spelling", "day or month")(f"{where}.what", value["what"])
    whole(0)(f"{where}.count", value["count"])
    is_spelling = value["what"] == "spelling"
    listed(text() if is_spelling else number())(f"{where}.examples", value["examples"])
    if is_spelling and len(value["examples"]) != 2:
        raise ValueError(f"{where}.examples must be 2 names, got {shortened(value['examples'])}")


def _column(where: str, value: Any) -> None:
    """A check: the value says what is needed of a column of its kind."""
    text(*_KINDS)(f"{where}.kind", value.get("kind") if isinstance(value, dict) else None)
    checks = _EVERY | _KINDS[value["kind"]]
    if value["kind"] != "left out":
        checks |= {"suspicions": listed(_suspicion)}
    check_keys(where, value, checks)
    for name, check in checks.items():
        check(f"{where}.{name}", value[name])
    if value["kind"] == "yes/no" and value["categories"] != ["False", "True"]:
        raise ValueError(f"{where}.categories must be ['False', 'True'], got {shortened(value['categories'])}")
    if "currency" in value and (value["currency"] is None) != (value["source"] != "amount"):
        raise ValueError(f"{where}.currency must be that of amounts, got {shortened(value['currency'])}")
    n_features = {"left out": 0, "yes/no": 2, "category": 2}.get(value["kind"], 1)
    if n_features == 2:
        n_features = 1 if len(value["categories"]) == 2 else len(value["categories"])
    if len(value["features"]) != n_features:
        raise ValueError(f"{where}.features must be {n_features}, got {len(value['features'])}")
    if len(value.get("frequencies", ())) != len(value.get("categories", ())):
        raise ValueError(f"{where}.frequencies must have one for each category")


def _agree_on_columns(estimator: Any) -> list[str]:
    """The columns that features come from, if all that is known of columns agrees."""
    names = [one["column"] for one in estimator.columns_]
    known = estimator.__dict__.get("feature_names_in_")
    if len(names) != estimator.n_features_in_ or len(set(names)) != len(names):
        raise ValueError("columns_ must tell of each column once")
    if known is not None and list(known) != names:
        raise ValueError("feature_names_in_ must be the names of columns_")
    found = [one["column"] for one in estimator.columns_ for _ in one["features"]]
    if not found:
        raise ValueError("columns_ must have at least one feature")
    return found


def _agree_on_encoder(estimator: Any) -> None:
    estimator._check_parameters()
    columns = _agree_on_columns(estimator)
    if list(estimator.feature_columns_) != columns or len(estimator.feature_categories_) != len(columns):
        raise ValueError("feature_columns_ and feature_categories_ must be about the features of columns_")


def _agree_on_rows(estimator: Any) -> None:
    _agree_on_columns(estimator)
    used = [one for one in estimator.columns_ if one["features"]]
    if not len(estimator.rows_):
        raise ValueError("rows_ must not be empty")
    check_length("rows_", estimator.rows_, (len(estimator.rows_), len(used)))


def _weights(where: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be weights by name, got {shortened(value)}")
    for name, weight in value.items():
        POSITIVE(f"{where}[{name!r}]", weight)


_CHOICES: dict[str, Check] = {
    "categorical": optional(listed(text())),
    "drop": optional(listed(text())),
    "weights": optional(_weights),
}
_COLUMNS: dict[str, Check] = N_FEATURES | {"columns_": listed(_column, fewest=1)}
#: Transformers of tables.
TABLES = (
    Contents(
        TableEncoder,
        _COLUMNS | {"feature_columns_": array(1, "O"), "feature_categories_": listed(optional(text()))},
        FEATURE_NAMES,
        _agree_on_encoder,
        _CHOICES
        | {
            "missing": text("keep", "impute"),
            "scaling": text("auto", "standard"),
            "max_categories": whole(2),
        },
    ),
    Contents(
        GowerDistances,
        _COLUMNS | {"rows_": array(2, finite=False), "mean_": number(0, finite=False)},
        FEATURE_NAMES,
        _agree_on_rows,
        _CHOICES,
    ),
)

__all__ = ["TABLES"]
