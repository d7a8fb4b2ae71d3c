"""Features whose distances reflect prior knowledge about some samples, learned from constraints or labels."""

from evlearn.metric_learning.fda import FDA, LocalFDA
from evlearn.metric_learning.pcca import PCCA

__all__ = ["FDA", "PCCA", "LocalFDA"]
