"""Active clustering with queries about pairs of samples."""

import os
from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from evlearn.active.answers import (
    STRATEGIES,
    Answers,
    PairAnswer,
    PairQuery,
    most_doubtful_first,
    read_answers,
    run_queries,
    write_answers,
)
from evlearn.cluster import CECM, EVCLUS
from evlearn.cluster.base import with_seed, without_files
from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import CallbackSupportMixin, atomic_fit, warn_caller
from evlearn.utils.typing import ClustererLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

#: Minimum mass of a representative on its cluster, relative to the largest mass of a sample.
_MIN_RELATIVE_MASS = 0.99


class ActiveClustering(CallbackSupportMixin, BaseEstimator):
    """Active clustering: queries to a person, or any other oracle, about the most doubtful pairs of samples.

    Each round selects the sample with the greatest doubt, and asks whether it is in the same cluster as the
    representative of its most plausible cluster, then of the next cluster, until the answer is yes. Answers become
    must-links and cannot-links, and the clusterer is fitted again. Pairs that are implied by earlier answers are
    not queried.

    After `start`, there are 2 ways to use it: `run` calls a function; `ask` and `answer` are single steps, for
    notebooks and user interfaces.

    Parameters
    ----------
    estimator : estimator
        Clusterer whose `fit` accepts constraints: EVCLUS, CECM or NNEVCLUS.
    strategy : {"margin", "doubt", "entropy", "nonspecificity", "random"}, default="margin"
        Order of the samples: by the difference of their 2 largest plausibilities, by doubt
        (`evlearn.CredalPartition.doubt`), by the entropy of their probabilities, by nonspecificity, or random.
        "nonspecificity" also selects outliers.
    max_queries_per_sample : int, default=2
        Maximum number of queries about a sample; queries in which it represents a cluster do not count.
    n_neighbors : int, default=5
        Number of nearest pairs that each answer, or implied answer, is extended to, see
        `PairwiseConstraints.expand`; 0 for none.
    closed_world : bool, default=False
        Whether there are no clusters but those of the estimator. If the representatives are known to be in
        different clusters, a sample that is different from all but one of them is then inferred to be in its
        cluster.
    patience : int or None, default=None
        Number of consecutive refits without a changed label after which queries stop. None means no early
        stopping.
    contradictions : {"ignore", "raise"}, default="ignore"
        Treatment of an answer that contradicts earlier ones: ignore it with a warning, or raise an error. In both
        cases it is not recorded, the message contains the chain of answers, and earlier answers remain.
    answers_file : str, path or None, default=None
        CSV file of the answers, written after each of them. If it exists, `start` reads it.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible queries. It is also passed to an estimator without a seed.

    Attributes
    ----------
    estimator_ : estimator
        Clusterer fitted with the answers of all completed rounds; `refit` adds the others.
    constraints_ : PairwiseConstraints
        Answers, with the constraints passed to `start`.
    history_ : list of PairAnswer
        Answers in chronological order, including "unknown".
    agreements_ : list of float
        Adjusted Rand indices between the labels before and after each refit.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints : Must-links and cannot-links.
    PairOracle : Answers from known labels.
    TerminalPairOracle : Answers from a person.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from evlearn.active import ActiveClustering, PairOracle
    >>> from evlearn.cluster import EVCLUS
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveClustering(EVCLUS(3, focal_sets="pairs"), random_state=0).start(X)
    >>> round(adjusted_rand_score(y, learner.estimator_.labels_), 1)
    0.7
    >>> learner = learner.run(PairOracle(y), n_queries=25)
    >>> round(adjusted_rand_score(y, learner.estimator_.labels_), 1)
    0.9
    """

    def __init__(
        self,
        estimator: ClustererLike,
        *,
        strategy: Literal["margin", "doubt", "entropy", "nonspecificity", "random"] = "margin",
        max_queries_per_sample: int = 2,
        n_neighbors: int = 5,
        closed_world: bool = False,
        patience: int | None = None,
        contradictions: Literal["ignore", "raise"] = "ignore",
        answers_file: str | os.PathLike[str] | None = None,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.max_queries_per_sample = max_queries_per_sample
        self.n_neighbors = n_neighbors
        self.closed_world = closed_world
        self.patience = patience
        self.contradictions = contradictions
        self.answers_file = answers_file
        self.random_state = random_state

    @atomic_fit
    def start(self, X: ArrayLike, *, constraints: PairwiseConstraints | None = None) -> "ActiveClustering":
        """Fit the clusterer before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or their dissimilarities if the clusterer expects these.
        constraints : PairwiseConstraints, default=None
            Known constraints, in addition to the answers of `answers_file`.

        Returns
        -------
        ActiveClustering
            The learner itself.
        """
        self._check_parameters()
        self._X = cast(Any, X)
        self._n_samples = self._X.shape[0] if hasattr(X, "shape") else len(self._X)
        self._random = check_random_state(self.random_state)
        self._unfitted = with_seed(without_files(clone(self.estimator)), self._random)
        self._answers = Answers(PairwiseConstraints() if constraints is None else constraints)
        for answer in [] if self.answers_file is None else read_answers(self.answers_file):
            self._add_answer(answer)
        self._sample: int | None = None
        self._pending: PairQuery | None = None
        self.agreements_: list[float] = []
        self.__dict__.pop("estimator_", None)
        self._fitted_with: PairwiseConstraints | None = None
        return self.refit()

    def run(
        self, oracle: Callable[[int, int], bool | None], n_queries: int, *, verbose: bool = False
    ) -> "ActiveClustering":
        """Query an oracle, and fit the clusterer with its answers. Further calls continue the queries.

        Parameters
        ----------
        oracle : callable
            Function of 2 sample numbers that returns True if they are in the same cluster, False if not, and None
            if unknown. It raises `StopQuerying` to stop; all answers are kept.
        n_queries : int
            Maximum number of queries.
        verbose : bool, default=False
            Whether to print the reason for each query.

        Returns
        -------
        ActiveClustering
            The learner itself, fitted with all answers.
        """
        self._check_started()
        run_queries(self, lambda query: oracle(query.first, query.second), n_queries, verbose)
        return self.refit()

    def ask(self) -> PairQuery | None:
        """Return the next query; the same one until it is answered.

        Returns
        -------
        PairQuery or None
            A pair of samples, with a reason; None if there are no more queries.
        """
        self._check_started()
        if self._pending is None:
            self._pending = self._next_query()
        return self._pending

    def answer(self, query: PairQuery | tuple[int, int], same_cluster: bool | None) -> None:
        """Record the answer to a query, or for any other pair.

        Parameters
        ----------
        query : PairQuery or tuple of two int
            Query or pair of sample numbers.
        same_cluster : bool or None
            Whether both samples are in the same cluster; None if unknown, so that the pair is not queried again.
        """
        self._check_started()
        if not (same_cluster is None or isinstance(same_cluster, (bool, np.bool_))):
            raise ValueError(f"same_cluster must be True, False or None, got {same_cluster!r}.")
        first, second = int(query[0]), int(query[1])
        self._pending = None
        self._add_answer(PairAnswer(first, second, None if same_cluster is None else bool(same_cluster)))
        self._infer_answers()
        self._save_answers()

    def forget(self, first: int, second: int) -> None:
        """Remove a wrong answer; the pair may be queried again.

        Parameters
        ----------
        first, second : int
            Pair of samples.
        """
        self._check_started()
        self._answers.forget(first, second)
        self._pending = None
        self._infer_answers()
        self._save_answers()

    @atomic_fit
    def refit(self) -> "ActiveClustering":
        """Fit the clusterer with all answers, unless there are no new ones.

        Returns
        -------
        ActiveClustering
            The learner itself.
        """
        previous = self.__dict__.get("estimator_")
        if self._fitted_with != self.constraints_:
            fitted = self._warm_start(previous).fit(self._X, constraints=self._expanded_constraints())
            # The parameters of the warm start are replaced by those of the user.
            self.estimator_ = fitted.set_params(**self._unfitted.get_params(deep=False))
            self._fitted_with = self.constraints_
            self._update_representatives()
            if previous is not None:
                self.agreements_.append(float(adjusted_rand_score(previous.labels_, self.estimator_.labels_)))
        return self

    @property
    def constraints_(self) -> PairwiseConstraints:
        """Answers, with the constraints passed to `start`."""
        return self._answers.constraints

    @property
    def history_(self) -> list[PairAnswer]:
        """Answers in chronological order, including "unknown"."""
        return list(self._answers.history)

    # Selection of queries

    def _next_query(self) -> PairQuery | None:
        if self._sample is not None and (query := self._query_for(self._sample)) is not None:
            return query
        self._sample = None
        self.refit()
        if self._is_stable():
            return None
        partition = self.estimator_.credal_partition_
        queried = np.array(
            [answer.first for answer in self._answers.history if not answer.inferred], dtype=np.intp
        )
        is_exhausted = np.bincount(queried, minlength=len(partition)) >= self.max_queries_per_sample
        for sample in most_doubtful_first(self.strategy, partition, self._random).tolist():
            if not is_exhausted[sample] and (query := self._query_for(sample)) is not None:
                self._sample = sample
                return query
        return None

    def _query_for(self, sample: int) -> PairQuery | None:
        """Return a query about a sample and the representative of its most plausible unresolved cluster."""
        for cluster in np.argsort(-self._plausibilities[sample], kind="stable").tolist():
            representative = self._representatives[cluster]
            if self._answers.relation(sample, representative):
                return None
            if not self._answers.is_resolved(sample, representative):
                return PairQuery(sample, representative, cluster, self._explain(sample, representative, cluster))
        return None

    def _update_representatives(self) -> None:
        """Compute plausibilities, and for each cluster a representative sample.

        Of the samples with nearly the largest mass on the cluster, it is the one with the most must-links.
        """
        partition: CredalPartition = self.estimator_.credal_partition_
        self._plausibilities = partition.to_possibilistic()
        n_links = np.bincount(self._answers.implied.must_link.ravel(), minlength=len(partition))
        positions = partition.focal_sets.singleton_positions
        certainty = np.where(positions >= 0, partition.masses[:, positions], 0)
        candidates = certainty >= _MIN_RELATIVE_MASS * certainty.max(axis=0)
        self._representatives = [
            int(np.lexsort([-certainty[:, cluster], -n_links, ~candidates[:, cluster]])[0])
            for cluster in range(len(positions))
        ]

    def _explain(self, sample: int, representative: int, cluster: int) -> str:
        partition = self.estimator_.credal_partition_
        names = partition.sample_names or range(len(partition))
        likely = np.argsort(-self._plausibilities[sample], kind="stable")[:2].tolist()
        clusters = " and ".join(
            f"{partition.cluster_names[k]} (plausibility {self._plausibilities[sample, k]:.2f})" for k in likely
        )
        return (
            f"sample {names[sample]} may be in cluster {clusters}; "
            f"sample {names[representative]} represents cluster {partition.cluster_names[cluster]}"
        )

    def _is_stable(self) -> bool:
        recent = [] if self.patience is None else self.agreements_[-self.patience :]
        return self.patience is not None and len(recent) == self.patience and min(recent) == 1

    # Answers

    def _add_answer(self, answer: PairAnswer) -> None:
        if not all(0 <= number < self._n_samples for number in answer[:2]):
            raise ValueError(f"an answer is about {answer[:2]}, but samples are 0 to {self._n_samples - 1}.")
        try:
            self._answers.add(answer)
        except ValueError as error:
            relation = "in the same cluster" if answer.same_cluster else "in different clusters"
            message = f"the answer that {answer.first} and {answer.second} are {relation} is ignored: {error}"
            if self.contradictions == "raise":
                raise ValueError(message) from None
            warn_caller(message)

    def _infer_answers(self) -> None:
        """Infer, in a closed world, the cluster of samples that differ from all representatives but one."""
        representatives = self._representatives
        if not self.closed_world or not all(
            self._answers.relation(*pair) is False for pair in combinations(representatives, 2)
        ):
            return
        for sample in dict.fromkeys(answer.first for answer in self._answers.history):
            relations = [self._answers.relation(sample, other) for other in representatives]
            if relations.count(False) == len(representatives) - 1 and relations.count(None) == 1:
                self._answers.add(PairAnswer(sample, representatives[relations.index(None)], True, inferred=True))

    def _save_answers(self) -> None:
        if self.answers_file is not None:
            write_answers(self.answers_file, self._answers.history)

    # Fits

    def _expanded_constraints(self) -> PairwiseConstraints:
        """Return all implied constraints, extended to neighboring pairs."""
        metric = (
            "euclidean" if isinstance(self._unfitted, CECM) else getattr(self._unfitted, "metric", "euclidean")
        )
        return self._answers.implied.expand(self._X, min(self.n_neighbors, self._n_samples - 1), metric)

    def _warm_start(self, before: Any) -> Any:
        """Return an unfitted clusterer that starts at the last solution, if the method permits that."""
        estimator = clone(self._unfitted)
        if before is None:
            return estimator
        if isinstance(estimator, CECM):
            return estimator.set_params(init=before.cluster_centers_, n_init=1)
        if isinstance(estimator, EVCLUS):
            return estimator.set_params(init=before.masses_, n_init=1, focal_sets=before.focal_sets_)
        return estimator

    def _check_started(self) -> None:
        if "estimator_" not in self.__dict__:
            raise NotFittedError("ActiveClustering has no data; call start(X) first.")

    def _check_parameters(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("contradictions", self.contradictions, ("ignore", "raise"))
        check_integer("max_queries_per_sample", self.max_queries_per_sample, 1)
        check_integer("n_neighbors", self.n_neighbors, 0)
        if self.patience is not None:
            check_integer("patience", self.patience, 1)
        if not (hasattr(self.estimator, "fit") and has_fit_parameter(self.estimator, "constraints")):
            raise TypeError(
                f"estimator must have a fit method that accepts constraints, such as EVCLUS, CECM or NNEVCLUS, "
                f"got {type(self.estimator).__name__}."
            )
