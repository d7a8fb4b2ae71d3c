"""Evidential clustering methods."""

from evlearn.cluster.centroids.bpec import BPEC
from evlearn.cluster.centroids.ccm import CCM
from evlearn.cluster.centroids.cecm import CECM
from evlearn.cluster.centroids.ecm import ECM
from evlearn.cluster.centroids.images import ImageSegmentation, segment_image
from evlearn.cluster.centroids.secm import SECM
from evlearn.cluster.focal_families import NeighborPairs, neighbor_pairs
from evlearn.cluster.model_based.bootclus import BootClus
from evlearn.cluster.model_based.intervals import PairIntervals
from evlearn.cluster.model_based.merged_mixture import MergedMixture
from evlearn.cluster.neighbors.belief_peaks import DeltaBel, delta_bel
from evlearn.cluster.neighbors.eknnclus import EKNNClus
from evlearn.cluster.pairwise.evclus import EVCLUS
from evlearn.cluster.relational.ecmdd import ECMdd
from evlearn.cluster.relational.recm import RECM

__all__ = [
    "BPEC",
    "CCM",
    "CECM",
    "ECM",
    "EVCLUS",
    "RECM",
    "SECM",
    "BootClus",
    "DeltaBel",
    "ECMdd",
    "EKNNClus",
    "ImageSegmentation",
    "MergedMixture",
    "NeighborPairs",
    "PairIntervals",
    "delta_bel",
    "neighbor_pairs",
    "segment_image",
]
