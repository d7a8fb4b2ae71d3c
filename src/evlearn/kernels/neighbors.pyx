# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""The exact k nearest neighbors of rows in a balanced tree of boxes, by direct differences.

Shapes for a tree of L leaves (a power of 2) and d features, padded to w, a multiple of 4: lower and upper (2 L, w);
points (L, d, LEAF), padded with infinity; numbers (L, LEAF), padded with the largest integer; smallest (2 L,). Query rows
are also in such a tree. The outputs indices and squares (n, k) are sorted by squared distance, then by index.
"""

import numpy as np

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

cdef extern from "neighbors.h" nogil:
    enum: EVLEARN_LEAF
    ctypedef struct evlearn_tree:
        int d
        int width
        int n_leaves
        const double* lower
        const double* upper
        const double* points
        const int* numbers
        const int* smallest
    ctypedef struct evlearn_candidate:  # an integer of 128 bits; Cython has no such type
        pass
    Py_ssize_t evlearn_capacity(int k) noexcept
    void evlearn_nearest(
        const evlearn_tree* tree, const evlearn_tree* queries, int leaf, int others, int k,
        evlearn_candidate* candidates, int* indices, double* squares) noexcept

LEAF = EVLEARN_LEAF


cdef evlearn_tree describe(
    const double[:, ::1] lower, const double[:, ::1] upper, const double[:, :, ::1] points, const int[:, ::1] numbers,
    const int[::1] smallest
) noexcept:
    cdef evlearn_tree tree
    tree.d = <int>points.shape[1]
    tree.width = <int>lower.shape[1]
    tree.n_leaves = <int>points.shape[0]
    tree.lower = &lower[0, 0]
    tree.upper = &upper[0, 0]
    tree.points = &points[0, 0, 0]
    tree.numbers = &numbers[0, 0]
    tree.smallest = &smallest[0]
    return tree


def nearest(tree, queries, int first, int stop, bint others, int[:, ::1] indices, double[:, ::1] squares):
    """Fill the outputs for the leaves `first` to `stop` of the query tree; `others` excludes a row from its neighbors.

    Trees are tuples (lower, upper, points, numbers, smallest). The caller checks shapes.
    """
    cdef evlearn_tree inside = describe(tree[0], tree[1], tree[2], tree[3], tree[4])
    cdef evlearn_tree outside = describe(queries[0], queries[1], queries[2], queries[3], queries[4])
    cdef int leaf, k = <int>indices.shape[1]
    cdef evlearn_candidate* candidates = <evlearn_candidate*>malloc(
        EVLEARN_LEAF * evlearn_capacity(k) * sizeof(evlearn_candidate))
    if candidates == NULL:
        raise MemoryError
    with nogil:
        for leaf in range(first, stop):
            evlearn_nearest(&inside, &outside, leaf, others, k, candidates, &indices[0, 0], &squares[0, 0])
    free(candidates)


def nearest_of_few(tree, const double[:, ::1] rows, int[:, ::1] indices, double[:, ::1] squares):
    """Fill the outputs for at most `LEAF` rows, which are the only leaf of a query tree.

    Arrays of NumPy for this tree would take longer than the search for a single row. The caller checks shapes.
    """
    cdef evlearn_tree inside = describe(tree[0], tree[1], tree[2], tree[3], tree[4])
    cdef evlearn_tree outside = inside
    cdef int i, j, n = <int>rows.shape[0], d = inside.d, width = inside.width, k = <int>indices.shape[1]
    cdef int numbers[EVLEARN_LEAF]
    cdef int smallest[2]
    cdef double *lower = <double*>malloc((4 * width + d * EVLEARN_LEAF) * sizeof(double))
    cdef evlearn_candidate* candidates = <evlearn_candidate*>malloc(n * evlearn_capacity(k) * sizeof(evlearn_candidate))
    if lower == NULL or candidates == NULL:
        free(lower)
        free(candidates)
        raise MemoryError
    cdef double *upper = lower + 2 * width
    cdef double *points = upper + 2 * width
    with nogil:
        for j in range(4 * width):
            lower[j] = 0
        for i in range(EVLEARN_LEAF):
            numbers[i] = i if i < n else INT_MAX
        for j in range(d):
            lower[width + j] = upper[width + j] = rows[0, j]
            for i in range(EVLEARN_LEAF):
                points[j * EVLEARN_LEAF + i] = rows[i, j] if i < n else INFINITY
            for i in range(1, n):
                lower[width + j] = min(lower[width + j], rows[i, j])
                upper[width + j] = max(upper[width + j], rows[i, j])
        smallest[0] = smallest[1] = 0
        outside.n_leaves = 1
        outside.lower, outside.upper, outside.points = lower, upper, points
        outside.numbers, outside.smallest = numbers, smallest
        evlearn_nearest(&inside, &outside, 0, 0, k, candidates, &indices[0, 0], &squares[0, 0])
    free(candidates)
    free(lower)


def select_among(
    const int[:, ::1] neighbors, const double[:, ::1] distances, const Py_ssize_t[::1] rows, const int[::1] numbers,
    Py_ssize_t width, int[:, ::1] indices, double[:, ::1] selected,
):
    """Write the first of the `width` neighbors of each row whose numbers are not negative; return how many there are.

    Outputs have a column for each requested neighbor; columns that remain are undefined.
    """
    cdef Py_ssize_t i, e, row, n = 0, n_neighbors = indices.shape[1]
    cdef int number
    counts = np.empty(rows.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] sizes = counts
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            n = 0
            for e in range(width):
                number = numbers[neighbors[row, e]]
                indices[i, n] = number  # without a branch, which would often be mispredicted
                selected[i, n] = distances[row, e]
                n += number >= 0
                if n == n_neighbors:
                    break
            sizes[i] = n
    return counts
