"""Trees of names: nested dicts and lists, or a dict with the parent of each node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

#: Names with their children, lists of children, or the parent of each node.
Tree: TypeAlias = Mapping[Any, Any] | Sequence[Any]


def read_tree(tree: Tree) -> tuple[list[str | int], dict[Any, list[Any]]]:
    """Return the leaves of a tree in their order, and each named node with its ancestors.

    Parameters
    ----------
    tree : mapping or sequence
        Tree, see `FocalSets.from_tree`.

    Returns
    -------
    leaves : list of str or int
        Leaves, in their order.
    ancestors : dict
        For each name, the node itself and the nodes above it; nodes without a name are tuples.
    """
    if isinstance(tree, str) or not isinstance(tree, (Mapping, Sequence)):
        raise TypeError(
            f"tree must be a dict or a list, got {tree!r}; write {{'T': ['CD4', 'CD8'], 'B': None}}, or the "
            "parent of each node: {'CD4': 'T', 'CD8': 'T'}."
        )
    has_parents = isinstance(tree, Mapping) and any(isinstance(parent, str) for parent in tree.values())
    parents: dict[Any, Any] = {}
    for node, parent in tree.items() if has_parents and isinstance(tree, Mapping) else _edges(tree, None):
        if node in parents:
            raise ValueError(f"tree contains {node!r} more than once; use different names for its nodes.")
        parents[node] = parent
    for parent in list(parents.values()):  # a root need not be listed
        parents.setdefault(parent, None)
    parents.pop(None, None)
    if not parents:
        raise ValueError(f"tree must contain the names of clusters or classes, got {tree!r}.")
    ancestors = {node: _path(node, parents) for node in parents if not isinstance(node, tuple)}
    return [node for node in ancestors if node not in parents.values()], ancestors


def _edges(children: Any, parent: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each node with its parent, which is None for a root."""
    if isinstance(children, Mapping):
        for name, below in children.items():
            yield name, parent
            yield from _edges(below, name)
    elif isinstance(children, Sequence) and not isinstance(children, str):
        for number, item in enumerate(children):
            if isinstance(item, Sequence) and not isinstance(item, str):
                node = ("node", parent, number)
                yield node, parent
                yield from _edges(item, node)
            else:
                yield from _edges(item, parent) if isinstance(item, Mapping) else [(item, parent)]
    elif children is not None:
        raise TypeError(f"children of {parent!r} in tree must be a list, a dict or None, got {children!r}.")


def _path(node: Any, parents: dict[Any, Any]) -> list[Any]:
    """Return a node and the nodes above it."""
    path = [node]
    while (parent := parents[path[-1]]) is not None:
        if parent in path:
            raise ValueError(f"tree must not have a cycle, but {parent!r} is above itself; remove this parent.")
        path.append(parent)
    return path
