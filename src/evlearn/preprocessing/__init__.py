"""From tables as they are to what clusterers can use."""

from evlearn.preprocessing.gower import GowerDistances, gower_distances
from evlearn.preprocessing.table_encoder import TableEncoder

__all__ = ["GowerDistances", "TableEncoder", "gower_distances"]
