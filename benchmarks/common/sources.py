"""Source files that determine the results of a study, found from its imports, and a digest of them.

`files` follows imports from the module of a study, through ``benchmarks`` and ``evlearn``. A name imported from a
package leads to the module that defines it, so that a study of ECM does not depend on NNEVCLUS. In ``benchmarks``,
names of modules in texts count as imports, too; those that an f-string completes, such as
``f"benchmarks.studies.cases.{name}"``, are all modules of the package. Compiled modules depend on all files of
``evlearn.kernels``, and a module on data files in its folder whose names it contains. Modules of output (`OUTPUT`)
count only if a study imports them.

`digest` is computed from syntax trees without docstrings, so it ignores comments and formats. It needs no history
of git.
"""

import ast
import functools
import hashlib
import subprocess

from benchmarks.common.reference import ROOT

PLACES = {"benchmarks": ROOT / "benchmarks", "evlearn": ROOT / "src" / "evlearn"}
#: Modules without an influence on results.
IGNORED = (
    "benchmarks.common.record",
    "benchmarks.common.sources",
    "benchmarks.common.command_line",
    "evlearn.utils.progress",
    "evlearn.utils.typing",
)
#: Packages that other modules of evlearn import only to present results.
OUTPUT = ("evlearn.command_line", "evlearn.export", "evlearn.plotting", "evlearn.reporting")
KERNELS = "evlearn.kernels"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


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


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def files(module):
    """Return the files that a study depends on, relative to the repository."""
    dependencies, todo = {}, [module, f"{module}.__main__"]
    while todo:
        name = todo.pop()
        if name in dependencies or name in IGNORED:
            continue
        if name.startswith(KERNELS):
            folder = PLACES["evlearn"] / "kernels"
            dependencies[name] = [
                path for path in sorted(folder.iterdir()) if path.suffix in (".pyx", ".pxd", ".h")
            ]
        elif path_of(name) is not None:
            dependencies[name] = [path_of(name), *data_of(path_of(name))]
            todo += imports(name)
    paths = {path for group in dependencies.values() for path in group}
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


@functools.cache
def imports(module):
    """Return the modules that a module imports, or that its texts name."""
    is_study, dependencies = module.startswith("benchmarks"), set()
    for node in nodes(tree_of(path_of(module))):
        match node:
            case ast.Import(names=names):
                dependencies |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(source), names=names):
                dependencies |= {defining_module(source, alias.name) for alias in names}
            case ast.Attribute(value=ast.Name("evlearn"), attr=name):
                dependencies.add(defining_module("evlearn", name))
            case ast.Constant(value=str(text)) if is_study and path_of(text) is not None:
                dependencies.add(text)
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if is_study and text.endswith("."):
                dependencies |= set(modules_in(text.rstrip(".")))
    dependencies.discard("evlearn")
    return sorted(name for name in dependencies if is_study or not name.startswith(OUTPUT))


def nodes(tree):
    """Yield all nodes except those under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from nodes(node)


@functools.cache
def defining_module(source, name):
    """Return the module that defines a name of a module or package."""
    if path_of(f"{source}.{name}") is not None or source.startswith(KERNELS):
        return f"{source}.{name}"
    path = path_of(source)
    if path is not None and path.name == "__init__.py":
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        return defining_module(node.module, alias.name)
    return source


def modules_in(package):
    """Return the modules of a package and of packages in it."""
    path = path_of(package)
    if path is None or path.name != "__init__.py":
        return []
    inner = (file.relative_to(path.parent).with_suffix("") for file in sorted(path.parent.rglob("*.py")))
    return [".".join((package, *name.parts)).removesuffix(".__init__") for name in inner]


def data_of(path):
    """Return the other files of the folder of a module whose names it contains."""
    text = path.read_text(encoding="utf-8")
    data = (file for file in path.parent.iterdir() if file.suffix in (".json", ".csv", ".txt"))
    return sorted(file for file in data if file.name in text)


def digest(module):
    """Return a digest of the files that a study depends on."""
    result = hashlib.sha256()
    for name in files(module):
        result.update(f"{name}\n{significant_text(ROOT / name)}\n".encode())
    return result.hexdigest()[:16]


@functools.cache
def significant_text(path):
    """Return the syntax tree of a Python file without docstrings, or the text of another file."""
    return syntax(tree_of(path)) if path.suffix == ".py" else path.read_text(encoding="utf-8")


def syntax(node):
    """Return a syntax tree as a text: no docstrings, comments, formats or fields that depend on the version."""
    if isinstance(node, list):
        return f"[{','.join(map(syntax, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    texts = (
        f"{name}={syntax(value)}" for name, value in fields.items() if value not in (None, []) and name != "ctx"
    )
    return f"{type(node).__name__}({','.join(texts)})"


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
