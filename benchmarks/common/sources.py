"""Source code that determines the results of a study, and a digest of it.

`digest` is computed from the syntax trees of the definitions that the study uses (`benchmarks.common.definitions`)
without docstrings, so it ignores comments and formats. It needs no history of git.
"""

import functools
import hashlib
import subprocess

from benchmarks.common.definitions import ROOT, Search, path_of, read, syntax

__all__ = ["changed_since", "commit", "digest", "files", "path_of"]


@functools.cache
def search(module):
    """Return the definitions and files that a study uses."""
    return Search(module)


def files(module):
    """Return the files that contain what a study uses, relative to the repository."""
    paths = {read(definition.module).path for definition in search(module).definitions} | search(module).files
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def digest(module):
    """Return a digest of the code and data that a study uses."""
    result = hashlib.sha256()
    for definition in sorted(search(module).definitions):
        result.update(f"{definition}\n{text_of(definition)}\n".encode())
    for path in sorted(search(module).files):
        result.update(f"{path.relative_to(ROOT).as_posix()}\n{path.read_text(encoding='utf-8')}\n".encode())
    return result.hexdigest()[:16]


@functools.cache
def text_of(definition):
    """Return the syntax trees of a definition as a text."""
    return syntax(read(definition.module).trees(definition.name, definition.method))


def commit():
    """Return the commit of the repository, with "+" after it if source files differ from it; None without git."""
    revision = git("rev-parse", "--short=8", "HEAD")
    if revision is None:
        return None
    changed = git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results")
    return revision.strip() + ("+" if changed else "")


def changed_since(date, names):
    """Return the names of files with commits after a date; None without git or its whole history."""
    if git("rev-parse", "--is-shallow-repository") != "false\n":
        return None
    log = git("log", f"--since={date}T23:59:59", "--name-only", "--format=", "--", *names)
    return sorted(set(log.split()) & set(names))


def git(*words):
    """Return the output of git, or None if git or a repository does not exist."""
    try:
        result = subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return result.stdout
