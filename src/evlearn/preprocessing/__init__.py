"""From tables as they are to what clusterers can use."""

from evlearn.preprocessing.table_encoder import TableEncoder

__all__ = ["TableEncoder"]
