"""Features of numbers of clusters: criteria relative to their values for other numbers."""

import numpy as np

from evlearn.utils.typing import FloatArray

#: Bound of the absolute values of features.
_BOUND = 4.0
#: Criteria whose values for 1 cluster are evidence for a single cluster.
_FIRST_VALUES = ("eigengap", "eigengap_few", "eigengap_many", "eigenratio", "peaks", "dense", "persistence")
#: Criteria whose maxima over other numbers are evidence against a single cluster.
_LARGEST_VALUES = (
    *("consensus", "graph_best", "graph_mean", "weakest", "silhouette", "valley", "valley_best", "gap", "gap_box"),
    *("silhouette_gap", "valley_gap", "stability", "strength", "stability_ward", "stability_spectral", "overlap"),
    "linkage",
)
#: Criteria whose increases over 1 cluster are evidence against a single cluster.
_INCREASES = ("bic_full", "icl_full", "bic_diag", "bic_tied", "coherence", "coherence_spectral")
#: Criteria with values that are comparable between data sets.
_LEVELS = (*_FIRST_VALUES, *_LARGEST_VALUES, "smallest", "coherence", "coherence_spectral")


def compute_features(curves: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the features of the numbers 1, 2, ..., by name.

    Parameters
    ----------
    curves : dict of str to ndarray of shape (max_clusters,)
        Criteria for these numbers.

    Returns
    -------
    dict of str to ndarray of shape (max_clusters,)
        Features.
    """
    features = {
        f"{name}: {kind}": values for name, curve in curves.items() for kind, values in _relative(curve).items()
    }
    features |= {f"{name}: level": curves[name] for name in _LEVELS}
    numbers = np.arange(1, len(curves["wss"]) + 1)
    is_single = (numbers == 1).astype(np.float64)
    evidence = {name: float(curves[name][0]) for name in _FIRST_VALUES}
    evidence |= {name: float(curves[name][1:].max()) for name in _LARGEST_VALUES}
    evidence |= {name: float(curves[name][1:].max() - curves[name][0]) for name in _INCREASES}
    features |= {"logarithm": np.log(numbers), "single": is_single}
    features |= {f"single: {name}": is_single * value for name, value in evidence.items()}
    return {name: np.clip(values, -_BOUND, _BOUND) for name, values in features.items()}


def _relative(curve: FloatArray) -> dict[str, FloatArray]:
    """Return differences from the values of neighboring numbers, and whether values are the largest."""
    values = (curve - curve.mean()) / (curve.std() + 1e-9)
    return {
        "drop": values - np.append(values[1:], values[-1]),
        "rise": values - np.insert(values[:-1], 0, values[0]),
        "best": (curve == curve.max()).astype(np.float64),
    }
