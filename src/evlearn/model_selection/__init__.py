"""How many clusters, which values of other parameters, and masses out of fold: fits to some of the samples."""

from evlearn.model_selection.cross_validation import cross_val_mass
from evlearn.model_selection.select import select_n_clusters, select_parameter
from evlearn.model_selection.selection import ParameterSelection

__all__ = ["ParameterSelection", "cross_val_mass", "select_n_clusters", "select_parameter"]
