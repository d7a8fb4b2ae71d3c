"""Slices of rows for block-wise loops over arrays."""

from collections.abc import Iterator

#: Rows per block: a block of masses fits into the cache, and the overhead of NumPy calls is negligible.
BLOCK_ROWS = 1 << 14
_TASKS = 16
_TASK_BYTES = 1 << 27
_MAX_TASKS = 1024


def row_blocks(n_rows: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)`` in order, at most `block_rows` rows each.

    Examples
    --------
    >>> from evlearn.utils.chunks import row_blocks
    >>> list(row_blocks(5, block_rows=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, block_rows):
        yield slice(start, min(start + block_rows, n_rows))


def task_slices(n_rows: int, row_bytes: int) -> list[slice]:
    """Return slices for tasks in other processes; few, because each task costs an engine milliseconds.

    They depend only on the size of the data, so that ordered sums over them are the same in every process.

    Examples
    --------
    >>> from evlearn.utils.chunks import task_slices
    >>> [len(task_slices(10**k, 40)) for k in (4, 6, 9, 12)]
    [1, 16, 299, 1024]
    """
    return list(row_blocks(n_rows, task_rows(n_rows, row_bytes)))


def task_rows(n_rows: int, row_bytes: int) -> int:
    """Return the number of rows per task: of large data at most 128 MB, in 16 to 1024 tasks."""
    return max(min(-(-n_rows // _TASKS), _TASK_BYTES // row_bytes), -(-n_rows // _MAX_TASKS), BLOCK_ROWS)
