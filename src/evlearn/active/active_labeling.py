"""Active learning of a classifier with queries about the classes of samples."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_distances
from sklearn.utils import check_random_state

from evlearn.active.answers import (
    STRATEGIES,
    LabelAnswer,
    LabelQuery,
    LabelReply,
    as_answer,
    labels_of,
    most_doubtful_first,
    read_label_answers,
    run_queries,
    write_label_answers,
)
from evlearn.cluster.base import with_seed
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_of, predicts_masses, transform_through_pipeline, with_names_of
from evlearn.utils.convergence import CallbackSupportMixin, atomic_fit
from evlearn.utils.reading import select_rows
from evlearn.utils.typing import ClassifierLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

#: Number of candidates for a batch, relative to its size.
_CANDIDATES_PER_QUERY = 5


class ActiveLabeling(CallbackSupportMixin, BaseEstimator):
    """Active learning: queries to a person, or any other oracle, about the classes of the most doubtful samples.

    The classifier is fitted to the samples with answers, predicts the masses of all others, and queries those with
    the greatest doubt; then it is fitted again. An answer may be a class, several classes of which one is right,
    or None, with or without a confidence. Until the answers contain 2 classes, samples are queried at random.

    After `start`, there are 2 ways to use it: `run` calls a function; `ask` and `answer` are single steps, for
    notebooks and user interfaces.

    Parameters
    ----------
    estimator : estimator
        Evidential classifier, or a pipeline that ends in one.
    classes : sequence
        Classes, at least 2.
    strategy : {"margin", "doubt", "entropy", "nonspecificity", "random"}, default="margin"
        Order of the samples: by the difference of their 2 largest plausibilities, by doubt
        (`evlearn.CredalPartition.doubt`), by the entropy of their probabilities, by nonspecificity, which is large
        far from all labeled samples, or random.
    batch_size : int, default=1
        Number of queries before the classifier is fitted again. The samples of a batch are far from each other,
        among those with the greatest doubt.
    answers_file : str, path or None, default=None
        CSV file of the answers, written after each of them. If it exists, `start` reads it.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible queries. It is also passed to an estimator without a seed.

    Attributes
    ----------
    estimator_ : estimator
        Classifier fitted with the answers of all completed batches; `refit` adds the others. It does not exist
        while the answers contain fewer than 2 classes.
    labels_ : CredalPartition
        Mass functions of all samples from the answers alone; without an answer, all mass is on all classes.
    history_ : list of LabelAnswer
        Answers in chronological order, including "unknown".

    See Also
    --------
    ActiveClustering : Queries about pairs of samples, if there are no classes.
    evlearn.classify.Annotations : Table of the answers of several people.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.active import ActiveLabeling
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLabeling(
    ...     EvidentialKNNClassifier(), [0, 1, 2], random_state=0
    ... ).start(X)
    >>> learner = learner.run(y.__getitem__, n_queries=20)
    >>> bool(learner.estimator_.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: ClassifierLike,
        classes: Sequence[str] | Sequence[int],
        *,
        strategy: Literal["margin", "doubt", "entropy", "nonspecificity", "random"] = "margin",
        batch_size: int = 1,
        answers_file: str | os.PathLike[str] | None = None,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.strategy = strategy
        self.batch_size = batch_size
        self.answers_file = answers_file
        self.random_state = random_state

    @atomic_fit
    def start(self, X: ArrayLike, *, labels: Mapping[int, LabelReply] | None = None) -> "ActiveLabeling":
        """Fit the classifier to known labels, before the first query.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        labels : dict from int to class, classes or LabelAnswer, default=None
            Known labels of samples, in addition to the answers of `answers_file`.

        Returns
        -------
        ActiveLabeling
            The learner itself.
        """
        self._check_parameters()
        self._X = cast(Any, X)
        self._n_samples = self._X.shape[0] if hasattr(X, "shape") else len(self._X)
        self._classes = tuple(name.item() if isinstance(name, np.generic) else name for name in self.classes)
        self._random = check_random_state(self.random_state)
        self._unfitted = with_seed(clone(self.estimator), self._random)
        self._history: dict[int, LabelAnswer] = {}
        for sample, reply in (labels or {}).items():
            self._add_answer(as_answer(sample, reply, self._classes))
        for answer in [] if self.answers_file is None else read_label_answers(self.answers_file, self._classes):
            self._add_answer(answer)
        self._batch: list[int] = []
        self._partition: CredalPartition | None = None
        self._fitted_with: list[LabelAnswer] = []
        self.__dict__.pop("estimator_", None)
        return self.refit()

    def run(
        self, oracle: Callable[[int], LabelReply], n_queries: int, *, verbose: bool = False
    ) -> "ActiveLabeling":
        """Query an oracle, and fit the classifier to its answers. Further calls continue the queries.

        Parameters
        ----------
        oracle : callable
            Function of a sample number that returns its class, a list of classes of which one is right, None if
            unknown, or a `LabelAnswer` with a confidence. It raises `StopQuerying` to stop; all answers are kept.
        n_queries : int
            Maximum number of queries.
        verbose : bool, default=False
            Whether to print the reason for each query.

        Returns
        -------
        ActiveLabeling
            The learner itself, fitted with all answers.
        """
        self._check_started()
        run_queries(self, lambda query: oracle(query.sample), n_queries, verbose)
        return self.refit()

    def ask(self) -> LabelQuery | None:
        """Return the next query; the same one until it is answered.

        Returns
        -------
        LabelQuery or None
            A sample, with a reason; None if all samples have an answer.
        """
        self._check_started()
        if not self._batch:
            self.refit()
            self._batch = self._next_batch()
        return self._query_for(self._batch[0]) if self._batch else None

    def answer(self, query: LabelQuery | int, reply: LabelReply, *, confidence: float = 1.0) -> None:
        """Record the answer to a query, or for any other sample.

        Parameters
        ----------
        query : LabelQuery or int
            Query or sample number. An earlier answer about the sample is replaced.
        reply : class, sequence of classes, LabelAnswer or None
            Its class; several classes, if one of them is right; None if unknown, so that it is not queried again.
        confidence : float, default=1.0
            Confidence in the answer, from 0 to 1.
        """
        self._check_started()
        sample = query.sample if isinstance(query, LabelQuery) else int(query)
        self._add_answer(as_answer(sample, reply, self._classes, confidence))
        self._batch = [number for number in self._batch if number != sample]
        self._save_answers()

    def forget(self, sample: int) -> None:
        """Remove a wrong answer; the sample may be queried again.

        Parameters
        ----------
        sample : int
            Sample.
        """
        self._check_started()
        if sample not in self._history:
            raise ValueError(f"there is no answer about sample {sample} to forget.")
        del self._history[sample]
        self._save_answers()

    @atomic_fit
    def refit(self) -> "ActiveLabeling":
        """Fit the classifier to all answers, unless there are no new ones.

        If the answers contain fewer than 2 classes, for example because others were removed, there is no
        `estimator_` afterwards.

        Returns
        -------
        ActiveLabeling
            The learner itself.
        """
        history = self.history_
        if history == self._fitted_with:
            return self
        if len({answer.classes for answer in history if len(answer.classes) == 1}) < 2:
            self.__dict__.pop("estimator_", None)
            self._partition = None
        else:
            samples = [answer.sample for answer in history if answer.classes]
            labels = labels_of(history, self._classes, samples)
            self.estimator_ = clone(self._unfitted).fit(select_rows(self._X, samples), labels)
            self._partition = partition_of(self.estimator_, self._X)
        self._fitted_with = history
        return self

    @property
    def history_(self) -> list[LabelAnswer]:
        """Answers in chronological order, including "unknown"."""
        return list(self._history.values())

    @property
    def labels_(self) -> CredalPartition:
        """Mass functions of all samples from the answers alone; without an answer, all mass is on all classes."""
        partition = labels_of(self.history_, self._classes, range(self._n_samples))
        return with_names_of(self._X, partition)

    # Selection of queries

    def _next_batch(self) -> list[int]:
        """Return samples with great doubt: first the greatest, then others far from those before."""
        if self._partition is None:
            order, size = self._random.permutation(self._n_samples), 1
        else:
            order, size = most_doubtful_first(self.strategy, self._partition, self._random), self.batch_size
        candidates = order[~np.isin(order, list(self._history))]
        if size > 1 and self.strategy != "random":
            candidates = candidates[: _CANDIDATES_PER_QUERY * size]
            if len(candidates) > size:
                rows = transform_through_pipeline(self.estimator_, select_rows(self._X, candidates))[1]
                candidates = candidates[_select_distant(pairwise_distances(rows), size)]
        return [int(sample) for sample in candidates[:size]]

    def _query_for(self, sample: int) -> LabelQuery:
        name = self._X.index[sample] if hasattr(self._X, "iloc") else sample
        if self._partition is None:
            return LabelQuery(
                sample, self._classes, f"sample {name} is one of the first, which are chosen at random"
            )
        plausibilities = self._partition.to_possibilistic()[sample]
        order = np.argsort(-plausibilities, kind="stable")
        classes = " or ".join(f"{self._classes[k]} (plausibility {plausibilities[k]:.2f})" for k in order[:2])
        return LabelQuery(sample, tuple(self._classes[k] for k in order), f"sample {name} may be {classes}")

    # Answers

    def _add_answer(self, answer: LabelAnswer) -> None:
        if not 0 <= answer.sample < self._n_samples:
            raise ValueError(f"an answer is about {answer.sample}, but samples are 0 to {self._n_samples - 1}.")
        self._history.pop(answer.sample, None)
        self._history[answer.sample] = answer

    def _save_answers(self) -> None:
        if self.answers_file is not None:
            write_label_answers(self.answers_file, self.history_)

    def _check_started(self) -> None:
        if "_unfitted" not in self.__dict__:
            raise NotFittedError("ActiveLabeling has no data; call start(X) first.")

    def _check_parameters(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_integer("batch_size", self.batch_size, 1)
        names = [str(name) for name in self.classes]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"classes must be at least 2 different names, got {list(self.classes)!r}.")
        if not predicts_masses(self.estimator):
            raise TypeError(
                "estimator must be an evidential classifier, which has predict_mass, or a pipeline that ends in "
                f"one, got {type(self.estimator).__name__}."
            )


def _select_distant(distances: FloatArray, size: int) -> IntArray:
    """Return the first sample, and repeatedly the one that is farthest from those before."""
    selection = [0]
    for _ in range(size - 1):
        selection.append(int(distances[selection].min(axis=0).argmax()))
    return np.array(selection, dtype=np.intp)
