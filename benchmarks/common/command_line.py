"""Shared command line of the studies: parsing, printing and writing."""

import argparse
from functools import partial

from benchmarks.common import record


def parser(text):
    """Return a parser with the text of a module as its help."""
    return argparse.ArgumentParser(
        record.program(), description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def run_parts(text, parts, name, packages=()):
    """Run and print the selected parts of a study (default: all), and write their results if requested."""
    reader = parser(text)
    reader.add_argument("parts", nargs="*", choices=[[], *parts], help="parts to run (default: all)")
    reader.add_argument("--write", action="store_true", help=f"write to results/{name}.json")
    arguments = reader.parse_args()
    results = {}
    for part in arguments.parts or parts:
        results[part] = parts[part]()
        show(part, results[part])
    if arguments.write:
        record.write(name, results, packages)
    return results


def run_lists(text, lists, compare, name, packages=()):
    """Run, print and write a comparison for each data set in several lists; each list is a part."""

    def run_list(names):
        results = {}
        for data_name in names:
            results[data_name] = compare(data_name)
            show(data_name, results[data_name])
        return results

    return run_parts(text, {part: partial(run_list, names) for part, names in lists.items()}, name, packages)


def show(name, value, depth=0):
    """Print a result, which may be nested."""
    if isinstance(value, dict):
        print("    " * depth + name)
        for key, item in value.items():
            show(key, item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            show("-", item, depth + 1)
    else:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        print("    " * depth + f"{name:<40}{text:>14}", flush=True)
