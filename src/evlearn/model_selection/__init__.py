"""Selection of the number of clusters and of other parameters, and cross-validated masses."""

from evlearn.model_selection.cross_validation import cross_val_mass
from evlearn.model_selection.select import select_n_clusters, select_parameter
from evlearn.model_selection.selection import ParameterSelection

__all__ = ["ParameterSelection", "cross_val_mass", "select_n_clusters", "select_parameter"]
