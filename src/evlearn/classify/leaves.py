r"""What the leaves of a forest say: the masses of the training samples in them, as flat arrays of all trees.

A leaf with the masses :math:`m_i` of n samples says :math:`\sum_i m_i/(n+s)`, and leaves :math:`s/(n+s)` open:
Walley's imprecise Dirichlet model, in which s samples that nobody has seen might be of any class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_BLOCK = 1 << 18  # leaves in a block of work


@dataclass(frozen=True)
class Leaves:
    """The trees of a forest. Nodes of all trees are numbered together, each after its parent.

    Attributes
    ----------
    roots : ndarray of int of shape (n_trees,)
        The first node of each tree.
    features : ndarray of int of shape (n_nodes,)
        The feature that a node asks for, or -1 for a leaf.
    thresholds : ndarray of shape (n_nodes,)
        Samples with at most so much, in single precision, go to the first child.
    children : ndarray of int of shape (n_nodes, 2)
        The next nodes; for a leaf its number among the leaves, twice.
    masses : ndarray of shape (n_leaves, n_focal_sets - 1)
        What leaves say of the sets that are not empty; the last is that of all classes.
    """

    roots: IntArray
    features: IntArray
    thresholds: FloatArray
    children: IntArray
    masses: FloatArray

    @classmethod
    def of(cls, trees: Sequence[Any], n_sets: int, prior_strength: float, smallest: float = 0) -> "Leaves":
        """Of fitted scikit-learn trees, whose last values are shares of sets, in any unit, or of classes only.

        Nodes with less than the `smallest` weight are not divided.
        """
        parts = [_Tree.of(one.tree_, n_sets, smallest) for one in trees]
        n_nodes = np.array([len(one.features) for one in parts])
        n_leaves = np.array([len(one.weights) for one in parts])
        roots, first = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_leaves) - n_leaves
        shifts = [np.where(one.features < 0, k, j)[:, None] for one, j, k in zip(parts, roots, first, strict=True)]
        weights = np.concatenate([one.weights for one in parts])
        masses = np.concatenate([one.shares for one in parts]) * (weights / (weights + prior_strength))[:, None]
        masses[:, -1] += prior_strength / (weights + prior_strength)
        return cls(
            roots,
            np.concatenate([one.features for one in parts]),
            np.concatenate([one.thresholds for one in parts]),
            np.concatenate([one.children + shift for one, shift in zip(parts, shifts, strict=True)]),
            masses,
        )

    def reached(self, rows: FloatArray) -> IntArray:
        """The leaf of each row in each tree, of shape (n_rows, n_trees)."""
        values = rows.astype(np.float32)  # as trees compare
        nodes = np.tile(self.roots, (len(rows), 1))
        own = np.arange(len(rows))[:, None]
        features = self.features[nodes]
        while (features >= 0).any():
            beyond = values[own, features] > self.thresholds[nodes]
            nodes = np.where(features >= 0, self.children[nodes, beyond.astype(np.intp)], nodes)
            features = self.features[nodes]
        return np.asarray(self.children[nodes, 0])

    def said(self, rows: FloatArray, heard: FloatArray | BoolArray | None = None) -> FloatArray:
        """The mean of what the leaves of each row say, in all trees or in those that are heard.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The samples.
        heard : ndarray of shape (n_rows, n_trees) or None, default=None
            The weight of each tree for each row, or True for the trees that count; where none does, all do.

        Returns
        -------
        ndarray of shape (n_rows, n_focal_sets - 1)
            Masses of the sets that are not empty.
        """
        found = np.empty((len(rows), self.masses.shape[1]))
        for block in row_blocks(len(rows), max(1, _BLOCK // len(self.roots))):
            leaves = self.reached(rows[block])
            counts = np.ones(leaves.shape) if heard is None else heard[block].astype(np.float64)
            counts[~counts.any(axis=1)] = 1
            counts /= counts.sum(axis=1, keepdims=True)
            found[block] = np.einsum("it,its->is", counts, self.masses[leaves])
        return found


@dataclass(frozen=True)
class _Tree:
    """One tree, with its own numbers, and the shares and weights of its leaves."""

    features: IntArray
    thresholds: FloatArray
    children: IntArray
    shares: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, tree: Any, n_sets: int, smallest: float) -> "_Tree":
        leaf = (tree.children_left < 0) | (tree.weighted_n_node_samples < smallest)
        pairs = np.column_stack([tree.children_left, tree.children_right])
        kept = _reachable(pairs, leaf)
        number, leaves = np.cumsum(kept) - 1, kept & leaf
        children = np.where(leaf[:, None], (np.cumsum(leaves) - 1)[:, None], number[pairs])[kept]
        shares = tree.value.reshape(len(leaf), -1)[leaves, -n_sets:]
        shares /= shares.sum(axis=1, keepdims=True)
        return cls(
            np.where(leaf, -1, tree.feature)[kept].astype(np.intp),
            np.asarray(tree.threshold[kept], dtype=np.float64),
            children.astype(np.intp),
            np.pad(shares, ((0, 0), (0, n_sets - shares.shape[1]))),
            np.asarray(tree.weighted_n_node_samples[leaves], dtype=np.float64),
        )


def _reachable(pairs: IntArray, leaf: BoolArray) -> BoolArray:
    """Which nodes are left if leaves have no children; parents come before children."""
    kept = np.zeros(len(leaf), dtype=bool)
    kept[0] = True
    for node in np.flatnonzero(~leaf):
        kept[pairs[node]] = kept[node]
    return kept
