"""Random sample of a stream of rows of unknown length."""

import numpy as np

from evlearn.command_line.tables import Chunk
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import with_problems
from evlearn.utils.typing import FloatArray


class Sample:
    """Random sample of up to `size` rows, with equal probabilities."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = np.random.RandomState(0)
        self._keys: FloatArray = np.empty(0)
        self._parts: list[tuple[Chunk, CredalPartition | None]] = []

    def add(self, chunk: Chunk, partition: CredalPartition | None = None) -> None:
        """Add rows to the stream, with their masses if available."""
        if not self._size or not chunk.names:
            return
        self._parts.append((chunk, partition))
        self._keys = np.append(self._keys, self._random.uniform(size=len(chunk.names)))
        if len(self._keys) > 2 * self._size:
            self._parts = [self.rows()]
            self._keys = self._keys[self._sample_positions()]

    def rows(self) -> tuple[Chunk, CredalPartition | None]:
        """Return the rows of the sample, in the order of the stream, and their masses."""
        positions = self._sample_positions()
        chunk = Chunk.concatenate([chunk for chunk, _ in self._parts]).take(positions)
        partitions = [partition for _, partition in self._parts if partition is not None]
        if not partitions:
            return chunk, None
        masses = np.concatenate([partition.masses for partition in partitions])
        partition = CredalPartition(masses[positions], partitions[0].focal_sets, validate=False)
        return chunk, with_problems(partition, partitions[0].problems)

    def _sample_positions(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return the positions of the smallest keys."""
        return np.sort(np.argsort(self._keys, kind="stable")[: self._size])
