"""Descriptions of encoded tables in sentences."""

from typing import Any

from evlearn.preprocessing.columns import OTHER
from evlearn.preprocessing.reading import days_to_dates
from evlearn.utils.formatting import format_count, format_number, format_share, join_first

_MAX_LISTED = 6
_REASONS = {
    "empty": "left out, because it has no values",
    "constant": "left out, because all its values are the same",
    "identifier": "left out, because all its values are different: it looks like an identifier",
    "text": "left out, because more than half of its values are different: it looks like free text",
    "mixed": "left out, because most of its values are numbers, but not all: correct or delete the others",
    "formats": "left out, because its numbers have several formats or currencies, or because the mark before 3 "
    "digits may be a decimal mark or a thousands mark: write all of them in one format, without thousands marks",
    "dates": "left out, because its dates are neither all day/month/year nor all month/day/year: write them as "
    "2026-11-16",
    "dropped": "left out, because it is listed in drop",
}


def describe_columns(columns: list[dict[str, Any]]) -> str:
    """Return a sentence about the table, and a sentence for each column."""
    n_used = sum(bool(facts["features"]) for facts in columns)
    n_features = sum(len(facts["features"]) for facts in columns)
    total = "" if n_used == len(columns) else f" of {len(columns)}"
    first_line = f"{format_count(n_used, 'column')}{total} encoded as {format_count(n_features, 'feature')}."
    lines = [f"{facts['column']}: {_sentence(facts)}." for facts in columns]
    return "\n".join([first_line, *lines, *suspicions_of(columns)])


def describe_reason(reason: str) -> str:
    """Return the reason why a column is left out as text."""
    return _REASONS[reason]


def suspicions_of(columns: list[dict[str, Any]]) -> list[str]:
    """Return a line for each column with suspicious values."""
    lines = []
    for facts in columns:
        parts = [_suspicion(facts, suspicion) for suspicion in facts.get("suspicions", ())]
        if parts:
            lines.append(f"Check {facts['column']}: {join_first(parts, _MAX_LISTED)}.")
    return lines


def _sentence(facts: dict[str, Any]) -> str:
    if facts["kind"] == "left out":
        return describe_reason(facts["reason"])
    text = {"number": _numbers, "date": _dates, "ordered": _ranks}.get(facts["kind"], _categories)(facts)
    if facts["weight"] != 1:
        text += f"; weight {format_number(facts['weight'])}"
    if facts["missing"]:
        text += f"; {format_share(facts['missing'])} missing"
    return text


def _numbers(facts: dict[str, Any]) -> str:
    sources = {"amount": f"amounts in {facts['currency']}", "percentage": "percentages"}
    text = (
        f"{sources.get(facts['source'], 'numbers')} from {format_number(facts['low'])} to "
        f"{format_number(facts['high'])}, "
    )
    if facts["transform"] == "log":
        return text + "most of them small: logarithms, divided by their spread"
    return text + f"divided by their spread ({format_number(facts['scale'])})"


def _dates(facts: dict[str, Any]) -> str:
    first, last = (str(days_to_dates([facts[key]])[0])[:10] for key in ("low", "high"))
    order = "" if facts["source"] == "date" else f" ({facts['source']})"
    return f"dates{order} from {first} to {last}, divided by their spread ({format_number(facts['scale'])} days)"


def _suspicion(facts: dict[str, Any], suspicion: dict[str, Any]) -> str:
    kind, examples = suspicion["what"], suspicion["examples"]
    if kind == "spelling":
        name, other = examples
        return f"{name!r} ({suspicion['count']:,}) may be {other!r}"
    if kind == "day or month":
        return f"all dates could be month/day/year as well as {facts['source']}"
    values = ", ".join(
        str(days_to_dates([value])[0])[:10] if facts["kind"] == "date" else format_number(value)
        for value in examples
    )
    count = format_count(suspicion["count"], "negative value" if kind == "negative" else "value")
    position = "" if kind == "negative" else f" far {kind} all others"
    return f"{count}{position} ({values}{', ...' if len(examples) > 2 else ''})"


def _ranks(facts: dict[str, Any]) -> str:
    return f"{len(facts['categories'])} ordered categories, {' < '.join(facts['categories'])}, encoded as numbers"


def _categories(facts: dict[str, Any]) -> str:
    categories = [
        f"{name} ({format_share(share)})"
        for name, share in zip(facts["categories"], facts["frequencies"], strict=True)
    ]
    if len(categories) == 2:
        text = ("yes or no, " if facts["kind"] == "yes/no" else "2 categories, ") + " and ".join(categories)
        return text + _merged(facts)
    order = sorted(range(len(categories)), key=lambda k: -facts["frequencies"][k])
    listing = join_first([categories[k] for k in order], _MAX_LISTED, "...")
    note = f" (rare ones merged as {OTHER!r})" if facts["pooled"] else ""
    text = f"{len(categories)} categories{note}, {listing}; together they have the weight of one number"
    return text + _merged(facts)


def _merged(facts: dict[str, Any]) -> str:
    if not facts["merged"]:
        return ""
    return f"; other spellings merged: {join_first(facts['merged'], _MAX_LISTED, '...')}"
