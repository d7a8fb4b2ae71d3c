cdef int solve_simplex_qp(
    const double* Q, const double* u, double* m, int f, double* work, int* places
) noexcept nogil

cdef Py_ssize_t work_size(int f) noexcept nogil
