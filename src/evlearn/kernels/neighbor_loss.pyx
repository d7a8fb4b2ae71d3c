# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""The squared error of the evidential k-nearest-neighbor rule with crisp labels, and its gradient.

A neighbor of class k at distance d supports it by :math:`s=\alpha e^{-\gamma_k^2d^2}`. With
:math:`w_k=-\sum\log(1-s)` over the neighbors of the class and :math:`Z=\sum_ke^{w_k}-(c-1)`, the output for a class is
:math:`o_k=(e^{w_k}-1+\lambda)/Z`, and the error of a sample :math:`\frac12\sum_k(o_k-t_k)^2`.

Counts of neighbors and importances of samples are weights, equivalent to repetition.

Shapes: classes and squares (n, K), gamma (c,), targets (n, c), counts (n, K) or (0, 0) for ones, importance (n,) or
(0,), gradient (c,), work (4, c).
"""

from libc.math cimport exp, log

DEF SMALL = 1e-200


def loss(
    const int[:, ::1] classes,
    const double[:, ::1] squares,
    const double[::1] gamma,
    double alpha,
    double share,
    const double[:, ::1] targets,
    const double[:, ::1] counts,
    const double[::1] importance,
    double[::1] gradient,
    double[:, ::1] work,
):
    """Return the sum of the errors of all samples; add its gradient to `gradient`. The caller checks shapes."""
    cdef double value
    with nogil:
        value = _loss(classes, squares, gamma, alpha, share, targets, counts, importance, gradient, work)
    return value


cdef double _loss(
    const int[:, ::1] classes, const double[:, ::1] squares, const double[::1] gamma, double alpha, double share,
    const double[:, ::1] targets, const double[:, ::1] counts, const double[::1] importance, double[::1] gradient,
    double[:, ::1] work
) noexcept nogil:
    cdef Py_ssize_t row, i, k, c = gamma.shape[0]
    cdef bint counted = counts.shape[0] > 0, weighted = importance.shape[0] > 0
    cdef double support, slope, strongest, frame, total, along, weight = 1, value = 0
    cdef double* weights = &work[0, 0]
    cdef double* slopes = &work[1, 0]
    cdef double* products = &work[2, 0]
    cdef double* errors = &work[3, 0]
    for row in range(classes.shape[0]):
        for k in range(c):
            weights[k] = slopes[k] = 0
            products[k] = 1
        for i in range(classes.shape[1]):
            k = classes[row, i]
            support = alpha * exp(-gamma[k] * gamma[k] * squares[row, i])
            slope = 2 * gamma[k] * squares[row, i] * support / (1 - support)
            if counted:
                slopes[k] -= counts[row, i] * slope
                weights[k] -= counts[row, i] * log(1 - support)
                continue
            slopes[k] -= slope
            products[k] *= 1 - support
            if products[k] < SMALL:  # one logarithm for many neighbors
                weights[k] -= log(products[k])
                products[k] = 1
        strongest = 0
        for k in range(c):
            weights[k] -= log(products[k])
            strongest = max(strongest, weights[k])
        frame = exp(-strongest)
        total = -(<double>c - 1) * frame
        for k in range(c):
            weights[k] = exp(weights[k] - strongest)
            total += weights[k]
        along = 0
        if weighted:
            weight = importance[row]
        for k in range(c):
            support = (weights[k] - (1 - share) * frame) / total
            errors[k] = support - targets[row, k]
            value += 0.5 * weight * errors[k] * errors[k]
            along += errors[k] * support
        for k in range(c):
            gradient[k] += weight * slopes[k] * weights[k] / total * (errors[k] - along)
    return value
