"""Dempster's rule where many pieces of evidence meet: logarithms of commonalities are added."""

import numpy as np

from evlearn.belief import FocalSets
from evlearn.utils.typing import FloatArray


def masses_of_logs(logs: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Masses from sums of logarithms of commonalities; conflict is given up.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_focal_sets - 1)
        The sums, for the sets that are not empty.
    focal_sets : FocalSets
        The empty set and these, closed under intersection.

    Returns
    -------
    ndarray of shape (n_samples, n_focal_sets)
        Masses, none of them on the empty set.
    """
    # Relative to the largest, so that products of many small numbers stay numbers.
    common = np.exp(logs - logs.max(axis=1, keepdims=True))
    masses: FloatArray = np.zeros((len(logs), len(focal_sets)))
    masses[:, 1:] = np.maximum(common @ focal_sets.moebius_matrix[1:, 1:].T, 0)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))
