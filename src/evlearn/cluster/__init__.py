"""Evidential clustering methods."""

from evlearn.cluster.belief_peaks import DeltaBel, delta_bel
from evlearn.cluster.ecm import ECM
from evlearn.cluster.evclus import EVCLUS

__all__ = ["ECM", "EVCLUS", "DeltaBel", "delta_bel"]
