"""Selection of the number of clusters and of other parameters, and cross-validated masses."""

from evlearn.model_selection.cross_validation import cross_val_mass
from evlearn.model_selection.number_vote import ClusterNumberEstimate, estimate_n_clusters
from evlearn.model_selection.select import select_n_clusters, select_parameter
from evlearn.model_selection.selection import ParameterSelection

__all__ = [
    "ClusterNumberEstimate",
    "ParameterSelection",
    "cross_val_mass",
    "estimate_n_clusters",
    "select_n_clusters",
    "select_parameter",
]
