"""A random sample of rows that come chunk after chunk, nobody knows how many."""

import numpy as np

from evlearn.command_line.tables import Chunk
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import with_problems
from evlearn.utils.typing import FloatArray


class Sample:
    """Rows drawn at random, each with the same chance; all of them while they are few."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = np.random.RandomState(0)
        self._keys: FloatArray = np.empty(0)
        self._parts: list[tuple[Chunk, CredalPartition | None]] = []

    def add(self, chunk: Chunk, partition: CredalPartition | None = None) -> None:
        """Offer some rows, with their masses where these are known."""
        if not self._size or not chunk.names:
            return
        self._parts.append((chunk, partition))
        self._keys = np.append(self._keys, self._random.uniform(size=len(chunk.names)))
        if len(self._keys) > 2 * self._size:
            self._parts = [self.rows()]
            self._keys = self._keys[self._kept()]

    def rows(self) -> tuple[Chunk, CredalPartition | None]:
        """The rows of the sample, in the order in which they came, and their masses."""
        kept = self._kept()
        chunk = Chunk.joined([one for one, _ in self._parts]).take(kept)
        partitions = [one for _, one in self._parts if one is not None]
        if not partitions:
            return chunk, None
        masses = np.concatenate([one.masses for one in partitions])
        partition = CredalPartition(masses[kept], partitions[0].focal_sets, validate=False)
        return chunk, with_problems(partition, partitions[0].problems)

    def _kept(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The rows with the smallest keys."""
        return np.sort(np.argsort(self._keys, kind="stable")[: self._size])
