"""Rows in blocks: the one place that decides how large arrays are walked through."""

from collections.abc import Iterator

#: Rows of a block: a block of masses stays in cache, and the cost of a NumPy call vanishes.
BLOCK_ROWS = 1 << 14


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
    >>> from evlearn.blocks import row_blocks
    >>> list(row_blocks(5, block_rows=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, block_rows):
        yield slice(start, min(start + block_rows, n_rows))
