"""A random sample of rows that come chunk after chunk, nobody knows how many."""

import numpy as np

from evlearn.command_line.tables import Chunk
from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray


class Sample:
    """Rows drawn at random, each with the same chance; all of them while they are few."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = np.random.RandomState(0)
        self._keys: FloatArray = np.empty(0)
        self._parts: list[tuple[Chunk, CredalPartition]] = []

    def add(self, chunk: Chunk, partition: CredalPartition) -> None:
        """Offer some rows."""
        if not self._size:
            return
        self._parts.append((chunk, partition))
        self._keys = np.append(self._keys, self._random.uniform(size=len(chunk.values)))
        if len(self._keys) > 2 * self._size:
            self._parts = [self.rows()]
            self._keys = self._keys[self._kept()]

    def rows(self) -> tuple[Chunk, CredalPartition]:
        """The rows of the sample, in the order in which they came.

        Returns
        -------
        chunk : Chunk
            The rows.
        partition : CredalPartition
            Their masses.
        """
        kept = self._kept()
        names = [name for chunk, _ in self._parts for name in chunk.names]
        values = np.concatenate([chunk.values for chunk, _ in self._parts])
        masses = np.concatenate([partition.masses for _, partition in self._parts])
        focal_sets = self._parts[0][1].focal_sets
        return (
            Chunk([names[k] for k in kept], values[kept]),
            CredalPartition(masses[kept], focal_sets, validate=False),
        )

    def _kept(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The rows with the smallest keys."""
        return np.sort(np.argsort(self._keys, kind="stable")[: self._size])
