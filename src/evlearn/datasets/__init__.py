"""Small data sets of the papers, and generators of random data with the true clusters."""

from evlearn.datasets.generators import (
    load_butterfly,
    make_bananas,
    make_core_and_ring,
    make_fourclass,
    make_gaussian_mixture,
    same_cluster_probability,
)

__all__ = [
    "load_butterfly",
    "make_bananas",
    "make_core_and_ring",
    "make_fourclass",
    "make_gaussian_mixture",
    "same_cluster_probability",
]
