"""Evidential clustering and classification: which objects are sure, torn between clusters, or outliers."""

from evlearn.partition import CredalPartition

__all__ = ["CredalPartition", "__version__"]

__version__ = "0.1.0.dev0"
