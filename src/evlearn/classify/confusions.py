r"""Confusion matrices of annotators, estimated without true classes by an EM algorithm.

The model follows Dawid and Skene (1979): annotator j names class l for a sample of class k with probability
:math:`P_j(l|k)`. An answer may be uncertain: its contour c(l) is the plausibility that the annotator means l. The
likelihood of class k is then :math:`\sum_l c(l)P_j(l|k)`, as in the EM algorithm for uncertain data (Denœux,
2013). For a set of classes, it is the probability of the set; for "don't know", it is 1 for all classes.

The rows of each matrix have a Dirichlet prior with the mean of all annotators. If annotators depend on each other,
n answers about a sample count as fewer: the product of their likelihoods has the exponent 1 / (1 + (n - 1) d), as
in the design effect of correlated observations. The dependence d maximizes the likelihood of held-out answers.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import softmax

from evlearn.utils.typing import FloatArray, IntArray

#: Weight of the mean matrix in the matrix of an annotator, in answers per class.
_STRENGTH = 6.0
#: Prior of the mean matrix: answers per class, and the share of them that is right.
_PRIOR_ANSWERS, _PRIOR_RIGHT = 5.0, 0.8
#: Candidates of the dependence, and the dependence that answers do not reveal, such as common errors.
_DEPENDENCES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
_HIDDEN_DEPENDENCE = 0.1
_MAX_STEPS, _TOLERANCE = 200, 1e-5


@dataclass(frozen=True)
class AnswerContours:
    """Answers with contours, sorted by annotator, at most one of each annotator about a sample."""

    samples: IntArray
    annotators: IntArray
    contours: FloatArray
    n_samples: int
    n_annotators: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.contours.T)

    @cached_property
    def n_answers(self) -> IntArray:
        """Number of answers about each sample."""
        return np.bincount(self.samples, minlength=self.n_samples)

    def times(self, matrices: FloatArray) -> FloatArray:
        """Return the product of each contour and the matrix of its annotator, of shape (n_answers, n_classes)."""
        products = [self.contours[rows] @ matrix.T for rows, matrix in zip(self._rows(), matrices, strict=True)]
        return np.concatenate(products)

    def count(self, weights: FloatArray) -> FloatArray:
        """Return the sums of weights of true classes times contours, for each annotator."""
        return np.stack([weights[rows].T @ self.contours[rows] for rows in self._rows()])

    def sum_of_samples(self, values: FloatArray) -> FloatArray:
        """Return the sums of the values of all answers about each sample."""
        columns = [np.bincount(self.samples, column, self.n_samples) for column in values.T]
        return np.stack(columns, axis=1)

    def _rows(self) -> list[slice]:
        bounds = np.searchsorted(self.annotators, np.arange(self.n_annotators + 1))
        return [slice(start, stop) for start, stop in pairwise(bounds)]


@dataclass(frozen=True)
class ConfusionModel:
    """Confusion matrices and the classes of samples.

    Attributes
    ----------
    matrices : ndarray of shape (n_annotators, n_classes, n_classes)
        Probabilities of answers (columns) for samples of each class (rows).
    frequencies : ndarray of shape (n_classes,)
        Frequencies of the classes.
    dependence : float
        Dependence between annotators, from 0 to 1.
    probabilities : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes of each sample.
    """

    matrices: FloatArray
    frequencies: FloatArray
    dependence: float
    probabilities: FloatArray

    def gains(self, sample: int) -> FloatArray:
        """Return the information, in bits, that an answer of each annotator about a sample is expected to add."""
        classes = self.probabilities[sample]
        answers = classes @ self.matrices
        ratios = np.log2(self.matrices / answers[:, None, :])
        return np.asarray(np.einsum("k,jkl,jkl->j", classes, self.matrices, ratios))


def fit_confusions(answers: AnswerContours) -> ConfusionModel:
    """Estimate confusion matrices, the dependence between annotators, and the classes of samples."""
    estimate = _first_estimate(answers)
    for _ in range(_MAX_STEPS):
        previous, estimate = estimate, _next_estimate(answers, estimate)
        if np.abs(estimate.probabilities - previous.probabilities).max(initial=0) < _TOLERANCE:
            break
    dependence = min(_select_dependence(answers, estimate) + _HIDDEN_DEPENDENCE, 1.0)
    probabilities = estimate.combine(dependence, answers.n_answers)
    return ConfusionModel(estimate.matrices, estimate.frequencies, dependence, probabilities)


def default_model(answers: AnswerContours) -> ConfusionModel:
    """Return the model before any estimate, for annotators without common samples."""
    shares = _shares_of_answers(answers)
    matrices = np.repeat(_prior_matrix(answers.n_classes)[None], answers.n_annotators, axis=0)
    return ConfusionModel(matrices, _frequencies(answers, shares), 0.0, shares)


@dataclass(frozen=True)
class _Estimate:
    """State of the EM algorithm; `logs` are sums of the logarithms of likelihoods, for each sample."""

    mean_matrix: FloatArray
    matrices: FloatArray
    frequencies: FloatArray
    likelihoods: FloatArray
    logs: FloatArray
    probabilities: FloatArray

    def combine(self, dependence: float, n_answers: IntArray) -> FloatArray:
        """Return the probabilities of classes, with all answers."""
        return _posterior(self.frequencies, self.logs, dependence, n_answers)

    def expected_counts(self, answers: AnswerContours) -> FloatArray:
        """Return the expected numbers of answers by true class and answer, for each annotator."""
        return self.matrices * answers.count(self.probabilities[answers.samples] / self.likelihoods)


def _first_estimate(answers: AnswerContours) -> _Estimate:
    mean_matrix = _prior_matrix(answers.n_classes)
    matrices = np.repeat(mean_matrix[None], answers.n_annotators, axis=0)
    shares = _shares_of_answers(answers)
    likelihoods = answers.times(matrices)
    logs = answers.sum_of_samples(np.log(likelihoods))
    return _Estimate(mean_matrix, matrices, _frequencies(answers, shares), likelihoods, logs, shares)


def _next_estimate(answers: AnswerContours, previous: _Estimate) -> _Estimate:
    """Update the matrices (M-step), then the classes (E-step)."""
    counts = previous.expected_counts(answers)
    sums = counts.sum(axis=0) + _PRIOR_ANSWERS * _prior_matrix(answers.n_classes)
    mean_matrix = sums / sums.sum(axis=1, keepdims=True)
    matrices = counts + _STRENGTH * mean_matrix
    matrices /= matrices.sum(axis=2, keepdims=True)
    frequencies = _frequencies(answers, previous.probabilities)
    likelihoods = answers.times(matrices)
    logs = answers.sum_of_samples(np.log(likelihoods))
    probabilities = _posterior(frequencies, logs, 0.0, answers.n_answers)
    return _Estimate(mean_matrix, matrices, frequencies, likelihoods, logs, probabilities)


def _select_dependence(answers: AnswerContours, estimate: _Estimate) -> float:
    """Return the dependence with the largest likelihood of each answer, predicted from the others."""
    held_out = _held_out_likelihoods(answers, estimate)
    others = estimate.logs[answers.samples] - np.log(estimate.likelihoods)
    n_others = answers.n_answers[answers.samples] - 1

    def score(dependence: float) -> float:
        classes = _posterior(estimate.frequencies, others, dependence, n_others)
        return float(np.log((classes * held_out).sum(axis=1)).sum())

    return max(_DEPENDENCES, key=score)


def _held_out_likelihoods(answers: AnswerContours, estimate: _Estimate) -> FloatArray:
    """Return the likelihoods of the classes, by matrices that are estimated without the answer itself."""
    counts = estimate.expected_counts(answers)
    classes = estimate.probabilities[answers.samples]
    squares = replace(answers, contours=answers.contours**2).times(estimate.matrices)
    sums = answers.times(counts) - classes / estimate.likelihoods * squares
    totals = counts.sum(axis=2)[answers.annotators] - classes
    prior = _STRENGTH * answers.contours @ estimate.mean_matrix.T
    return np.asarray((np.maximum(sums, 0) + prior) / (np.maximum(totals, 0) + _STRENGTH))


def _posterior(frequencies: FloatArray, logs: FloatArray, dependence: float, n_answers: IntArray) -> FloatArray:
    exponents = 1 / (1 + np.maximum(n_answers - 1, 0) * dependence)
    return np.asarray(softmax(np.log(frequencies) + exponents[:, None] * logs, axis=1))


def _shares_of_answers(answers: AnswerContours) -> FloatArray:
    """Return the share of each class in the answers about each sample; equal shares without answers."""
    votes = answers.sum_of_samples(answers.contours / answers.contours.sum(axis=1, keepdims=True)) + 1e-9
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _frequencies(answers: AnswerContours, probabilities: FloatArray) -> FloatArray:
    """Return the frequencies of classes among samples with answers: the mean of an estimate and of the votes.

    With few answers, frequencies that are only estimated may converge to a single class.
    """
    has_answer = answers.n_answers > 0
    sums = [values[has_answer].sum(axis=0) + 1 for values in (probabilities, _shares_of_answers(answers))]
    return np.asarray((sums[0] / sums[0].sum() + sums[1] / sums[1].sum()) / 2)


def _prior_matrix(n_classes: int) -> FloatArray:
    wrong = (1 - _PRIOR_RIGHT) / (n_classes - 1)
    return np.asarray(np.full((n_classes, n_classes), wrong) + (_PRIOR_RIGHT - wrong) * np.eye(n_classes))
