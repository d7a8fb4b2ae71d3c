"""CredalEnsemble: several clusterers, and what they say together."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.base import read_in_memory, with_seed, without_files
from evlearn.cluster.centroids.robust_kmeans import rows_to_fit
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.ensemble.combination import check_combination, choose_sets, combine
from evlearn.ensemble.fusion import CombinationRule
from evlearn.ensemble.recovery import Landmarks
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, predicted_partition, split_pipeline
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.progress import Steps, expect
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import BoolArray, ClustererLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import REMOTE, check_flag, check_integer, check_real, remoteness

#: The reach of an ensemble, relative to the largest distance of a training sample from the center.
_FAR = 1e6


class CredalEnsemble(RowwiseClusterer):
    """Several clusterers combined: where they agree the result is sure, and where they do not it is torn.

    What clusterers say about pairs of samples, the same cluster or not, is combined, and one credal partition
    recovered from it. Clusterers may be evidential ones, mixtures, or any of scikit-learn's, with different
    numbers of clusters. Give several, which are fitted to all samples; or one, of which clones are fitted to parts
    of the data, so that doubt shows what other data might have changed. Clones with more clusters than the result
    find clusters of any shape.

    A few samples very far from all clusters are treated as gross errors: clusterers that can predict are fitted
    without them. Data in which a few samples are a million times farther away than the others are refused.

    Parameters
    ----------
    clusterers : list of estimators, or estimator
        The clusterers, or pipelines that end in one; clones of them are fitted. Of a single one, which must be
        able to predict, there are `n_members` clones.
    n_members : int, default=10
        How many clones of a single clusterer are combined; a list has its own length.
    max_samples : float or int, default=0.5
        How many samples each clone of a single clusterer is fitted to, drawn without replacement: a share of all
        if it is a float, and a number if it is an int. Clusterers of a list are fitted to all.
    rule : str, default="average"
        How statements about a pair are combined; see `combine_partitions`.
    n_clusters : int or None, default=None
        The number of clusters of the result; None means the largest of the members.
    focal_sets : {"auto", "simple", "pairs", "full"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto" means all sets of up to 4 clusters;
        of up to 12, pairs where some partition has masses on sets of clusters or the rule makes such; else single
        clusters.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple" and "pairs".
    n_landmarks : int, default=2000
        How many samples are compared all with all. Of more samples so many are drawn, and the masses of all follow
        from what is said about them and these.
    n_init : int, default=5
        How many starts by k-means of what the members say, besides the members that have as many clusters as the
        result.
    tol : float, default=1e-4
        A sweep that lowers the objective by less than this share of it is the last.
    max_iter : int, default=200
        The largest number of sweeps.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated; also for clusterers that have none of their own.
    n_jobs : int or None, default=None
        How many clusterers are fitted at the same time. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress, sweep by sweep.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        The result.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    clusterers_ : list of estimators
        The fitted clusterers.
    partitions_ : list of CredalPartition
        What each of them says.
    n_clusters_ : int
        The number of clusters.
    objective_ : float
        The mean squared distance, over pairs of landmarks, between what the result says and what the members say
        together.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first sweep, and after each.
    n_iter_ : int
        The number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    combine_partitions : The same for partitions that are there already.

    References
    ----------
    Denœux et al. (2018).

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.ensemble import CredalEnsemble
    >>> X, y = make_fourclass(200, random_state=0)
    >>> ensemble = CredalEnsemble(
    ...     [KMeans(4), ECM(4, focal_sets="pairs")], random_state=0
    ... ).fit(X)
    >>> ensemble.n_clusters_
    4

    Ten times k-means with more clusters than are wanted, each of another half of the samples:

    >>> ensemble = CredalEnsemble(KMeans(8), n_clusters=4, random_state=0).fit(X)
    >>> len(ensemble.clusterers_)
    10
    """

    def __init__(
        self,
        clusterers: ClustererLike | Sequence[ClustererLike],
        *,
        n_members: int = 10,
        max_samples: float = 0.5,
        rule: CombinationRule = "average",
        n_clusters: int | None = None,
        focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalSetsLike = "auto",
        include_omega: bool = True,
        n_landmarks: int = 2000,
        n_init: int = 5,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.clusterers: Any = clusterers
        self.n_members = n_members
        self.max_samples: Any = max_samples
        self.rule = rule
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_landmarks = n_landmarks
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the clusterers, and combine them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        CredalEnsemble
            The fitted estimator.
        """
        self._check_parameters()
        data = self._read(X, reset=True).data
        random = check_random_state(self.random_state)
        self._fit_members(data, random)
        sets = choose_sets(self.partitions_, self.focal_sets, self.n_clusters, self.include_omega, self.rule)
        combined = combine(
            self.partitions_,
            sets,
            rule=self.rule,
            n_landmarks=self.n_landmarks,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random=random,
            report=Steps(self.max_iter, unit="sweep"),
        )
        self._check_evidence(len(data), sets.frame_size)
        self._publish(CredalPartition(combined.masses, sets, validate=False))
        self.n_clusters_ = sets.frame_size
        self._model = EnsembleModel(self.clusterers_, combined.landmarks, *_extent(data))
        self._name_samples(X)
        publish_trace(self, combined.trace, "the objective", max_iter=self.max_iter, steps="sweeps")
        return self

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        return Numbers(read_in_memory(self, X, reset=reset), False)

    def _check_parameters(self) -> None:
        listed = isinstance(self.clusterers, Sequence) and not isinstance(self.clusterers, str)
        members = self.clusterers if listed else [self.clusterers]
        if not members or isinstance(self.clusterers, str):
            raise ValueError(
                f"clusterers must be an estimator or a list of at least one estimator, got {self.clusterers!r}."
            )
        strangers = [one for one in members if not hasattr(one, "fit") or isinstance(one, type)]
        if strangers:
            raise ValueError(
                f"clusterers must be estimators such as ECM(3), got {strangers[0]!r}; they need no names."
            )
        check_integer("n_members", self.n_members, 1)
        if isinstance(self.max_samples, numbers.Integral):
            check_integer("max_samples", self.max_samples, 1)
        else:
            check_real("max_samples", self.max_samples, 0, 1, open_low=True)
        check_flag("include_omega", self.include_omega)
        check_combination(self.rule, self.n_clusters, self.n_landmarks, self.n_init, self.tol, self.max_iter)

    def _fit_members(self, data: FloatArray, random: np.random.RandomState) -> None:
        """Fit the members, and ask each of them about all samples."""
        alone = hasattr(self.clusterers, "fit")
        members = [self.clusterers] * self.n_members if alone else self.clusterers
        ordinary = np.flatnonzero(self._rows_to_fit(data, members))
        # One after the other, so that what is drawn does not depend on the workers.
        tasks = [
            (
                with_seed(without_files(clone(one)), random),
                ordinary[self._drawn(len(ordinary), random)] if alone else _rows_for(one, ordinary, len(data)),
            )
            for one in members
        ]
        expect(len(tasks) + 1)
        found = Parallel(n_jobs=self.n_jobs)(delayed(_fitted)(one, data, rows) for one, rows in tasks)
        self.clusterers_, self.partitions_ = [one for one, _ in found], [said for _, said in found]

    def _rows_to_fit(self, data: FloatArray, members: Sequence[Any]) -> BoolArray:
        """Return True for rows that are no gross errors; for all if no number of clusters is given."""
        numbers_of_clusters = [self.n_clusters]
        if self.n_clusters is None:
            parameters = [split_pipeline(one)[1].get_params(deep=False) for one in members]
            numbers_of_clusters = [one.get("n_clusters", one.get("n_components")) for one in parameters]
        largest = max((int(n) for n in numbers_of_clusters if isinstance(n, numbers.Integral)), default=0)
        return rows_to_fit(data, largest) if largest > 0 else np.ones(len(data), dtype=bool)

    def _drawn(self, n_samples: int, random: np.random.RandomState) -> IntArray:
        """The samples that a clone is fitted to."""
        whole = isinstance(self.max_samples, numbers.Integral)
        size = int(self.max_samples) if whole else round(self.max_samples * n_samples)
        return np.sort(random.permutation(n_samples)[: max(size, 2)])


@dataclass(frozen=True)
class EnsembleModel:
    """Fitted clusterers, and samples of known masses: what gives a row its masses.

    Attributes
    ----------
    clusterers : sequence of estimator
        The clusterers.
    landmarks : Landmarks
        The known samples.
    center : ndarray of shape (n_features,)
        The mean of the training set.
    reach : float
        The distance from the center, in any feature, beyond which a row is an outlier for every member.
    """

    clusterers: Sequence[Any]
    landmarks: Landmarks
    center: FloatArray
    reach: float

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""
        return self.landmarks.focal_sets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """The masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows)):
            with np.errstate(over="ignore"):
                is_far = (np.abs(rows[block] - self.center) > self.reach).any(axis=1)
            near = np.where(is_far[:, None], self.center.astype(rows.dtype), rows[block])
            partitions = [predicted_partition(clusterer, near) for clusterer in self.clusterers]
            out[block] = self.landmarks.masses_of(partitions)
            out[block][is_far] = np.arange(out.shape[1]) == 0  # all mass on the empty set
        return out


def _extent(data: FloatArray) -> tuple[FloatArray, float]:
    """Return the mean of a training set, without rows that are remote from all others, and the reach around it."""
    near = np.asarray(data[remoteness(data) <= REMOTE], dtype=np.float64)
    center = np.nanmean(near, axis=0)
    return center, _FAR * (float(np.nanmax(np.abs(near - center))) or 1.0)


def _rows_for(clusterer: Any, ordinary: IntArray, n_samples: int) -> IntArray | None:
    """Return the rows that a clusterer of a list is fitted to: None for all, as it needs if it cannot predict."""
    last = split_pipeline(clusterer)[1]
    can_predict = hasattr(last, "predict") or hasattr(last, "predict_mass")
    return ordinary if can_predict and len(ordinary) < n_samples else None


def _fitted(clusterer: Any, data: FloatArray, rows: IntArray | None) -> tuple[Any, CredalPartition]:
    """A clusterer fitted to all samples or some, and what it says about all."""
    if rows is None:
        fitted = clusterer.fit(data)
        return fitted, fitted_partition(fitted, data)
    fitted = clusterer.fit(data[rows])
    return fitted, predicted_partition(fitted, data)


__all__ = ["CredalEnsemble"]
