"""Evidential clustering methods."""

from evlearn.cluster.evclus import EVCLUS

__all__ = ["EVCLUS"]
