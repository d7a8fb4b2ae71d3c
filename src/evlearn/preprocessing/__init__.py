"""Conversion of raw tables to features and dissimilarities."""

from evlearn.preprocessing.gower import GowerDistances, gower_distances
from evlearn.preprocessing.table_encoder import TableEncoder

__all__ = ["GowerDistances", "TableEncoder", "gower_distances"]
