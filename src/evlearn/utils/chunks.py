"""Slices of rows: the one place that decides how arrays are walked through."""

from collections.abc import Iterator

#: Rows of a block: a block of masses stays in cache, and the cost of a NumPy call vanishes.
BLOCK_ROWS = 1 << 14
_TASKS = 16
_TASK_BYTES = 1 << 27
_MOST_TASKS = 1024


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
    """Slices for tasks that may run in other processes: few, because each costs an engine milliseconds.

    They depend on the size of the data alone, so that sums over them in order are the same wherever they are made.

    Examples
    --------
    >>> from evlearn.utils.chunks import task_slices
    >>> [len(task_slices(10**k, 40)) for k in (4, 6, 9, 12)]
    [1, 16, 299, 1024]
    """
    return list(row_blocks(n_rows, task_rows(n_rows, row_bytes)))


def task_rows(n_rows: int, row_bytes: int) -> int:
    """How many rows a task has: at least 16 tasks if they are large, of 128 MB, but not more than a thousand."""
    return max(min(-(-n_rows // _TASKS), _TASK_BYTES // row_bytes), -(-n_rows // _MOST_TASKS), BLOCK_ROWS)
