"""Features in which distances mean what is known about some samples: learned from constraints or from labels."""

from evlearn.metric_learning.fda import FDA
from evlearn.metric_learning.kernel_fda import KernelFDA
from evlearn.metric_learning.kernel_pcca import KernelPCCA
from evlearn.metric_learning.local_fda import LocalFDA
from evlearn.metric_learning.pcca import PCCA

__all__ = ["FDA", "PCCA", "KernelFDA", "KernelPCCA", "LocalFDA"]
