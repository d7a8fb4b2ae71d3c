"""Features whose distances reflect prior knowledge about some samples, learned from constraints or labels."""

from evlearn.metric_learning.fda import FDA
from evlearn.metric_learning.local_fda import LocalFDA
from evlearn.metric_learning.pcca import PCCA

__all__ = ["FDA", "PCCA", "LocalFDA"]
