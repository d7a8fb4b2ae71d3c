"""Thresholds of confidence at which the error rate of accepted samples is at most a given risk."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.stats import binom

from evlearn.storage import fields
from evlearn.utils.typing import FloatArray

#: Number of samples, as shares of all, that are accepted where a sequence of tests starts.
_STARTS = (0.2, 0.4, 0.6, 0.8, 1.0)


@fields.stored
@dataclass(frozen=True)
class SelectiveRisk:
    """Confidence of calibration samples in ascending order of minus the confidence, and their errors.

    Attributes
    ----------
    doubts : ndarray of shape (n_samples,)
        Minus the confidence in the best class, in ascending order.
    errors : ndarray of shape (n_samples,)
        Plausibility that the best class is wrong; 0 or 1 for crisp labels.
    """

    doubts: Annotated[FloatArray, fields.ascending]
    errors: Annotated[FloatArray, fields.array(1, low=0, high=fields.LARGEST_MASS)]

    @classmethod
    def of(cls, confidences: FloatArray, errors: FloatArray) -> "SelectiveRisk":
        """Return the errors of calibration samples; of equal confidences, errors come first."""
        order = np.lexsort([-errors, -confidences])
        return cls(-confidences[order], errors[order])

    def threshold(self, risk: float, confidence_level: float) -> float:
        """Return the confidence that accepted samples exceed; infinity if no threshold passes a test.

        The m most confident samples pass a test if their number of errors is so small that it has a probability of
        at most ``(1 - confidence_level) / n_starts`` for an error rate of `risk`. Each start is the first test of
        a sequence with larger and larger m, which ends with the first failure. The largest m that passed counts.
        """
        n_samples = len(self.doubts)
        counts = np.arange(1, n_samples + 1)
        totals = np.ceil(np.cumsum(self.errors) - 1e-9)
        passed = binom.cdf(totals, counts, risk) <= (1 - confidence_level) / len(_STARTS)
        is_end = np.append(np.diff(self.doubts) > 0, True)  # samples of equal confidence are accepted together
        ends, results = counts[is_end], passed[is_end]
        best = 0
        for share in _STARTS:
            first = np.searchsorted(ends, int(np.ceil(share * n_samples)))
            failures = np.flatnonzero(~results[first:])
            n_passed = failures[0] if len(failures) else len(ends) - first
            best = max(best, int(ends[first + n_passed - 1]) if n_passed else 0)
        if best == n_samples:
            return -np.inf
        return float(-self.doubts[best]) if best else np.inf
