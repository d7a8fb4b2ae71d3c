"""Check the English of the project: ``python docs/check_words.py [FILE ...]``, part of ``make lint``.

4 checks use the lists in ``words.toml``:

- phrases to avoid, in pages, docstrings, comments and strings (messages, labels of figures, generated text);
- sentences of more than 50 words, in pages and docstrings;
- question words at the start of a docstring;
- names of variables, parameters and functions that are not nouns.

Code on pages is not checked.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/**/*.rst", "docs/**/*.md", "benchmarks/**/*.md", "tests/**/*.md", "docs/record/**/*.csv")
PROGRAMS = ("src/**/*.py", "src/**/*.pyx", "tests/**/*.py", "benchmarks/**/*.py", "examples/**/*.py", "docs/*.py")
PROGRAMS += ("docs/record_pages/*.py", "conftest.py")
EXCLUDED = (
    "docs/_build",
    "docs/gallery",
    "docs/paper_figures",
    "docs/reference/generated",
    "docs/record/generated",
    "tests/reference",
    "tests/test_words.py",
)
MAX_WORDS = 50
MIN_WORDS_OF_TEXT = 3  # shorter strings are keys and options
QUESTION = re.compile(r"(what|who|whom|whose|where|when|why|how|whether|which)\b", re.IGNORECASE)

Fault = tuple[int, str]


@cache
def word_lists() -> dict[str, Any]:
    """Read ``words.toml``."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def phrases() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of phrases to avoid, each with an alternative."""
    return [
        (re.compile(entry["pattern"].replace(" ", r"\s+"), re.IGNORECASE), entry["instead"])
        for entry in word_lists()["phrase"]
    ]


def phrase_faults(prose: str) -> Iterator[Fault]:
    """Yield the lines, counted from 0, that contain a phrase to avoid."""
    for pattern, alternative in phrases():
        for match in pattern.finditer(prose):
            yield (
                prose.count("\n", 0, match.start()),
                f"{' '.join(match[0].split())!r}; write {alternative!r} or similar",
            )


def sentence_faults(prose: str) -> Iterator[Fault]:
    """Yield the lines, counted from 0, that start a sentence of too many words."""
    for paragraph in re.finditer(r"(?:^[^\s|+.:*=-].*\n?)+", prose, flags=re.MULTILINE):
        for sentence in re.finditer(r"[^.!?:;]+(?:[.:](?=\w)[^.!?:;]*)*", paragraph[0]):
            words = sentence[0].split()
            if len(words) > MAX_WORDS:
                line = prose.count("\n", 0, paragraph.start() + sentence.start())
                yield line, f"a sentence of {len(words)} words: {' '.join(words[:6])} ..."


def page_faults(text: str) -> Iterator[Fault]:
    """Yield the faults of a page."""
    prose = prose_of_page(text)
    yield from phrase_faults(prose)
    yield from sentence_faults(prose)


def program_faults(text: str) -> Iterator[Fault]:
    """Yield the faults of a Python program."""
    tree = ast.parse(text)
    docstrings = prose_of_page("\n".join(_docstring_lines(text, tree)))
    yield from phrase_faults(docstrings)
    yield from sentence_faults(docstrings)
    yield from phrase_faults("\n".join(_comment_lines(text)))
    for node in ast.walk(tree):
        yield from _summary_faults(node)
        yield from _text_faults(node)
        for name in bound_names(node):
            if name.strip("_").lower() in word_lists()["names"]["disallowed"]:
                yield node.lineno - 1, f"the name {name!r}; use a noun"


def kernel_faults(text: str) -> Iterator[Fault]:
    """Yield the faults of a Cython program, read as text."""
    for line, content in enumerate(text.splitlines()):
        for _, fault in phrase_faults(content):
            yield line, fault
    for match in re.finditer(r'"""\s*(\S+)', text):
        if QUESTION.match(match[1]) and not text[: match.start()].rstrip().endswith(","):
            yield text.count("\n", 0, match.start()), f"a docstring that starts with {match[1]!r}"


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node of a syntax tree binds."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def prose_of_page(text: str) -> str:
    """Return a page without its code, with the same lines."""
    text = re.sub(r"```.*?```", _blank_lines, text, flags=re.DOTALL)
    text = re.sub(r"^ *(>>>|\.\.\.|\$)( .*)?$", "", text, flags=re.MULTILINE)
    directives = r"^( *)\.\. (?:code-block|math|include|image|literalinclude|bibliography)::.*\n(?:(?:\1 +.*)?\n)*"
    text = re.sub(directives, _blank_lines, text, flags=re.MULTILINE)
    return re.sub(r"``[^`]*``|:\w+(?::\w+)*:`[^`]*`", "``", text)


def _docstring_lines(text: str, tree: ast.Module) -> list[str]:
    """Return the docstrings, and the comments that are text of the gallery, on their lines."""
    source = text.splitlines()
    lines = [""] * (len(source) + 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            docstring = node.body[0]
            for number in range(docstring.lineno - 1, docstring.end_lineno):
                lines[number] = source[number].strip().strip('"')
    for number, line in enumerate(source):
        if line.startswith("# ") and not line.startswith("# %%"):
            lines[number] = line[2:]
    return lines


def _comment_lines(text: str) -> list[str]:
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string.lstrip("#: ")
    return lines


def _summary_faults(node: ast.AST) -> Iterator[Fault]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        docstring = ast.get_docstring(node)
        if docstring and QUESTION.match(docstring):
            yield node.body[0].lineno - 1, f"a docstring that starts with {docstring.split()[0]!r}"


def _text_faults(node: ast.AST) -> Iterator[Fault]:
    """Yield the phrases to avoid in a string that is text; those of docstrings are yielded twice."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    if len(node.value.split()) >= MIN_WORDS_OF_TEXT:
        for line, fault in phrase_faults(prose_of_page(node.value)):
            yield node.lineno - 1 + line, fault


def _blank_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def files(patterns: tuple[str, ...]) -> list[Path]:
    """Return the files of the project that match some patterns."""
    paths = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in paths if not path.relative_to(ROOT).as_posix().startswith(EXCLUDED))


def main(arguments: list[str]) -> int:
    """Print all faults; return 1 if there are any."""
    selected = [Path(argument).resolve() for argument in arguments]
    n_faults = 0
    for path in files(PAGES + PROGRAMS):
        if selected and not any(path.is_relative_to(place) for place in selected):
            continue
        check = {".py": program_faults, ".pyx": kernel_faults}.get(path.suffix, page_faults)
        for line, fault in sorted(set(check(path.read_text(encoding="utf-8")))):
            print(f"{path.relative_to(ROOT)}:{line + 1}: {fault}")
            n_faults += 1
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
