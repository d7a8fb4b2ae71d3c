# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""Masses and additive statistics of rows, given prototypes.

The cost of a nonempty set :math:`A_j` of clusters at a row x is

.. math:: s_j(x)=p_j\sum_{k\in A_j}\|x-v_k\|^2-q_j ,

which is the squared distance to a barycenter of prototypes (ECM), or its mean with the squared distances to the
prototypes (CCM). The cost of the empty set is a constant. The masses that minimize :math:`\sum_jm_j^\beta s_j` are proportional to
:math:`s_j^{-1/(\beta-1)}`.

Shapes: X (n, d), V (c, d), p and q (f,) over the nonempty sets, whose members are in CSR form (begin, members), as are the
sets of each cluster (first, sets). Prototypes are in coordinates ``(x - center) * scale``. Masses are (n, f + 1) with the
empty set first. Sums are in double precision.
"""

from libc.math cimport INFINITY, fabs, round
import numpy as np

cdef extern from "prototypes.h" nogil:
    int evlearn_has_avx2() noexcept
    int EVLEARN_TILE
    ctypedef struct evlearn_family:
        int d
        int c
        int f
        const int* begin
        const int* members
        const int* first
        const int* sets
        double power
        double beta
        int whole
        const double* reaches
        int n_pairs
        const int* pairs
        const double* lengths
        const double* pair_reaches
        double steepness
    void evlearn_pass_double(
        const evlearn_family* family, const double* X, Py_ssize_t n, const double* weights, const double* center,
        double scale, const double* V, const double* p, const double* q, double empty, double* work, double* out,
        double* w, double* B, double* cost) noexcept
    void evlearn_pass_float(
        const evlearn_family* family, const float* X, Py_ssize_t n, const float* weights, const float* center,
        float scale, const float* V, const float* p, const float* q, float empty, float* work, float* out,
        double* w, double* B, double* cost) noexcept
    void evlearn_known_double(
        const evlearn_family* family, double* squares, Py_ssize_t n, const double* weights, const double* p,
        const double* q, double empty, double* work, double* out, double* w, double* cost) noexcept
    void evlearn_known_float(
        const evlearn_family* family, float* squares, Py_ssize_t n, const float* weights, const float* p,
        const float* q, float empty, float* work, float* out, double* w, double* cost) noexcept

cdef enum:
    MOST_SQUARED = 10_000

ctypedef fused real:
    float
    double


def uses_avx2():
    """Return True if the AVX2 versions of the kernels are used."""
    return bool(evlearn_has_avx2())


cdef evlearn_family describe(
    Py_ssize_t d, const int[::1] begin, const int[::1] members, const int[::1] first, const int[::1] sets, double beta
) noexcept:
    cdef evlearn_family family
    family.d = <int>d
    family.c = <int>first.shape[0] - 1
    family.f = <int>begin.shape[0] - 1
    family.begin = &begin[0]
    family.members = &members[0]
    family.first = &first[0]
    family.sets = &sets[0]
    family.beta = beta
    family.power = 1 / (beta - 1)
    # A power of 1 has its own code path. A power that is an integer up to rounding is treated as an integer.
    cdef double nearest = round(family.power)
    whole = 2 <= nearest <= MOST_SQUARED and fabs(family.power - nearest) < 1e-9 * nearest
    family.whole = <int>nearest if whole else 0
    family.reaches = NULL
    family.n_pairs = 0
    return family


cdef int set_rule(
    evlearn_family* family, const double[::1] reaches, const int[:, ::1] pairs, const double[::1] lengths,
    const double[::1] pair_reaches, double steepness
) except -1:
    """Set the outlier rule, if there are reaches."""
    if reaches is None:
        return 0
    if reaches.shape[0] != family.c or not lengths.shape[0] == pair_reaches.shape[0] == pairs.shape[0]:
        raise ValueError("reaches must have a value for each cluster, and lengths and pair_reaches a value for each pair")
    family.reaches = &reaches[0]
    family.steepness = steepness
    family.n_pairs = <int>pairs.shape[0]
    if family.n_pairs:
        family.pairs = &pairs[0, 0]
        family.lengths = &lengths[0]
        family.pair_reaches = &pair_reaches[0]
    return 0


def collect(
    const real[:, ::1] X, weights, const real[::1] center, double scale, const real[:, ::1] V, const real[::1] p,
    const real[::1] q, double empty, double beta, const int[::1] begin, const int[::1] members, const int[::1] first,
    const int[::1] sets, double[::1] w, double[:, ::1] B
):
    """Add the powers of the masses to w (f + 1), and their sums with the rows to B (c, d); return the cost."""
    cdef evlearn_family family = describe(X.shape[1], begin, members, first, sets, beta)
    cdef real[::1] work = np.empty(EVLEARN_TILE * (family.d + 2 * family.c + family.f + 2), np.asarray(X).dtype)
    cdef const real[::1] given = None
    cdef const real* weight = NULL
    cdef double cost = 0.0
    if weights is not None:
        given = weights
        if given.shape[0] > 0:
            weight = &given[0]
    if X.shape[0] > 0:
        with nogil:
            if real is float:
                evlearn_pass_float(&family, &X[0, 0], X.shape[0], weight, &center[0], <float>scale, &V[0, 0], &p[0],
                                   &q[0], <float>empty, &work[0], NULL, &w[0], &B[0, 0], &cost)
            else:
                evlearn_pass_double(&family, &X[0, 0], X.shape[0], weight, &center[0], scale, &V[0, 0], &p[0],
                                    &q[0], empty, &work[0], NULL, &w[0], &B[0, 0], &cost)
    return cost


def lloyd(
    const double[:, ::1] X, const double[::1] weights, double[:, ::1] V, double beta, int n_iterations, double tol,
    double[::1] w
):
    """Move the prototypes V to the means of their clusters, until the cost decreases by at most tol; return the cost.

    It is k-means for a beta slightly above 1. The sums of the masses of the last iteration but 1 are written to w (c + 1).
    """
    cdef Py_ssize_t c = V.shape[0], d = V.shape[1], k, a
    numbers = np.arange(c + 1, dtype=np.intc)
    cdef const int[::1] begin = numbers, members = numbers[:c]
    cdef evlearn_family family = describe(d, begin, members, begin, members, beta)
    cdef double[::1] center = np.zeros(d), p = np.ones(c), q = np.zeros(c)
    cdef double[::1] work = np.empty(EVLEARN_TILE * (d + 3 * c + 2))
    cdef double[:, ::1] B = np.empty((c, d))
    cdef double cost = 0.0, before = INFINITY
    cdef int i
    with nogil:
        for i in range(n_iterations):
            w[:] = 0
            B[:, :] = 0
            cost = 0
            evlearn_pass_double(&family, &X[0, 0], X.shape[0], &weights[0], &center[0], 1.0, &V[0, 0], &p[0], &q[0],
                                INFINITY, &work[0], NULL, &w[0], &B[0, 0], &cost)
            if before - cost <= tol * cost:
                break
            before = cost
            for k in range(c):
                if w[k + 1] > 0:  # the prototype of an empty cluster does not move
                    for a in range(d):
                        V[k, a] = B[k, a] / w[k + 1]
    return cost


def assign(
    const real[:, ::1] X, const real[::1] center, double scale, const real[:, ::1] V, const real[::1] p,
    const real[::1] q, double empty, double beta, const int[::1] begin, const int[::1] members, const int[::1] first,
    const int[::1] sets, real[:, ::1] out, const double[::1] reaches=None, const int[:, ::1] pairs=None,
    const double[::1] lengths=None, const double[::1] pair_reaches=None, double steepness=0.0
):
    """Write the masses of the rows to out (n, f + 1); with `reaches`, the outlier rule sets the mass of the empty set."""
    cdef evlearn_family family = describe(X.shape[1], begin, members, first, sets, beta)
    set_rule(&family, reaches, pairs, lengths, pair_reaches, steepness)
    cdef real[::1] work = np.empty(EVLEARN_TILE * (family.d + 2 * family.c + family.f + 2), np.asarray(X).dtype)
    if X.shape[0] == 0:
        return
    with nogil:
        if real is float:
            evlearn_pass_float(&family, &X[0, 0], X.shape[0], NULL, &center[0], <float>scale, &V[0, 0], &p[0],
                               &q[0], <float>empty, &work[0], &out[0, 0], NULL, NULL, NULL)
        else:
            evlearn_pass_double(&family, &X[0, 0], X.shape[0], NULL, &center[0], scale, &V[0, 0], &p[0],
                                &q[0], empty, &work[0], &out[0, 0], NULL, NULL, NULL)


def collect_known(
    real[:, ::1] squares, weights, const real[::1] p, const real[::1] q, double empty, double beta,
    const int[::1] begin, const int[::1] members, const int[::1] first, const int[::1] sets, double[::1] w
):
    """Run `collect` on squared distances (c, n), which are replaced by the factors of rows in the sums of clusters."""
    cdef evlearn_family family = describe(0, begin, members, first, sets, beta)
    cdef real[::1] work = np.empty(EVLEARN_TILE * (2 * family.c + family.f + 2), np.asarray(squares).dtype)
    cdef const real[::1] given = None
    cdef const real* weight = NULL
    cdef double cost = 0.0
    if squares.shape[1] == 0:
        return cost
    if weights is not None:
        given = weights
        weight = &given[0]
    with nogil:
        if real is float:
            evlearn_known_float(&family, &squares[0, 0], squares.shape[1], weight, &p[0], &q[0], <float>empty, &work[0],
                                NULL, &w[0], &cost)
        else:
            evlearn_known_double(&family, &squares[0, 0], squares.shape[1], weight, &p[0], &q[0], empty, &work[0],
                                 NULL, &w[0], &cost)
    return cost


def assign_known(
    real[:, ::1] squares, const real[::1] p, const real[::1] q, double empty, double beta, const int[::1] begin,
    const int[::1] members, const int[::1] first, const int[::1] sets, real[:, ::1] out,
    const double[::1] reaches=None, const int[:, ::1] pairs=None, const double[::1] lengths=None,
    const double[::1] pair_reaches=None, double steepness=0.0
):
    """Run `assign` on squared distances (c, n)."""
    cdef evlearn_family family = describe(0, begin, members, first, sets, beta)
    set_rule(&family, reaches, pairs, lengths, pair_reaches, steepness)
    cdef real[::1] work = np.empty(EVLEARN_TILE * (2 * family.c + family.f + 2), np.asarray(squares).dtype)
    if squares.shape[1] == 0:
        return
    with nogil:
        if real is float:
            evlearn_known_float(&family, &squares[0, 0], squares.shape[1], NULL, &p[0], &q[0], <float>empty, &work[0],
                                &out[0, 0], NULL, NULL)
        else:
            evlearn_known_double(&family, &squares[0, 0], squares.shape[1], NULL, &p[0], &q[0], empty, &work[0],
                                 &out[0, 0], NULL, NULL)
