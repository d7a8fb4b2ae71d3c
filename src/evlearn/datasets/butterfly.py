"""Butterfly data: 12 samples that illustrate evidential clustering."""

import numpy as np
from sklearn.utils import Bunch

_DESCRIPTION = """\
Butterfly data

2 clusters of 5 samples each, the wings; a sixth sample in the middle, torn between them; and a sample far
from both, which belongs to neither. Samples are numbered 1 to 12 in the papers. The first 11 go back to
M. P. Windham, "Numerical classification of proximity data with assignment measures", Journal of Classification 2
(1985); the outlier was added in the literature on evidential clustering.
"""


def load_butterfly() -> Bunch:
    """Load the 12 samples of the butterfly data: 2 wings, a sample between them, and an outlier.

    Returns
    -------
    Bunch
        Dictionary with attributes: ``data`` (12 by 2), ``feature_names``, ``sample_names`` ("1" to "12", as in
        the papers) and ``DESCR``. There are no labels, because 2 samples belong to no single cluster.

    Examples
    --------
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> butterfly.data[[0, 5, 11]]
    array([[-5.,  0.],
           [ 0.,  0.],
           [10., 10.]])
    """
    tip, middle, inner, height = 5.0, 3.34, 1.67, 1.67
    left = [(-tip, 0.0), (-middle, height), (-middle, 0.0), (-middle, -height), (-inner, 0.0)]
    right = [(-x, y) for x, y in reversed(left)]
    return Bunch(
        data=np.array([*left, (0.0, 0.0), *right, (10.0, 10.0)]),
        feature_names=["x1", "x2"],
        sample_names=[str(number) for number in range(1, 13)],
        DESCR=_DESCRIPTION,
    )
