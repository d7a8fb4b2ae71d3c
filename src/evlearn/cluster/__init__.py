"""Evidential clustering methods."""

from evlearn.cluster.belief_peaks import DeltaBel, delta_bel
from evlearn.cluster.bootclus import BootClus
from evlearn.cluster.bpec import BPEC
from evlearn.cluster.ccm import CCM
from evlearn.cluster.cecm import CECM
from evlearn.cluster.ecm import ECM
from evlearn.cluster.ecmdd import ECMdd
from evlearn.cluster.eknnclus import EKNNClus
from evlearn.cluster.evclus import EVCLUS
from evlearn.cluster.intervals import PairIntervals
from evlearn.cluster.merged_mixture import MergedMixture
from evlearn.cluster.recm import RECM

__all__ = [
    "BPEC",
    "CCM",
    "CECM",
    "ECM",
    "EVCLUS",
    "RECM",
    "BootClus",
    "DeltaBel",
    "ECMdd",
    "EKNNClus",
    "MergedMixture",
    "PairIntervals",
    "delta_bel",
]
