# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Probabilities that 2 samples belong to the same cluster, under several mixtures."""


def same_cluster(
    const float[:, :, ::1] left, const float[:, :, ::1] right,
    const Py_ssize_t[::1] first, const Py_ssize_t[::1] second, float[:, ::1] out,
):
    """Compute, for each pair and mixture b, the sum over clusters k of left[first, k, b] * right[second, k, b]."""
    cdef:
        Py_ssize_t p, b, n_mixtures = left.shape[2]
        int k, c = <int>left.shape[1]
        const float* one
        const float* other
        float* to
    with nogil:
        for p in range(first.shape[0]):
            to = &out[p, 0]
            for k in range(c):
                one = &left[first[p], k, 0]
                other = &right[second[p], k, 0]
                if k == 0:
                    for b in range(n_mixtures):
                        to[b] = one[b] * other[b]
                else:
                    for b in range(n_mixtures):
                        to[b] += one[b] * other[b]
