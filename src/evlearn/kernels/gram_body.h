/* The functions of gram.h for one kind of processor: EVLEARN_NAME and EVLEARN_TARGET say which. */

/* Q (ld by ld) += the outer products of four rows, in blocks of four by four; u -= the sum of delta times row. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(add_four)(
    double *Q, double *u, const double *rows, const double *delta, int f, int ld)
{
    for (int a = 0; a < f; a++)
        u[a] -= delta[0] * rows[a] + delta[1] * rows[ld + a] + delta[2] * rows[2 * ld + a] + delta[3] * rows[3 * ld + a];
    for (int A = 0; A < ld; A += 4)
        for (int B = 0; B <= A; B += 4) {
            const evlearn_four c0 = *(const evlearn_four *)(rows + B), c1 = *(const evlearn_four *)(rows + ld + B),
                               c2 = *(const evlearn_four *)(rows + 2 * ld + B),
                               c3 = *(const evlearn_four *)(rows + 3 * ld + B);
            for (int a = A; a < A + 4; a++) {
                evlearn_four *q = (evlearn_four *)(Q + (size_t)a * ld + B);
                *q += rows[a] * c0 + rows[ld + a] * c1 + rows[2 * ld + a] * c2 + rows[3 * ld + a] * c3;
            }
        }
}

#define EVLEARN_DEFINE_GRAM(KIND, REAL)                                                                               \
    EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(fixed_##KIND)(                                                    \
        double *Q, double *u, double *rows, const double *Y, const int *indices, const REAL *targets,                 \
        ptrdiff_t count, int f, int ld)                                                                               \
    {                                                                                                                 \
        double delta[4];                                                                                              \
        for (ptrdiff_t e = 0; e < count; e += 4) {                                                                    \
            for (int k = 0; k < 4; k++) {                                                                             \
                if (e + k < count) {                                                                                  \
                    if (e + k + EVLEARN_AHEAD < count)                                                                \
                        EVLEARN_PREFETCH(Y + (ptrdiff_t)indices[e + k + EVLEARN_AHEAD] * f);                          \
                    memcpy(rows + k * ld, Y + (ptrdiff_t)indices[e + k] * f, f * sizeof(double));                     \
                    delta[k] = (double)targets[e + k];                                                                \
                } else {                                                                                              \
                    memset(rows + k * ld, 0, f * sizeof(double));                                                     \
                    delta[k] = 0.0;                                                                                   \
                }                                                                                                     \
            }                                                                                                         \
            EVLEARN_NAME(add_four)(Q, u, rows, delta, f, ld);                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    /* A constant number of sets lets the compiler unroll. */                                                         \
    EVLEARN_TARGET static void EVLEARN_NAME(gram_##KIND)(                                                             \
        double *Q, double *u, double *rows, const double *Y, const int *indices, const REAL *targets,                 \
        ptrdiff_t count, int f)                                                                                       \
    {                                                                                                                 \
        switch (f) {                                                                                                  \
        case 4: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 4, 4); break;                      \
        case 5: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 5, 8); break;                      \
        case 6: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 6, 8); break;                      \
        case 7: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 7, 8); break;                      \
        case 8: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 8, 8); break;                      \
        default: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, f, evlearn_padded(f));            \
        }                                                                                                             \
    }

EVLEARN_DEFINE_GRAM(double, double)
EVLEARN_DEFINE_GRAM(float, float)
#undef EVLEARN_DEFINE_GRAM

/* u -= the sum over all n rows of delta times row. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(fixed_sum)(
    double *restrict u, const double *restrict Y, const double *restrict delta, ptrdiff_t n, int f)
{
    for (ptrdiff_t j = 0; j < n; j++)
        for (int a = 0; a < f; a++)
            u[a] -= delta[j] * Y[j * f + a];
}

EVLEARN_TARGET static void EVLEARN_NAME(sum)(double *u, const double *Y, const double *delta, ptrdiff_t n, int f)
{
    switch (f) {
    case 4: EVLEARN_NAME(fixed_sum)(u, Y, delta, n, 4); break;
    case 5: EVLEARN_NAME(fixed_sum)(u, Y, delta, n, 5); break;
    case 6: EVLEARN_NAME(fixed_sum)(u, Y, delta, n, 6); break;
    case 8: EVLEARN_NAME(fixed_sum)(u, Y, delta, n, 8); break;
    default: EVLEARN_NAME(fixed_sum)(u, Y, delta, n, f);
    }
}
