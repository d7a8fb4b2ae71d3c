"""What a model file may hold of TableEncoder: what it has learned of each column."""

from typing import Any

from evlearn.model_contents.contents import FEATURE_NAMES, N_FEATURES, POSITIVE, Contents, listed
from evlearn.preprocessing import TableEncoder
from evlearn.utils.stored_values import Check, check_keys, flag, number, optional, shortened, text, whole

_NUMBERS: dict[str, Check] = {
    "transform": text("none", "log"),
    "unit": POSITIVE,
    "low": number(),
    "high": number(),
    "center": number(),
    "scale": POSITIVE,
}
_CATEGORIES: dict[str, Check] = {
    "categories": listed(text(), fewest=2),
    "frequencies": listed(number(0, 1)),
    "pooled": flag,
}
_KINDS: dict[str, dict[str, Check]] = {
    "number": _NUMBERS,
    "date": _NUMBERS,
    "yes/no": _CATEGORIES | {"size": POSITIVE},
    "category": _CATEGORIES | {"size": POSITIVE},
    "ordered": _CATEGORIES | {"center": number(), "scale": POSITIVE},
    "left out": {"reason": text()},
}
_EVERY: dict[str, Check] = {
    "column": text(),
    "kind": text(*_KINDS),
    "missing": number(0, 1),
    "weight": POSITIVE,
    "features": listed(text()),
}


def _column(where: str, value: Any) -> None:
    """A check: the value says what is needed of a column of its kind."""
    text(*_KINDS)(f"{where}.kind", value.get("kind") if isinstance(value, dict) else None)
    checks = _EVERY | _KINDS[value["kind"]]
    check_keys(where, value, checks)
    for name, check in checks.items():
        check(f"{where}.{name}", value[name])
    n_features = {"left out": 0, "yes/no": 2, "category": 2}.get(value["kind"], 1)
    if n_features == 2:
        n_features = 1 if len(value["categories"]) == 2 else len(value["categories"])
    if len(value["features"]) != n_features:
        raise ValueError(f"{where}.features must be {n_features}, got {len(value['features'])}")
    if len(value.get("frequencies", ())) != len(value.get("categories", ())):
        raise ValueError(f"{where}.frequencies must have one for each category")


def _make_encoder(estimator: Any, learned: dict[str, Any]) -> Any:
    names = [one["column"] for one in learned["columns_"]]
    known = learned.get("feature_names_in_")
    if len(names) != learned["n_features_in_"] or len(set(names)) != len(names):
        raise ValueError("columns_ must tell of each column once")
    if known is not None and list(known) != names:
        raise ValueError("feature_names_in_ must be the names of columns_")
    estimator._check_parameters()
    estimator._publish(learned["columns_"], known is not None)
    return estimator


def _weights(where: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be weights by name, got {shortened(value)}")
    for name, weight in value.items():
        POSITIVE(f"{where}[{name!r}]", weight)


#: The encoder of tables.
TABLES = (
    Contents(
        TableEncoder,
        N_FEATURES | {"columns_": listed(_column, fewest=1)},
        FEATURE_NAMES,
        parameters={
            "missing": text("keep", "impute"),
            "scaling": text("auto", "standard"),
            "max_categories": whole(2),
            "categorical": optional(listed(text())),
            "drop": optional(listed(text())),
            "weights": optional(_weights),
        },
        told=lambda encoder: {
            name: value
            for name, value in vars(encoder).items()
            if name in ("n_features_in_", "feature_names_in_", "columns_")
        },
        made=_make_encoder,
    ),
)

__all__ = ["TABLES"]
