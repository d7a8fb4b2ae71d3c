"""Masses of any number of objects from a few whose masses are known.

With a shared set of landmarks all row problems share one matrix, so that objects are independent of each other: a
block of rows is one product for distances, an exponential, one product for linear terms, and the row problems.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from evlearn.belief import FocalSets
from evlearn.belief.types import FloatArray, IntArray
from evlearn.cluster.irqp import rows_against
from evlearn.cluster.pairs import Transform, distances_between, squared_distances
from evlearn.slices import row_blocks

_BLOCK_ROWS = 2048


@dataclass(frozen=True)
class LandmarkModel:
    """Objects with known masses, and what it takes to compare others with them.

    Attributes
    ----------
    indices : ndarray of int of shape (n_landmarks,)
        Which training objects they are.
    landmarks : ndarray of shape (n_landmarks, n_features) or None
        Their attributes; None if dissimilarities are given.
    masses : ndarray of shape (n_landmarks, n_focal_sets)
        Their masses.
    focal_sets : FocalSets
        What the columns of the masses stand for.
    transform : Transform
        From dissimilarities to target conflicts.
    metric : str or callable
        The dissimilarity.
    """

    indices: IntArray
    landmarks: FloatArray | None
    masses: FloatArray
    focal_sets: FocalSets
    transform: Transform
    metric: Any

    @property
    def _by_product(self) -> bool:
        return bool(self.transform.kind == "exponential" and self.metric == "euclidean")

    def masses_of(self, X: FloatArray, *, n_jobs: int | None = None, out: FloatArray | None = None) -> FloatArray:
        """The masses of all rows of X.

        Parameters
        ----------
        X : ndarray of shape (n_objects, n_features) or (n_objects, n_training_objects)
            Attributes, or dissimilarities to the training objects if the metric is "precomputed".
        n_jobs : int or None, default=None
            Threads to share the blocks; the result does not depend on it.
        out : ndarray or None, default=None
            Where to write the masses; None makes an array of the type of X.

        Returns
        -------
        ndarray of shape (n_objects, n_focal_sets)
            Masses.
        """
        if out is None:
            out = np.empty((len(X), len(self.focal_sets)), dtype=X.dtype)
        targets = self._targets(X)

        def work(block: slice) -> None:
            out[block] = rows_against(targets(X[block]), self.masses, self.focal_sets)

        Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(work)(block) for block in row_blocks(len(X), _BLOCK_ROWS)
        )
        return out

    def _targets(self, X: FloatArray) -> Any:
        """A function from a block of X to its target conflicts with the landmarks."""
        if self.landmarks is None:
            return lambda block: self.transform(np.asarray(block[:, self.indices], dtype=np.float64))
        if not self._by_product:
            landmarks = self.landmarks
            return lambda block: self.transform(distances_between(block, landmarks, self.metric))
        # Centred, because products of large coordinates leave nothing of small distances.
        centre = self.landmarks.mean(axis=0, dtype=np.float64)
        centred = (self.landmarks - centre).astype(X.dtype)
        squares = np.einsum("ij,ij->i", centred, centred)
        shift = centre.astype(X.dtype)
        return lambda block: self.transform.of_squares(squared_distances(block - shift, centred, squares))
