"""Fits that found less than they were asked for, and what the user is told."""

from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.partition.summary import ADVICE_ON_SIZES, dominant_cluster
from evlearn.utils.convergence import warn_of_collapse
from evlearn.utils.typing import FloatArray, IntArray

#: Prototypes that are nearer to each other than this share of the width of a cluster are one.
_COINCIDENT = 0.1
#: With a larger sum of squares, relative to k-means, most fits in simulations had far worse labels than k-means.
_IMPLAUSIBLE = 1.5
#: With fewer samples for each cluster, a cluster of one is no surprise.
_MANY_EACH = 10
#: With fewer samples for each cluster on average, some clusters have at most one sample.
_FEWEST_EACH = 2
#: The mass that does not go to the set of all clusters if there is no evidence: it keeps labels apart.
_REMAINDER = 0.01


def count_samples(n_samples: int, weights: FloatArray | None) -> float:
    """Return the number of samples; a weight of 2 counts twice, and small weights count once unless they are 0."""
    return float(n_samples if weights is None else max(np.count_nonzero(weights), weights.sum()))


def lacks_evidence(n_samples: float, n_clusters: int) -> bool:
    """Return True if every sample can have a cluster of its own, so that any data give a perfect fit."""
    return n_clusters > 1 and n_samples <= n_clusters


def warn_of_few_samples(n_samples: float, n_clusters: int) -> None:
    """Warn if there are at most as many samples as clusters, or fewer than 2 for each cluster on average."""
    if n_clusters == 1 or n_samples >= _FEWEST_EACH * n_clusters:
        return
    if lacks_evidence(n_samples, n_clusters):
        reason = (
            f"n_samples={n_samples:g} is not more than n_clusters={n_clusters}: every sample can be a cluster of "
            "its own, so the result carries no evidence"
        )
    else:
        reason = (
            f"n_samples={n_samples:g} is less than {_FEWEST_EACH} for each of n_clusters={n_clusters}: there is "
            "no evidence for a cluster of one sample, however large its mass is"
        )
    warn_of_collapse(reason, "Use fewer clusters or more samples.")


def without_evidence(masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return masses of which nearly all is on the set of all clusters; unchanged if that is not a focal set.

    The order of the plausibilities stays the same, and so do the labels. A second call changes nothing.
    """
    if not focal_sets.has_omega:
        return masses
    omega = focal_sets.membership.sum(axis=1) == focal_sets.frame_size
    elsewhere = masses[:, ~omega].sum(axis=1, keepdims=True)
    kept = np.minimum(1, _REMAINDER / np.maximum(elsewhere, _REMAINDER))
    moved = masses * kept
    moved[:, omega] = 1 - elsewhere * kept
    return np.asarray(moved, dtype=masses.dtype)


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


def warn_of_drift(drift: float, is_automatic: bool) -> None:
    """Warn if the sum of squares at the prototypes is implausible: much larger than that of k-means."""
    if drift <= _IMPLAUSIBLE:
        return
    remedy = "try fewer clusters or another method" if is_automatic else "use beta='auto' or a smaller value"
    warn_of_collapse(
        f"the sum of squared distances to the nearest prototype is {drift:.1f} times that of k-means, so "
        "prototypes may be far from the centers of clusters",
        f"Compare the labels with those of k-means, and {remedy}.",
    )


def warn_of_small_clusters(labels: IntArray, n_clusters: int) -> None:
    """Warn of clusters that contain no sample or a single one.

    If another cluster contains nearly all samples, fewer clusters do not help: extreme values are the usual cause.
    """
    if len(labels) < _MANY_EACH * n_clusters or n_clusters == 1:
        return
    sizes = np.bincount(labels, minlength=n_clusters)
    small = np.flatnonzero(sizes <= 1)
    if len(small):
        which = ", ".join(f"{k} ({'one sample' if sizes[k] else 'empty'})" for k in small[:5])
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        advice = "Use fewer clusters, or look at these samples: they may be outliers."
        if dominant_cluster(sizes, len(labels)) is not None:
            advice = ADVICE_ON_SIZES
        warn_of_collapse(f"of {n_clusters} clusters, some hold one sample or none: {which}{more}", advice)
