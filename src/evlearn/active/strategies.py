"""Strategies of active learning: scores that are large for uncertain mass functions."""

from collections.abc import Callable

import numpy as np

from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray, IntArray


def doubt(partition: CredalPartition) -> FloatArray:
    """Return 1 minus the belief in the most plausible cluster, as in reports and tables."""
    return partition.doubt()


def nonspecificity(partition: CredalPartition) -> FloatArray:
    """Return the nonspecificity of each mass function."""
    return partition.nonspecificity(per_sample=True)


def entropy(partition: CredalPartition) -> FloatArray:
    """Return the entropy of the probabilities that are proportional to plausibilities, in bits."""
    probabilities = partition.to_fuzzy()
    return np.asarray(-(probabilities * np.log2(np.where(probabilities > 0, probabilities, 1))).sum(axis=1))


def margin(partition: CredalPartition) -> FloatArray:
    """Return minus the difference between the 2 largest plausibilities."""
    ordered = np.sort(partition.to_possibilistic(), axis=1)
    return np.asarray(ordered[:, -2] - ordered[:, -1]) if ordered.shape[1] > 1 else np.zeros(len(ordered))


#: Scores by name; "random" is constant.
STRATEGIES: dict[str, Callable[[CredalPartition], FloatArray]] = {
    "doubt": doubt,
    "nonspecificity": nonspecificity,
    "entropy": entropy,
    "margin": margin,
    "random": lambda partition: np.zeros(len(partition)),
}


def most_doubtful_first(strategy: str, partition: CredalPartition, random: np.random.RandomState) -> IntArray:
    """Return all samples, sorted by decreasing score; ties are sorted by entropy, then at random."""
    by_chance = random.permutation(len(partition))
    if strategy == "random":
        return by_chance
    return np.lexsort([by_chance, -entropy(partition), -STRATEGIES[strategy](partition)])
