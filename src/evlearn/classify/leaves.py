r"""Mass functions of the leaves of a forest, as flat arrays of all trees.

The mass function of a leaf with the masses :math:`m_i` of n samples is :math:`\sum_i m_i/(n+s)`, with an
additional mass of :math:`s/(n+s)` on all classes: Walley's imprecise Dirichlet model with s unobserved samples of
any class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_BLOCK = 1 << 18  # maximum number of leaves per block


@fields.stored
@dataclass(frozen=True)
class Leaves:
    """Trees of a forest. Nodes of all trees are numbered jointly, each after its parent.

    Attributes
    ----------
    roots : ndarray of int of shape (n_trees,)
        Root of each tree.
    features : ndarray of int of shape (n_nodes,)
        Feature of each split, or -1 for a leaf.
    thresholds : ndarray of shape (n_nodes,)
        Thresholds: samples with at most this value, in single precision, go to the first child.
    children : ndarray of int of shape (n_nodes, 2)
        Children of each node; for a leaf, twice its number among the leaves.
    masses : ndarray of shape (n_leaves, n_focal_sets - 1)
        Masses of leaves on nonempty sets; the last is the set of all classes.
    """

    roots: fields.Indices
    features: Annotated[IntArray, fields.array(1, "i", low=-1)]
    thresholds: fields.ExtendedVector
    children: Annotated[IntArray, fields.array(2, "i", low=0)]
    masses: fields.Masses

    @classmethod
    def of(cls, trees: Sequence[Any], n_sets: int, prior_strength: float, smallest: float = 0) -> "Leaves":
        """Convert fitted scikit-learn trees whose last values are unnormalized shares of sets, or of classes.

        Nodes with a weight below `smallest` are not split.
        """
        parts = [_Tree.of(tree.tree_, n_sets, smallest) for tree in trees]
        n_nodes = np.array([len(part.features) for part in parts])
        n_leaves = np.array([len(part.weights) for part in parts])
        roots, first = np.cumsum(n_nodes) - n_nodes, np.cumsum(n_leaves) - n_leaves
        shifts = [
            np.where(part.features < 0, k, j)[:, None] for part, j, k in zip(parts, roots, first, strict=True)
        ]
        weights = np.concatenate([part.weights for part in parts])
        masses = np.concatenate([part.shares for part in parts]) * (weights / (weights + prior_strength))[:, None]
        masses[:, -1] += prior_strength / (weights + prior_strength)
        return cls(
            roots,
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.thresholds for part in parts]),
            np.concatenate([part.children + shift for part, shift in zip(parts, shifts, strict=True)]),
            masses,
        )

    def apply(self, rows: FloatArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        values = rows.astype(np.float32)  # the precision of the trees
        nodes = np.tile(self.roots, (len(rows), 1))
        positions = np.arange(len(rows))[:, None]
        features = self.features[nodes]
        while (features >= 0).any():
            is_above = values[positions, features] > self.thresholds[nodes]
            nodes = np.where(features >= 0, self.children[nodes, is_above.astype(np.intp)], nodes)
            features = self.features[nodes]
        return np.asarray(self.children[nodes, 0])

    def predict(self, rows: FloatArray, weights: FloatArray | BoolArray | None = None) -> FloatArray:
        """Return the mean masses of the leaves of each row, in all trees or in selected ones.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Samples.
        weights : ndarray of shape (n_rows, n_trees) or None, default=None
            Weight of each tree for each row, or True for selected trees. Rows without weights use all trees.

        Returns
        -------
        ndarray of shape (n_rows, n_focal_sets - 1)
            Masses of nonempty sets.
        """
        masses = np.empty((len(rows), self.masses.shape[1]))
        for block in row_blocks(len(rows), max(1, _BLOCK // len(self.roots))):
            leaves = self.apply(rows[block])
            counts = np.ones(leaves.shape) if weights is None else weights[block].astype(np.float64)
            counts[~counts.any(axis=1)] = 1
            counts /= counts.sum(axis=1, keepdims=True)
            masses[block] = np.einsum("it,its->is", counts, self.masses[leaves])
        return masses


@dataclass(frozen=True)
class _Tree:
    """Single tree, with the shares and weights of its leaves."""

    features: IntArray
    thresholds: FloatArray
    children: IntArray
    shares: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, tree: Any, n_sets: int, smallest: float) -> "_Tree":
        leaf = (tree.children_left < 0) | (tree.weighted_n_node_samples < smallest)
        pairs = np.column_stack([tree.children_left, tree.children_right])
        is_reachable = _reachable(pairs, leaf)
        number, leaves = np.cumsum(is_reachable) - 1, is_reachable & leaf
        children = np.where(leaf[:, None], (np.cumsum(leaves) - 1)[:, None], number[pairs])[is_reachable]
        shares = tree.value.reshape(len(leaf), -1)[leaves, -n_sets:]
        shares /= shares.sum(axis=1, keepdims=True)
        return cls(
            np.where(leaf, -1, tree.feature)[is_reachable].astype(np.intp),
            np.asarray(tree.threshold[is_reachable], dtype=np.float64),
            children.astype(np.intp),
            np.pad(shares, ((0, 0), (0, n_sets - shares.shape[1]))),
            np.asarray(tree.weighted_n_node_samples[leaves], dtype=np.float64),
        )


def _reachable(pairs: IntArray, leaf: BoolArray) -> BoolArray:
    """Return True for nodes that remain if leaves have no children; parents come before children."""
    is_reachable = np.zeros(len(leaf), dtype=bool)
    is_reachable[0] = True
    for node in np.flatnonzero(~leaf):
        is_reachable[pairs[node]] = is_reachable[node]
    return is_reachable
