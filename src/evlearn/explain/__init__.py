"""Explanations of clusters and samples in terms of the columns of a table."""

from evlearn.explain.explanation import Explanation, explain_clusters

__all__ = ["Explanation", "explain_clusters"]
