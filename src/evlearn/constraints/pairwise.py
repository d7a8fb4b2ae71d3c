"""Must-link and cannot-link constraints, and the penalty of those that a partition violates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from evlearn.belief import FocalSets
from evlearn.constraints.pairs import (
    LARGEST_LIST,
    PairsLike,
    all_pairs_of,
    close_pairs,
    contains,
    describe_pairs,
    draw_pairs,
    expand_pairs,
    keys_of_pairs,
    label_codes,
    read_pairs,
)
from evlearn.utils.typing import FloatArray, IntArray, Metric, RandomSeed
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
    NamedConstraints : Constraints on samples that are identified by names.

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
        self_pairs = cannot[cannot[:, 0] == cannot[:, 1]]
        if len(self_pairs):
            raise ValueError(
                f"cannot_link separates a sample from itself: {describe_pairs(self_pairs)}; drop these pairs."
            )
        common = cannot[contains(keys_of_pairs(must), keys_of_pairs(cannot))]
        if len(common):
            raise ValueError(
                f"must_link and cannot_link both hold {describe_pairs(common)}; keep a pair in one of them only."
            )
        self._must_link: IntArray = must[must[:, 0] != must[:, 1]]
        self._cannot_link: IntArray = cannot
        self._must_link.flags.writeable = self._cannot_link.flags.writeable = False

    # Construction from labels

    @classmethod
    def from_labels(cls, y: npt.ArrayLike, *, unlabeled: object = -1) -> PairwiseConstraints:
        """Return the constraints between all pairs of labeled samples.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Label of each sample, numbers or text. Samples with NaN or None have no label and no constraints.
        unlabeled : object, default=-1
            Another value for samples without a label; None if there is none.

        Returns
        -------
        PairwiseConstraints
            All pairs of labeled samples, at most 5 million; for more labels, see `sample`.
        """
        codes = label_codes(y, unlabeled, "y")
        (labeled,) = np.nonzero(codes >= 0)
        n_pairs = len(labeled) * (len(labeled) - 1) // 2
        if n_pairs > LARGEST_LIST:
            raise ValueError(
                f"y has {len(labeled):,} labeled samples and so {n_pairs:,} pairs, more than {LARGEST_LIST:,}; "
                "draw some of them with PairwiseConstraints.sample(y, n_constraints)."
            )
        return cls._split(all_pairs_of(labeled), codes)

    @classmethod
    def sample(
        cls, y: npt.ArrayLike, n_constraints: int, *, unlabeled: object = -1, random_state: RandomSeed = None
    ) -> PairwiseConstraints:
        """Return the constraints between random pairs of labeled samples.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Label of each sample, numbers or text. Samples with NaN or None have no label and are not drawn.
        n_constraints : int
            Number of different pairs, all equally likely. A pair with equal labels becomes a must-link, and a pair
            with different labels becomes a cannot-link.
        unlabeled : object, default=-1
            Another value for samples without a label; None if there is none.
        random_state : int, RandomState instance or None, default=None
            Seed for reproducible constraints.

        Returns
        -------
        PairwiseConstraints
            Constraints between `n_constraints` pairs. Not all pairs are enumerated, so that there may be millions
            of samples.

        Examples
        --------
        >>> from evlearn.constraints import PairwiseConstraints
        >>> len(PairwiseConstraints.sample(["a", "b", "b", "a", None], 4, random_state=0))
        4
        """
        codes = label_codes(y, unlabeled, "y")
        (labeled,) = np.nonzero(codes >= 0)
        n_pairs = len(labeled) * (len(labeled) - 1) // 2
        if not isinstance(n_constraints, (int, np.integer)) or not 0 <= n_constraints <= n_pairs:
            raise ValueError(
                f"n_constraints must be a whole number from 0 to {n_pairs:,}, the number of pairs of the "
                f"{len(labeled):,} labeled samples, got {n_constraints!r}."
            )
        return cls._split(labeled[draw_pairs(len(labeled), int(n_constraints), random_state)], codes)

    @classmethod
    def _split(cls, pairs: IntArray, codes: IntArray) -> PairwiseConstraints:
        is_same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        return cls(pairs[is_same], pairs[~is_same])

    # Content

    @property
    def must_link(self) -> IntArray:
        """Must-links, read-only: sorted pairs in lexicographic order."""
        return self._must_link

    @property
    def cannot_link(self) -> IntArray:
        """Cannot-links, read-only: sorted pairs in lexicographic order."""
        return self._cannot_link

    @property
    def n_must_link(self) -> int:
        """Number of must-links."""
        return int(self._must_link.shape[0])

    @property
    def n_cannot_link(self) -> int:
        """Number of cannot-links."""
        return int(self._cannot_link.shape[0])

    def check_samples(self, n_samples: int) -> None:
        """Raise an error if a constraint contains a sample that does not exist.

        Parameters
        ----------
        n_samples : int
            Number of samples.
        """
        for name, pairs in (("must_link", self._must_link), ("cannot_link", self._cannot_link)):
            if pairs.size and pairs.max() >= n_samples:
                pair = pairs[pairs.max(axis=1).argmax()]
                raise ValueError(
                    f"{name} has the pair {tuple(pair.tolist())}, but there are {n_samples} samples, "
                    f"numbered 0 to {n_samples - 1}."
                )

    def violations(self, labels: npt.ArrayLike) -> PairwiseConstraints:
        """Return the constraints that a hard partition violates.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Cluster of each sample. A sample with NaN or None has no cluster and violates nothing.

        Returns
        -------
        PairwiseConstraints
            Must-links between different clusters and cannot-links within a cluster.
        """
        codes = label_codes(labels, None, "labels")
        self.check_samples(len(codes))
        must, cannot = codes[self._must_link], codes[self._cannot_link]
        is_split = (must[:, 0] != must[:, 1]) & (must >= 0).all(axis=1)
        is_merged = (cannot[:, 0] == cannot[:, 1]) & (cannot >= 0).all(axis=1)
        return PairwiseConstraints(self._must_link[is_split], self._cannot_link[is_merged])

    def neighbors(self, n_samples: int) -> tuple[IntArray, IntArray, npt.NDArray[np.uint8]]:
        """Return the partners of each sample in constraints, as a sparse matrix with compressed rows.

        Every constraint occurs twice, once for each of its samples.

        Parameters
        ----------
        n_samples : int
            Number of samples.

        Returns
        -------
        indptr : ndarray of int of shape (n_samples + 1,)
            The partners of sample i are at positions ``indptr[i]`` to ``indptr[i + 1] - 1`` of the other arrays.
        indices : ndarray of int of shape (2 * n_constraints,)
            Partners, in ascending order for each sample.
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

    # Derived constraints

    def closure(self) -> PairwiseConstraints:
        """Return these constraints and all that follow from them.

        Samples that are connected by a chain of must-links are in the same cluster; a cannot-link between two such
        groups separates all their samples.

        Returns
        -------
        PairwiseConstraints
            Closure of the constraints. It is an error if it has more than 5 million pairs, or if the constraints
            contradict each other; the message then contains the cannot-link and a shortest chain of must-links.
        """
        return PairwiseConstraints(*close_pairs(self._must_link, self._cannot_link))

    def expand(self, X: npt.ArrayLike, n_neighbors: int = 5, metric: Metric = "euclidean") -> PairwiseConstraints:
        """Return these constraints and the same constraints on nearby pairs.

        Each constraint on a pair is copied to the `n_neighbors` nearest pairs that do not have one yet. These
        pairs consist of a neighbor of the first sample and a neighbor of the second, without common neighbors;
        their distance is the sum of the two distances. This is Algorithm 2 of Li et al. (2018). New constraints
        are guesses: near a boundary between clusters they can be wrong, and they can contradict each other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or their dissimilarities if `metric` is "precomputed".
        n_neighbors : int, default=5
            Number of neighbors of each sample, and number of constraints added for each constraint.
        metric : str or callable, default="euclidean"
            Metric of ``sklearn.neighbors.NearestNeighbors``, or "precomputed".

        Returns
        -------
        PairwiseConstraints
            At most ``n_neighbors + 1`` times as many constraints.
        """
        check_sparse("X", X)
        values = check_array(X, accept_sparse="csr", ensure_all_finite=False)  # NearestNeighbors checks values
        n_samples = values.shape[0]
        if isinstance(metric, str) and metric == "precomputed" and values.shape[1] != n_samples:
            raise ValueError(f"X must be square when metric='precomputed', got shape {values.shape}.")
        self.check_samples(n_samples)
        if not isinstance(n_neighbors, (int, np.integer)) or not 0 <= n_neighbors < n_samples:
            raise ValueError(
                f"n_neighbors must be a whole number from 0 to {n_samples - 1}, the number of samples minus 1, "
                f"got {n_neighbors!r}."
            )
        if n_neighbors == 0 or len(self) == 0:
            return self
        return self + PairwiseConstraints(
            *expand_pairs(self._must_link, self._cannot_link, values, int(n_neighbors), metric)
        )

    def take(self, samples: npt.ArrayLike) -> PairwiseConstraints:
        """Return the constraints between selected samples, with their new row numbers.

        Parameters
        ----------
        samples : array-like of int of shape (n_samples,)
            Row numbers of the selected samples, without duplicates, in their new order.

        Returns
        -------
        PairwiseConstraints
            Constraints without those that contain a sample that is not selected.

        Examples
        --------
        >>> from evlearn.constraints import PairwiseConstraints
        >>> PairwiseConstraints(must_link=[(0, 5), (5, 7)]).take([5, 6, 7]).must_link.tolist()
        [[0, 2]]
        """
        selected = np.asarray(samples, dtype=np.intp)
        places = np.full(1 + max(selected.max(initial=-1), *(pairs.max(initial=-1) for pairs in self._pairs)), -1)
        places[selected] = np.arange(len(selected))
        renumbered = (places[pairs] for pairs in self._pairs)
        return PairwiseConstraints(*(pairs[(pairs >= 0).all(axis=1)] for pairs in renumbered))

    @property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        return self._must_link, self._cannot_link

    def __add__(self, other: object) -> PairwiseConstraints:
        if not isinstance(other, PairwiseConstraints):
            return NotImplemented
        return PairwiseConstraints(
            np.vstack([self._must_link, other._must_link]), np.vstack([self._cannot_link, other._cannot_link])
        )

    # Special methods

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


@dataclass(frozen=True)
class Penalty:
    """Penalty of violated constraints.

    Attributes
    ----------
    constraints : PairwiseConstraints
        Constraints on pairs of samples.
    weight : float
        Weight of a constraint; the penalty of a constraint that is violated with certainty is twice this value.
    forms : ndarray of shape (2, n_focal_sets, n_focal_sets)
        Bilinear forms of must-links and cannot-links.
    """

    constraints: PairwiseConstraints
    weight: float
    forms: FloatArray

    @classmethod
    def of(cls, constraints: PairwiseConstraints, weight: float, focal_sets: FocalSets) -> Penalty:
        """Return the penalty of k-CEVCLUS with this weight.

        The factor is that of the published tables and of the R package; equation (9) of the paper has a quarter of
        it, which does not reproduce the tables.
        """
        must_link = 1 + focal_sets.conflict_matrix - focal_sets.emptiness_matrix - focal_sets.same_singleton_matrix
        return cls(constraints, 2 * weight / max(len(constraints), 1), np.stack([must_link, 2 - must_link]))

    def value(self, M: FloatArray) -> float:
        """Return the penalty of a partition."""
        pair_lists = (self.constraints.must_link, self.constraints.cannot_link)
        total = sum(
            float(np.einsum("ij,ij->", M[pairs[:, 0]] @ form, M[pairs[:, 1]]))
            for pairs, form in zip(pair_lists, self.forms, strict=True)
        )
        return self.weight * total

    def kernel_terms(self, n_samples: int, scale: float) -> tuple[object, ...]:
        """Return the arrays for a sweep, with the weight divided by `scale`."""
        return *self.constraints.neighbors(n_samples), np.ascontiguousarray(self.forms), self.weight / scale
