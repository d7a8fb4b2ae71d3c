"""Partners of the samples: from random rings, from random draws, or as given.

On each ring, a sample has 2 partners, its neighbors, so the graph is regular and symmetric.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import pairwise_distances

from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.dissimilarities import distances_between, row_distances
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer

#: Number of pairs above which targets are in single precision.
_MANY_PAIRS = 20_000_000
#: Number of consecutive samples of a ring whose dissimilarities are computed as a matrix.
_RING_CHUNK = 16
#: Maximum number of samples for which all pairs are compared.
MAX_SAMPLES_OF_ALL_PAIRS = 2000
#: Number of partners of each sample if there are more samples.
DEFAULT_PARTNERS = 200


def ring_distances(X: Features, ring: npt.NDArray[Any], metric: Any) -> FloatArray:
    """Return the dissimilarity of every sample on a ring to the next sample."""
    following = np.roll(ring, -1)
    distances = np.empty(len(ring))
    if isinstance(X, SparseBlock):
        for block in row_blocks(len(ring)):
            distances[block] = row_distances(X[ring[block]], X[following[block]], metric)
        return distances
    if metric == "precomputed":
        return np.asarray(X[ring, following], dtype=np.float64)
    if isinstance(metric, str) and metric == "euclidean":
        for block in row_blocks(len(ring)):
            # Distances follow from differences, because products lose all digits far from the origin.
            rows = X[np.append(ring[block], following[block.stop - 1])].astype(np.float64, copy=False)
            differences = rows[1:] - rows[:-1]
            distances[block] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        return distances
    # Other metrics return matrices, which are computed for short sections of the ring; only a diagonal is used.
    for block in row_blocks(len(ring), _RING_CHUNK):
        section = np.r_[ring[block], following[block.stop - 1]]
        distances[block] = np.diagonal(pairwise_distances(X[section], metric=metric), offset=1)
    return distances


def sample_rings(
    X: Features, n_partners: int, metric: Any, random: np.random.RandomState
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Return the partners of every sample on random rings, and their dissimilarities.

    Returns
    -------
    partners : ndarray of int32 of shape (n_samples, n_partners)
        Partners: the next and the previous sample on each ring.
    distances : ndarray of shape (n_samples, n_partners)
        Dissimilarities of the partners, in single precision if there are very many.
    """
    n_samples, n_rings = len(X), (n_partners + 1) // 2
    dtype = np.float32 if 2 * n_samples * n_rings > _MANY_PAIRS else np.float64
    partners = np.empty((n_samples, 2 * n_rings), dtype=np.int32)
    distances = np.empty((n_samples, 2 * n_rings), dtype=dtype)
    # Blocks of rings are written in the order of memory and then transposed, which is faster.
    for block in row_blocks(n_rings, 16):
        columns = np.empty((2 * (block.stop - block.start), n_samples), dtype=np.int32)
        distance_columns = np.empty(columns.shape, dtype=dtype)
        for number in range(0, len(columns), 2):
            ring = random.permutation(n_samples).astype(np.int32)
            following = np.roll(ring, -1)
            steps = ring_distances(X, ring, metric)
            columns[number, ring], distance_columns[number, ring] = following, steps
            columns[number + 1, following], distance_columns[number + 1, following] = ring, steps
        partners[:, 2 * block.start : 2 * block.stop] = columns.T
        distances[:, 2 * block.start : 2 * block.stop] = distance_columns.T
    return partners, distances


def check_partners(n_partners: Any) -> None:
    """Raise unless `n_partners` is a valid argument of `choose_pairs`."""
    if isinstance(n_partners, str):
        check_choice("n_partners", n_partners, ("auto", "all"))
    else:
        check_integer("n_partners", n_partners, 1)


def choose_pairs(n_samples: int, n_partners: Any, random: np.random.RandomState) -> IntArray:
    """Return all pairs of samples, or neighbors on random rings, each of which adds 2 partners to every sample."""
    if isinstance(n_partners, str):
        uses_all = n_partners == "all" or n_samples <= MAX_SAMPLES_OF_ALL_PAIRS
        n_partners = n_samples if uses_all else DEFAULT_PARTNERS
    if n_partners >= n_samples - 1:
        return np.column_stack(np.triu_indices(n_samples, k=1))
    rings = [random.permutation(n_samples) for _ in range((n_partners + 1) // 2)]
    return np.concatenate([np.column_stack([ring, np.roll(ring, -1)]) for ring in rings])


def draw_partners(n_samples: int, n_partners: int, random: np.random.RandomState) -> npt.NDArray[np.int32]:
    """Draw partners independently for every sample, as the R package does."""
    partners = np.empty((n_samples, n_partners), dtype=np.int32)
    for number in range(n_samples):
        draws = random.choice(n_samples - 1, size=n_partners, replace=False)
        partners[number] = draws + (draws >= number)
    return partners


def read_partners(partners: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.int32]:
    """Check the partners that the parameter `n_partners` lists, and return them as integers."""
    indices = np.asarray(partners)
    has_shape = indices.ndim == 2 and len(indices) == n_samples and np.issubdtype(indices.dtype, np.integer)
    if not has_shape or indices.min(initial=0) < 0 or indices.max(initial=0) >= n_samples:
        raise ValueError(
            f"n_partners, as an array, must contain sample indices from 0 to {n_samples - 1}, with a row for each "
            f"of the {n_samples} samples, got an array of {indices.dtype} of shape {indices.shape}."
        )
    is_self = (indices == np.arange(n_samples)[:, None]).any(axis=1)
    if is_self.any():
        raise ValueError(f"n_partners lists sample {is_self.argmax()} as a partner of itself; remove it.")
    return indices.astype(np.int32)


def partner_distances(X: FloatArray, partners: npt.NDArray[np.int32], metric: Any) -> FloatArray:
    """Return the dissimilarities of all samples to their partners."""
    if metric == "precomputed":
        return np.take_along_axis(X, partners, axis=1).astype(np.float64)
    distances = np.empty(partners.shape)
    for number, chosen in enumerate(partners):
        distances[number] = distances_between(X[number : number + 1], X[chosen], metric)[0]
    return distances
