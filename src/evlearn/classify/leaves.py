r"""Mass functions of the leaves of a forest, as flat arrays of all trees.

The mass function of a leaf with the masses :math:`m_i` of n samples is :math:`\sum_i m_i/(n+s)`, with an
additional mass of :math:`s/(n+s)` on all classes: Walley's imprecise Dirichlet model with s unobserved samples of
any class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

import evlearn.kernels.trees as kernel
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_BLOCK = 1 << 18  # maximum number of nodes per block


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

    def apply(self, rows: FloatArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        return np.asarray(self.children[reached_nodes(self, rows), 0])

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return the mean masses of the leaves of each row, of shape (n_rows, n_focal_sets - 1)."""
        masses = np.empty((len(rows), self.masses.shape[1]))
        for block in row_blocks(len(rows), max(1, _BLOCK // len(self.roots))):
            masses[block] = mean_masses(self.apply(rows[block]), self.masses)
        return masses


@dataclass(frozen=True)
class GrownTrees:
    """Trees with the masses of all nodes, of which small nodes can be pruned. Nodes are numbered as in `Leaves`.

    Attributes
    ----------
    roots, features, thresholds, children : ndarray
        As in `Leaves`, but the children of leaves have no meaning.
    weights : ndarray of shape (n_nodes,)
        Weights of the training samples of each node.
    masses : ndarray of shape (n_nodes, n_focal_sets - 1)
        Masses on nonempty sets; the last is the set of all classes.
    """

    roots: IntArray
    features: IntArray
    thresholds: FloatArray
    children: IntArray
    weights: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, trees: Sequence[Any], n_sets: int, prior_strength: float) -> "GrownTrees":
        """Convert fitted scikit-learn trees whose last values are unnormalized shares of sets, or of classes."""
        parts = [tree.tree_ for tree in trees]
        counts = np.array([part.node_count for part in parts])
        roots = np.cumsum(counts) - counts
        pairs = [np.column_stack([part.children_left, part.children_right]) for part in parts]
        is_leaf = np.concatenate(pairs)[:, 0] < 0
        weights = np.concatenate([part.weighted_n_node_samples for part in parts])
        shares = np.concatenate([part.value.reshape(part.node_count, -1)[:, -n_sets:] for part in parts])
        shares /= shares.sum(axis=1, keepdims=True)
        masses = np.pad(shares, ((0, 0), (0, n_sets - shares.shape[1])))
        masses *= (weights / (weights + prior_strength))[:, None]
        masses[:, -1] += prior_strength / (weights + prior_strength)
        return cls(
            roots,
            np.where(is_leaf, -1, np.concatenate([part.feature for part in parts])).astype(np.intp),
            np.concatenate([part.threshold for part in parts]),
            np.concatenate([pair + root for pair, root in zip(pairs, roots, strict=True)]).astype(np.intp),
            weights,
            masses,
        )

    def pruned_masses(self, smallest: float) -> FloatArray:
        """Return the masses of each node or, below a node that is not split, of that node."""
        return np.asarray(self.masses[self._remaining(smallest)])

    def leaves(self, smallest: float = 0) -> Leaves:
        """Return the trees in which nodes with a weight below `smallest` are not split."""
        is_kept = self._remaining(smallest) == np.arange(len(self.features))
        is_leaf = is_kept & ((self.features < 0) | ~is_kept[self.children[:, 0]])
        number = np.cumsum(is_kept) - 1
        children = np.where(is_leaf[:, None], (np.cumsum(is_leaf) - 1)[:, None], number[self.children])
        return Leaves(
            number[self.roots],
            np.where(is_leaf, -1, self.features)[is_kept],
            self.thresholds[is_kept],
            children[is_kept],
            self.masses[is_leaf],
        )

    def _remaining(self, smallest: float) -> IntArray:
        """Return each node or, below a node that is not split, that node."""
        nodes = np.arange(len(self.features))
        kernel.prune(self.features, self.children, self.weights, smallest, nodes)
        return nodes


def reached_nodes(trees: Leaves | GrownTrees, rows: FloatArray) -> IntArray:
    """Return the leaf, as a node, that each row reaches in each tree, of shape (n_rows, n_trees)."""
    values = np.ascontiguousarray(rows, dtype=np.float32)  # the precision of the trees
    nodes = np.empty((len(rows), len(trees.roots)), dtype=np.intp)
    kernel.reach(values, trees.roots, trees.features, trees.thresholds, trees.children, nodes)
    return nodes


def mean_masses(nodes: IntArray, masses: FloatArray, weights: FloatArray | BoolArray | None = None) -> FloatArray:
    """Return the mean masses of the nodes of each row, in all trees or in selected ones.

    Parameters
    ----------
    nodes : ndarray of int of shape (n_rows, n_trees)
        Node, or leaf, of each row in each tree.
    masses : ndarray of shape (n_nodes, n_focal_sets - 1)
        Masses of nodes, or leaves.
    weights : ndarray of shape (n_rows, n_trees) or None, default=None
        Weight of each tree for each row, or True for selected trees. Rows without weights use all trees.

    Returns
    -------
    ndarray of shape (n_rows, n_focal_sets - 1)
        Masses of nonempty sets.
    """
    shares = np.ones((1, nodes.shape[1])) if weights is None else weights.astype(np.float64)
    shares[~shares.any(axis=1)] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    means = np.zeros((len(nodes), masses.shape[1]))
    kernel.add_masses(nodes, np.broadcast_to(shares, nodes.shape), masses, means)
    return means
