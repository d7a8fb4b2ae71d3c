"""Penalty of violated constraints."""

from dataclasses import dataclass

import numpy as np

from evlearn.belief import FocalSets
from evlearn.constraints import PairwiseConstraints
from evlearn.utils.typing import FloatArray


@dataclass(frozen=True)
class Penalty:
    """Penalty of violated constraints.

    Attributes
    ----------
    constraints : PairwiseConstraints
        Constraints on pairs of samples.
    weight : float
        Weight of a constraint; the penalty of a constraint that is violated with certainty is twice this value.
    forms : ndarray of shape (2, n_focal_sets, n_focal_sets)
        Bilinear forms of must-links and cannot-links.
    """

    constraints: PairwiseConstraints
    weight: float
    forms: FloatArray

    @classmethod
    def of(cls, constraints: PairwiseConstraints, weight: float, focal_sets: FocalSets) -> "Penalty":
        """Return the penalty of k-CEVCLUS with this weight.

        The factor is that of the published tables and of the R package; equation (9) of the paper has a quarter of
        it, which does not reproduce the tables.
        """
        must_link = 1 + focal_sets.conflict_matrix - focal_sets.emptiness_matrix - focal_sets.same_singleton_matrix
        return cls(constraints, 2 * weight / max(len(constraints), 1), np.stack([must_link, 2 - must_link]))

    def value(self, M: FloatArray) -> float:
        """Return the penalty of a partition."""
        pair_lists = (self.constraints.must_link, self.constraints.cannot_link)
        total = sum(
            float(np.einsum("ij,ij->", M[pairs[:, 0]] @ form, M[pairs[:, 1]]))
            for pairs, form in zip(pair_lists, self.forms, strict=True)
        )
        return self.weight * total

    def kernel_terms(self, n_samples: int, scale: float) -> tuple[object, ...]:
        """Return the arrays for a sweep, with the weight divided by `scale`."""
        return *self.constraints.neighbors(n_samples), np.ascontiguousarray(self.forms), self.weight / scale
