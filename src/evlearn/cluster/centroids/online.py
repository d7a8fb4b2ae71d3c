"""Prototypes that learn from samples as they come."""

from typing import Self

from numpy.typing import ArrayLike

from evlearn.blocks import ArrayRows, Rows
from evlearn.cluster.centroids.alternation import Alternation, Point
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import PrototypeFit, first_model, first_state, refuse_endless
from evlearn.cluster.centroids.model import Statistics
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.centroids.weights import check_weights, weight_unit
from evlearn.cluster.focal_families import in_two_steps
from evlearn.utils.convergence import Trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike

_OF_A_FIT = (
    *("credal_partition_", "masses_", "labels_"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    "_fitted_to",
)
_FORGETTING = 0.7  # 1 keeps all portions alike, less forgets the first of them; above 0.5 the sums still settle


class OnlineClusterer(PrototypeClusterer):
    """Base class of ECM and CCM, which also learn portion by portion."""

    n_samples_seen_: int
    _statistics: Statistics
    _seen_weight: float

    @property
    def _takes_sparse(self) -> bool:
        return self._metric == "euclidean"

    def _publish_fit(self, fit: PrototypeFit, trace: Trace[Point], rows: Rows) -> Self:
        super()._publish_fit(fit, trace, rows)
        # For `partial_fit`, which goes on from here.
        self._statistics = trace.state.statistics * (1 / fit.weight)
        self._seen_weight = fit.weight * fit.unit
        self.n_samples_seen_ = len(rows)
        return self

    @whole_or_nothing
    def partial_fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from some more samples. They are not kept; what they say about the clusters is.

        It goes on from `fit`, or from earlier portions. If there were none, these samples decide where the
        prototypes start, and on what is "auto". There are no masses afterwards: ask `predict_mass`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; any kind of data that `fit` takes.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        Self
            The estimator.
        """
        first = "_statistics" not in self.__dict__
        if first:
            self._check_parameters()
            if in_two_steps(self.focal_sets):
                raise ValueError(
                    "focal_sets='neighbor_pairs' needs all samples at once: use fit, or list the pairs."
                )
        with one_blas_thread(), self._opened(X, reset=first) as rows:
            if rows.has_gaps:
                if first or self._gaps is None or not isinstance(rows, ArrayRows):
                    raise ValueError(
                        "Input X contains NaN, and partial_fit needs complete samples, unless it goes on from a "
                        "fit: use fit, or fill the gaps with an imputer such as sklearn.impute.SimpleImputer."
                    )
                rows = ArrayRows(self._gaps.fill(rows.read(0, len(rows))))
            weights = check_weights(sample_weight, rows)
            if first:
                state = first_state(self, rows, weights)
                model, chosen = first_model(self, state), state.chosen
            else:
                model, chosen = self._model, Chosen(self.delta_, self.beta_, getattr(self, "alpha_", 1.0))
            refuse_endless(rows, model.coordinates, chosen.delta, self.n_jobs)
            unit = weight_unit(weights)
            aligned = None if weights is None else rows.align(weights / unit)
            told = Alternation(rows, aligned, self.tol, self.n_jobs).collect(model)
        total = float(len(rows) if weights is None else (weights / unit).sum())
        # In the user's unit, which is that of other calls too.
        weight = total * unit
        self._seen_weight = weight + (0.0 if first else self._seen_weight)
        # What was told long ago was told to prototypes that were not good yet: it counts less and less.
        share = (weight / self._seen_weight) ** _FORGETTING
        told = told * (share / total)
        self._statistics = told if first else self._statistics * (1 - share) + told
        if first:
            self._gaps = None
        for name in _OF_A_FIT:
            self.__dict__.pop(name, None)
        self._no_masses = "partial_fit keeps what samples told, and not their masses"
        self._publish_model(model.solve(self._statistics), chosen)
        self.n_samples_seen_ = len(rows) + (0 if first else self.n_samples_seen_)
        return self
