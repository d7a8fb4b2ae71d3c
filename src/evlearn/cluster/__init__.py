"""Evidential clustering methods."""

from evlearn.cluster.centroids.adaptive import AdaptiveMetric
from evlearn.cluster.centroids.bpec import BPEC
from evlearn.cluster.centroids.ccm import CCM
from evlearn.cluster.centroids.cecm import CECM
from evlearn.cluster.centroids.ecm import ECM
from evlearn.cluster.centroids.secm import SECM, segment_image
from evlearn.cluster.focal_families import FocalFamily, neighbor_pairs
from evlearn.cluster.model_based.bootclus import BootClus
from evlearn.cluster.model_based.merged_mixture import MergedMixture
from evlearn.cluster.neighbors.belief_peaks import BeliefPeaks, belief_peaks
from evlearn.cluster.neighbors.credal_clusterer import CredalClusterer
from evlearn.cluster.neighbors.eknnclus import EKNNClus
from evlearn.cluster.pairwise.evclus import EVCLUS
from evlearn.cluster.pairwise.scales import Quantile
from evlearn.cluster.relational.ecmdd import ECMdd
from evlearn.cluster.relational.medoids import MedoidKind
from evlearn.cluster.relational.recm import RECM
from evlearn.cluster.single_cell import doubt_of

__all__ = [
    "BPEC",
    "CCM",
    "CECM",
    "ECM",
    "EVCLUS",
    "RECM",
    "SECM",
    "AdaptiveMetric",
    "BeliefPeaks",
    "BootClus",
    "CredalClusterer",
    "ECMdd",
    "EKNNClus",
    "FocalFamily",
    "MedoidKind",
    "MergedMixture",
    "Quantile",
    "belief_peaks",
    "doubt_of",
    "neighbor_pairs",
    "segment_image",
]
