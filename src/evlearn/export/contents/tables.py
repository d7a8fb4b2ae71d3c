"""Contents of the model files of table transformers: the encoding of each column."""

from typing import Any

from evlearn.export.contents.contents import FEATURE_NAMES, N_FEATURES, POSITIVE, Contents, list_of
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.storage.fields import (
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
from evlearn.utils.cells import CURRENCIES

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
    "categories": list_of(text(), min_length=2),
    "frequencies": list_of(number(0, 1)),
    "pooled": flag,
    "exact": flag,
    "merged": list_of(text()),
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
_COMMON: dict[str, Check] = {
    "column": text(),
    "kind": text(*_KINDS),
    "missing": number(0, 1),
    "weight": POSITIVE,
    "features": list_of(text()),
}


def _suspicion(location: str, value: Any) -> None:
    """Raise unless a value describes suspicious cells of a column."""
    check_keys(location, value, ("what", "count", "examples"))
    text("above", "below", "negative", "spelling", "day or month")(f"{location}.what", value["what"])
    whole(0)(f"{location}.count", value["count"])
    is_spelling = value["what"] == "spelling"
    list_of(text() if is_spelling else number())(f"{location}.examples", value["examples"])
    if is_spelling and len(value["examples"]) != 2:
        raise ValueError(f"{location}.examples must be 2 names, got {shortened(value['examples'])}")


def _column(location: str, value: Any) -> None:
    """Check that a value describes a column completely."""
    text(*_KINDS)(f"{location}.kind", value.get("kind") if isinstance(value, dict) else None)
    checks = _COMMON | _KINDS[value["kind"]]
    if value["kind"] != "left out":
        checks |= {"suspicions": list_of(_suspicion)}
    check_keys(location, value, checks)
    for name, check in checks.items():
        check(f"{location}.{name}", value[name])
    if value["kind"] == "yes/no" and value["categories"] != ["False", "True"]:
        raise ValueError(f"{location}.categories must be ['False', 'True'], got {shortened(value['categories'])}")
    if "currency" in value and (value["currency"] is None) != (value["source"] != "amount"):
        raise ValueError(f"{location}.currency must be set for amounts only, got {shortened(value['currency'])}")
    n_features = {"left out": 0, "yes/no": 2, "category": 2}.get(value["kind"], 1)
    if n_features == 2:
        n_features = 1 if len(value["categories"]) == 2 else len(value["categories"])
    if len(value["features"]) != n_features:
        raise ValueError(f"{location}.features must be {n_features}, got {len(value['features'])}")
    if len(value.get("frequencies", ())) != len(value.get("categories", ())):
        raise ValueError(f"{location}.frequencies must have one item for each category")


def _validate_columns(estimator: Any) -> list[str]:
    """Return the column of each feature; raise unless the descriptions of columns are consistent."""
    names = [column["column"] for column in estimator.columns_]
    feature_names = estimator.__dict__.get("feature_names_in_")
    if len(names) != estimator.n_features_in_ or len(set(names)) != len(names):
        raise ValueError("columns_ must describe each column once")
    if feature_names is not None and list(feature_names) != names:
        raise ValueError("feature_names_in_ must be the names of columns_")
    sources = [column["column"] for column in estimator.columns_ for _ in column["features"]]
    if not sources:
        raise ValueError("columns_ must have at least one feature")
    return sources


def _validate_encoder(estimator: Any) -> None:
    estimator._check_parameters()
    columns = _validate_columns(estimator)
    if list(estimator.feature_columns_) != columns or len(estimator.feature_categories_) != len(columns):
        raise ValueError("feature_columns_ and feature_categories_ must match the features of columns_")


def _validate_rows(estimator: Any) -> None:
    _validate_columns(estimator)
    encoded = [column for column in estimator.columns_ if column["features"]]
    if not len(estimator.rows_):
        raise ValueError("rows_ must not be empty")
    check_length("rows_", estimator.rows_, (len(estimator.rows_), len(encoded)))


def _weights(location: str, value: object) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{location} must be a mapping from names to weights, got {shortened(value)}")
    for name, weight in value.items():
        POSITIVE(f"{location}[{name!r}]", weight)


_CHOICES: dict[str, Check] = {
    "categorical": optional(list_of(text())),
    "drop": optional(list_of(text())),
    "weights": optional(_weights),
}
_COLUMNS: dict[str, Check] = N_FEATURES | {"columns_": list_of(_column, min_length=1)}
#: Table transformers with model files.
TABLES = (
    Contents(
        TableEncoder,
        _COLUMNS | {"feature_columns_": array(1, "O"), "feature_categories_": list_of(optional(text()))},
        FEATURE_NAMES,
        _validate_encoder,
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
        _validate_rows,
        _CHOICES,
    ),
)

__all__ = ["TABLES"]
