"""Docstrings cite as people do, `Masson and Denœux (2008)`, to be read in a terminal; pages make links of it."""

import re
from pathlib import Path

from pybtex.database import parse_file

#: Names of authors as in "Masson and Denœux" or "Li et al.", and the year, with a letter where there are several.
PATTERN = re.compile(r"[A-Z][\w-]+(?: and [A-Z][\w-]+| et al\.)? \(\d{4}[a-z]?\)")


def citations():
    """The key of each entry of the bibliography, by what docstrings call it."""
    called = {}
    for key, entry in parse_file(Path(__file__).with_name("references.bib"), "bibtex").entries.items():
        names = [" ".join(person.last_names) for person in entry.persons["author"]]
        shown = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        called.setdefault((shown, entry.fields["year"]), []).append(key)
    return {
        f"{names} ({year}{'abcd'[place] if len(keys) > 1 else ''})": key
        for (names, year), keys in called.items()
        for place, key in enumerate(keys)
    }


def link_citations(app, what, name, obj, options, lines):
    """Turn what docstrings say into citations of Sphinx."""
    known = citations()
    for place, line in enumerate(lines):
        lines[place] = PATTERN.sub(
            lambda found: f":cite:t:`{known[found[0]]}`" if found[0] in known else found[0], line
        )
