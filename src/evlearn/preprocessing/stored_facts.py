"""Checks of the facts about a column in the model file of a table transformer."""

from typing import Any

from evlearn.storage.fields import Check, check_keys, flag, list_of, number, optional, shortened, text, whole
from evlearn.utils.cells import CURRENCIES

_POSITIVE = number(0, above=True)
_NUMBERS: dict[str, Check] = {
    "transform": text("none", "log"),
    "unit": _POSITIVE,
    "low": number(),
    "high": number(),
    "center": number(),
    "scale": _POSITIVE,
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
    "yes/no": _CATEGORIES | {"size": _POSITIVE, "source": text("yes/no")},
    "category": _CATEGORIES | {"size": _POSITIVE, "source": text(*_SOURCES)},
    "ordered": _CATEGORIES | {"center": number(), "scale": _POSITIVE, "source": text(*_SOURCES)},
    "left out": {"reason": text()},
}
_COMMON: dict[str, Check] = {
    "column": text(),
    "kind": text(*_KINDS),
    "missing": number(0, 1),
    "weight": _POSITIVE,
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


def facts_of_column(location: str, value: Any) -> None:
    """Check that a value contains all facts about a column."""
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
