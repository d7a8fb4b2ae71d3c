"""Data of the cases."""

import numpy as np


def blobs(n_samples, n_features, n_clusters=4, dtype="float64"):
    """Return samples around random centers."""
    random = np.random.default_rng(0)
    centers = 6 * random.standard_normal((n_clusters, n_features))
    noise = random.standard_normal((n_samples, n_features))
    return (centers[np.arange(n_samples) % n_clusters] + noise).astype(dtype)
