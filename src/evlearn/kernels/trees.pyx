# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Nodes of trees that samples reach, and mean masses of nodes.

Nodes of all trees are numbered jointly. A split has a feature, a threshold and 2 children with larger numbers; the
feature of a leaf is -1.
"""


def reach(
    const float[:, ::1] rows, const Py_ssize_t[::1] roots, const Py_ssize_t[::1] features,
    const double[::1] thresholds, const Py_ssize_t[:, ::1] children, Py_ssize_t[:, ::1] out,
):
    """Compute the leaf, as a node, that each row reaches in each tree."""
    cdef Py_ssize_t i, t, node, feature
    with nogil:
        for t in range(roots.shape[0]):
            for i in range(rows.shape[0]):
                node = roots[t]
                feature = features[node]
                while feature >= 0:
                    node = children[node, rows[i, feature] > thresholds[node]]
                    feature = features[node]
                out[i, t] = node


def prune(
    const Py_ssize_t[::1] features, const Py_ssize_t[:, ::1] children, const double[::1] weights, double smallest,
    Py_ssize_t[::1] out,
):
    """Replace nodes by their ancestors that are not split because their weights are below `smallest`.

    On entry, `out` contains the number of each node.
    """
    cdef Py_ssize_t node, side, child
    with nogil:
        for node in range(features.shape[0]):
            if features[node] >= 0:
                for side in range(2):
                    child = children[node, side]
                    if out[node] != node or weights[node] < smallest:
                        out[child] = out[node]


def add_masses(
    const Py_ssize_t[:, ::1] nodes, const double[:, :] weights, const double[:, ::1] masses, double[:, ::1] out,
):
    """Add the masses of the nodes of each row to `out`, multiplied by the weights of the trees."""
    cdef:
        Py_ssize_t i, t, j, n_sets = masses.shape[1]
        double weight
        const double* node
    with nogil:
        for i in range(nodes.shape[0]):
            for t in range(nodes.shape[1]):
                weight = weights[i, t]
                if weight != 0.0:
                    node = &masses[nodes[i, t], 0]
                    for j in range(n_sets):
                        out[i, j] += weight * node[j]
