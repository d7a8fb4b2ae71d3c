# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""Sums over landmarks of their agreement with a sample, a power of 2, times numbers of the landmarks.

Shapes for n samples, l landmarks and f numbers: points (n, d); exponents (l, d), the products of which with a point are the
exponents of the powers; factors (f, l); sums (n, f). The caller pads exponents and factors with zeros to l and f that are
multiples of PADDED.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "agreements.h" nogil:
    const int SAMPLES "EVLEARN_SAMPLES"
    const int LANDMARKS "EVLEARN_LANDMARKS"
    void evlearn_add_agreements(
        double* sums, const double* tile, const double* exponents, const double* factors, Py_ssize_t stride, int count,
        int d, int f, double largest) noexcept

cdef enum:
    TILES = 8  # that use the same landmarks in the cache
    LINE = 64  # bytes of a line of the cache

PADDED = 8


def sum_agreements(
    const double[:, ::1] points, const double[:, ::1] exponents, const double[:, ::1] factors, double largest,
    double[:, ::1] sums,
):
    """Fill `sums`; exponents above `largest` are replaced by it."""
    cdef:
        Py_ssize_t n = points.shape[0], n_landmarks = exponents.shape[0], first = 0, start
        int d = <int>points.shape[1], f = <int>factors.shape[0], t, n_tiles
        void* memory
        double* tiles
        double* totals
    if exponents.shape[1] != d or factors.shape[1] != n_landmarks or sums.shape[0] != n or sums.shape[1] > f:
        raise ValueError("points, exponents, factors and sums must have compatible shapes.")
    if n_landmarks % PADDED or f % PADDED:
        raise ValueError(f"exponents and factors must be padded to multiples of {PADDED} rows.")
    memory = malloc(TILES * SAMPLES * (d + f) * sizeof(double) + LINE)
    if memory == NULL:
        raise MemoryError
    tiles = <double*>((<size_t>memory + LINE) & ~<size_t>(LINE - 1))
    totals = tiles + TILES * SAMPLES * d
    with nogil:
        while first < n:
            n_tiles = <int>min(TILES, (n - first + SAMPLES - 1) // SAMPLES)
            for t in range(n_tiles):
                fill_tile(tiles + t * SAMPLES * d, points, first + t * SAMPLES)
            memset(totals, 0, TILES * SAMPLES * f * sizeof(double))
            start = 0
            while start < n_landmarks:
                for t in range(n_tiles):
                    evlearn_add_agreements(
                        totals + t * SAMPLES * f, tiles + t * SAMPLES * d, &exponents[start, 0], &factors[0, start],
                        n_landmarks, <int>min(LANDMARKS, n_landmarks - start), d, f, largest,
                    )
                start += LANDMARKS
            for t in range(n_tiles):
                store_sums(sums, totals + t * SAMPLES * f, first + t * SAMPLES)
            first += TILES * SAMPLES
    free(memory)


cdef void fill_tile(double* tile, const double[:, ::1] points, Py_ssize_t first) noexcept nogil:
    """Copy points feature by feature; the last one is repeated after the end."""
    cdef Py_ssize_t row, k, t
    for t in range(SAMPLES):
        row = min(first + t, points.shape[0] - 1)
        for k in range(points.shape[1]):
            tile[k * SAMPLES + t] = points[row, k]


cdef void store_sums(double[:, ::1] sums, const double* totals, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t q, t
    for t in range(min(SAMPLES, sums.shape[0] - first)):
        for q in range(sums.shape[1]):
            sums[first + t, q] = totals[q * SAMPLES + t]
