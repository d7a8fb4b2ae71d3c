"""Conflict between the members of a fusion: a model of views that belong to another sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp, softmax

from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray, IntArray

#: Copies of the training samples with exchanged views, and the first guess of rates.
_N_COPIES, _START = 3, 0.2
_PENALTY, _MIXING_PENALTY = 0.02, 2e-4
#: Smallest evidence for a class, so that no member excludes a class.
_FLOOR, _MAX_LOG_EXPONENT = 1e-3, 2.0


@fields.stored
@dataclass(frozen=True)
class ForeignViews:
    """Mixture of 2 hypotheses on a sample: all views are its own, or some of them are foreign.

    A foreign view belongs to another sample, and is independent of the class. The evidence of a member for a class
    is its probability divided by the share of the class. If the evidence is R and the view is foreign with
    probability r, the likelihood of the class is (1 - r)R + r, as for Dempster's rule with discount rate r.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        Shares of the classes among the training samples.
    exponents : ndarray of shape (n_estimators,)
        Exponent of the evidence of each member, which calibrates it.
    rates : ndarray of shape (n_estimators,)
        Probability that the view of a member is foreign, before its evidence is compared with that of others.
    mixing : ndarray of shape (2,)
        Offset and slope of the log-odds of the hypothesis that all views are own, by the logarithm of agreement.
    """

    shares: fields.PositiveVector
    exponents: fields.PositiveVector
    rates: Annotated[FloatArray, fields.array(1, low=0, high=1)]
    mixing: fields.Vector

    @classmethod
    def fit(
        cls, evidence: FloatArray, plausibilities: FloatArray, targets: FloatArray, folds: IntArray
    ) -> "ForeignViews":
        """Learn the model from views exchanged between the samples of each fold.

        Parameters
        ----------
        evidence, plausibilities : ndarray of shape (n_estimators, n_samples, n_classes)
            Evidence of the members by `evidence_of`, and their discounted plausibilities, out of fold.
        targets : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes by the labels.
        folds : ndarray of int of shape (n_samples,)
            Fold of each sample.

        Returns
        -------
        ForeignViews
            The model.
        """
        shares = class_shares(targets)
        donors = _draw_donors(len(evidence), folds)[:, :, None]
        exchanged = np.take_along_axis(evidence, donors, axis=1)
        repeated = np.tile(targets, (_N_COPIES, 1))
        exponents, rates = _fit_views(exchanged, repeated, shares)
        model = cls(shares, exponents, rates, np.array([0.0, 1.0]))
        consensus = np.log(np.take_along_axis(plausibilities, donors, axis=1)).sum(axis=0)
        foreign, agreement = model._compare(_calibrate(exchanged, exponents, shares))
        return cls(shares, exponents, rates, _fit_mixing(consensus, foreign, agreement, repeated))

    def masses(self, evidence: FloatArray, consensus: FloatArray, focal_sets: FocalSets) -> FloatArray:
        """Return the mixture of the masses under both hypotheses.

        Parameters
        ----------
        evidence : ndarray of shape (n_estimators, n_samples, n_classes)
            Evidence of the members.
        consensus : ndarray of shape (n_samples, n_focal_sets)
            Masses if all views are own.
        focal_sets : FocalSets
            Focal sets, with all single classes and the set of all classes.

        Returns
        -------
        ndarray of shape (n_samples, n_focal_sets)
            Masses.
        """
        ratios = _calibrate(evidence, self.exponents, self.shares)
        factors = self._factors(ratios)
        common = factors.min(axis=2).prod(axis=0) * self.shares.min()
        single = factors.prod(axis=0) * self.shares - common[:, None]
        weight = expit(self._log_odds(self._compare(ratios)[1]))[:, None]
        total = single.sum(axis=1) + common
        masses: FloatArray = weight * consensus
        masses[:, focal_sets.positions(np.eye(len(self.shares), dtype=bool))] += (
            (1 - weight) * single / total[:, None]
        )
        masses[:, -1] += (1 - weight[:, 0]) * common / total
        return masses

    def discord(self, evidence: FloatArray) -> FloatArray:
        """Return the probability that each view is foreign, of shape (n_samples, n_estimators)."""
        factors = self._factors(_calibrate(evidence, self.exponents, self.shares))
        posterior = softmax(np.log(factors).sum(axis=0) + np.log(self.shares), axis=1)
        return np.asarray(np.minimum((self.rates[:, None, None] / factors * posterior).sum(axis=2).T, 1))

    def conflict(self, evidence: FloatArray) -> FloatArray:
        """Return the probability that at least one view is foreign, of shape (n_samples,)."""
        agreement = self._compare(_calibrate(evidence, self.exponents, self.shares))[1]
        return np.asarray(-np.expm1(np.minimum(agreement + np.log1p(-self.rates).sum(), 0)))

    def _factors(self, ratios: FloatArray) -> FloatArray:
        rates = self.rates[:, None, None]
        return np.asarray((1 - rates) * ratios + rates)

    def _compare(self, ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scores of classes with foreign views, and the logarithm of the agreement of all views."""
        scores = np.log(self._factors(ratios)).sum(axis=0) + np.log(self.shares)
        agreeing = np.log(ratios).sum(axis=0) + np.log(self.shares)
        return scores, np.asarray(logsumexp(agreeing, axis=1) - logsumexp(scores, axis=1))

    def _log_odds(self, agreement: FloatArray) -> FloatArray:
        return np.asarray(self.mixing[0] + self.mixing[1] * agreement)


def class_shares(targets: FloatArray) -> FloatArray:
    """Return the shares of classes, with one sample more in each class."""
    totals = targets.sum(axis=0) + 1
    return np.asarray(totals / totals.sum())


def evidence_of(partitions: Sequence[CredalPartition], shares: FloatArray) -> FloatArray:
    """Return the evidence of each member: probabilities of classes divided by their shares, 1 for ignorance.

    The mass on a set is divided among its classes in proportion to their shares.
    """
    ratios = []
    for partition in partitions:
        membership = partition.focal_sets.membership
        totals = membership @ shares
        weights = np.divide(1, totals, out=np.zeros_like(totals), where=totals > 0)
        ratios.append((partition.masses * weights) @ membership)
    return np.array(ratios)


def _calibrate(evidence: FloatArray, exponents: FloatArray, shares: FloatArray) -> FloatArray:
    logs = exponents[:, None, None] * np.log(evidence + _FLOOR)
    return np.asarray(np.exp(logs - logsumexp(logs + np.log(shares), axis=2, keepdims=True)))


def _draw_donors(n_members: int, folds: IntArray) -> IntArray:
    """Return the samples from which views are taken, of shape (n_estimators, n_copies * n_samples).

    Between none and half of the views of a sample are foreign, each number with the same probability. They are
    taken from other samples of the same fold, whose members have the same training samples.
    """
    random = np.random.default_rng(0)
    size = _N_COPIES * len(folds)
    n_foreign = random.integers(n_members // 2 + 1, size=size)
    is_foreign = random.random((n_members, size)).argsort(axis=0).argsort(axis=0) < n_foreign
    by_fold = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    others: IntArray = np.empty((n_members, _N_COPIES, len(folds)), dtype=np.intp)
    for rows in by_fold:
        steps = random.integers(1, max(len(rows), 2), size=(n_members, _N_COPIES, len(rows)))
        others[:, :, rows] = rows[(np.arange(len(rows)) + steps) % len(rows)]
    samples = np.tile(np.arange(len(folds)), _N_COPIES)
    return np.where(is_foreign, others.reshape(n_members, size), samples)


def _fit_views(evidence: FloatArray, targets: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the exponents and the rates of foreign views with the smallest log-loss of the combined evidence."""
    n_members, offsets, logs = len(evidence), np.log(shares), np.log(evidence + _FLOOR)
    start = np.concatenate([np.zeros(n_members), np.full(n_members, logit(_START))])

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        exponents, rates = np.exp(parameters[:n_members]), expit(parameters[n_members:])
        ratios, rate = _calibrate(evidence, exponents, shares), rates[:, None, None]
        factors = (1 - rate) * ratios + rate
        scores = np.log(factors).sum(axis=0) + offsets
        totals = logsumexp(scores, axis=1, keepdims=True)
        errors = (np.exp(scores - totals) - targets) / len(targets) / factors
        centered = logs - (shares * ratios * logs).sum(axis=2, keepdims=True)
        of_exponents = (errors * (1 - rate) * ratios * centered).sum(axis=(1, 2)) * exponents
        of_rates = (errors * (1 - ratios)).sum(axis=(1, 2)) * rates * (1 - rates)
        deviations = parameters - start
        value = (totals[:, 0] - (targets * scores).sum(axis=1)).mean() + _PENALTY / 2 * (deviations**2).mean()
        slopes = np.concatenate([of_exponents, of_rates]) + _PENALTY * deviations / len(start)
        return float(value), slopes

    bounds = [(-_MAX_LOG_EXPONENT, _MAX_LOG_EXPONENT)] * n_members + [(None, None)] * n_members
    best = minimize(loss, start, jac=True, bounds=bounds).x
    return np.exp(best[:n_members]), np.asarray(expit(best[n_members:]))


def _fit_mixing(
    consensus: FloatArray, foreign: FloatArray, agreement: FloatArray, targets: FloatArray
) -> FloatArray:
    """Return the offset and slope with the smallest log-loss of the mixture."""
    likelihoods = [
        np.log((targets * softmax(scores, axis=1)).sum(axis=1) + np.finfo(float).tiny)
        for scores in (consensus, foreign)
    ]

    def loss(mixing: FloatArray) -> tuple[float, FloatArray]:
        log_odds = mixing[0] + mixing[1] * agreement
        first = likelihoods[0] - np.logaddexp(0, -log_odds)
        second = likelihoods[1] - np.logaddexp(0, log_odds)
        errors = expit(log_odds) - expit(first - second)
        slopes = np.array([errors.mean(), (errors * agreement).mean()])
        value = _MIXING_PENALTY / 2 * (mixing @ mixing) - np.logaddexp(first, second).mean()
        return float(value), slopes + _MIXING_PENALTY * mixing

    return np.asarray(minimize(loss, np.array([0.0, 1.0]), jac=True).x)
