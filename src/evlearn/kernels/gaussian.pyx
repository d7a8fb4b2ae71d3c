# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The two halves of an iteration of EM, for several Gaussian mixtures of the same samples, and what components share.

Shapes: Xt is (d, n), the samples turned; shares are (r, c, n), for each run the probabilities of the components;
weights are (r, n), or (1, n) if all runs have the same. Only the runs in `runs` are looked at.
"""

from libc.math cimport INFINITY, atan2, cos, exp, fabs, fmax, fmin, isfinite, log, pow, sin, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "gaussian.h" nogil:
    int EVLEARN_OBJECTS
    void evlearn_differences(
        double* tile, const double* Xt, Py_ssize_t stride, int count, const double* mean, int d) noexcept
    void evlearn_squared_norms(double* norms, const double* tile, const double* triangle, int d) noexcept
    void evlearn_add_products(double* S, const double* tile, const double* weights, int d) noexcept

cdef double LOG_2_PI = 1.8378770664093454836
cdef double HUGE = 5e299
cdef double SMALL_ANGLE = 1e-7


def moments(
    const double[:, ::1] Xt, const double[:, :, ::1] shares, const double[:, ::1] weights,
    const Py_ssize_t[::1] runs, double[:, ::1] counts, double[:, :, ::1] means, double[:, :, :, ::1] scatter,
):
    """Fill in the counts (r, c), means (r, c, d) and scatter matrices (r, c, d, d) of the components."""
    cdef:
        Py_ssize_t n = Xt.shape[1], blocks = (n + EVLEARN_OBJECTS - 1) // EVLEARN_OBJECTS, t, r, block, start, i
        int d = <int>Xt.shape[0], c = <int>shares.shape[1], k, a, b, count
        const double* share
        const double* weight
        const double* x
        double* w
        double* tile = <double*>malloc((d + 1) * EVLEARN_OBJECTS * sizeof(double))
        double total, value
    if tile == NULL:
        raise MemoryError
    w = tile + d * EVLEARN_OBJECTS
    with nogil:
        for t in range(runs.shape[0]):
            r = runs[t]
            weight = &weights[r if weights.shape[0] > 1 else 0, 0]
            memset(&scatter[r, 0, 0, 0], 0, c * d * d * sizeof(double))
            for k in range(c):
                share = &shares[r, k, 0]
                total = 0.0
                for i in range(n):
                    total += share[i] * weight[i]
                counts[r, k] = total
                for a in range(d):
                    x = &Xt[a, 0]
                    value = 0.0
                    for i in range(n):
                        value += share[i] * weight[i] * x[i]
                    means[r, k, a] = value / total
                for block in range(blocks):
                    start = block * EVLEARN_OBJECTS
                    count = <int>min(n - start, EVLEARN_OBJECTS)
                    memset(w, 0, EVLEARN_OBJECTS * sizeof(double))
                    for i in range(count):
                        w[i] = share[start + i] * weight[start + i]
                    evlearn_differences(tile, &Xt[0, start], n, count, &means[r, k, 0], d)
                    evlearn_add_products(&scatter[r, k, 0, 0], tile, w, d)
                for a in range(d):
                    for b in range(a):
                        scatter[r, k, b, a] = scatter[r, k, a, b]
    free(tile)


cdef bint invert_factor(
    double* triangle, double* log_volume, const double* covariance, int d, const double* floor, double share
) noexcept nogil:
    """The inverse of the Cholesky factor; False if what is left of a feature is rounding.

    That is a variance, given the features before, below `floor`, or below a `share` of the variance.
    """
    cdef int a, b, e
    cdef double value
    log_volume[0] = 0.0
    for a in range(d):
        for b in range(a + 1):
            value = covariance[a * d + b]
            for e in range(b):
                value -= triangle[a * d + e] * triangle[b * d + e]
            if b < a:
                triangle[a * d + b] = value / triangle[b * d + b]
            elif not (value > floor[a] + share * covariance[a * d + a]) or not isfinite(value):
                return False
            else:
                triangle[a * d + a] = sqrt(value)
                log_volume[0] += 0.5 * log(value)
    for b in range(d):  # column by column, the factor makes room for its inverse
        triangle[b * d + b] = 1.0 / triangle[b * d + b]
        for a in range(b + 1, d):
            value = 0.0
            for e in range(b, a):
                value -= triangle[a * d + e] * triangle[e * d + b]
            triangle[a * d + b] = value / triangle[a * d + a]
    return True


cdef void share_far(
    const double* joint, const double* constants, int c, double reach, double* shares, Py_ssize_t stride, double* logs
) noexcept nogil:
    """The probabilities and the log-density of one sample that is far from all components, from its log-densities."""
    cdef double nearest = HUGE, largest = -HUGE, total = 0.0, value, square
    cdef int k
    for k in range(c):
        value = joint[k * EVLEARN_OBJECTS]
        if not value > -HUGE:
            value = -HUGE
        largest = max(largest, value)
        square = 2 * (constants[k] - value)
        if square < nearest and isfinite(square):
            nearest = square
    for k in range(c):
        value = joint[k * EVLEARN_OBJECTS]
        shares[k * stride] = exp(value - largest) if value > -HUGE else 0.0
        total += shares[k * stride]
    for k in range(c):
        shares[k * stride] = shares[k * stride] / total if nearest <= reach and total > 0 else 1.0 / c
    logs[0] = largest + (log(total) if total > 0 else 0.0)


def expectations(
    const double[:, ::1] Xt, double[:, :, ::1] shares, double[:, ::1] logs, const double[:, ::1] proportions,
    const double[:, :, ::1] means, const double[:, :, :, ::1] covariances, const Py_ssize_t[::1] runs,
    const double[::1] floor, double share, unsigned char[::1] singular, double reach,
):
    """Fill in the probabilities of the components and the log-densities (r, n) of the samples.

    Samples whose squared distance to all components, in their own units, is beyond `reach` get equal probabilities: the
    mixture says nothing about them. Squared distances that are no numbers count as the largest.

    A run with a covariance matrix that is singular, in the sense of `floor` (d,) and `share`, is marked, and its
    shares are left as they are.
    """
    cdef:
        Py_ssize_t n = Xt.shape[1], blocks = (n + EVLEARN_OBJECTS - 1) // EVLEARN_OBJECTS, t, r, block, start, i
        int d = <int>Xt.shape[0], c = <int>shares.shape[1], k, count
        double* work = <double*>malloc((c * d * d + c + (d + c + 1) * EVLEARN_OBJECTS) * sizeof(double))
        double* triangles = work
        double* constants = triangles + c * d * d
        double* tile = constants + c
        double* joint = tile + d * EVLEARN_OBJECTS
        double log_volume, largest, total, value, least
    if work == NULL:
        raise MemoryError
    with nogil:
        for t in range(runs.shape[0]):
            r = runs[t]
            singular[r] = False
            least = 0.0
            for k in range(c):
                if not invert_factor(
                    triangles + k * d * d, &log_volume, &covariances[r, k, 0, 0], d, &floor[0], share
                ):
                    singular[r] = True
                    break
                constants[k] = log(proportions[r, k]) - log_volume - 0.5 * d * LOG_2_PI
                least = min(least, constants[k])
            if singular[r]:
                continue
            least = (least if isfinite(least) else 0.0) - 0.5 * reach
            for block in range(blocks):
                start = block * EVLEARN_OBJECTS
                count = <int>min(n - start, EVLEARN_OBJECTS)
                for k in range(c):
                    evlearn_differences(tile, &Xt[0, start], n, count, &means[r, k, 0], d)
                    evlearn_squared_norms(joint + k * EVLEARN_OBJECTS, tile, triangles + k * d * d, d)
                for i in range(count):
                    largest = constants[0] - 0.5 * joint[i]
                    for k in range(c):
                        value = constants[k] - 0.5 * joint[k * EVLEARN_OBJECTS + i]
                        joint[k * EVLEARN_OBJECTS + i] = value
                        if value > largest:
                            largest = value
                    if not largest >= least:
                        share_far(joint + i, constants, c, reach, &shares[r, 0, start + i], n, &logs[r, start + i])
                        continue
                    total = 0.0
                    for k in range(c):
                        value = exp(joint[k * EVLEARN_OBJECTS + i] - largest)
                        joint[k * EVLEARN_OBJECTS + i] = value
                        total += value
                    for k in range(c):
                        shares[r, k, start + i] = joint[k * EVLEARN_OBJECTS + i] / total
                    logs[r, start + i] = largest + log(total)
    free(work)


def turn_axes(double[:, :, ::1] axes, double[:, :, :, ::1] seen, double[:, ::1] weights, double share, int most):
    """Turn the axes (r, d, d) that components have in common, as columns, so that volumes fall.

    Each pair of axes in turn goes to where the sum over components of weight times log-volume is least, by turns with
    the precisions of the components along the two: for given ones that is an eigenvector of a matrix of order two.
    Scatter matrices as the axes see them, `seen` (r, c, d, d), follow. Weights (r, c) are multiplied by as much as the
    volumes to the power of `share`. Numbers that are not finite turn nothing.
    """
    cdef:
        Py_ssize_t r
        int c = <int>seen.shape[1], d = <int>axes.shape[1], k, p, q, times
        double weight, difference, product, angle, cosine, sine, before
    with nogil:
        for r in range(axes.shape[0]):
            for p in range(d):
                for q in range(p + 1, d):
                    for times in range(most):
                        difference = product = 0.0
                        for k in range(c):
                            weight = weights[r, k] * (1 / seen[r, k, p, p] - 1 / seen[r, k, q, q])
                            difference += weight * (seen[r, k, p, p] - seen[r, k, q, q])
                            product += weight * seen[r, k, p, q]
                        angle = 0.5 * atan2(-product, -0.5 * difference)
                        if not fabs(angle) > SMALL_ANGLE or not isfinite(angle):
                            break
                        cosine, sine = cos(angle), sin(angle)
                        turn(&axes[r, 0, p], &axes[r, 0, q], d, d, cosine, sine)
                        for k in range(c):
                            before = seen[r, k, p, p] * seen[r, k, q, q]
                            turn(&seen[r, k, 0, p], &seen[r, k, 0, q], d, d, cosine, sine)
                            turn(&seen[r, k, p, 0], &seen[r, k, q, 0], 1, d, cosine, sine)
                            if share > 0:
                                weights[r, k] *= pow(seen[r, k, p, p] * seen[r, k, q, q] / before, share)


cdef inline void turn(double* one, double* other, int step, int d, double cosine, double sine) noexcept nogil:
    """Turn two rows (step 1) or two columns (step d) of a matrix."""
    cdef int a
    cdef double first, second
    for a in range(d):
        first, second = one[a * step], other[a * step]
        one[a * step] = cosine * first + sine * second
        other[a * step] = cosine * second - sine * first


def settle_volumes(
    double[:, :, ::1] spreads, double[:, ::1] counts, double[:, ::1] volumes, double[:, ::1] shape, int most, double tol
):
    """Find, by turns, volumes (r, c) of components and the shape (r, d) that they have in common.

    From spreads (r, c, d) along their axes and from volumes to begin with, which are replaced. A run ends when its
    volumes change by less than `tol` of the least, or after `most` turns more than one.
    """
    cdef:
        Py_ssize_t r
        int c = <int>spreads.shape[1], d = <int>spreads.shape[2], k, a, times
        double size, volume, change, least
    with nogil:
        for r in range(spreads.shape[0]):
            for times in range(most + 1):
                size = 0.0
                for a in range(d):
                    shape[r, a] = 0.0
                    for k in range(c):
                        shape[r, a] += spreads[r, k, a] / volumes[r, k]
                    size += log(shape[r, a])
                size = exp(size / d)
                for a in range(d):
                    shape[r, a] /= size
                change, least = 0.0, INFINITY
                for k in range(c):
                    volume = 0.0
                    for a in range(d):
                        volume += spreads[r, k, a] / shape[r, a]
                    volume /= d * counts[r, k]
                    change = fmax(change, fabs(volume - volumes[r, k]))
                    least = fmin(least, volume)
                    volumes[r, k] = volume
                if not change > tol * least:  # nor if one is not a number
                    break
