"""Must-link and cannot-link constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from evlearn.constraints import closure, expansion
from evlearn.constraints.labels import label_codes
from evlearn.constraints.pairs import (
    LARGEST_LIST,
    PairsLike,
    all_pairs_of,
    contains,
    describe_pairs,
    draw_pairs,
    keys_of_pairs,
    read_pairs,
)
from evlearn.utils.typing import IntArray, Metric, RandomSeed
from evlearn.utils.validation import check_sparse


class PairwiseConstraints:
    """Pairs of samples known to be in the same cluster, and pairs known to be in different clusters.

    Samples are numbered from 0, and the order of a pair does not matter. Repeated pairs count once, and must-links
    of a sample with itself are dropped. Constraints are immutable, comparable and hashable; ``+`` merges them.

    Parameters
    ----------
    must_link : array-like of int of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs in the same cluster.
    cannot_link : array-like of int of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs in different clusters.

    See Also
    --------
    NamedConstraints : Constraints by the names of samples, which also hold among some of them.

    Examples
    --------
    >>> from evlearn.constraints import PairwiseConstraints
    >>> constraints = PairwiseConstraints(must_link=[(0, 1), (2, 1)], cannot_link=[(5, 2)])
    >>> constraints
    PairwiseConstraints(2 must-link, 1 cannot-link)
    >>> constraints.closure().cannot_link
    array([[0, 5],
           [1, 5],
           [2, 5]])
    >>> constraints.violations([0, 0, 0, 1, 1, 0]).cannot_link
    array([[2, 5]])
    """

    def __init__(self, must_link: PairsLike = (), cannot_link: PairsLike = ()) -> None:
        must, cannot = read_pairs(must_link, "must_link"), read_pairs(cannot_link, "cannot_link")
        with_itself = cannot[cannot[:, 0] == cannot[:, 1]]
        if len(with_itself):
            raise ValueError(
                f"cannot_link separates a sample from itself: {describe_pairs(with_itself)}; drop these pairs."
            )
        in_both = cannot[contains(keys_of_pairs(must), keys_of_pairs(cannot))]
        if len(in_both):
            raise ValueError(
                f"must_link and cannot_link both hold {describe_pairs(in_both)}; keep a pair in one of them only."
            )
        self._must_link: IntArray = must[must[:, 0] != must[:, 1]]
        self._cannot_link: IntArray = cannot
        self._must_link.flags.writeable = self._cannot_link.flags.writeable = False

    # From labels

    @classmethod
    def from_labels(cls, y: npt.ArrayLike, *, unlabelled: object = -1) -> PairwiseConstraints:
        """All that labels say about pairs of samples.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The label of each sample, numbers or text. Samples with NaN or None have none and no constraints.
        unlabelled : object, default=-1
            Another value that means that a sample has no label; None if there is none.

        Returns
        -------
        PairwiseConstraints
            All pairs of labelled samples; at most 5 million, see `sample` for more labels.
        """
        codes = label_codes(y, unlabelled, "y")
        (labelled,) = np.nonzero(codes >= 0)
        n_pairs = len(labelled) * (len(labelled) - 1) // 2
        if n_pairs > LARGEST_LIST:
            raise ValueError(
                f"y has {len(labelled):,} labelled samples and so {n_pairs:,} pairs, more than {LARGEST_LIST:,}; "
                "draw some of them with PairwiseConstraints.sample(y, n_constraints)."
            )
        return cls._split(all_pairs_of(labelled), codes)

    @classmethod
    def sample(
        cls, y: npt.ArrayLike, n_constraints: int, *, unlabelled: object = -1, random_state: RandomSeed = None
    ) -> PairwiseConstraints:
        """What labels say about some pairs of samples, drawn at random.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The label of each sample, numbers or text. Samples with NaN or None have none and are not drawn.
        n_constraints : int
            How many different pairs to draw, all equally likely. A pair with equal labels becomes a must-link,
            another a cannot-link.
        unlabelled : object, default=-1
            Another value that means that a sample has no label; None if there is none.
        random_state : int, RandomState instance or None, default=None
            The seed, for constraints that can be drawn again.

        Returns
        -------
        PairwiseConstraints
            So many constraints. The pairs are never listed, so there may be millions of samples.

        Examples
        --------
        >>> from evlearn.constraints import PairwiseConstraints
        >>> len(PairwiseConstraints.sample(["a", "b", "b", "a", None], 4, random_state=0))
        4
        """
        codes = label_codes(y, unlabelled, "y")
        (labelled,) = np.nonzero(codes >= 0)
        n_pairs = len(labelled) * (len(labelled) - 1) // 2
        if not isinstance(n_constraints, (int, np.integer)) or not 0 <= n_constraints <= n_pairs:
            raise ValueError(
                f"n_constraints must be a whole number from 0 to {n_pairs:,}, the number of pairs of the "
                f"{len(labelled):,} labelled samples, got {n_constraints!r}."
            )
        return cls._split(labelled[draw_pairs(len(labelled), int(n_constraints), random_state)], codes)

    @classmethod
    def _split(cls, pairs: IntArray, codes: IntArray) -> PairwiseConstraints:
        same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        return cls(pairs[same], pairs[~same])

    # What they hold

    @property
    def must_link(self) -> IntArray:
        """The must-links, read-only: sorted pairs in lexicographic order."""
        return self._must_link

    @property
    def cannot_link(self) -> IntArray:
        """The cannot-links, read-only: sorted pairs in lexicographic order."""
        return self._cannot_link

    @property
    def n_must_link(self) -> int:
        """The number of must-links."""
        return int(self._must_link.shape[0])

    @property
    def n_cannot_link(self) -> int:
        """The number of cannot-links."""
        return int(self._cannot_link.shape[0])

    def check_samples(self, n_samples: int) -> None:
        """Raise an error if a constraint is about a sample that does not exist.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        """
        for name, pairs in (("must_link", self._must_link), ("cannot_link", self._cannot_link)):
            if pairs.size and pairs.max() >= n_samples:
                pair = pairs[pairs.max(axis=1).argmax()]
                raise ValueError(
                    f"{name} has the pair {tuple(pair.tolist())}, but there are {n_samples} samples, "
                    f"numbered 0 to {n_samples - 1}."
                )

    def violations(self, labels: npt.ArrayLike) -> PairwiseConstraints:
        """The constraints that a hard partition does not respect.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            The cluster of each sample. A sample with NaN or None is in none and violates nothing.

        Returns
        -------
        PairwiseConstraints
            The must-links between clusters and the cannot-links within one; its length is their number.
        """
        codes = label_codes(labels, None, "labels")
        self.check_samples(len(codes))
        must, cannot = codes[self._must_link], codes[self._cannot_link]
        torn = (must[:, 0] != must[:, 1]) & (must >= 0).all(axis=1)
        joined = (cannot[:, 0] == cannot[:, 1]) & (cannot >= 0).all(axis=1)
        return PairwiseConstraints(self._must_link[torn], self._cannot_link[joined])

    def neighbours(self, n_samples: int) -> tuple[IntArray, IntArray, npt.NDArray[np.uint8]]:
        """The partners of each sample in constraints, in the layout of a sparse matrix with compressed rows.

        Every constraint is listed twice, once with each of its samples.

        Parameters
        ----------
        n_samples : int
            The number of samples.

        Returns
        -------
        indptr : ndarray of int of shape (n_samples + 1,)
            The partners of sample i are at places ``indptr[i]`` to ``indptr[i + 1] - 1`` of the other arrays.
        indices : ndarray of int of shape (2 * n_constraints,)
            The partners, in ascending order for each sample.
        is_cannot_link : ndarray of uint8 of shape (2 * n_constraints,)
            0 for a must-link and 1 for a cannot-link.
        """
        self.check_samples(n_samples)
        pairs = np.vstack([self._must_link, self._cannot_link]).astype(np.int64, copy=False)
        kinds = np.repeat([0, 1], [self.n_must_link, self.n_cannot_link])
        # Sample, partner and kind in one number, because sorting numbers is much faster than ordering arrays.
        owners, partners = np.concatenate([pairs, pairs[:, ::-1]]).T
        entries = np.sort(owners << 32 | partners << 1 | np.tile(kinds, 2))
        indptr = np.zeros(n_samples + 1, dtype=np.intp)
        np.cumsum(np.bincount(owners, minlength=n_samples), out=indptr[1:])
        return indptr, (entries >> 1 & 0x7FFFFFFF).astype(np.intp, copy=False), (entries & 1).astype(np.uint8)

    # Other constraints made from these

    def closure(self) -> PairwiseConstraints:
        """These constraints and all that follow from them.

        Samples that a chain of must-links connects are in one cluster; a cannot-link between two such groups
        separates all their samples.

        Returns
        -------
        PairwiseConstraints
            The closure. It is an error if it has more than 5 million pairs, or if the constraints contradict each
            other: then the message names the cannot-link and a shortest chain of must-links.
        """
        return PairwiseConstraints(*closure.closure(self._must_link, self._cannot_link))

    def expand(self, X: npt.ArrayLike, n_neighbors: int = 5, metric: Metric = "euclidean") -> PairwiseConstraints:
        """These constraints and the same for pairs nearby: a few constraints go a longer way.

        Each constraint on a pair is given to the `n_neighbors` nearest pairs that have none yet. They are made of
        a sample near the first and a sample near the second, but neither near both; their distance is the sum
        of the two distances. This is Algorithm 2 of Li et al. (2018). New constraints are guesses: near a
        boundary between clusters they can be wrong, and they can contradict each other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or their dissimilarities if `metric` is "precomputed".
        n_neighbors : int, default=5
            How many neighbours of a sample are near it, and how many constraints are added for each one.
        metric : str or callable, default="euclidean"
            A metric of ``sklearn.neighbors.NearestNeighbors``, or "precomputed".

        Returns
        -------
        PairwiseConstraints
            At most ``n_neighbors + 1`` times as many constraints.
        """
        check_sparse("X", X)
        values = check_array(X, accept_sparse="csr", ensure_all_finite=False)  # scikit-learn checks by metric
        n_samples = values.shape[0]
        if isinstance(metric, str) and metric == "precomputed" and values.shape[1] != n_samples:
            raise ValueError(f"X must be square when metric='precomputed', got shape {values.shape}.")
        self.check_samples(n_samples)
        if not isinstance(n_neighbors, (int, np.integer)) or not 0 <= n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors must be a whole number from 0 to {n_samples - 1}, one less than there are samples, "
                f"got {n_neighbors!r}."
            )
        if n_neighbors == 0 or len(self) == 0:
            return self
        return self + PairwiseConstraints(
            *expansion.expand(self._must_link, self._cannot_link, values, int(n_neighbors), metric)
        )

    def take(self, samples: npt.ArrayLike) -> PairwiseConstraints:
        """The constraints between some of the samples, numbered as these are.

        Parameters
        ----------
        samples : array-like of int of shape (n_samples,)
            The numbers of the samples that are left, each once, in their new order.

        Returns
        -------
        PairwiseConstraints
            Constraints with a sample that is not left are dropped.

        Examples
        --------
        >>> from evlearn.constraints import PairwiseConstraints
        >>> PairwiseConstraints(must_link=[(0, 5), (5, 7)]).take([5, 6, 7]).must_link.tolist()
        [[0, 2]]
        """
        kept = np.asarray(samples, dtype=np.intp)
        places = np.full(1 + max(kept.max(initial=-1), *(one.max(initial=-1) for one in self._both)), -1)
        places[kept] = np.arange(len(kept))
        return PairwiseConstraints(*(_inside(places[pairs]) for pairs in self._both))

    @property
    def _both(self) -> tuple[IntArray, IntArray]:
        return self._must_link, self._cannot_link

    def __add__(self, other: object) -> PairwiseConstraints:
        if not isinstance(other, PairwiseConstraints):
            return NotImplemented
        return PairwiseConstraints(
            np.vstack([self._must_link, other._must_link]), np.vstack([self._cannot_link, other._cannot_link])
        )

    # A value, and text

    def __len__(self) -> int:
        return self.n_must_link + self.n_cannot_link

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairwiseConstraints):
            return NotImplemented
        return np.array_equal(self._must_link, other._must_link) and np.array_equal(
            self._cannot_link, other._cannot_link
        )

    def __hash__(self) -> int:
        return hash((self._must_link.tobytes(), self._cannot_link.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that copies are read-only too.
        return PairwiseConstraints, (np.array(self._must_link), np.array(self._cannot_link))

    def __repr__(self) -> str:
        return f"PairwiseConstraints({self.n_must_link} must-link, {self.n_cannot_link} cannot-link)"


def _inside(pairs: IntArray) -> IntArray:
    """The pairs of which no sample is -1."""
    return np.asarray(pairs[(pairs >= 0).all(axis=1)])
