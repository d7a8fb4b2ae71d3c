"""Nonconformity of samples with known classes, by several criteria."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from evlearn.classify import EvidentialKNNClassifier
from evlearn.classify.samples import distinct_rows, in_units, usual_values
from evlearn.neighbors import BoxTree
from evlearn.storage import fields
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Names of the criteria, in order.
CRITERIA = ("far", "far_within_classes", "far_for_its_place", "little_evidence", "doubt", "entropy")
_N_NEAREST, _N_LOCAL = 3, 5  # neighbors for distances, and for evidence and local spacing
_MIN_DISTANCE = 1e-9
_PENALTY = 0.01  # on squared weights


@fields.stored
@dataclass(frozen=True)
class Strangeness:
    """Models of the known classes, and the strangeness of other samples.

    Attributes
    ----------
    classifier : fitted classifier
        Classifier of the known classes.
    evidence : EvidentialKNNClassifier
        Neighbors classifier of the known classes, for scaled features.
    center, unit : ndarray of shape (n_features,)
        Offsets and units of the scaled features.
    whitening : ndarray of shape (n_features, n_features)
        Matrix that transforms scaled samples to a unit covariance within classes.
    samples, whitened : BoxTree
        Training samples, scaled and whitened.
    spacing : ndarray of shape (n_samples,)
        Logarithms of distances between whitened training samples and their neighbors.
    """

    classifier: Annotated[Any, fields.predictor, fields.NESTED]
    evidence: EvidentialKNNClassifier
    center: fields.Vector
    unit: fields.ScaleVector
    whitening: fields.Matrix
    samples: BoxTree
    whitened: BoxTree
    spacing: fields.Vector

    @classmethod
    def fit(cls, classifier: Any, data: FloatArray, codes: IntArray) -> "Strangeness":
        """Fit the classifier to all samples of known classes, and distances to distinct samples."""
        first = distinct_rows(np.column_stack([data, codes])).first
        distinct, classes = data[first], codes[first]
        center, unit = usual_values(distinct)
        rows = in_units(distinct, center, unit)
        whitening = _whitening(rows, classes)
        whitened = BoxTree.of(rows @ whitening)
        squares = whitened.nearest_others(min(_N_LOCAL, len(rows) - 1))[1][:, -1]
        # The alpha of the papers separates regions without training samples best.
        evidence = EvidentialKNNClassifier(min(_N_LOCAL, len(rows) - 1), alpha=0.95).fit(rows, classes)
        return cls(
            clone(classifier).fit(data, codes),
            evidence,
            center,
            unit,
            whitening,
            BoxTree.of(rows),
            whitened,
            _log(squares),
        )

    def score(self, data: FloatArray) -> FloatArray:
        """Return the strangeness of samples by each criterion, of shape (n_samples, n_criteria)."""
        rows = in_units(data, self.center, self.unit)
        neighbors, squares = self.whitened.nearest_of(rows @ self.whitening, min(_N_LOCAL, len(self.spacing)))
        distances = _log(squares[:, :_N_NEAREST]).mean(axis=1)
        probabilities = self.classifier.predict_proba(data)
        return np.column_stack(
            [
                _log(self.samples.nearest_of(rows, 1)[1][:, 0]),
                distances,
                distances - self.spacing[neighbors].mean(axis=1),
                _log(self.evidence.predict_mass(rows).masses[:, -1]),
                1 - probabilities.max(axis=1),
                entropy(probabilities, axis=1),
            ]
        )


def surprisal(scores: FloatArray, references: FloatArray, *, are_included: bool = False) -> FloatArray:
    """Return minus the logarithm of the share of reference samples that are at least as strange.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_criteria)
        Strangeness of the samples.
    references : ndarray of shape (n_references, n_criteria)
        Strangeness of reference samples, each column in ascending order.
    are_included : bool, default=False
        Whether the samples are among the references, so that they are counted already.

    Returns
    -------
    ndarray of shape (n_samples, n_criteria)
        Surprisal, 0 for samples that are not strange at all.
    """
    columns = zip(references.T, scores.T, strict=True)
    larger = len(references) - np.column_stack(
        [np.searchsorted(reference, values) for reference, values in columns]
    )
    return np.asarray(-np.log(larger / len(references) if are_included else (larger + 1) / (len(references) + 1)))


def exceed_distances(scores: FloatArray, references: FloatArray) -> BoolArray:
    """Return True for samples more than twice as far from the training samples as any reference sample."""
    return np.asarray(scores[:, 0] > references[-1, 0] + np.log(4))  # logarithms of squares


def fit_weights(rehearsals: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Fit the weights of the criteria by a logistic regression that separates samples of unseen classes.

    Parameters
    ----------
    rehearsals : list of pairs of ndarray of shape (n_samples, n_criteria)
        Surprisal of samples of the unseen class and of others. Both have the same total weight in a rehearsal.

    Returns
    -------
    ndarray of shape (n_criteria,)
        Nonnegative weights with the sum 1, so that strangeness by any criterion never makes a sample less strange.
    """
    if not rehearsals:
        return np.full(len(CRITERIA), 1 / len(CRITERIA))
    rows = np.vstack([part for pair in rehearsals for part in pair])
    signs = np.concatenate([np.repeat([1.0, -1.0], [len(novel), len(others)]) for novel, others in rehearsals])
    counts = np.concatenate([np.full(len(part), 0.5 / len(part)) for pair in rehearsals for part in pair])
    counts /= len(rehearsals)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        margins = signs * (values[0] + rows @ values[1:])
        slopes = -signs * counts * np.exp(-np.logaddexp(0, margins))
        value = counts @ np.logaddexp(0, -margins) + _PENALTY / 2 * (values[1:] @ values[1:])
        return value, np.concatenate([[slopes.sum()], slopes @ rows + _PENALTY * values[1:]])

    bounds = [(None, None)] + [(0, None)] * len(CRITERIA)
    start = np.concatenate([[0.0], np.full(len(CRITERIA), 0.1)])
    weights = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[1:]
    return np.asarray(weights / weights.sum()) if weights.sum() > 0 else fit_weights([])


def _whitening(rows: FloatArray, codes: IntArray) -> FloatArray:
    """Return a matrix that whitens the estimated covariance within classes."""
    counts = np.bincount(codes)
    means = np.stack([np.bincount(codes, column) for column in rows.T], axis=1) / np.maximum(counts, 1)[:, None]
    covariance, _ = ledoit_wolf(rows - means[codes], assume_centered=True)
    values, axes = np.linalg.eigh(covariance)
    return np.asarray(axes / np.sqrt(np.maximum(values, _MIN_DISTANCE * values.max() or 1)))


def _log(values: FloatArray) -> FloatArray:
    return np.asarray(np.log(values + _MIN_DISTANCE))
