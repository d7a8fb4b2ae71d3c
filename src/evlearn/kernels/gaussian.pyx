# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The steps of EM for several Gaussian mixtures of the same samples, and common parameters of components.

Shapes: Xt is (d, n), the transposed samples; shares are (r, c, n), for each run the probabilities of the components;
weights are (r, n), or (1, n) if all runs have the same. Only the runs in `runs` are processed.
"""

from libc.math cimport INFINITY, atan2, cos, exp, fabs, fmax, fmin, isfinite, log, pow, sin, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "gaussian.h" nogil:
    int EVLEARN_SAMPLES
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
        Py_ssize_t n = Xt.shape[1], blocks = (n + EVLEARN_SAMPLES - 1) // EVLEARN_SAMPLES, t, r, block, start, i
        int d = <int>Xt.shape[0], c = <int>shares.shape[1], k, a, b, count
        const double* share
        const double* weight
        const double* x
        double* w
        double* tile = <double*>malloc((d + 1) * EVLEARN_SAMPLES * sizeof(double))
        double total, value
    if tile == NULL:
        raise MemoryError
    w = tile + d * EVLEARN_SAMPLES
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
                    start = block * EVLEARN_SAMPLES
                    count = <int>min(n - start, EVLEARN_SAMPLES)
                    memset(w, 0, EVLEARN_SAMPLES * sizeof(double))
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
    """Compute the inverse of the Cholesky factor; return False if a conditional variance is a rounding error.

    The threshold of the variance given the previous features is `floor`, or a `share` of the variance.
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
    for b in range(d):  # the inverse replaces the factor column by column
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
    """Compute the probabilities and the log-density of one sample that is far from all components."""
    cdef double nearest = HUGE, largest = -HUGE, total = 0.0, value, square
    cdef int k
    for k in range(c):
        value = joint[k * EVLEARN_SAMPLES]
        if not value > -HUGE:
            value = -HUGE
        largest = max(largest, value)
        square = 2 * (constants[k] - value)
        if square < nearest and isfinite(square):
            nearest = square
    for k in range(c):
        value = joint[k * EVLEARN_SAMPLES]
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

    Samples whose squared Mahalanobis distances to all components are beyond `reach` get equal probabilities. Squared
    distances that are not finite count as the largest.

    Runs with a covariance matrix that is singular, in the sense of `floor` (d,) and `share`, are marked in `singular`,
    and their shares do not change.
    """
    cdef:
        Py_ssize_t n = Xt.shape[1], blocks = (n + EVLEARN_SAMPLES - 1) // EVLEARN_SAMPLES, t, r, block, start, i
        int d = <int>Xt.shape[0], c = <int>shares.shape[1], k, count
        double* work = <double*>malloc((c * d * d + c + (d + c + 1) * EVLEARN_SAMPLES) * sizeof(double))
        double* triangles = work
        double* constants = triangles + c * d * d
        double* tile = constants + c
        double* joint = tile + d * EVLEARN_SAMPLES
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
                start = block * EVLEARN_SAMPLES
                count = <int>min(n - start, EVLEARN_SAMPLES)
                for k in range(c):
                    evlearn_differences(tile, &Xt[0, start], n, count, &means[r, k, 0], d)
                    evlearn_squared_norms(joint + k * EVLEARN_SAMPLES, tile, triangles + k * d * d, d)
                for i in range(count):
                    largest = constants[0] - 0.5 * joint[i]
                    for k in range(c):
                        value = constants[k] - 0.5 * joint[k * EVLEARN_SAMPLES + i]
                        joint[k * EVLEARN_SAMPLES + i] = value
                        if value > largest:
                            largest = value
                    if not largest >= least:
                        share_far(joint + i, constants, c, reach, &shares[r, 0, start + i], n, &logs[r, start + i])
                        continue
                    total = 0.0
                    for k in range(c):
                        value = exp(joint[k * EVLEARN_SAMPLES + i] - largest)
                        joint[k * EVLEARN_SAMPLES + i] = value
                        total += value
                    for k in range(c):
                        shares[r, k, start + i] = joint[k * EVLEARN_SAMPLES + i] / total
                    logs[r, start + i] = largest + log(total)
    free(work)


def turn_axes(double[:, :, ::1] axes, double[:, :, :, ::1] seen, double[:, ::1] weights, double share, int most):
    """Rotate the common axes (r, d, d) of components, given as columns, to smaller volumes.

    Each pair of axes is rotated to minimize the sum over components of weight times log-volume, alternately with the
    precisions of the components along both axes. For fixed precisions, the solution is an eigenvector of a matrix of
    order 2. The scatter matrices in the coordinates of the axes, `seen` (r, c, d, d), are updated. The weights (r, c)
    are multiplied by the ratio of the volumes to the power of `share`. Values that are not finite cause no rotation.
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
    """Rotate 2 rows (step 1) or 2 columns (step d) of a matrix."""
    cdef int a
    cdef double first, second
    for a in range(d):
        first, second = one[a * step], other[a * step]
        one[a * step] = cosine * first + sine * second
        other[a * step] = cosine * second - sine * first


def settle_volumes(
    double[:, :, ::1] spreads, double[:, ::1] counts, double[:, ::1] volumes, double[:, ::1] shape, int most, double tol
):
    """Find volumes (r, c) of components and their common shape (r, d) by alternate updates.

    Spreads (r, c, d) are along the axes of components. `volumes` contains the starts, which are replaced. A run stops
    when its volumes change by less than `tol` times the smallest volume, or after `most` + 1 iterations.
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
                if not change > tol * least:  # also stops at NaN
                    break
