"""Error messages for public names that are looked up in the wrong module."""

import ast
from collections.abc import Sequence
from importlib import resources


def missing_attribute(name: str, packages: Sequence[str]) -> AttributeError:
    """Return the error for an attribute that `evlearn` does not have, with the package that has it, if any.

    ``__all__`` of each package is read without importing it, since that may need an extra.
    """
    root = resources.files("evlearn")
    packages = [package for package in packages if name in _read_all(root, package)]
    remedy = f"; use evlearn.{packages[0]}.{name}" if packages else ""
    return AttributeError(f"module 'evlearn' has no attribute {name!r}{remedy}")


def _read_all(root: resources.abc.Traversable, package: str) -> list[str]:
    folder = root / package
    source = folder / "__init__.py" if folder.is_dir() else root / f"{package}.py"
    for statement in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []
