"""Checks of the facts about a column in the model file of a table transformer."""

from typing import Any

from evlearn.storage import fields
from evlearn.utils.cells import CURRENCIES

_POSITIVE = fields.number(0, above=True)
_NUMBERS: dict[str, fields.Check] = {
    "transform": fields.text("none", "log"),
    "unit": _POSITIVE,
    "low": fields.number(),
    "high": fields.number(),
    "center": fields.number(),
    "scale": _POSITIVE,
    "decimal": fields.text(".", ","),
    "currency": fields.optional(fields.text(*CURRENCIES)),
}
_CATEGORIES: dict[str, fields.Check] = {
    "categories": fields.list_of(fields.text(), min_length=2),
    "frequencies": fields.list_of(fields.number(0, 1)),
    "pooled": fields.flag,
    "exact": fields.flag,
    "merged": fields.list_of(fields.text()),
}
_SOURCES = ("number", "duration", "date", "yes/no", "text")
_DATES = ("date", "day/month/year", "month/day/year")
_KINDS: dict[str, dict[str, fields.Check]] = {
    "number": _NUMBERS | {"source": fields.text("number", "amount", "percentage", "duration")},
    "date": _NUMBERS | {"source": fields.text(*_DATES)},
    "yes/no": _CATEGORIES | {"size": _POSITIVE, "source": fields.text("yes/no")},
    "category": _CATEGORIES | {"size": _POSITIVE, "source": fields.text(*_SOURCES)},
    "ordered": _CATEGORIES | {"center": fields.number(), "scale": _POSITIVE, "source": fields.text(*_SOURCES)},
    "left out": {"reason": fields.text()},
}
_COMMON: dict[str, fields.Check] = {
    "column": fields.text(),
    "kind": fields.text(*_KINDS),
    "missing": fields.number(0, 1),
    "weight": _POSITIVE,
    "features": fields.list_of(fields.text()),
}


def _suspicion(location: str, value: Any) -> None:
    """Raise unless a value describes suspicious cells of a column."""
    fields.check_keys(location, value, ("what", "count", "examples"))
    fields.text("above", "below", "negative", "spelling", "day or month")(f"{location}.what", value["what"])
    fields.whole(0)(f"{location}.count", value["count"])
    is_spelling = value["what"] == "spelling"
    fields.list_of(fields.text() if is_spelling else fields.number())(f"{location}.examples", value["examples"])
    if is_spelling and len(value["examples"]) != 2:
        raise ValueError(f"{location}.examples must be 2 names, got {fields.shortened(value['examples'])}")


def facts_of_column(location: str, value: Any) -> None:
    """Check that a value contains all facts about a column."""
    fields.text(*_KINDS)(f"{location}.kind", value.get("kind") if isinstance(value, dict) else None)
    checks = _COMMON | _KINDS[value["kind"]]
    if value["kind"] != "left out":
        checks |= {"suspicions": fields.list_of(_suspicion)}
    fields.check_keys(location, value, checks)
    for name, check in checks.items():
        check(f"{location}.{name}", value[name])
    if value["kind"] == "yes/no" and value["categories"] != ["False", "True"]:
        raise ValueError(
            f"{location}.categories must be ['False', 'True'], got {fields.shortened(value['categories'])}"
        )
    if "currency" in value and (value["currency"] is None) != (value["source"] != "amount"):
        raise ValueError(
            f"{location}.currency must be set for amounts only, got {fields.shortened(value['currency'])}"
        )
    n_features = {"left out": 0, "yes/no": 2, "category": 2}.get(value["kind"], 1)
    if n_features == 2:
        n_features = 1 if len(value["categories"]) == 2 else len(value["categories"])
    if len(value["features"]) != n_features:
        raise ValueError(f"{location}.features must be {n_features}, got {len(value['features'])}")
    if len(value.get("frequencies", ())) != len(value.get("categories", ())):
        raise ValueError(f"{location}.frequencies must have one item for each category")
