"""Evidential clustering methods."""

from evlearn.cluster.ecm import ECM
from evlearn.cluster.evclus import EVCLUS

__all__ = ["ECM", "EVCLUS"]
