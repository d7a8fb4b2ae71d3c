"""Results that are older than the code they depend on.

``python -m benchmarks.stale [NAME ...] [--strict]``

Each result contains the module of its study and a digest of the functions, methods, classes and variables that
this module uses (`benchmarks.common.definitions`). A result is stale if these differ today, apart from comments
and docstrings. This comparison needs no history of git. Results that were written before digests were recorded
have only a date; for these the command lists files with later commits, if the checkout contains the history of
git.

A result with `inputs` follows from other results, and is also stale if one of these is. A result is *older than
the code* if it is stale or has no digest. `benchmarks.older` lists these results with the reason; the command
prints it. With ``--strict``, the command fails if another result is older, or if a listed one is current.
"""

import sys
from typing import NamedTuple

from benchmarks.common import command_line, record, sources
from benchmarks.older import OLDER

CURRENT, STALE, UNKNOWN = "current", "stale", "without digest"
MAX_NAMES = 4


class Status(NamedTuple):
    """Status of a result: current, stale or without a digest, with the reason."""

    name: str
    kind: str
    reason: str


def status(name):
    """Return the status of a result."""
    result = record.load(name)
    origin = result.get("sources")
    if origin is not None:
        if sources.path_of(origin["module"]) is None:
            return Status(name, STALE, f"{origin['module']} does not exist any more")
        if sources.digest(origin["module"]) == origin["digest"]:
            older = [other for other in result.get("inputs", []) if status(other).kind != CURRENT]
            if older:
                return Status(
                    name, STALE, f"it follows from results that are older than the code: {', '.join(older)}"
                )
            return Status(name, CURRENT, f"measured on {result['date']}, at commit {result['commit']}")
        reason = f"sources of {origin['module']} differ from those of commit {result['commit']}, {result['date']}"
        return Status(name, STALE, reason)
    module = module_of(result["command"])
    if sources.path_of(module) is None:
        return Status(name, UNKNOWN, f"measured on {result['date']}; its module is unknown")
    names = sources.files(module)
    changed = sources.changed_since(result["date"], names)
    if changed is None:
        return Status(name, UNKNOWN, f"measured on {result['date']}; no complete history of git")
    names_listed = ", ".join(changed[:MAX_NAMES]) + (", ..." if len(changed) > MAX_NAMES else "")
    reason = f"measured on {result['date']}; {len(changed)} of {len(names)} sources have later commits"
    return Status(name, UNKNOWN, f"{reason}: {names_listed}" if changed else reason)


def module_of(command):
    """Return the module of a command."""
    words = command.split()
    return words[2] if words[1:2] == ["-m"] else ""


def unexpected(statuses):
    """Return a message for each older result that is not listed, and for each current result that is listed."""
    messages = []
    for name, kind, reason in statuses:
        if kind != CURRENT and name not in OLDER:
            messages.append(
                f"{name} is older than the code ({reason}): repeat its command, or list it in older.py"
            )
        if kind == CURRENT and name in OLDER:
            messages.append(f"{name} is current: remove it from older.py")
    return messages


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="results (default: all)")
    parser.add_argument("--strict", action="store_true", help="fail if the list of older results is wrong")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in record.RESULTS.glob("*.json"))
    statuses = [status(name) for name in names]
    for entry in statuses:
        print(f"{entry.name:<28} {entry.kind:<15} {entry.reason}")
        if entry.name in OLDER:
            print(f"{'':<28} {'older':<15} {OLDER[entry.name]}")
    counts = {kind: sum(entry.kind == kind for entry in statuses) for kind in (CURRENT, STALE, UNKNOWN)}
    print(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    messages = unexpected(statuses)
    print("\n".join(messages))
    if options.strict and messages:
        sys.exit(1)


if __name__ == "__main__":
    main()
