"""Combination of several partitions of the same samples."""

from evlearn.ensemble.combination import combine_partitions
from evlearn.ensemble.credal_ensemble import CredalEnsemble

__all__ = ["CredalEnsemble", "combine_partitions"]
