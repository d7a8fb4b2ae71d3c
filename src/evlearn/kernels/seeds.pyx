# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Selection of the first prototypes by k-means++ (Arthur and Vassilvitskii 2007)."""

from libc.string cimport memset
import numpy as np

cdef enum:
    _BLOCK = 32

BLOCK = _BLOCK


def choose_seeds(
    const double[:, :, ::1] points, const double[::1] weights, const double[:, ::1] draws, Py_ssize_t[::1] chosen
):
    """Choose rows: each is the best of the rows drawn with probability proportional to the squared distance.

    Points are the columns of blocks (n_blocks, d, BLOCK), padded with zeros. The first row is given. `draws` contains uniform random numbers: for each other row, one for each candidate.
    """
    cdef:
        Py_ssize_t n = weights.shape[0], k, t, i, row, best
        double total, least, square
        double[::1] ends = np.empty(n), smallest = np.full(n, np.inf), kept = np.empty(n), current = np.empty(n)
    with nogil:
        add_row(points, chosen[0], smallest, smallest)
        for k in range(draws.shape[0]):
            total = 0.0
            for i in range(n):
                total += weights[i] * smallest[i]
                ends[i] = total
            best = -1
            least = 0.0
            for t in range(draws.shape[1]):
                row = first_at_least(ends, draws[k, t] * total)
                add_row(points, row, smallest, current)
                square = 0.0
                for i in range(n):
                    square += weights[i] * current[i]
                if best < 0 or square < least:
                    best = row
                    least = square
                    kept, current = current, kept
            smallest, kept = kept, smallest
            chosen[k + 1] = best


cdef void add_row(const double[:, :, ::1] points, Py_ssize_t row, const double[::1] before, double[::1] after) noexcept nogil:
    """Compute the squared distances to the nearest chosen row if a row is added."""
    cdef:
        Py_ssize_t block, start, i, a, n = before.shape[0]
        double seed, difference
        double squares[_BLOCK]
        const double* x
    for block in range(points.shape[0]):
        start = block * _BLOCK
        memset(squares, 0, sizeof(squares))
        for a in range(points.shape[1]):
            x = &points[block, a, 0]
            seed = points[row // _BLOCK, a, row % _BLOCK]
            for i in range(_BLOCK):
                difference = x[i] - seed
                squares[i] += difference * difference
        for i in range(min(_BLOCK, n - start)):
            after[start + i] = squares[i] if squares[i] < before[start + i] else before[start + i]


cdef Py_ssize_t first_at_least(const double[::1] ends, double value) noexcept nogil:
    """Return the first position of a value of at least the given one, or the last position."""
    cdef Py_ssize_t low = 0, high = ends.shape[0] - 1, middle
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
