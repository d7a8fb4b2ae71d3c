"""Detection of collapsed clusters and of missing evidence, with warnings."""

from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.partition.summary import ADVICE_ON_SIZES, dominant_cluster
from evlearn.utils.convergence import warn_of_collapse
from evlearn.utils.typing import FloatArray, IntArray

#: Distance of two prototypes, relative to the width of a cluster, below which they coincide.
_COINCIDENT = 0.1
#: Maximum sum of squares relative to k-means. Beyond it, most labels in simulations were far worse than k-means.
_IMPLAUSIBLE = 1.5
#: Number of samples per cluster below which a cluster of 1 sample is not unusual.
_MANY_EACH = 10
#: Mean number of samples per cluster below which some clusters have at most 1 sample.
_FEWEST_EACH = 2
#: Mass that the set of all clusters does not get if there is no evidence, so that labels remain distinct.
_REMAINDER = 0.01


def count_samples(n_samples: int, weights: FloatArray | None) -> float:
    """Return the number of samples; a weight of 2 counts twice, and positive weights count at least once."""
    return float(n_samples if weights is None else max(np.count_nonzero(weights), weights.sum()))


def lacks_evidence(n_samples: float, n_clusters: int) -> bool:
    """Return True if every sample can be a separate cluster, so that any data have a perfect fit."""
    return n_clusters > 1 and n_samples <= n_clusters


def warn_of_few_samples(n_samples: float, n_clusters: int) -> None:
    """Warn if there are at most as many samples as clusters, or fewer than 2 for each cluster on average."""
    if n_clusters == 1 or n_samples >= _FEWEST_EACH * n_clusters:
        return
    if lacks_evidence(n_samples, n_clusters):
        reason = (
            f"n_samples={n_samples:g} is not more than n_clusters={n_clusters}: every sample can be a "
            "separate cluster, so the result carries no evidence"
        )
    else:
        reason = (
            f"n_samples={n_samples:g} is less than {_FEWEST_EACH} for each of n_clusters={n_clusters}: there is "
            "no evidence for a cluster of one sample, however large its mass is"
        )
    warn_of_collapse(reason, "Use fewer clusters or more samples.")


def without_evidence(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Move nearly all mass to the set of all clusters, if that is a focal set.

    The order of the plausibilities and the labels do not change. A second call changes nothing.
    """
    if not focal_sets.has_omega:
        return masses
    omega = focal_sets.membership.sum(axis=1) == focal_sets.frame_size
    sums = masses[:, ~omega].sum(axis=1, keepdims=True)
    shares = np.minimum(1, _REMAINDER / np.maximum(sums, _REMAINDER))
    vague = masses * shares
    vague[:, omega] = 1 - sums * shares
    return np.asarray(vague, dtype=masses.dtype)


def are_coincident(distances: FloatArray, width: float) -> bool:
    """Return True if 2 prototypes coincide, given all distances between prototypes."""
    return len(distances) > 0 and bool(distances.min() < _COINCIDENT * width)


def warn_if_collapsed(distances: FloatArray, labels: Any, n_clusters: int, width: float, remedy: str) -> None:
    """Warn if clusters have the same prototype, or have at most 1 sample."""
    if are_coincident(distances, width):
        first, second = (int(index[distances.argmin()]) for index in np.triu_indices(n_clusters, k=1))
        warn_of_collapse(
            f"clusters {first} and {second} have the same prototype, so there are fewer than {n_clusters} "
            "distinct clusters",
            remedy,
        )
    elif labels is not None:
        warn_of_small_clusters(labels, n_clusters)


def warn_of_one_cloud(n_clusters: int) -> None:
    """Warn that there may be no clusters."""
    warn_of_collapse(
        f"the {n_clusters} clusters explain no more of these data than of one Gaussian cloud with the same "
        "covariance, so there may be no clusters; masses are left vague",
        "Look at the data, and try other features or another number of clusters; with a number for beta, masses "
        "are not left vague.",
    )


def warn_of_drift(drift: float, is_automatic: bool) -> None:
    """Warn if the sum of squares at the prototypes is much larger than that of k-means."""
    if drift <= _IMPLAUSIBLE:
        return
    remedy = "try fewer clusters or another method" if is_automatic else "use beta='auto' or a smaller value"
    warn_of_collapse(
        f"the sum of squared distances to the nearest prototype is {drift:.1f} times that of k-means, so "
        "prototypes may be far from the centers of clusters",
        f"Compare the labels with those of k-means, and {remedy}.",
    )


def warn_of_small_clusters(labels: IntArray, n_clusters: int) -> None:
    """Warn of clusters that contain at most 1 sample.

    If another cluster contains nearly all samples, fewer clusters do not help: extreme values are the usual cause.
    """
    if len(labels) < _MANY_EACH * n_clusters or n_clusters == 1:
        return
    sizes = np.bincount(labels, minlength=n_clusters)
    small = np.flatnonzero(sizes <= 1)
    if len(small):
        listing = ", ".join(f"{k} ({'one sample' if sizes[k] else 'empty'})" for k in small[:5])
        rest = f" and {len(small) - 5} more" if len(small) > 5 else ""
        advice = "Use fewer clusters, or look at these samples: they may be outliers."
        if dominant_cluster(sizes, len(labels)) is not None:
            advice = ADVICE_ON_SIZES
        warn_of_collapse(f"of {n_clusters} clusters, some hold one sample or none: {listing}{rest}", advice)
