"""Clustering that asks whether two samples are in the same cluster."""

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

from evlearn.active.answers import Answer, Answers, Query, read_answers, write_answers
from evlearn.active.asking import put_questions
from evlearn.active.strategies import STRATEGIES, most_doubtful_first
from evlearn.cluster import CECM, EVCLUS
from evlearn.cluster.base import with_seed, without_files
from evlearn.constraints import PairwiseConstraints
from evlearn.partition import CredalPartition
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.convergence import warn_caller, whole_or_nothing
from evlearn.utils.typing import ClustererLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

# Of the samples about as sure of a cluster as the surest, the one that most is known about stands for it.
_ABOUT_AS_SURE = 0.99


class ActiveClustering(CallbackSupportMixin, BaseEstimator):
    """Clustering that asks a person, or any other oracle, about the pairs of samples that it doubts most.

    Each round takes the sample in the greatest doubt and asks whether it is in the same cluster as the sample that
    stands for its most plausible cluster, then for the next one, until the answer is yes. Answers become
    must-links and cannot-links, and the clusterer is fitted again. What follows from earlier answers is not asked.

    There are two ways to use it, after `start`: `run` asks a function; `ask` and `answer` go step by step, for
    notebooks and user interfaces.

    Parameters
    ----------
    estimator : estimator
        A clusterer whose `fit` takes constraints: EVCLUS, CECM or NNEVCLUS.
    strategy : {"margin", "doubt", "entropy", "nonspecificity", "random"}, default="margin"
        Which samples are in doubt: those whose two most plausible clusters are about as plausible, whose belief in
        the most plausible one is small (`evlearn.CredalPartition.doubt`), whose probabilities are spread, or whose
        masses leave much open; or any sample. "nonspecificity" also asks about outliers.
    max_queries_per_sample : int, default=2
        A sample with that many questions is not chosen again; questions in which it stands for a cluster do not
        count.
    n_neighbors : int, default=5
        Answers, and what follows from them, are passed on to that many of the nearest pairs, see
        `PairwiseConstraints.expand`; 0 for none.
    closed_world : bool, default=False
        Whether there are no clusters but those of the estimator. Then a sample that is apart from all clusters
        but one is in that one, unasked, once the samples that stand for the clusters are known to be apart.
    patience : int or None, default=None
        Stop after that many refits in a row that changed no label. None never stops by itself.
    contradictions : {"ignore", "raise"}, default="ignore"
        What to do with an answer that contradicts earlier ones: ignore it with a warning, or raise an error.
        Either way it is not taken, the message names the chain of answers, and earlier answers stay.
    answers_file : str, path or None, default=None
        A CSV file for the answers, written after each of them. If it exists, `start` goes on from what it holds.
    random_state : int, RandomState instance or None, default=None
        The seed, for questions that can be repeated. It is passed on to an estimator that has none.

    Attributes
    ----------
    estimator_ : estimator
        The clusterer, fitted with the answers of all rounds that have ended; `refit` makes that all answers.
    constraints_ : PairwiseConstraints
        The answers, with the constraints given to `start`.
    history_ : list of Answer
        The answers in the order they came, also those nobody knew.
    agreements_ : list of float
        For each refit the adjusted Rand index between the labels before and after it.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints : What the answers become.
    LabelOracle : Answers from known labels.
    TerminalOracle : Answers from a person.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from evlearn.active import ActiveClustering, LabelOracle
    >>> from evlearn.cluster import EVCLUS
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveClustering(EVCLUS(3, focal_sets="pairs"), random_state=0).start(X)
    >>> round(adjusted_rand_score(y, learner.estimator_.labels_), 1)
    0.7
    >>> learner = learner.run(LabelOracle(y), n_queries=25)
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

    @whole_or_nothing
    def start(self, X: ArrayLike, *, constraints: PairwiseConstraints | None = None) -> "ActiveClustering":
        """Fit the clusterer to what is known before the first question.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or their dissimilarities if the clusterer expects these.
        constraints : PairwiseConstraints, default=None
            What is known already, besides the answers of `answers_file`.

        Returns
        -------
        ActiveClustering
            The learner itself, ready to ask.
        """
        self._check_parameters()
        self._X = cast(Any, X)
        self._n_samples = self._X.shape[0] if hasattr(X, "shape") else len(self._X)
        self._random = check_random_state(self.random_state)
        self._unfitted = with_seed(without_files(clone(self.estimator)), self._random)
        self._answers = Answers(PairwiseConstraints() if constraints is None else constraints)
        for answer in [] if self.answers_file is None else read_answers(self.answers_file):
            self._take(answer)
        self._object: int | None = None
        self._pending: Query | None = None
        self.agreements_: list[float] = []
        self.__dict__.pop("estimator_", None)
        self._fitted_with: PairwiseConstraints | None = None
        return self.refit()

    def run(
        self, oracle: Callable[[int, int], bool | None], n_queries: int, *, verbose: bool = False
    ) -> "ActiveClustering":
        """Ask an oracle, and fit with its answers. Call it again to go on.

        Parameters
        ----------
        oracle : callable
            A function of two sample numbers that says whether they are in the same cluster, or None if it does not
            know. It ends the questions with `StopAsking`; all answers are kept.
        n_queries : int
            The largest number of questions.
        verbose : bool, default=False
            Whether to print why each question is asked.

        Returns
        -------
        ActiveClustering
            The learner itself, fitted with all answers.
        """
        self._check_started()
        put_questions(self, lambda query: oracle(query.first, query.second), n_queries, verbose)
        return self.refit()

    def ask(self) -> Query | None:
        """The next question; the same one until it is answered.

        Returns
        -------
        Query or None
            A pair of samples, and why it is asked; None if there is nothing left to ask.
        """
        self._check_started()
        if self._pending is None:
            self._pending = self._next_query()
        return self._pending

    def answer(self, query: Query | tuple[int, int], same: bool | None) -> None:
        """Record the answer to a question, or anything else that is known about a pair.

        Parameters
        ----------
        query : Query or tuple of two int
            The question, or just a pair of sample numbers.
        same : bool or None
            Whether the two samples are in the same cluster; None if nobody knows, and it is not asked again.
        """
        self._check_started()
        if not (same is None or isinstance(same, (bool, np.bool_))):
            raise ValueError(f"same must be True, False or None, got {same!r}.")
        first, second = int(query[0]), int(query[1])
        self._pending = None
        self._take(Answer(first, second, None if same is None else bool(same)))
        self._conclude()
        self._keep()

    def forget(self, first: int, second: int) -> None:
        """Withdraw an answer that was wrong; the pair may be asked about again.

        Parameters
        ----------
        first, second : int
            The pair.
        """
        self._check_started()
        self._answers.forget(first, second)
        self._pending = None
        self._conclude()
        self._keep()

    @whole_or_nothing
    def refit(self) -> "ActiveClustering":
        """Fit the clusterer with all answers so far; does nothing if it has them already.

        Returns
        -------
        ActiveClustering
            The learner itself.
        """
        before = self.__dict__.get("estimator_")
        if self._fitted_with != self.constraints_:
            fitted = self._warm(before).fit(self._X, constraints=self._handed_on())
            # Where it started is nothing to keep: it has the parameters that the user chose.
            self.estimator_ = fitted.set_params(**self._unfitted.get_params(deep=False))
            self._fitted_with = self.constraints_
            self._look()
            if before is not None:
                self.agreements_.append(float(adjusted_rand_score(before.labels_, self.estimator_.labels_)))
        return self

    @property
    def constraints_(self) -> PairwiseConstraints:
        """The answers, with the constraints given to `start`."""
        return self._answers.constraints

    @property
    def history_(self) -> list[Answer]:
        """The answers in the order they came, also those nobody knew."""
        return list(self._answers.history)

    # Which question

    def _next_query(self) -> Query | None:
        if self._object is not None and (query := self._question_about(self._object)) is not None:
            return query
        self._object = None
        self.refit()
        if self._is_stable():
            return None
        partition = self.estimator_.credal_partition_
        asked = np.array([answer.first for answer in self._answers.history if not answer.inferred], dtype=np.intp)
        tired = np.bincount(asked, minlength=len(partition)) >= self.max_queries_per_sample
        for one in most_doubtful_first(self.strategy, partition, self._random).tolist():
            if not tired[one] and (query := self._question_about(one)) is not None:
                self._object = one
                return query
        return None

    def _question_about(self, one: int) -> Query | None:
        """Whether it is with who stands for its most plausible cluster; if not, for the next one, and so on."""
        for cluster in np.argsort(-self._plausibilities[one], kind="stable").tolist():
            other = self._representatives[cluster]
            if self._answers.relation(one, other):
                return None
            if not self._answers.is_settled(one, other):
                return Query(one, other, cluster, self._explain(one, other, cluster))
        return None

    def _look(self) -> None:
        """What questions need of a fit: plausibilities, and for each cluster a sample that stands for it."""
        partition: CredalPartition = self.estimator_.credal_partition_
        self._plausibilities = partition.to_possibilistic()
        known = np.bincount(self._answers.implied.must_link.ravel(), minlength=len(partition))
        positions = partition.focal_sets.singleton_positions
        sure = np.where(positions >= 0, partition.masses[:, positions], 0)
        candidates = sure >= _ABOUT_AS_SURE * sure.max(axis=0)
        self._representatives = [
            int(np.lexsort([-sure[:, cluster], -known, ~candidates[:, cluster]])[0])
            for cluster in range(len(positions))
        ]

    def _explain(self, one: int, other: int, cluster: int) -> str:
        partition = self.estimator_.credal_partition_
        names = partition.sample_names or range(len(partition))
        likely = np.argsort(-self._plausibilities[one], kind="stable")[:2].tolist()
        told = " and ".join(
            f"{partition.cluster_names[k]} (plausibility {self._plausibilities[one, k]:.2f})" for k in likely
        )
        return (
            f"sample {names[one]} may be in cluster {told}; "
            f"sample {names[other]} stands for cluster {partition.cluster_names[cluster]}"
        )

    def _is_stable(self) -> bool:
        recent = [] if self.patience is None else self.agreements_[-self.patience :]
        return self.patience is not None and len(recent) == self.patience and min(recent) == 1

    # What is known

    def _take(self, answer: Answer) -> None:
        if not all(0 <= number < self._n_samples for number in answer[:2]):
            raise ValueError(f"an answer is about {answer[:2]}, but samples are 0 to {self._n_samples - 1}.")
        try:
            self._answers.add(answer)
        except ValueError as error:
            said = "together" if answer.same else "apart"
            message = f"the answer that {answer.first} and {answer.second} are {said} is not taken: {error}"
            if self.contradictions == "raise":
                raise ValueError(message) from None
            warn_caller(message)

    def _conclude(self) -> None:
        """Infer, in a closed world, the cluster of samples that are apart from all clusters but one."""
        others = self._representatives
        if not self.closed_world or not all(
            self._answers.relation(*pair) is False for pair in combinations(others, 2)
        ):
            return
        for sample in dict.fromkeys(answer.first for answer in self._answers.history):
            relations = [self._answers.relation(sample, other) for other in others]
            if relations.count(False) == len(others) - 1 and relations.count(None) == 1:
                self._answers.add(Answer(sample, others[relations.index(None)], True, inferred=True))

    def _keep(self) -> None:
        if self.answers_file is not None:
            write_answers(self.answers_file, self._answers.history)

    # The clusterer

    def _handed_on(self) -> PairwiseConstraints:
        """All that follows from the answers, and the same for pairs nearby."""
        metric = (
            "euclidean" if isinstance(self._unfitted, CECM) else getattr(self._unfitted, "metric", "euclidean")
        )
        return self._answers.implied.expand(self._X, min(self.n_neighbors, self._n_samples - 1), metric)

    def _warm(self, before: Any) -> Any:
        """The clusterer to fit next, which starts where the last fit ended if it can start anywhere."""
        following = clone(self._unfitted)
        if before is None:
            return following
        if isinstance(following, CECM):
            return following.set_params(init=before.cluster_centers_, n_init=1)
        if isinstance(following, EVCLUS):
            return following.set_params(init=before.masses_, n_init=1, focal_sets=before.focal_sets_)
        return following

    def _check_started(self) -> None:
        if "estimator_" not in self.__dict__:
            raise NotFittedError("ActiveClustering has no data yet; call start(X) first.")

    def _check_parameters(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("contradictions", self.contradictions, ("ignore", "raise"))
        check_integer("max_queries_per_sample", self.max_queries_per_sample, 1)
        check_integer("n_neighbors", self.n_neighbors, 0)
        if self.patience is not None:
            check_integer("patience", self.patience, 1)
        if not (hasattr(self.estimator, "fit") and has_fit_parameter(self.estimator, "constraints")):
            raise TypeError(
                f"estimator must have a fit that takes constraints, such as EVCLUS, CECM or NNEVCLUS, "
                f"got {type(self.estimator).__name__}."
            )


__all__ = ["ActiveClustering"]
