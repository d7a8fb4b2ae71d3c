"""Sets of clusters with a coverage that one asks for, around any clusterer."""

from evlearn.conformal.conformal_clusterer import ConformalClusterer
from evlearn.conformal.kinds_of_doubt import KindsOfDoubt

__all__ = ["ConformalClusterer", "KindsOfDoubt"]
