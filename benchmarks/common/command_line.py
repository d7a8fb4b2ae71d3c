"""The command line that studies share: their parts, what they print, and where they write."""

import argparse
from functools import partial

from benchmarks.common import record


def parser(text):
    """A parser whose help is the text of a module."""
    return argparse.ArgumentParser(
        record.program(), description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def run_parts(text, parts, name, packages=()):
    """Run, print and, if asked, write the parts of a study that are named; all of them if none is."""
    reader = parser(text)
    reader.add_argument("parts", nargs="*", choices=[[], *parts], help="all of them if none is named")
    reader.add_argument("--write", action="store_true", help=f"write to results/{name}.json")
    given = reader.parse_args()
    found = {}
    for part in given.parts or parts:
        found[part] = parts[part]()
        show(part, found[part])
    if given.write:
        record.write(name, found, packages)
    return found


def run_lists(text, lists, compared, name, packages=()):
    """Run, print and, if asked, write what is found for each data set of lists of them; each is a part."""

    def all_of(names):
        found = {}
        for one in names:
            found[one] = compared(one)
            show(one, found[one])
        return found

    return run_parts(text, {part: partial(all_of, names) for part, names in lists.items()}, name, packages)


def show(name, value, depth=0):
    """Print a result, whatever is in it."""
    if isinstance(value, dict):
        print("    " * depth + name)
        for key, one in value.items():
            show(key, one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            show("-", one, depth + 1)
    else:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        print("    " * depth + f"{name:<40}{text:>14}", flush=True)
