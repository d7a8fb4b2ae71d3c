"""Whether the documentation reads well: ``python docs/check_words.py``, part of ``make lint``.

It looks for the phrases of ``words.toml`` and for sentences of more than 50 words, in the prose of README, other
Markdown files, the pages, the examples and the docstrings. Code is left out.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.rst",
    "docs/guide/**/*.rst",
    "docs/record/*.rst",
    "docs/case_studies/*.rst",
)
PROGRAMS = ("examples/**/*.py", "src/evlearn/**/*.py")
MOST_WORDS = 50


@cache
def phrases() -> list[tuple[re.Pattern[str], str]]:
    """The phrases of the list, with what to write instead."""
    listed = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))["phrase"]
    return [(re.compile(one["pattern"].replace(" ", r"\s+"), re.IGNORECASE), one["instead"]) for one in listed]


def faults(prose: str) -> Iterator[tuple[int, str]]:
    """Lines, counted from 0, and what is wrong with the prose there."""
    for phrase, instead in phrases():
        for found in phrase.finditer(prose):
            yield (
                prose.count("\n", 0, found.start()),
                f"{' '.join(found[0].split())!r}; write {instead!r} or the like",
            )
    for paragraph in re.finditer(r"(?:^[^\s|+.:*=-].*\n?)+", prose, flags=re.MULTILINE):
        for sentence in re.finditer(r"[^.!?:;]+(?:[.:](?=\w)[^.!?:;]*)*", paragraph[0]):
            if len(sentence[0].split()) > MOST_WORDS:
                line = prose.count("\n", 0, paragraph.start() + sentence.start())
                yield (
                    line,
                    f"a sentence of {len(sentence[0].split())} words: {' '.join(sentence[0].split()[:6])} ...",
                )


def prose_of_page(text: str) -> str:
    """A page without code, line by line."""
    text = re.sub(r"```.*?```", _empty, text, flags=re.DOTALL)
    text = re.sub(r"^ *(>>>|\.\.\.|\$)( .*)?$", "", text, flags=re.MULTILINE)
    directives = r"^( *)\.\. (?:code-block|math|include|image|literalinclude|bibliography)::.*\n(?:(?:\1 +.*)?\n)*"
    text = re.sub(directives, _empty, text, flags=re.MULTILINE)
    return re.sub(r"``[^`]*``|:\w+(?::\w+)*:`[^`]*`", "``", text)


def prose_of_program(text: str) -> str:
    """The docstrings of a program, and the comments that are text of the gallery, on the lines where they are."""
    lines = [""] * (text.count("\n") + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            docstring = node.body[0]
            for place, line in enumerate(text.splitlines()[docstring.lineno - 1 : docstring.end_lineno]):
                lines[docstring.lineno - 1 + place] = line.strip().strip('"')
    for place, line in enumerate(text.splitlines()):
        if line.startswith("# ") and not line.startswith("# %%"):
            lines[place] = line[2:]
    return prose_of_page("\n".join(lines))


def _empty(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def main() -> int:
    """Print what was found; the exit code is 1 if there is something."""
    n_found = 0
    for patterns, prose_of in ((PAGES, prose_of_page), (PROGRAMS, prose_of_program)):
        for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern)}):
            for line, fault in faults(prose_of(path.read_text(encoding="utf-8"))):
                print(f"{path.relative_to(ROOT)}:{line + 1}: {fault}")
                n_found += 1
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
