"""How many clusters, and which values of other parameters: curves of criteria over subsamples of the data."""

from evlearn.model_selection.select import select_n_clusters, select_parameter
from evlearn.model_selection.selection import ParameterSelection

__all__ = ["ParameterSelection", "select_n_clusters", "select_parameter"]
