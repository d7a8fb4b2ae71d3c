"""Dempster's rule for many pieces of evidence, by sums of logarithms of commonalities."""

import numpy as np

from evlearn.belief import FocalSets
from evlearn.utils.typing import FloatArray


def masses_of_logs(logs: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Compute normalized masses from sums of logarithms of commonalities.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_focal_sets - 1)
        Sums for the nonempty sets.
    focal_sets : FocalSets
        Empty set and nonempty sets, closed under intersection.

    Returns
    -------
    ndarray of shape (n_samples, n_focal_sets)
        Masses, without mass on the empty set.
    """
    # Relative to the largest value, to avoid underflow.
    common = np.exp(logs - logs.max(axis=1, keepdims=True))
    masses: FloatArray = np.zeros((len(logs), len(focal_sets)))
    masses[:, 1:] = np.maximum(common @ focal_sets.moebius_matrix[1:, 1:].T, 0)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))
