"""Links for citations in docstrings, which are plain text such as `Masson and Denœux (2008)`."""

import re
from pathlib import Path

from pybtex.database import parse_file

#: Names of authors as in "Masson and Denœux" or "Li et al.", and the year, with a letter if needed.
PATTERN = re.compile(r"[A-Z][\w-]+(?: and [A-Z][\w-]+| et al\.)? \(\d{4}[a-z]?\)")


def citations():
    """Return the keys of the bibliography by citation text."""
    keys_by_text = {}
    for key, entry in parse_file(Path(__file__).with_name("references.bib"), "bibtex").entries.items():
        names = [" ".join(person.last_names) for person in entry.persons["author"]]
        authors = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        keys_by_text.setdefault((authors, entry.fields["year"]), []).append(key)
    return {
        f"{names} ({year}{'abcd'[place] if len(keys) > 1 else ''})": key
        for (names, year), keys in keys_by_text.items()
        for place, key in enumerate(keys)
    }


def link_citations(app, kind, name, obj, options, lines):
    """Convert citations in docstrings to citations of Sphinx."""
    keys = citations()
    for place, line in enumerate(lines):
        lines[place] = PATTERN.sub(
            lambda match: f":cite:t:`{keys[match[0]]}`" if match[0] in keys else match[0], line
        )
