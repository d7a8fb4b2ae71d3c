"""Explanations of clusters and samples in terms of the columns of a table."""

from evlearn.explain.explain import explain_clusters
from evlearn.explain.explanation import Explanation

__all__ = ["Explanation", "explain_clusters"]
