"""Which samples to ask about first: numbers that are large where a mass function says little."""

from collections.abc import Callable

import numpy as np

from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray, IntArray


def doubt(partition: CredalPartition) -> FloatArray:
    """One minus the belief in the most plausible cluster, as reports and tables rank samples."""
    return partition.doubt()


def nonspecificity(partition: CredalPartition) -> FloatArray:
    """How much each mass function leaves open."""
    return partition.nonspecificities()


def entropy(partition: CredalPartition) -> FloatArray:
    """The entropy of the probabilities that are proportional to plausibilities, in bits."""
    probabilities = partition.to_fuzzy()
    return np.asarray(-(probabilities * np.log2(np.where(probabilities > 0, probabilities, 1))).sum(axis=1))


def margin(partition: CredalPartition) -> FloatArray:
    """How close the second most plausible cluster comes to the first."""
    ordered = np.sort(partition.to_possibilistic(), axis=1)
    return np.asarray(ordered[:, -2] - ordered[:, -1]) if ordered.shape[1] > 1 else np.zeros(len(ordered))


#: By name; "random" looks at nothing.
STRATEGIES: dict[str, Callable[[CredalPartition], FloatArray]] = {
    "doubt": doubt,
    "nonspecificity": nonspecificity,
    "entropy": entropy,
    "margin": margin,
    "random": lambda partition: np.zeros(len(partition)),
}


def most_doubtful_first(strategy: str, partition: CredalPartition, random: np.random.RandomState) -> IntArray:
    """All samples, in the order of doubt."""
    by_chance = random.permutation(len(partition))
    if strategy == "random":
        return by_chance
    return np.lexsort([by_chance, -entropy(partition), -STRATEGIES[strategy](partition)])
