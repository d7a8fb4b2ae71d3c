"""What unmet constraints cost a partition."""

from dataclasses import dataclass

import numpy as np

from evlearn.belief import FocalSets
from evlearn.constraints import PairwiseConstraints
from evlearn.utils.typing import FloatArray


@dataclass(frozen=True)
class Penalty:
    """What unmet constraints cost.

    Attributes
    ----------
    constraints : PairwiseConstraints
        The constraints.
    weight : float
        The cost of a constraint that is violated for sure is twice this.
    forms : ndarray of shape (2, n_focal_sets, n_focal_sets)
        The bilinear forms of must-link and cannot-link.
    """

    constraints: PairwiseConstraints
    weight: float
    forms: FloatArray

    @classmethod
    def of(cls, constraints: PairwiseConstraints, xi: float, focal_sets: FocalSets) -> "Penalty":
        """The penalty of k-CEVCLUS with the weight xi.

        With the factor of the published tables and of the R package; the paper prints a quarter of it in (9), with
        which its own tables do not come out.
        """
        must_link = 1 + focal_sets.conflict_matrix - focal_sets.emptiness_matrix - focal_sets.same_singleton_matrix
        return cls(constraints, 2 * xi / max(len(constraints), 1), np.stack([must_link, 2 - must_link]))

    def value(self, M: FloatArray) -> float:
        """The penalty of a partition."""
        both = (self.constraints.must_link, self.constraints.cannot_link)
        total = sum(
            float(np.einsum("ij,ij->", M[pairs[:, 0]] @ form, M[pairs[:, 1]]))
            for pairs, form in zip(both, self.forms, strict=True)
        )
        return self.weight * total

    def kernel_terms(self, n_samples: int, scale: float) -> tuple[object, ...]:
        """The arrays that a sweep needs, with the weight divided by `scale`."""
        return *self.constraints.neighbours(n_samples), np.ascontiguousarray(self.forms), self.weight / scale
