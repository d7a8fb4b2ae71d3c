"""Operations on masses."""

import numpy as np

from evlearn import CredalPartition
from evlearn.belief import FocalSets, contour


class Masses:
    """200,000 mass functions on the pairs of 4 clusters."""

    def setup(self):
        """Draw the masses."""
        self.sets = FocalSets.pairs(4)
        self.masses = np.random.default_rng(0).dirichlet(np.ones(len(self.sets)), 200_000)

    def time_contour(self):
        contour(self.masses, self.sets)

    def time_verdict(self):
        CredalPartition(self.masses, self.sets).verdict()

    def peakmem_verdict(self):
        CredalPartition(self.masses, self.sets).verdict()
