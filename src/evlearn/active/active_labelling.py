"""A classifier that asks for the classes of the samples that it doubts most."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_distances
from sklearn.utils import check_random_state

from evlearn.active.asking import put_questions
from evlearn.active.label_answers import (
    LabelAnswer,
    LabelQuery,
    Said,
    as_answer,
    labels_of,
    read_label_answers,
    write_label_answers,
)
from evlearn.active.strategies import STRATEGIES, most_doubtful_first
from evlearn.cluster.base import with_seed
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_of, predicts_masses, reached, with_names_of
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.reading import rows_of
from evlearn.utils.typing import ClassifierLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer

#: A batch is chosen among so many times its size.
_CHOICE = 5


class ActiveLabelling(CallbackSupportMixin, BaseEstimator):
    """A classifier that asks a person, or any other oracle, for the classes of the samples that it doubts most.

    It learns from the samples that have been answered, gives masses to all others, and asks about those in the
    greatest doubt; then it learns again. Answers may be a class, several classes of which one is right, or
    nothing, with or without a confidence. Until two classes have been named, it asks about any samples.

    There are two ways to use it, after `start`: `run` asks a function; `ask` and `answer` go step by step, for
    notebooks and user interfaces.

    Parameters
    ----------
    estimator : estimator
        An evidential classifier, or a pipeline that ends in one.
    classes : sequence
        The classes, at least two.
    strategy : {"margin", "doubt", "entropy", "nonspecificity", "random"}, default="margin"
        Which samples are in doubt: those whose two most plausible classes are about as plausible, whose belief in
        the most plausible one is small (`evlearn.CredalPartition.doubt`), whose probabilities are spread, or whose
        masses leave much open, because nothing like them has been labelled; or any sample.
    batch_size : int, default=1
        How many questions are asked before the classifier learns again. Those of a batch are far from each other,
        among the samples in the greatest doubt.
    answers_file : str, path or None, default=None
        A CSV file for the answers, written after each of them. If it exists, `start` goes on from what it holds.
    random_state : int, RandomState instance or None, default=None
        The seed, for questions that can be repeated. It is passed on to an estimator that has none.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted with the answers of all batches that have ended; `refit` makes that all answers.
        There is none while the answers name fewer than 2 classes.
    labels_ : CredalPartition
        What is known from the answers alone, for all samples: any class where there is none.
    history_ : list of LabelAnswer
        The answers in the order they came, also those nobody knew.

    See Also
    --------
    ActiveClustering : Questions about pairs of samples, where there are no classes.
    evlearn.classify.Annotations : Answers of several people, in a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.active import ActiveLabelling
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLabelling(
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

    @whole_or_nothing
    def start(self, X: ArrayLike, *, known: Mapping[int, Said] | None = None) -> "ActiveLabelling":
        """Learn from what is known before the first question.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        known : dict from int to class, classes or LabelAnswer, default=None
            What is known already about some samples, besides the answers of `answers_file`.

        Returns
        -------
        ActiveLabelling
            The learner itself, ready to ask.
        """
        self._check_parameters()
        self._X = cast(Any, X)
        self._n_samples = self._X.shape[0] if hasattr(X, "shape") else len(self._X)
        self._classes = tuple(one.item() if isinstance(one, np.generic) else one for one in self.classes)
        self._random = check_random_state(self.random_state)
        self._unfitted = with_seed(clone(self.estimator), self._random)
        self._history: dict[int, LabelAnswer] = {}
        for sample, said in (known or {}).items():
            self._take(as_answer(sample, said, self._classes))
        for answer in [] if self.answers_file is None else read_label_answers(self.answers_file, self._classes):
            self._take(answer)
        self._batch: list[int] = []
        self._partition: CredalPartition | None = None
        self._fitted_with: list[LabelAnswer] = []
        self.__dict__.pop("estimator_", None)
        return self.refit()

    def run(self, oracle: Callable[[int], Said], n_queries: int, *, verbose: bool = False) -> "ActiveLabelling":
        """Ask an oracle, and learn from its answers. Call it again to go on.

        Parameters
        ----------
        oracle : callable
            A function of the number of a sample that says its class, a list of classes of which one is right, None
            if it does not know, or a `LabelAnswer` with a confidence. It ends the questions with `StopAsking`; all
            answers are kept.
        n_queries : int
            The largest number of questions.
        verbose : bool, default=False
            Whether to print why each question is asked.

        Returns
        -------
        ActiveLabelling
            The learner itself, fitted with all answers.
        """
        self._check_started()
        put_questions(self, lambda query: oracle(query.sample), n_queries, verbose)
        return self.refit()

    def ask(self) -> LabelQuery | None:
        """The next question; the same one until it is answered.

        Returns
        -------
        LabelQuery or None
            A sample, and why it is asked about; None if all samples have been answered.
        """
        self._check_started()
        if not self._batch:
            self.refit()
            self._batch = self._next_batch()
        return self._question_about(self._batch[0]) if self._batch else None

    def answer(self, query: LabelQuery | int, said: Said, *, confidence: float = 1.0) -> None:
        """Record the answer to a question, or anything else that is known about a sample.

        Parameters
        ----------
        query : LabelQuery or int
            The question, or just the number of a sample. What was said about it before is replaced.
        said : class, sequence of classes, LabelAnswer or None
            Its class; several, if one of them is right; None if nobody knows, and it is not asked again.
        confidence : float, default=1.0
            How sure this is, from 0 to 1.
        """
        self._check_started()
        sample = query.sample if isinstance(query, LabelQuery) else int(query)
        self._take(as_answer(sample, said, self._classes, confidence))
        self._batch = [one for one in self._batch if one != sample]
        self._keep()

    def forget(self, sample: int) -> None:
        """Withdraw an answer that was wrong; the sample may be asked about again.

        Parameters
        ----------
        sample : int
            The sample.
        """
        self._check_started()
        if sample not in self._history:
            raise ValueError(f"there is no answer about sample {sample} to forget.")
        del self._history[sample]
        self._keep()

    @whole_or_nothing
    def refit(self) -> "ActiveLabelling":
        """Fit the classifier with all answers so far; does nothing if it has them already.

        If the answers name fewer than 2 classes, for example because others were withdrawn, there is no
        `estimator_` afterwards.

        Returns
        -------
        ActiveLabelling
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
            self.estimator_ = clone(self._unfitted).fit(rows_of(self._X, samples), labels)
            self._partition = partition_of(self.estimator_, self._X)
        self._fitted_with = history
        return self

    @property
    def history_(self) -> list[LabelAnswer]:
        """The answers in the order they came, also those nobody knew."""
        return list(self._history.values())

    @property
    def labels_(self) -> CredalPartition:
        """What is known from the answers alone, for all samples: any class where there is none."""
        found = labels_of(self.history_, self._classes, range(self._n_samples))
        return with_names_of(self._X, found)

    # Which question

    def _next_batch(self) -> list[int]:
        """Samples in doubt, the first in the greatest, and the others far from those before."""
        if self._partition is None:
            order, size = self._random.permutation(self._n_samples), 1
        else:
            order, size = most_doubtful_first(self.strategy, self._partition, self._random), self.batch_size
        waiting = order[~np.isin(order, list(self._history))]
        if size > 1 and self.strategy != "random":
            waiting = waiting[: _CHOICE * size]
            if len(waiting) > size:
                seen = reached(self.estimator_, rows_of(self._X, waiting))[1]
                waiting = waiting[_far_apart(pairwise_distances(seen), size)]
        return [int(one) for one in waiting[:size]]

    def _question_about(self, one: int) -> LabelQuery:
        called = self._X.index[one] if hasattr(self._X, "iloc") else one
        if self._partition is None:
            return LabelQuery(one, self._classes, f"sample {called} is one of the first, which are any samples")
        plausibilities = self._partition.to_possibilistic()[one]
        order = np.argsort(-plausibilities, kind="stable")
        told = " or ".join(f"{self._classes[k]} (plausibility {plausibilities[k]:.2f})" for k in order[:2])
        return LabelQuery(one, tuple(self._classes[k] for k in order), f"sample {called} may be {told}")

    # What is known

    def _take(self, answer: LabelAnswer) -> None:
        if not 0 <= answer.sample < self._n_samples:
            raise ValueError(f"an answer is about {answer.sample}, but samples are 0 to {self._n_samples - 1}.")
        self._history.pop(answer.sample, None)
        self._history[answer.sample] = answer

    def _keep(self) -> None:
        if self.answers_file is not None:
            write_label_answers(self.answers_file, self.history_)

    def _check_started(self) -> None:
        if "_unfitted" not in self.__dict__:
            raise NotFittedError("ActiveLabelling has no data yet; call start(X) first.")

    def _check_parameters(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_integer("batch_size", self.batch_size, 1)
        names = [str(one) for one in self.classes]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"classes must be at least two, each named once, got {list(self.classes)!r}.")
        if not predicts_masses(self.estimator):
            raise TypeError(
                "estimator must be an evidential classifier, which has predict_mass, or a pipeline that ends in "
                f"one, got {type(self.estimator).__name__}."
            )


def _far_apart(distances: FloatArray, size: int) -> IntArray:
    """The first, and then each time the one that is farthest from all before."""
    chosen = [0]
    for _ in range(size - 1):
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    return np.array(chosen, dtype=np.intp)


__all__ = ["ActiveLabelling"]
