"""Definitions that a study uses: functions, methods, classes and variables of ``benchmarks`` and ``evlearn``.

`Search` starts with all of the module of a study, and follows the names in its code to the definitions that
they refer to, in the same module or in others, and through those to further ones. So a study of ECM does not
depend on NNEVCLUS, nor on functions in the files of ECM that a fit does not use. Rules for names whose target
is not evident:

- A method counts if its class counts and its name occurs anywhere in the code that counts, also in a text. Special
  methods, and those that scikit-learn calls (`PROTOCOL`), belong to their class.
- A module that is used other than by its attributes counts as a whole.
- In ``benchmarks``, a text that is the name of a module counts as a use of the whole module, an f-string such as
  ``f"benchmarks.studies.cases.{name}"`` as a use of all modules of the package, and a program in a text, such as
  ``evlearn.tabular_clusterer()``, as a use of these names.
- A compiled function stands for its file in ``evlearn.kernels`` and all files that this includes, and the name of
  a data file in the folder of a module for that file.
- Packages that present results (`OUTPUT`) count only if a study uses them.
"""

import ast
import functools
import re
from collections import defaultdict
from typing import NamedTuple

from benchmarks.common.reference import ROOT

PLACES = {"benchmarks": ROOT / "benchmarks", "evlearn": ROOT / "src" / "evlearn"}
#: Modules without an influence on results.
IGNORED = (
    "benchmarks.common.record",
    "benchmarks.common.sources",
    "benchmarks.common.definitions",
    "benchmarks.common.command_line",
    "evlearn.utils.progress",
    "evlearn.utils.typing",
)
#: Packages that other modules of evlearn use only to present results.
OUTPUT = ("evlearn.command_line", "evlearn.export", "evlearn.plotting", "evlearn.reporting")
KERNELS = "evlearn.kernels"
#: Methods that scikit-learn calls although their names are not in a study.
PROTOCOL = ("fit", "fit_predict", "fit_transform", "get_params", "score", "set_params", "transform")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)


class Definition(NamedTuple):
    """A name at the top level of a module, or "" for statements without a name, and a method of a class, or ""."""

    module: str
    name: str
    method: str = ""


class Uses(NamedTuple):
    """Names in the code of a definition.

    Attributes
    ----------
    mentions : set of str
        Names of attributes, and texts.
    chains : set of tuple of str
        Names with their attributes, such as ``("evlearn", "cluster", "ECM")``.
    modules : set of str
        Modules that a text of a study names.
    files : set of Path
        Data files that a text names.
    """

    mentions: set
    chains: set
    modules: set
    files: set


class Module:
    """Statements of a module by the names that they define, and its imports by their local names."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.statements, self.imports = defaultdict(list), defaultdict(set)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for statement in without_docstring(tree):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) and not is_for_types(statement):
                for target in names_of(statement) or [""]:
                    self.statements[target].append(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    self.imports[alias.asname or alias.name].add((node.module, alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    source = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imports[alias.asname or source].add((source, ""))

    def methods(self, name):
        """Return the names of the methods of a class, without those that belong to it."""
        classes = (statement for statement in self.statements[name] if isinstance(statement, ast.ClassDef))
        return {part.name for statement in classes for part in statement.body if is_method(part)}

    def trees(self, name, method=""):
        """Return the syntax trees of a definition; that of a class does not contain its methods."""
        trees = []
        for statement in self.statements[name]:
            if not isinstance(statement, ast.ClassDef):
                trees.append(statement)
            elif method:
                trees += [part for part in statement.body if is_method(part) and part.name == method]
            else:
                parts = [part for part in without_docstring(statement) if not is_method(part)]
                trees.append(ast.ClassDef(**dict(ast.iter_fields(statement)) | {"body": parts}))
        return trees


class Search:
    """Definitions that a module uses, and the compiled files and data files.

    Attributes
    ----------
    definitions : set of Definition
        All of the module, and what it uses.
    files : set of Path
        Compiled files and data files.
    """

    def __init__(self, module):
        self.definitions, self.files = set(), set()
        self._mentions, self._methods, self._todo = set(PROTOCOL), defaultdict(set), []
        self._add_all(module)
        self._add_all(f"{module}.__main__")
        while self._todo:
            self._follow(self._todo.pop())

    def _add_all(self, module):
        """Add all definitions of a module."""
        if read(module) is not None:
            for name in tuple(read(module).statements):
                self._add(Definition(module, name))

    def _add(self, definition):
        """Add a definition, with the statements of its module that have no name."""
        module = read(definition.module)
        if module is None or definition in self.definitions or definition.name not in module.statements:
            return
        self.definitions.add(definition)
        self._todo.append(definition)
        self._add(Definition(definition.module, ""))

    def _follow(self, definition):
        """Add what a definition uses."""
        module = read(definition.module)
        if not definition.method:
            for method in module.methods(definition.name):
                self._methods[method].add(definition._replace(method=method))
                if method in self._mentions:
                    self._add(definition._replace(method=method))
        uses = uses_of(definition)
        for name in uses.mentions:
            self._mention(name)
        for chain in uses.chains:
            self._use(module, *chain)
        for package in uses.modules:
            self._add_all(package)
        self.files |= uses.files

    def _mention(self, name):
        """Add the methods with a name of all classes that count."""
        if name not in self._mentions:
            self._mentions.add(name)
            for definition in tuple(self._methods[name]):
                self._add(definition)

    def _use(self, module, name, *attributes):
        """Add the definition of a name with attributes, such as ``cluster.ECM``, in a module."""
        self._add(Definition(module.name, name))
        for attribute in attributes:
            self._mention(attribute)
        if name == "evlearn" and attributes:  # also in a text
            self._use_import("evlearn", attributes[0], attributes[1:])
        for source, original in module.imports.get(name, ()):
            if module.name.startswith("benchmarks") or not source.startswith(OUTPUT):
                self._use_import(source, original, attributes)

    def _use_import(self, source, original, attributes):
        source = f"{source}.{original}" if original and path_of(f"{source}.{original}") else source
        if source.startswith(KERNELS):
            self.files |= compiled_files(source.removeprefix(KERNELS).strip(".") or original)
        elif original and not source.endswith(f".{original}"):
            self._add(Definition(*origin(source, original)))
        elif not attributes:
            self._add_all(source)
        else:
            self._use_import(source, attributes[0], attributes[1:])


@functools.cache
def read(module):
    """Return the statements of a module; None if it is not part of the repository, or has no influence."""
    path = path_of(module)
    return None if path is None or module in IGNORED else Module(module, path)


@functools.cache
def uses_of(definition):
    """Return what the code of a definition uses."""
    module, uses, inner = read(definition.module), Uses(set(), set(), set(), set()), set()
    is_study = definition.module.startswith("benchmarks")
    for tree in module.trees(definition.name, definition.method):
        for node in nodes(tree):
            match node:
                case ast.Attribute(attr=attribute):
                    uses.mentions.add(attribute)
                    if node not in inner and (names := names_in_chain(node)):
                        inner.update(ast.walk(node))
                        uses.chains.add(names)
                case ast.Name(id=name) if node not in inner:
                    uses.chains.add((name,))
                case ast.Constant(value=str(text)):
                    uses.mentions.add(text)
                    uses.files.update(path for path in data_files(module.path.parent) if path.name in text)
                    if is_study:
                        uses.modules.update([text, f"{text}.__main__"] if path_of(text) else [])
                        uses.chains.update(
                            tuple(name.split(".")) for name in re.findall(r"\bevlearn(?:\.\w+)+", text)
                        )
                case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if is_study and text.endswith("."):
                    uses.modules.update(modules_in(text.rstrip(".")))
    return uses


def path_of(module):
    """Return the file of a module or package, or None if it is not part of the repository."""
    first, *rest = module.split(".")
    if first not in PLACES or not all(part.isidentifier() for part in rest):
        return None
    path = PLACES[first].joinpath(*rest)
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.exists():
            return candidate
    return None


def modules_in(package):
    """Return the modules of a package and of packages in it."""
    path = path_of(package)
    if path is None or path.name != "__init__.py":
        return []
    inner = (file.relative_to(path.parent).with_suffix("") for file in sorted(path.parent.rglob("*.py")))
    return [".".join((package, *name.parts)).removesuffix(".__init__") for name in inner]


def origin(module, name):
    """Return the module that defines a name of a module or package, and its name there."""
    entry = read(module)
    if entry is not None and name not in entry.statements:
        for source, original in entry.imports.get(name, ()):
            if path_of(source) is not None:
                return origin(source, original)
    return module, name


@functools.cache
def compiled_files(stem):
    """Return a file of the kernels and the files that it includes."""
    folder = PLACES["evlearn"] / "kernels"
    names, todo = set(), [f"{stem}.pyx", f"{stem}.pxd"]
    while todo:
        name = todo.pop()
        if name not in names and (folder / name).exists():
            names.add(name)
            text = (folder / name).read_text(encoding="utf-8")
            todo += re.findall(r'(?:include|from) "([\w.]+)"', text)
            todo += [
                f"{other}{end}"
                for other in re.findall(r"kernels\.(\w+) cimport", text)
                for end in (".pyx", ".pxd")
            ]
    return {folder / name for name in names}


@functools.cache
def data_files(folder):
    """Return the data files of a folder."""
    return [path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".csv", ".txt")]


def names_of(statement):
    """Return the names that a statement defines at the top level; none for compound statements."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def names_in_chain(node):
    """Return the names in a chain of attributes such as ``evlearn.cluster.ECM``; none for other expressions."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def is_method(part):
    """Return True for a method of a class that does not belong to it in any case."""
    is_special = isinstance(part, FUNCTIONS) and part.name.startswith("__") and part.name.endswith("__")
    return isinstance(part, FUNCTIONS) and not is_special


def is_for_types(node):
    """Return True for ``if TYPE_CHECKING``."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def nodes(tree):
    """Yield a node and all nodes in it, except docstrings, annotations and those under ``if TYPE_CHECKING``."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        inner = without_docstring(tree) if name == "body" and isinstance(tree, DOCUMENTED) else value
        for node in inner if isinstance(inner, list) else [inner]:
            if isinstance(node, ast.AST) and not is_for_types(node):
                yield from nodes(node)


def without_docstring(node):
    """Return the statements of a module, class or function without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def syntax(node):
    """Return a syntax tree as a text: no docstrings, comments, formats or fields that depend on the version."""
    if isinstance(node, list):
        return f"[{','.join(map(syntax, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, DOCUMENTED):
        fields["body"] = without_docstring(node)
    texts = (
        f"{name}={syntax(value)}" for name, value in fields.items() if value not in (None, []) and name != "ctx"
    )
    return f"{type(node).__name__}({','.join(texts)})"
