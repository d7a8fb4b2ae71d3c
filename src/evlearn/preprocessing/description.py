"""What an encoder made of a table, in sentences."""

from typing import Any

from evlearn.preprocessing.columns import OTHER
from evlearn.preprocessing.reading import days_to_dates

_MOST_NAMED = 6
_REASONS = {
    "empty": "left out, because it has no values",
    "constant": "left out, because all its values are the same",
    "identifier": "left out, because every row has another value: it looks like an identifier",
    "text": "left out, because more than half of its values are different: it looks like free text",
    "mixed": "left out, because most of its values are numbers, but not all: correct the others, or leave these "
    "cells empty",
    "formats": "left out, because its numbers have several formats or currencies, or because the mark before 3 "
    "digits may be a decimal mark or a thousands mark: write all of them in the same way, without thousands marks",
    "dates": "left out, because its dates are neither all day/month/year nor all month/day/year: write them as "
    "2026-11-16",
    "dropped": "left out, as you asked",
}


def describe_columns(columns: list[dict[str, Any]]) -> str:
    """A sentence for each column, below one about the whole."""
    used = sum(bool(one["features"]) for one in columns)
    features = sum(len(one["features"]) for one in columns)
    of = "" if used == len(columns) else f" of {len(columns)}"
    whole = f"{_many(used, 'column')}{of} became {_many(features, 'feature')}."
    lines = [f"{one['column']}: {_sentence(one)}." for one in columns]
    return "\n".join([whole, *lines, *suspicions_of(columns)])


def describe_reason(reason: str) -> str:
    """Return the words for the reason why a column is left out."""
    return _REASONS[reason]


def suspicions_of(columns: list[dict[str, Any]]) -> list[str]:
    """Return a line for each column with suspicious values."""
    lines = []
    for facts in columns:
        parts = [_suspicion(facts, one) for one in facts.get("suspicions", ())]
        if len(parts) > _MOST_NAMED:
            parts = [*parts[:_MOST_NAMED], f"and {len(parts) - _MOST_NAMED} more"]
        if parts:
            lines.append(f"Check {facts['column']}: {', '.join(parts)}.")
    return lines


def plain(value: float) -> str:
    """A number as people write it: thousands apart, no exponents."""
    if value == 0 or abs(value) >= 1e15 or abs(value) < 1e-6:
        return f"{value:.3g}"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):,.10f}".rstrip("0").rstrip(".")


def _sentence(facts: dict[str, Any]) -> str:
    if facts["kind"] == "left out":
        return describe_reason(facts["reason"])
    told = {"number": _numbers, "date": _dates, "ordered": _ranks}.get(facts["kind"], _categories)(facts)
    if facts["weight"] != 1:
        told += f"; it counts {plain(facts['weight'])} times"
    if facts["missing"]:
        told += f"; {_percent(facts['missing'])} missing"
    return told


def _numbers(facts: dict[str, Any]) -> str:
    sources = {"amount": f"amounts in {facts['currency']}", "percentage": "percentages"}
    told = f"{sources.get(facts['source'], 'numbers')} from {plain(facts['low'])} to {plain(facts['high'])}, "
    if facts["transform"] == "log":
        return told + "most of them small, so that their logarithms are used, divided by their spread"
    return told + f"divided by their spread ({plain(facts['scale'])})"


def _dates(facts: dict[str, Any]) -> str:
    first, last = (str(days_to_dates([facts[one]])[0])[:10] for one in ("low", "high"))
    order = "" if facts["source"] == "date" else f" ({facts['source']})"
    return f"dates{order} from {first} to {last}, divided by their spread ({plain(facts['scale'])} days)"


def _suspicion(facts: dict[str, Any], suspicion: dict[str, Any]) -> str:
    what, examples = suspicion["what"], suspicion["examples"]
    if what == "spelling":
        name, other = examples
        return f"{name!r} ({suspicion['count']:,}) may be {other!r}"
    if what == "day or month":
        return f"all dates could be month/day/year as well as {facts['source']}"
    shown = ", ".join(
        str(days_to_dates([one])[0])[:10] if facts["kind"] == "date" else plain(one) for one in examples
    )
    counted = _many(suspicion["count"], "negative value" if what == "negative" else "value")
    place = "" if what == "negative" else f" far {what} all others"
    return f"{counted}{place} ({shown}{', ...' if len(examples) > 2 else ''})"


def _ranks(facts: dict[str, Any]) -> str:
    return f"{len(facts['categories'])} categories in order, {' < '.join(facts['categories'])}, as numbers"


def _categories(facts: dict[str, Any]) -> str:
    named = [
        f"{name} ({_percent(share)})"
        for name, share in zip(facts["categories"], facts["frequencies"], strict=True)
    ]
    if len(named) == 2:
        told = ("yes or no, " if facts["kind"] == "yes/no" else "two categories, ") + " and ".join(named)
        return told + _merged(facts)
    order = sorted(range(len(named)), key=lambda k: -facts["frequencies"][k])
    shown = ", ".join(named[k] for k in order[:_MOST_NAMED]) + (", ..." if len(named) > _MOST_NAMED else "")
    rare = f" (rare ones together as {OTHER!r})" if facts["pooled"] else ""
    told = f"{len(named)} categories{rare}, {shown}; together they weigh as much as one number"
    return told + _merged(facts)


def _merged(facts: dict[str, Any]) -> str:
    if not facts["merged"]:
        return ""
    more = ", ..." if len(facts["merged"]) > _MOST_NAMED else ""
    return f"; other spellings merged: {', '.join(facts['merged'][:_MOST_NAMED])}{more}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _percent(share: float) -> str:
    return "less than 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
