"""What may be strange about samples, if only some classes are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from evlearn.classify import EvidentialKNNClassifier
from evlearn.classify.box_tree import BoxTree
from evlearn.classify.distinct_rows import distinct_rows
from evlearn.classify.units import in_units, usual_values
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: What is asked of a sample, in this order.
QUESTIONS = ("far", "far_within_classes", "far_for_its_place", "little_evidence", "doubt", "entropy")
_NEAREST, _PLACE = 3, 5
_LEAST = 1e-9
_PRICE = 0.01


@dataclass(frozen=True)
class Strangeness:
    """What is known about some classes, and how strange other samples are beside it.

    Attributes
    ----------
    classifier : fitted classifier
        It knows these classes.
    evidence : EvidentialKNNClassifier
        Neighbours know them too, in units of the features.
    centre, unit : ndarray of shape (n_features,)
        These units.
    within : ndarray of shape (n_features, n_features)
        Samples times this have a unit covariance within classes.
    samples, whitened : BoxTree
        The known samples, in units of features and in those of classes.
    spacing : ndarray of shape (n_samples,)
        Logarithms of distances between known samples and their neighbours, in units of classes.
    """

    classifier: Any
    evidence: EvidentialKNNClassifier
    centre: FloatArray
    unit: FloatArray
    within: FloatArray
    samples: BoxTree
    whitened: BoxTree
    spacing: FloatArray

    @classmethod
    def learn(cls, classifier: Any, data: FloatArray, codes: IntArray) -> "Strangeness":
        """Learn from samples of known classes; the classifier from all, distances from distinct ones."""
        first = distinct_rows(np.column_stack([data, codes])).first
        distinct, classes = data[first], codes[first]
        centre, unit = usual_values(distinct)
        rows = in_units(distinct, centre, unit)
        within = _whitening(rows, classes)
        whitened = BoxTree.of(rows @ within)
        apart = whitened.nearest_others(min(_PLACE, len(rows) - 1))[1][:, -1]
        # With the weight of one voice that the papers have: it shows best where nothing is known.
        evidence = EvidentialKNNClassifier(min(_PLACE, len(rows) - 1), alpha=0.95).fit(rows, classes)
        return cls(
            clone(classifier).fit(data, codes),
            evidence,
            centre,
            unit,
            within,
            BoxTree.of(rows),
            whitened,
            _log(apart),
        )

    def of(self, data: FloatArray) -> FloatArray:
        """How strange samples are in each respect, of shape (n_samples, n_questions)."""
        rows = in_units(data, self.centre, self.unit)
        near, squares = self.whitened.nearest_of(rows @ self.within, min(_PLACE, len(self.spacing)))
        within = _log(squares[:, :_NEAREST]).mean(axis=1)
        shares = self.classifier.predict_proba(data)
        return np.column_stack(
            [
                _log(self.samples.nearest_of(rows, 1)[1][:, 0]),
                within,
                within - self.spacing[near].mean(axis=1),
                _log(self.evidence.predict_mass(rows).masses[:, -1]),
                1 - shares.max(axis=1),
                entropy(shares, axis=1),
            ]
        )


def surprise(strange: FloatArray, usual: FloatArray, *, among: bool = False) -> FloatArray:
    """Minus the logarithm of the share of usual samples that are at least as strange, in each respect.

    Parameters
    ----------
    strange : ndarray of shape (n_samples, n_questions)
        How strange samples are.
    usual : ndarray of shape (n_usual, n_questions)
        The same of usual samples, in ascending order in each column.
    among : bool, default=False
        Whether the samples are among the usual ones, so that they are counted already.

    Returns
    -------
    ndarray of shape (n_samples, n_questions)
        Zero for what is not strange at all.
    """
    columns = zip(usual.T, strange.T, strict=True)
    larger = len(usual) - np.column_stack([np.searchsorted(one, other) for one, other in columns])
    return np.asarray(-np.log(larger / len(usual) if among else (larger + 1) / (len(usual) + 1)))


def too_far(strange: FloatArray, usual: FloatArray) -> BoolArray:
    """Whether samples are more than twice as far from all known samples as any usual one."""
    return np.asarray(strange[:, 0] > usual[-1, 0] + np.log(4))  # of squares


def weigh_questions(rehearsals: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """How much each question tells strangers from others, by a logistic regression.

    Parameters
    ----------
    rehearsals : list of pairs of ndarray of shape (n_samples, n_questions)
        Surprise at strangers and at others. All strangers of a rehearsal count as much as all others.

    Returns
    -------
    ndarray of shape (n_questions,)
        Weights with the sum 1, and none below zero: what is strange never speaks for a sample.
    """
    if not rehearsals:
        return np.full(len(QUESTIONS), 1 / len(QUESTIONS))
    rows = np.vstack([part for pair in rehearsals for part in pair])
    signs = np.concatenate([np.repeat([1.0, -1.0], [len(one), len(other)]) for one, other in rehearsals])
    counts = np.concatenate([np.full(len(part), 0.5 / len(part)) for pair in rehearsals for part in pair])
    counts /= len(rehearsals)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        margins = signs * (values[0] + rows @ values[1:])
        slopes = -signs * counts * np.exp(-np.logaddexp(0, margins))
        value = counts @ np.logaddexp(0, -margins) + _PRICE / 2 * (values[1:] @ values[1:])
        return value, np.concatenate([[slopes.sum()], slopes @ rows + _PRICE * values[1:]])

    bounds = [(None, None)] + [(0, None)] * len(QUESTIONS)
    start = np.concatenate([[0.0], np.full(len(QUESTIONS), 0.1)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[1:]
    return np.asarray(found / found.sum()) if found.sum() > 0 else weigh_questions([])


def _whitening(rows: FloatArray, codes: IntArray) -> FloatArray:
    """A matrix that makes the covariance within classes one, as far as samples show it."""
    counts = np.bincount(codes)
    means = np.stack([np.bincount(codes, column) for column in rows.T], axis=1) / np.maximum(counts, 1)[:, None]
    covariance, _ = ledoit_wolf(rows - means[codes], assume_centered=True)
    values, axes = np.linalg.eigh(covariance)
    return np.asarray(axes / np.sqrt(np.maximum(values, _LEAST * values.max() or 1)))


def _log(values: FloatArray) -> FloatArray:
    return np.asarray(np.log(values + _LEAST))
