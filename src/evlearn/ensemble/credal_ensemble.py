"""CredalEnsemble: several clusterers, and what they say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.base import with_seed
from evlearn.cluster.pairwise.irqp import stratified
from evlearn.cluster.rowwise import BlockModel, RowwiseClusterer
from evlearn.ensemble.combination import check_combination, choose_sets, combine, numbered_like
from evlearn.ensemble.fusion import fuse
from evlearn.ensemble.recovery import recover_rows
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, predicted_partition
from evlearn.partition.relational import masses_of_block
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.typing import ClustererLike, FloatArray, RandomSeed
from evlearn.utils.validation import check_flag, check_range, refuse_remote

_REFERENCE_OBJECTS = 500


class CredalEnsemble(RowwiseClusterer):
    """Several clusterers combined: where they agree the result is sure, and where they do not it is torn.

    Every clusterer is fitted to the same data. What they say about pairs of objects, the same cluster or not, is
    combined, and one credal partition recovered from it. Clusterers may be evidential ones, mixtures, or any of
    scikit-learn's, with different numbers of clusters.

    Data of which a few samples are a million times farther away than the others are refused: nothing of the
    others would be left beside them.

    Parameters
    ----------
    clusterers : list of estimators
        The clusterers, or pipelines that end in one. Clones of them are fitted.
    rule : {"average", "dempster", "dubois_prade"}, default="average"
        How statements about a pair are combined; see `combine_partitions`.
    n_clusters : int or None, default=None
        The number of clusters of the result; None takes the largest of the members.
    focal_sets : {"auto", "simple", "pairs", "full"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto" means all sets of up to 4 clusters,
        pairs of up to 12, and single clusters beyond.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple" and "pairs".
    n_partners : int, "auto" or "all", default="auto"
        How many other objects each object is compared with. "auto" means all of up to 2000 objects, and 200 drawn
        at random beyond.
    n_init : int, default=5
        How many random starts, besides the members themselves; of more than 2000 objects only where no member has
        as many clusters as the result.
    tol : float, default=1e-6
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
        The most plausible cluster of each object.
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
        The mean squared distance, over pairs, between what the result says and what the members say together.
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
    >>> ensemble = CredalEnsemble([KMeans(4), ECM(4, focal_sets="pairs")], random_state=0).fit(X)
    >>> ensemble.n_clusters_
    4
    """

    def __init__(
        self,
        clusterers: Sequence[ClustererLike],
        *,
        rule: Literal["average", "dempster", "dubois_prade"] = "average",
        n_clusters: int | None = None,
        focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalSetsLike = "auto",
        include_omega: bool = True,
        n_partners: int | Literal["auto", "all"] = "auto",
        n_init: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.clusterers: Any = clusterers
        self.rule = rule
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_partners = n_partners
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
            The objects.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        CredalEnsemble
            The fitted estimator.
        """
        self._check_parameters()
        if is_elsewhere(X):
            raise ValueError(
                f"CredalEnsemble needs data in memory, and X is {type(X).__name__}; give an array or a frame."
            )
        data = self._read(X, reset=True)
        random = check_random_state(self.random_state)
        seeded = [with_seed(clone(clusterer), random) for clusterer in self.clusterers]
        self.clusterers_ = list(Parallel(n_jobs=self.n_jobs)(delayed(_fitted)(one, data) for one in seeded))
        self.partitions_ = [fitted_partition(clusterer, data) for clusterer in self.clusterers_]
        sets = choose_sets(self.partitions_, self.focal_sets, self.n_clusters, self.include_omega)
        trace = combine(
            self.partitions_,
            sets,
            rule=self.rule,
            n_partners=self.n_partners,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random=random,
            report=self._report if self.verbose else None,
        )
        self._publish_combination(trace.state.masses, sets, random)
        self._name_samples(X)
        publish_trace(self, trace, "the objective", max_iter=self.max_iter, steps="sweeps")
        return self

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        # In double precision: some clusterers predict only for rows in the precision they were fitted to.
        data: FloatArray = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
        )
        check_range("X", data, fitting=reset)
        if reset:
            refuse_remote("X", data)  # clusterers may be any, and most know no outliers
        return data

    def _check_parameters(self) -> None:
        if not isinstance(self.clusterers, Sequence) or isinstance(self.clusterers, str) or not self.clusterers:
            raise ValueError(f"clusterers must be a list of at least one estimator, got {self.clusterers!r}.")
        strangers = [one for one in self.clusterers if not hasattr(one, "fit") or isinstance(one, type)]
        if strangers:
            raise ValueError(
                f"clusterers must be estimators such as ECM(3), got {strangers[0]!r}; they need no names."
            )
        check_flag("include_omega", self.include_omega)
        check_combination(self.rule, self.n_clusters, self.n_partners, self.n_init, self.tol, self.max_iter)

    def _publish_combination(self, masses: FloatArray, sets: FocalSets, random: np.random.RandomState) -> None:
        self._publish(numbered_like(CredalPartition(masses, sets, validate=False), self.partitions_))
        self.n_clusters_ = sets.frame_size
        chosen = stratified(self.labels_, _REFERENCE_OBJECTS, random)
        self._model = EnsembleModel(
            clusterers=self.clusterers_,
            known=[partition[chosen] for partition in self.partitions_],
            masses=np.ascontiguousarray(self.masses_[chosen]),
            focal_sets=self.focal_sets_,
            rule=self.rule,
        )

    def _report(self, sweep: int, objective: float) -> None:
        print(f"CredalEnsemble sweep {sweep:>4}   objective {objective:.9f}", flush=True)


@dataclass(frozen=True, kw_only=True)
class EnsembleModel(BlockModel):
    """Fitted clusterers, and some objects of known masses: what gives a row its masses.

    Attributes
    ----------
    clusterers : sequence of estimator
        The clusterers.
    known : sequence of CredalPartition
        What each of them says about the known objects.
    rule : str
        How statements are combined.
    """

    clusterers: Sequence[Any]
    known: Sequence[CredalPartition]
    rule: str

    def masses_of(self, rows: FloatArray) -> FloatArray:
        """The masses of a few rows; see `BlockModel`."""
        statements = [
            masses_of_block(predicted_partition(clusterer, rows).masses, known.masses, known.focal_sets)
            for clusterer, known in zip(self.clusterers, self.known, strict=True)
        ]
        return recover_rows(fuse(statements, self.rule), self.masses, self.focal_sets)


def _fitted(clusterer: Any, data: FloatArray) -> Any:
    return clusterer.fit(data)


__all__ = ["CredalEnsemble"]
