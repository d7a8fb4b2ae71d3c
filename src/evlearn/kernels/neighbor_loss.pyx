# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
r"""The squared error of the evidential k-nearest-neighbour rule with crisp labels, and its gradient.

A neighbour of class k at distance d supports it by :math:`s=\alpha e^{-\gamma_k^2d^2}`. With
:math:`w_k=-\sum\log(1-s)` over the neighbours of the class and :math:`Z=\sum_ke^{w_k}-(c-1)`, what is said of a class is
:math:`o_k=(e^{w_k}-1+\lambda)/Z`, and the error of a sample :math:`\frac12\sum_k(o_k-t_k)^2`.

Shapes: classes and squares (n, K), gamma (c,), targets (n, c), gradient (c,), work (4, c).
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
    double[::1] gradient,
    double[:, ::1] work,
):
    """The sum of the errors of all samples; their slopes are added to `gradient`. The caller checks shapes."""
    cdef double value
    with nogil:
        value = _loss(classes, squares, gamma, alpha, share, targets, gradient, work)
    return value


cdef double _loss(
    const int[:, ::1] classes, const double[:, ::1] squares, const double[::1] gamma, double alpha, double share,
    const double[:, ::1] targets, double[::1] gradient, double[:, ::1] work
) noexcept nogil:
    cdef Py_ssize_t row, i, k, c = gamma.shape[0]
    cdef double support, strongest, frame, total, along, value = 0
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
            slopes[k] -= 2 * gamma[k] * squares[row, i] * support / (1 - support)
            products[k] *= 1 - support
            if products[k] < SMALL:  # one logarithm for many neighbours
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
        for k in range(c):
            support = (weights[k] - (1 - share) * frame) / total
            errors[k] = support - targets[row, k]
            value += 0.5 * errors[k] * errors[k]
            along += errors[k] * support
        for k in range(c):
            gradient[k] += slopes[k] * weights[k] / total * (errors[k] - along)
    return value
