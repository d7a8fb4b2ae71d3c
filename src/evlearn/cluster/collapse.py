"""Fits that found less than they were asked for, and what the user is told."""

from typing import Any

import numpy as np

from evlearn.utils.convergence import warn_of_collapse
from evlearn.utils.typing import FloatArray, IntArray

#: Prototypes that are nearer to each other than this share of the width of a cluster are one.
_COINCIDENT = 0.1
#: With fewer samples for each cluster, a cluster of one is no surprise.
_MANY_EACH = 10


def are_coincident(apart: FloatArray, width: float) -> bool:
    """Whether two prototypes are in the same place."""
    return len(apart) > 0 and bool(apart.min() < _COINCIDENT * width)


def warn_if_collapsed(apart: FloatArray, labels: Any, n_clusters: int, width: float, remedy: str) -> None:
    """Warn if clusters have the same prototype, or if nobody, or a single sample, belongs to them."""
    if are_coincident(apart, width):
        first, second = (int(one[apart.argmin()]) for one in np.triu_indices(n_clusters, k=1))
        warn_of_collapse(
            f"clusters {first} and {second} have the same prototype: {n_clusters} clusters were asked for, and "
            "fewer were found",
            remedy,
        )
    elif labels is not None:
        warn_of_small_clusters(labels, n_clusters)


def warn_of_one_cloud(n_clusters: int) -> None:
    """Warn that there may be no clusters."""
    warn_of_collapse(
        f"the {n_clusters} clusters explain no more of these data than of one Gaussian cloud with the same "
        "covariance, so there may be no clusters; masses are left vague",
        "Look at the data, and try other features or another number of clusters; a number for beta sets the "
        "masses as you say.",
    )


def warn_of_small_clusters(labels: IntArray, n_clusters: int) -> None:
    """Warn of clusters that nobody, or a single sample, belongs to."""
    if len(labels) < _MANY_EACH * n_clusters or n_clusters == 1:
        return
    sizes = np.bincount(labels, minlength=n_clusters)
    small = np.flatnonzero(sizes <= 1)
    if len(small):
        which = ", ".join(f"{k} ({'one sample' if sizes[k] else 'empty'})" for k in small[:5])
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        warn_of_collapse(
            f"of {n_clusters} clusters, some hold one sample or none: {which}{more}",
            "Use fewer clusters, or look at these samples: they may be outliers.",
        )
