# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""Exact minimization of a convex quadratic over the simplex, with warm starts, for millions of small problems.

.. math:: \min_m\ \tfrac12m^TQm+u^Tm\quad\text{subject to}\quad \mathbf 1^Tm=1,\ m\ge0

with Q symmetric and positive semidefinite (f by f) and u of length f. A primal active-set method: on the support P
of m, solve for the minimizer on the face. If it is outside the simplex, stop at the boundary and remove the zero from P;
otherwise add the set with the most negative reduced gradient, or stop.

Stopping criterion: with g = Qm + u and nu = m'g, no g_q is below nu by more than 1e-12 times the size of the problem,
which also bounds the distance of the objective to its minimum. Q is often singular (duplicate samples, unused sets).
Along a direction without curvature, either the slope is 0 and the direction is ignored, or the minimum is on the
boundary, which is the next point.
"""

from libc.math cimport fabs, fmax
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

cdef double SMALLEST = 1e-12   # masses below this are not in the support of a start
cdef double GAP = 1e-12        # of the reduced gradient, relative to the problem
cdef double FLAT = 1e-12       # largest curvature, relative to the diagonal, that counts as 0
cdef double CURVED = 1e-4      # smallest curvature, relative to the diagonal, on the face of a table

cdef extern from "faces.h" nogil:
    int MOST_SETS "EVLEARN_FACE_SETS"  # of problems that are solved by tables
    ctypedef struct Face "evlearn_face":
        double[8] is_outside
        double[9][8] table
        bint is_curved
    int evlearn_wrong_sets(double* z, const Face* face, const double* u, int f, double tolerance) noexcept


cdef Py_ssize_t work_size(int f) noexcept nogil:
    return f * f + 4 * f


cdef int solve_simplex_qp(
    const double* Q, const double* u, double* m, int f, double* work, int* places
) noexcept nogil:
    """Minimize from the start m, in place. Return the number of solved face problems, negative at the limit.

    `work` has work_size(f) doubles and `places` 2 f ints.
    """
    cdef:
        double* L = work
        double* g = work + f * f
        double* step = g + f
        double* z = step + f
        double* slope_to = z + f
        int* P = places
        int* kept = places + f
        int p = 0, i, j, q, a, b, k, r, r_place, best, worst, rounds = 0
        int cap = 20 * f + 50
        double scale = 0.0, total = 0.0, value, pivot, diagonal, slope, theta, nu, lowest, drop, size
        bint inside

    for i in range(f):
        # A positive semidefinite matrix has its largest entry on the diagonal.
        scale = fmax(scale, fmax(fabs(Q[i * f + i]), fabs(u[i])))
        if m[i] > SMALLEST:
            P[p] = i
            p += 1
            total += m[i]
        else:
            m[i] = 0.0
    # The minimum usually has few sets, so the best corner is a better start than a point with many sets.
    if p == 0 or (f > 8 and 2 * p > f):
        for i in range(f):
            m[i] = 0.0
        best = 0
        for i in range(1, f):
            if 0.5 * Q[i * f + i] + u[i] < 0.5 * Q[best * f + best] + u[best]:
                best = i
        P[0] = best
        p = 1
        m[best] = 1.0
    else:
        for a in range(p):
            m[P[a]] /= total

    while rounds < cap:
        rounds += 1
        # Gradient at m for all sets: P is small, and the stopping criterion needs the full gradient.
        for i in range(f):
            value = u[i]
            for a in range(p):
                value += Q[i * f + P[a]] * m[P[a]]
            g[i] = value

        if p > 1:
            # The largest mass is eliminated by the constraint.
            r_place = 0
            for a in range(1, p):
                if m[P[a]] > m[P[r_place]]:
                    r_place = a
            r = P[r_place]
            k = 0
            inside = True
            for a in range(p):
                if a == r_place:
                    continue
                i = P[a]
                diagonal = Q[i * f + i] - 2.0 * Q[i * f + r] + Q[r * f + r]
                pivot = diagonal
                # Row of the Cholesky factor of the reduced Hessian, against the columns kept so far.
                for b in range(k):
                    j = P[kept[b]]
                    value = Q[i * f + j] - Q[i * f + r] - Q[r * f + j] + Q[r * f + r]
                    for q in range(b):
                        value -= L[k * f + q] * L[b * f + q]
                    value /= L[b * f + b]
                    L[k * f + b] = value
                    pivot -= value * value
                size = fmax(Q[i * f + i], Q[r * f + r])
                if pivot > FLAT * size and pivot > 0.0:
                    L[k * f + k] = pivot ** 0.5
                    kept[k] = a
                    k += 1
                    continue
                # No curvature along z, a unit step of i against the kept columns, by back substitution.
                slope = g[i] - g[r]
                total = 1.0
                for b in range(k - 1, -1, -1):
                    value = -L[k * f + b]
                    for q in range(b + 1, k):
                        value -= L[q * f + b] * z[q]
                    z[b] = value / L[b * f + b]
                    slope += (g[P[kept[b]]] - g[r]) * z[b]
                    total += fabs(z[b])
                if fabs(slope) <= GAP * scale * (1.0 + total):
                    continue
                # Descend to the boundary, or to the minimum if there is a little curvature.
                value = 1.0 if slope < 0.0 else -1.0
                for b in range(p):
                    step[b] = 0.0
                step[a] = value
                drop = -value
                for b in range(k):
                    step[kept[b]] = value * z[b]
                    drop -= value * z[b]
                step[r_place] = drop
                theta = -1.0
                for b in range(p):
                    if step[b] < 0.0 and (theta < 0.0 or -m[P[b]] / step[b] < theta):
                        theta = -m[P[b]] / step[b]
                        worst = b
                if pivot > 0.0 and fabs(slope) / pivot < theta:
                    theta = fabs(slope) / pivot
                    worst = -1
                for b in range(p):
                    m[P[b]] = fmax(m[P[b]] + theta * step[b], 0.0)
                if worst < 0:
                    continue
                m[P[worst]] = 0.0
                p -= 1
                P[worst] = P[p]
                inside = False
                break
            if not inside:
                continue

            # Newton step on the face: L L' step = -(g - g_r).
            for b in range(k):
                value = g[r] - g[P[kept[b]]]
                for q in range(b):
                    value -= L[b * f + q] * z[q]
                z[b] = value / L[b * f + b]
            for b in range(k - 1, -1, -1):
                value = z[b]
                for q in range(b + 1, k):
                    value -= L[q * f + b] * z[q]
                z[b] = value / L[b * f + b]
            for b in range(p):
                step[b] = 0.0
            drop = 0.0
            for b in range(k):
                step[kept[b]] = z[b]
                drop -= z[b]
            step[r_place] = drop
            theta = 1.0
            worst = -1
            for b in range(p):
                if m[P[b]] + step[b] < 0.0:
                    value = -m[P[b]] / step[b]
                    if value < theta:
                        theta = value
                        worst = b
            for b in range(p):
                m[P[b]] = fmax(m[P[b]] + theta * step[b], 0.0)
            if worst >= 0:
                m[P[worst]] = 0.0
                p -= 1
                P[worst] = P[p]
                continue
            for i in range(f):
                value = u[i]
                for a in range(p):
                    value += Q[i * f + P[a]] * m[P[a]]
                g[i] = value

        # Minimum on this face: look for a set that would lower it.
        nu = 0.0
        total = 0.0
        for a in range(p):
            nu += m[P[a]] * g[P[a]]
            total += m[P[a]]
        nu /= total
        lowest = nu - GAP * scale
        best = -1
        for i in range(f):
            if g[i] < lowest:
                # Members of the face have the gradient nu, up to rounding errors.
                for a in range(p):
                    if P[a] == i:
                        break
                else:
                    lowest = g[i]
                    best = i
        if best < 0:
            for a in range(p):
                m[P[a]] /= total
            return rounds
        P[p] = best
        p += 1
    return -rounds


def solve_many(const double[:, :, ::1] Q, const double[:, ::1] u, double[:, ::1] m):
    """Solve many problems, in place, each from the start given in its row of m.

    Parameters
    ----------
    Q : ndarray of shape (n_problems or 1, f, f)
        The matrices; a single one is shared by all problems.
    u : ndarray of shape (n_problems, f)
        The linear terms.
    m : ndarray of shape (n_problems, f)
        Starts; solutions on return.

    Returns
    -------
    int
        Number of problems that did not meet the stopping criterion.
    """
    cdef:
        Py_ssize_t n = u.shape[0], row
        int f = <int>u.shape[1]
        Py_ssize_t shared = 0 if Q.shape[0] == 1 else 1
        Py_ssize_t unfinished = 0
        double* work
        int* places
    if m.shape[0] != n or m.shape[1] != f or Q.shape[1] != f or Q.shape[2] != f or Q.shape[0] not in (1, n):
        raise ValueError("Q, u and m must have compatible shapes.")
    work = <double*>malloc(work_size(f) * sizeof(double))
    places = <int*>malloc(2 * f * sizeof(int))
    if work == NULL or places == NULL:
        free(work)
        free(places)
        raise MemoryError
    with nogil:
        for row in range(n):
            if solve_simplex_qp(&Q[shared * row, 0, 0], &u[row, 0], &m[row, 0], f, work, places) < 0:
                unfinished += 1
    free(work)
    free(places)
    return unfinished


def solve_shared(const double[:, ::1] Q, const double[:, ::1] u, double[:, ::1] m):
    """Solve many problems with the same matrix of shape (f, f); u and m are as in `solve_many`, without starts.

    The masses that are optimal on a face, and the reduced gradients of the other sets, are linear in u. Problems of at
    most `MOST_SETS` sets are solved by tables of these, which are computed once for each face. Other problems, and those
    of faces with little curvature, are solved one by one. No solution depends on other problems.
    """
    cdef:
        Py_ssize_t n = u.shape[0], row, unfinished = 0
        int f = <int>u.shape[1], n_faces = 1 << f if f <= MOST_SETS else 0, face
        Face** faces
        double* work
        int* places
    if m.shape[0] != n or m.shape[1] != f or Q.shape[0] != f or Q.shape[1] != f:
        raise ValueError("Q, u and m must have compatible shapes.")
    faces = <Face**>calloc(n_faces + 1, sizeof(Face*))
    work = <double*>malloc(work_size(f) * sizeof(double))
    places = <int*>malloc(2 * f * sizeof(int))
    if faces == NULL or work == NULL or places == NULL:
        unfinished = -1
    else:
        with nogil:
            for row in range(n):
                if n_faces and solve_by_faces(&Q[0, 0], &u[row, 0], &m[row, 0], f, faces):
                    continue
                memset(&m[row, 0], 0, f * sizeof(double))
                if solve_simplex_qp(&Q[0, 0], &u[row, 0], &m[row, 0], f, work, places) < 0:
                    unfinished += 1
            for face in range(n_faces):
                free(faces[face])
    free(faces)
    free(work)
    free(places)
    if unfinished < 0:
        raise MemoryError
    return unfinished


cdef bint solve_by_faces(const double* Q, const double* u, double* m, int f, Face** faces) noexcept nogil:
    """Solve a problem by the tables of faces; return False if a face has none, or after many faces.

    The search starts at the best corner. From a face, it removes all sets with a negative mass, and adds all sets with a
    negative reduced gradient.
    """
    cdef:
        double z[8]
        double tolerance = 0.0, total = 0.0, size
        const Face* tables
        int face, wrong, i, j, best = 0, rounds
    for i in range(f):
        size = fabs(u[i]) if fabs(u[i]) > Q[i * f + i] else Q[i * f + i]
        tolerance = GAP * size if GAP * size > tolerance else tolerance
        if 0.5 * Q[i * f + i] + u[i] < 0.5 * Q[best * f + best] + u[best]:
            best = i
    face = 1 << best
    for rounds in range(f + 4):
        if faces[face] == NULL:
            faces[face] = describe_face(Q, f, face)
        tables = faces[face]
        if tables == NULL or not tables.is_curved:
            return False
        wrong = evlearn_wrong_sets(z, tables, u, f, tolerance)
        if wrong == 0:
            break
        face ^= wrong
        if face == 0:  # by rounding errors
            return False
    else:
        return False
    for i in range(f):
        m[i] = z[i] if face >> i & 1 else 0.0
        total += m[i]
    if not total > 0.5:  # the linear terms are not finite
        return False
    for i in range(f):
        m[i] /= total
    return True


cdef Face* describe_face(const double* Q, int f, int face) noexcept nogil:
    """Return the table of a face, the sets of which are the bits of a number; NULL without memory.

    The first set is eliminated by the constraint. Then, reduced gradients are z = A m + v, and principal pivots exchange
    masses and reduced gradients of the other sets of the face.
    """
    cdef:
        double A[8][8]
        double row, pivot
        int i, j, k, r = 0
        Face* result = <Face*>calloc(1, sizeof(Face))
    if result == NULL:
        return NULL
    while not face >> r & 1:
        r += 1
    for i in range(f):
        for j in range(f):
            A[i][j] = Q[i * f + j] - Q[i * f + r] - Q[r * f + j] + Q[r * f + r]
    for k in range(f):
        if k == r or not face >> k & 1:
            continue
        pivot = A[k][k]
        if not pivot > CURVED * fmax(Q[k * f + k], Q[r * f + r]):
            return result
        for j in range(f):
            A[k][j] = 1.0 / pivot if j == k else -A[k][j] / pivot
        for i in range(f):
            if i != k:
                row = A[i][k]
                for j in range(f):
                    A[i][j] = row * A[k][j] + (0.0 if j == k else A[i][j])
    result.is_curved = True
    result.table[MOST_SETS][r] = 1.0
    for i in range(MOST_SETS):
        result.is_outside[i] = not face >> i & 1
    for j in range(f):
        if j != r:
            for i in range(f):
                if i != r:
                    row = -A[i][j] if face >> j & 1 else <double>(i == j)
                    add_term(result, Q, f, i, j, r, row)
                    if face >> i & 1:
                        add_term(result, Q, f, r, j, r, -row)
    return result


cdef inline void add_term(Face* face, const double* Q, int f, int i, int j, int r, double factor) noexcept nogil:
    """Add a factor times v_j = u_j + Q_jr - u_r - Q_rr to row i."""
    face.table[j][i] += factor
    face.table[r][i] -= factor
    face.table[MOST_SETS][i] += factor * (Q[j * f + r] - Q[r * f + r])
