# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""Sweeps over the rows of the EVCLUS stress.

With :math:`y_j=Cm_j` the conflict of samples i and j is :math:`\kappa_{ij}=m_i^Ty_j`, and row i of

.. math:: J=\eta\sum_{(i,j)}(m_i^Ty_j-\delta_{ij})^2+\rho\sum_{\text{constraints}}m_i^TZm_j

is a quadratic program over the simplex (`simplex_qp`) with, up to the factor :math:`2\eta`,

.. math:: Q=\sum_jy_jy_j^T,\qquad u=-\sum_j\delta_{ij}y_j+\frac{\rho}{2\eta}\sum_{j}Zm_j .

Shapes: M and Y are (n, f), C and Z are (f, f), delta is (n, n) or runs along the pairs of a graph in CSR form
(indptr (n + 1), indices and delta of its length). M and Y are updated in place. A sweep returns the exact change of
:math:`J/(2\eta)`, because each pair is part of the problems of both rows.

Instead of the conflict, there can be targets for k bilinear forms of 2 samples. Then C is (k f, f), the stacked forms; Y
is (k n, f), the products of all samples with the first form, followed by those with the other forms; delta is (n, k n);
and partner j + n is sample j in the second form.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from evlearn.kernels.simplex_qp cimport solve_simplex_qp, work_size

cdef extern from "gram.h" nogil:
    int EVLEARN_ROWS
    int evlearn_padded(int f) noexcept
    void evlearn_gram_double(
        double* Q, double* u, double* rows, const double* Y, const int* indices, const double* targets,
        Py_ssize_t count, int f) noexcept
    void evlearn_gram_float(
        double* Q, double* u, double* rows, const double* Y, const int* indices, const float* targets,
        Py_ssize_t count, int f) noexcept
    void evlearn_sum(double* u, const double* Y, const double* delta, Py_ssize_t n, int f) noexcept
    void EVLEARN_PREFETCH(const void* address) noexcept

ctypedef fused real:
    float
    double

cdef enum:
    AHEAD = 12

cdef struct Buffers:
    double* Q
    double* u
    double* m
    double* work
    double* padded  # Q with padded rows, during summation
    double* rows    # a block of partners, with padded rows
    int* places
    double reached  # sum of the objectives of rows after their updates


cdef int allocate(Buffers* buffers, int f) except -1:
    cdef int ld = evlearn_padded(f)
    buffers.Q = <double*>calloc(f * f + 2 * ld + work_size(f) + (ld + EVLEARN_ROWS) * ld, sizeof(double))
    buffers.places = <int*>malloc(2 * f * sizeof(int))
    if buffers.Q == NULL or buffers.places == NULL:
        release(buffers)
        raise MemoryError
    buffers.u = buffers.Q + f * f
    buffers.m = buffers.u + ld
    buffers.work = buffers.m + ld
    buffers.padded = buffers.work + work_size(f)
    buffers.rows = buffers.padded + ld * ld
    buffers.reached = 0.0
    return 0


cdef void release(Buffers* buffers) noexcept nogil:
    free(buffers.Q)
    free(buffers.places)


cdef inline void gather(
    Buffers* buffers, const double[:, ::1] Y, const Py_ssize_t[::1] indptr, const int[::1] indices,
    const real[::1] delta, Py_ssize_t i, int f
) noexcept nogil:
    """Set up the problem of row i: the sums of y y' and of -delta y over its partners."""
    cdef Py_ssize_t start = indptr[i], count = indptr[i + 1] - indptr[i]
    cdef int ld = evlearn_padded(f), a, b
    memset(buffers.padded, 0, ld * ld * sizeof(double))
    memset(buffers.u, 0, ld * sizeof(double))
    if count > 0:
        if real is float:
            evlearn_gram_float(
                buffers.padded, buffers.u, buffers.rows, &Y[0, 0], &indices[start], &delta[start], count, f)
        else:
            evlearn_gram_double(
                buffers.padded, buffers.u, buffers.rows, &Y[0, 0], &indices[start], &delta[start], count, f)
    for a in range(f):
        for b in range(a + 1):
            buffers.Q[a * f + b] = buffers.Q[b * f + a] = buffers.padded[a * ld + b]


cdef inline double objective(const double* Q, const double* u, const double* m, int f) noexcept nogil:
    cdef int a, b
    cdef double total = 0.0, row
    for a in range(f):
        if m[a] != 0.0:
            row = 0.0
            for b in range(f):
                row += Q[a * f + b] * m[b]
            total += m[a] * (0.5 * row + u[a])
    return total


cdef inline void add_constraints(
    double* u, const double* M, const Py_ssize_t[::1] indptr, const Py_ssize_t[::1] partners,
    const unsigned char[::1] kinds, const double[:, :, ::1] Z, double weight, Py_ssize_t i, int f
) noexcept nogil:
    """Add the linear terms of the constraints on sample i; Z[0] is for must-link and Z[1] for cannot-link."""
    cdef Py_ssize_t e
    cdef int a, b
    cdef double value
    cdef const double* other
    cdef const double* form
    for e in range(indptr[i], indptr[i + 1]):
        other = M + partners[e] * f
        form = &Z[kinds[e], 0, 0]
        for a in range(f):
            value = 0.0
            for b in range(f):
                value += form[a * f + b] * other[b]
            u[a] += weight * value


cdef inline double update_row(
    Buffers* buffers, double* m, double* y, Py_ssize_t step, const double* C, int n_forms, int f
) noexcept nogil:
    """Solve the row problem in the buffers from m; store m and y = C m; return the change of the objective.

    The products with consecutive forms are `step` numbers apart.
    """
    cdef int a, b, k
    cdef double before, after
    before = objective(buffers.Q, buffers.u, m, f)
    for a in range(f):
        buffers.m[a] = m[a]
    solve_simplex_qp(buffers.Q, buffers.u, buffers.m, f, buffers.work, buffers.places)
    after = objective(buffers.Q, buffers.u, buffers.m, f)
    if after >= before:
        buffers.reached += before
        return 0.0
    buffers.reached += after
    for a in range(f):
        m[a] = buffers.m[a]
    # Forms are symmetric and few sets have mass, so y is a sum of few rows.
    for k in range(n_forms):
        memset(y + k * step, 0, f * sizeof(double))
        for b in range(f):
            if m[b] != 0.0:
                for a in range(f):
                    y[k * step + a] += C[(k * f + b) * f + a] * m[b]
    return after - before


def sweep_graph(
    double[:, ::1] M, double[:, ::1] Y, const double[:, ::1] C,
    const Py_ssize_t[::1] indptr, const int[::1] indices, const real[::1] delta, const int[::1] order,
    const Py_ssize_t[::1] constraint_indptr, const Py_ssize_t[::1] constraint_partners,
    const unsigned char[::1] constraint_kinds, const double[:, :, ::1] Z, double constraint_weight,
    double[::1] reached=None,
):
    """Update the rows in `order`, each against its partners in the graph.

    If `reached` is not None, it receives the sum of the objectives of rows after their updates.
    """
    cdef:
        Py_ssize_t t, i
        int f = <int>M.shape[1], n_forms = <int>(C.shape[0] // f)
        double change = 0.0
        bint constrained = constraint_partners.shape[0] > 0
        Buffers buffers
    allocate(&buffers, f)
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            if t + 2 < order.shape[0]:  # the masses of the row after the next
                EVLEARN_PREFETCH(&M[order[t + 2], 0])
                EVLEARN_PREFETCH(&Y[order[t + 2], 0])
            gather(&buffers, Y, indptr, indices, delta, i, f)
            if constrained:
                add_constraints(
                    buffers.u, &M[0, 0], constraint_indptr, constraint_partners, constraint_kinds, Z,
                    constraint_weight, i, f,
                )
            change += update_row(&buffers, &M[i, 0], &Y[i, 0], M.shape[0] * f, &C[0, 0], n_forms, f)
    if reached is not None:
        reached[0] = buffers.reached
    release(&buffers)
    return change


def gather_graph(
    const double[:, ::1] Y, const Py_ssize_t[::1] indptr, const int[::1] indices, const real[::1] delta,
    const int[::1] order,
):
    """Gather the partners of each row and sum their products: the lower bound of the cost of `sweep_graph`."""
    cdef:
        Py_ssize_t t, i
        int f = <int>Y.shape[1]
        double total = 0.0
        Buffers buffers
    allocate(&buffers, f)
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            gather(&buffers, Y, indptr, indices, delta, i, f)
            total += buffers.Q[0] + buffers.u[0]
    release(&buffers)
    return total


def residuals_graph(
    const double[:, ::1] M, const double[:, ::1] Y, const Py_ssize_t[::1] indptr, const int[::1] indices,
    const real[::1] delta,
):
    """Return the sum of squared differences of conflict and delta over the pairs of the graph, in both directions."""
    cdef:
        Py_ssize_t i, e, stop
        int f = <int>M.shape[1], a
        double total = 0.0, row, value
    with nogil:
        for i in range(M.shape[0]):
            stop = indptr[i + 1]
            row = 0.0
            for e in range(indptr[i], stop):
                if e + AHEAD < stop:
                    EVLEARN_PREFETCH(&Y[indices[e + AHEAD], 0])
                value = -delta[e]
                for a in range(f):
                    value += M[i, a] * Y[indices[e], a]
                row += value * value
            total += row
    return total


def sweep_all_pairs(
    double[:, ::1] M, double[:, ::1] Y, const double[:, ::1] C, const double[:, ::1] delta, const int[::1] order,
    const Py_ssize_t[::1] constraint_indptr, const Py_ssize_t[::1] constraint_partners,
    const unsigned char[::1] constraint_kinds, const double[:, :, ::1] Z, double constraint_weight,
    double[::1] reached=None,
):
    """Update the rows in `order`, each against all others; targets of a sample with itself must be 0.

    If `reached` is not None, it receives the sum of the objectives of rows after their updates.
    """
    cdef:
        Py_ssize_t n = M.shape[0], t, i, j
        int f = <int>M.shape[1], n_forms = <int>(C.shape[0] // f), a, b, k
        double change = 0.0
        bint constrained = constraint_partners.shape[0] > 0
        Buffers buffers
        double* G
    allocate(&buffers, f)
    G = <double*>malloc(f * f * sizeof(double))
    if G == NULL:
        release(&buffers)
        raise MemoryError
    with nogil:
        # The sum of y y' over all samples: recomputed in each sweep, and updated by rank-one changes.
        memset(G, 0, f * f * sizeof(double))
        for j in range(n_forms * n):
            for a in range(f):
                for b in range(f):
                    G[a * f + b] += Y[j, a] * Y[j, b]
        for t in range(order.shape[0]):
            i = order[t]
            memset(buffers.u, 0, f * sizeof(double))
            evlearn_sum(buffers.u, &Y[0, 0], &delta[i, 0], n_forms * n, f)
            for k in range(n_forms):
                for a in range(f):
                    for b in range(f):
                        G[a * f + b] -= Y[k * n + i, a] * Y[k * n + i, b]
            for a in range(f * f):
                buffers.Q[a] = G[a]
            if constrained:
                add_constraints(
                    buffers.u, &M[0, 0], constraint_indptr, constraint_partners, constraint_kinds, Z,
                    constraint_weight, i, f,
                )
            change += update_row(&buffers, &M[i, 0], &Y[i, 0], M.shape[0] * f, &C[0, 0], n_forms, f)
            for k in range(n_forms):
                for a in range(f):
                    for b in range(f):
                        G[a * f + b] += Y[k * n + i, a] * Y[k * n + i, b]
    if reached is not None:
        reached[0] = buffers.reached
    free(G)
    release(&buffers)
    return change


def sweep_products(
    double[:, ::1] M, double[:, ::1] Y, const double[:, ::1] C,
    const Py_ssize_t[::1] indptr, const int[::1] places, const double[::1] values,
    const double[:, :, ::1] W, const int[:, ::1] blocks, const double[:, ::1] own,
    double[:, ::1] G, double[:, ::1] B, const int[::1] order,
):
    """Update the rows as `sweep_all_pairs`, for targets of form k that are products a_i' W_k a_j.

    The rows a_i are sparse: (indptr, places, values); `own` contains the products of each row with itself. Row r of
    W_k has entries only in columns blocks[r, 0] to blocks[r, 1], which are the first ones in W[k, r]. G is the sum of y y' over all
    samples and forms, and B that of (W_k a_j) y_kj', so that the linear term of row i is -a_i' B without the
    contribution of sample i. Both are updated in place with the rows.
    """
    cdef:
        Py_ssize_t n = M.shape[0], t, i, e
        int f = <int>M.shape[1], n_forms = <int>W.shape[0], d = <int>W.shape[1], a, b, k
        double change = 0.0, lowered
        Buffers buffers
        double* z
        double* moved
        int* itself
    allocate(&buffers, f)
    z = <double*>malloc((d + n_forms * f) * sizeof(double))
    itself = <int*>malloc(n_forms * sizeof(int))
    if z == NULL or itself == NULL:
        free(z)
        free(itself)
        release(&buffers)
        raise MemoryError
    moved = z + d
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            for k in range(n_forms):
                itself[k] = <int>(k * n + i)
                for a in range(f):
                    moved[k * f + a] = -Y[k * n + i, a]
            add_sample(&buffers, &G[0, 0], &Y[0, 0], itself, &own[i, 0], n_forms, f, -1.0)
            for a in range(f):
                buffers.u[a] = -buffers.u[a]
            for e in range(indptr[i], indptr[i + 1]):
                for a in range(f):
                    buffers.u[a] -= values[e] * B[places[e], a]
            for a in range(f * f):
                buffers.Q[a] = (&G[0, 0])[a]
            lowered = update_row(&buffers, &M[i, 0], &Y[i, 0], n * f, &C[0, 0], n_forms, f)
            add_sample(&buffers, &G[0, 0], &Y[0, 0], itself, &own[i, 0], n_forms, f, 1.0)
            if lowered == 0.0:
                continue
            change += lowered
            for k in range(n_forms):
                for a in range(f):
                    moved[k * f + a] += Y[k * n + i, a]
                memset(z, 0, d * sizeof(double))
                for e in range(indptr[i], indptr[i + 1]):
                    for a in range(blocks[places[e], 0], blocks[places[e], 1]):
                        z[a] += values[e] * W[k, places[e], a - blocks[places[e], 0]]
                for a in range(d):
                    if z[a] != 0.0:
                        for b in range(f):
                            B[a, b] += z[a] * moved[k * f + b]
    free(z)
    free(itself)
    release(&buffers)
    return change


cdef inline void add_sample(
    Buffers* buffers, double* G, const double* Y, const int* itself, const double* own, int n_forms, int f, double sign
) noexcept nogil:
    """Add the products of one sample to G, or subtract them; set u to -(the sum of own times y)."""
    cdef int ld = evlearn_padded(f), a, b
    memset(buffers.padded, 0, ld * ld * sizeof(double))
    memset(buffers.u, 0, ld * sizeof(double))
    evlearn_gram_double(buffers.padded, buffers.u, buffers.rows, Y, itself, own, n_forms, f)
    for a in range(f):
        for b in range(a):
            G[a * f + b] += sign * buffers.padded[a * ld + b]
            G[b * f + a] = G[a * f + b]
        G[a * f + a] += sign * buffers.padded[a * ld + a]
