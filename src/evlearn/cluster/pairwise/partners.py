"""Who is compared with whom: partners on random rings, drawn, or given.

On each ring a sample has two partners that know each other, so the graph is regular and symmetric.
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

#: Above this many pairs the targets are kept in single precision.
_MANY_PAIRS = 20_000_000


_RING_CHUNK = 16


#: How many samples are compared all with all, and with how many partners each if there are more.
ALL_PAIRS_UP_TO = 2000


MANY_OBJECTS_PARTNERS = 200


def ring_distances(X: Features, ring: npt.NDArray[Any], metric: Any) -> FloatArray:
    """The dissimilarity of every sample on a ring to the next one."""
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
            # Differences first: a squared norm by products loses all digits far from the origin.
            rows = X[np.append(ring[block], following[block.stop - 1])].astype(np.float64, copy=False)
            apart = rows[1:] - rows[:-1]
            distances[block] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances
    # Any metric that only knows matrices: short stretches of the ring, of which one diagonal is kept.
    for block in row_blocks(len(ring), _RING_CHUNK):
        stretch = np.r_[ring[block], following[block.stop - 1]]
        distances[block] = np.diagonal(pairwise_distances(X[stretch], metric=metric), offset=1)
    return distances


def sample_rings(
    X: Features, n_partners: int, metric: Any, random: np.random.RandomState
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Partners of every sample, from random rings, with their dissimilarities.

    Returns
    -------
    partners : ndarray of int32 of shape (n_samples, n_partners)
        The partners: on each ring the next sample and the one before.
    distances : ndarray of shape (n_samples, n_partners)
        Their dissimilarities, in single precision where there are very many.
    """
    n_samples, n_rings = len(X), (n_partners + 1) // 2
    dtype = np.float32 if 2 * n_samples * n_rings > _MANY_PAIRS else np.float64
    partners = np.empty((n_samples, 2 * n_rings), dtype=np.int32)
    distances = np.empty((n_samples, 2 * n_rings), dtype=dtype)
    # Rings are written along memory, some at a time, and then turned.
    for some in row_blocks(n_rings, 16):
        columns = np.empty((2 * (some.stop - some.start), n_samples), dtype=np.int32)
        apart = np.empty(columns.shape, dtype=dtype)
        for number in range(0, len(columns), 2):
            ring = random.permutation(n_samples).astype(np.int32)
            following = np.roll(ring, -1)
            steps = ring_distances(X, ring, metric)
            columns[number, ring], apart[number, ring] = following, steps
            columns[number + 1, following], apart[number + 1, following] = ring, steps
        partners[:, 2 * some.start : 2 * some.stop] = columns.T
        distances[:, 2 * some.start : 2 * some.stop] = apart.T
    return partners, distances


def check_partners(n_partners: Any) -> None:
    """Raise unless `n_partners` can be given to `choose_pairs`."""
    if isinstance(n_partners, str):
        check_choice("n_partners", n_partners, ("auto", "all"))
    else:
        check_integer("n_partners", n_partners, 1)


def choose_pairs(n_samples: int, n_partners: Any, random: np.random.RandomState) -> IntArray:
    """Pairs of samples: all, or neighbours on random rings, each of which gives every sample two partners."""
    if isinstance(n_partners, str):
        everything = n_partners == "all" or n_samples <= ALL_PAIRS_UP_TO
        n_partners = n_samples if everything else MANY_OBJECTS_PARTNERS
    if n_partners >= n_samples - 1:
        return np.column_stack(np.triu_indices(n_samples, k=1))
    rings = [random.permutation(n_samples) for _ in range((n_partners + 1) // 2)]
    return np.concatenate([np.column_stack([ring, np.roll(ring, -1)]) for ring in rings])


def draw_partners(n_samples: int, n_partners: int, random: np.random.RandomState) -> npt.NDArray[np.int32]:
    """Partners that every sample draws for itself, as R's package does."""
    partners = np.empty((n_samples, n_partners), dtype=np.int32)
    for number in range(n_samples):
        drawn = random.choice(n_samples - 1, size=n_partners, replace=False)
        partners[number] = drawn + (drawn >= number)
    return partners


def read_partners(partners: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.int32]:
    """Partners that the user names."""
    numbers = np.asarray(partners)
    right_shape = numbers.ndim == 2 and len(numbers) == n_samples and np.issubdtype(numbers.dtype, np.integer)
    if not right_shape or numbers.min(initial=0) < 0 or numbers.max(initial=0) >= n_samples:
        raise ValueError(
            f"n_partners, as an array, must hold sample numbers from 0 to {n_samples - 1}, a row for each of the "
            f"{n_samples} samples, got shape {numbers.shape}."
        )
    if (numbers == np.arange(n_samples)[:, None]).any():
        raise ValueError("n_partners names a sample as its own partner; leave it out.")
    return numbers.astype(np.int32)


def partner_distances(X: FloatArray, partners: npt.NDArray[np.int32], metric: Any) -> FloatArray:
    """The dissimilarities of all samples to their partners."""
    if metric == "precomputed":
        return np.take_along_axis(X, partners, axis=1).astype(np.float64)
    distances = np.empty(partners.shape)
    for number, chosen in enumerate(partners):
        distances[number] = distances_between(X[number : number + 1], X[chosen], metric)[0]
    return distances
