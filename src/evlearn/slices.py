"""Slices of rows: the one place that decides how arrays are walked through."""

from collections.abc import Iterator

#: Rows of a block: a block of masses stays in cache, and the cost of a NumPy call vanishes.
BLOCK_ROWS = 1 << 14
_LARGEST_TASK = 1 << 20


def row_blocks(n_rows: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)`` in order, at most `block_rows` rows each.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    block_rows : int, default=16384
        The largest number of rows in a block.

    Yields
    ------
    slice
        The next block of rows.

    Examples
    --------
    >>> from evlearn.slices import row_blocks
    >>> list(row_blocks(5, block_rows=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, block_rows):
        yield slice(start, min(start + block_rows, n_rows))


def task_slices(n_rows: int) -> list[slice]:
    """Slices for tasks that may run in other processes: large enough to be worth a message, and never too large.

    They depend on the number of rows alone, so that sums over them in order are the same wherever they are made.

    Parameters
    ----------
    n_rows : int
        How many rows there are.

    Returns
    -------
    list of slice
        The slices, in order.

    Examples
    --------
    >>> from evlearn.slices import task_slices
    >>> len(task_slices(10_000)), len(task_slices(1_000_000)), len(task_slices(100_000_000))
    (1, 31, 96)
    """
    rows = min(max(n_rows // 32, BLOCK_ROWS), _LARGEST_TASK)
    return list(row_blocks(n_rows, -(-rows // BLOCK_ROWS) * BLOCK_ROWS))
