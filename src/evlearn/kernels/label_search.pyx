# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
r"""Label search of EK-NNclus by votes of neighbors, and the evidence from labels.

A graph is in CSR form: sample i has the neighbors ``indices[indptr[i]:indptr[i + 1]]`` with the `weights` at the same
positions, which are nonnegative. Labels are numbers from 0, and are updated in place.
"""

from libc.stdlib cimport calloc, free, malloc

cdef extern from "gram.h" nogil:
    void EVLEARN_PREFETCH(const void* address) noexcept

cdef enum:
    LINE = 8  # numbers of 8 bytes per cache line

ctypedef fused real:
    float
    double

ctypedef fused place:
    int
    long long

#: Factor of votes by which a label must be better, so that rounding errors do not cause cycles.
cdef double BETTER = 1 + 1e-12


def sweep(
    int[::1] labels, const place[::1] indptr, const place[::1] indices, const real[::1] weights, const int[::1] order,
    Py_ssize_t n_labels, const place[::1] starts, const place[::1] reverse, unsigned char[::1] pending,
    double[::1] agreements,
):
    """Assign the label with the most votes to the samples in `order`; return the number of changes, and the gain.

    Only samples that are `pending` can change: those with a neighbor that has changed since their last visit. Sample i
    is a neighbor of the samples `reverse[starts[i]:starts[i + 1]]`. `agreements` receives the votes for the labels of
    samples.
    """
    cdef:
        Py_ssize_t t, i, e, changed = 0
        int label, best, n_seen, k
        double most, gain = 0.0
        double* votes = <double*>calloc(n_labels, sizeof(double))
        int* seen = <int*>malloc((longest(indptr) + 1) * sizeof(int))
    if votes == NULL or seen == NULL:
        free(votes)
        free(seen)
        raise MemoryError
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            if t + 2 < order.shape[0] and pending[order[t + 2]]:
                fetch(indptr, indices, weights, order[t + 2])
            if not pending[i]:
                continue
            pending[i] = 0
            n_seen = 0
            for e in range(indptr[i], indptr[i + 1]):
                label = labels[indices[e]]
                if votes[label] == 0.0:
                    seen[n_seen] = label
                    n_seen += 1
                votes[label] += weights[e]
            agreements[i] = votes[labels[i]]
            best = -1
            most = agreements[i] * BETTER
            for k in range(n_seen):
                label = seen[k]
                if votes[label] > most or (votes[label] == most and best >= 0 and label < best):
                    best = label
                    most = votes[label]
                votes[label] = 0.0
            if best >= 0 and best != labels[i]:
                labels[i] = best
                changed += 1
                gain += most - agreements[i]
                agreements[i] = most
                for e in range(starts[i], starts[i + 1]):
                    pending[reverse[e]] = 1
    free(votes)
    free(seen)
    return changed, gain


cdef inline void fetch(
    const place[::1] indptr, const place[::1] indices, const real[::1] weights, Py_ssize_t i
) noexcept nogil:
    """Prefetch the row of a sample that is processed soon."""
    cdef Py_ssize_t e = indptr[i]
    while e < indptr[i + 1]:
        EVLEARN_PREFETCH(&indices[e])
        EVLEARN_PREFETCH(&weights[e])
        e += LINE


cdef Py_ssize_t longest(const place[::1] indptr) noexcept:
    cdef Py_ssize_t i, most = 0
    for i in range(indptr.shape[0] - 1):
        most = max(most, <Py_ssize_t>(indptr[i + 1] - indptr[i]))
    return most


def agreement(
    const int[::1] labels, const place[::1] indptr, const place[::1] indices, const real[::1] weights,
    const unsigned char[::1] pending, double[::1] agreements,
):
    """Update `agreements` for the samples that are `pending`, and return the sum of weights of equal labels."""
    cdef:
        Py_ssize_t i, e
        double total = 0.0, row
    with nogil:
        for i in range(labels.shape[0]):
            if pending[i]:
                row = 0.0
                for e in range(indptr[i], indptr[i + 1]):
                    row += weights[e] * (labels[indices[e]] == labels[i])
                agreements[i] = row
            total += agreements[i]
    return total


def add_evidence(
    const int[::1] labels, const place[::1] indptr, const place[::1] indices, const real[::1] weights,
    double[:, :] evidence,
):
    """Add the weights of each sample's neighbors to `evidence` (samples, labels), in the column of their label."""
    cdef Py_ssize_t i, e
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for e in range(indptr[i], indptr[i + 1]):
                evidence[i, labels[indices[e]]] += weights[e]


def gather(
    const int[::1] labels, const place[::1] indptr, const place[::1] indices, const real[::1] weights,
    const int[::1] order,
):
    """Read the label and the weight of each neighbor: the lower bound of the cost of `sweep`."""
    cdef:
        Py_ssize_t t, e
        double total = 0.0
    with nogil:
        for t in range(order.shape[0]):
            if t + 2 < order.shape[0]:
                fetch(indptr, indices, weights, order[t + 2])
            for e in range(indptr[order[t]], indptr[order[t] + 1]):
                total += labels[indices[e]] * weights[e]
    return total
