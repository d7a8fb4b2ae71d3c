"""What makes clusters different, and why samples are torn, in the words of the table."""

from evlearn.explain.columns import Difference
from evlearn.explain.explain import explain_clusters
from evlearn.explain.explanation import Explanation
from evlearn.explain.profiles import ClusterProfile
from evlearn.explain.reasons import SampleExplanation

__all__ = ["ClusterProfile", "Difference", "Explanation", "SampleExplanation", "explain_clusters"]
