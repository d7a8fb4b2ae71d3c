/* The functions of gram.h for one instruction set, EVLEARN_NAME and EVLEARN_TARGET. */

/* Add the outer products of the rows to `lines` rows of Q (ld by ld), starting at A, and 8 of its columns, starting at B.
 * The sums stay in registers. If with_u is set, also u -= the sum of delta times row. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(add_block)(
    double *Q, double *u, const double *rows, const double *delta, int count, int ld, int A, int lines, int B,
    int with_u)
{
    evlearn_four left[4] = {{0.0}}, right[4] = {{0.0}};
    for (int e = 0; e < count; e++) {
        const double *row = rows + e * ld;
        const evlearn_four c0 = *(const evlearn_four *)(row + B), c1 = *(const evlearn_four *)(row + B + 4);
        for (int k = 0; k < lines; k++) {
            left[k] += row[A + k] * c0;
            right[k] += row[A + k] * c1;
        }
        if (with_u) {
            left[lines] += delta[e] * c0;
            right[lines] += delta[e] * c1;
        }
    }
    for (int k = 0; k < lines; k++) {
        *(evlearn_four *)(Q + (size_t)(A + k) * ld + B) += left[k];
        *(evlearn_four *)(Q + (size_t)(A + k) * ld + B + 4) += right[k];
    }
    if (with_u) {
        *(evlearn_four *)(u + B) -= left[lines];
        *(evlearn_four *)(u + B + 4) -= right[lines];
    }
}

/* Q on and below the diagonal, and u: blocks of 4 rows; u is updated together with the remaining rows, at little cost. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(add_rows)(
    double *Q, double *u, const double *rows, const double *delta, int count, int f, int ld)
{
    const int whole = f / 4 * 4;
    for (int A = 0; A < whole; A += 4)
        for (int B = 0; B <= A; B += 8)
            EVLEARN_NAME(add_block)(Q, u, rows, delta, count, ld, A, 4, B, 0);
    for (int B = 0; B < f; B += 8)
        switch (f - whole) {
        case 0: EVLEARN_NAME(add_block)(Q, u, rows, delta, count, ld, whole, 0, B, 1); break;
        case 1: EVLEARN_NAME(add_block)(Q, u, rows, delta, count, ld, whole, 1, B, 1); break;
        case 2: EVLEARN_NAME(add_block)(Q, u, rows, delta, count, ld, whole, 2, B, 1); break;
        default: EVLEARN_NAME(add_block)(Q, u, rows, delta, count, ld, whole, 3, B, 1);
        }
}

#define EVLEARN_DEFINE_GRAM(KIND, REAL)                                                                               \
    EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(fixed_##KIND)(                                                    \
        double *Q, double *u, double *rows, const double *Y, const int *indices, const REAL *targets,                 \
        ptrdiff_t count, int f, int ld)                                                                               \
    {                                                                                                                 \
        double delta[EVLEARN_ROWS];                                                                                   \
        for (ptrdiff_t start = 0; start < count; start += EVLEARN_ROWS) {                                             \
            const int some = count - start < EVLEARN_ROWS ? (int)(count - start) : EVLEARN_ROWS;                      \
            for (int e = 0; e < some; e++) {                                                                          \
                const ptrdiff_t ahead = start + e + EVLEARN_AHEAD;                                                    \
                EVLEARN_PREFETCH(Y + (ptrdiff_t)indices[ahead < count ? ahead : start] * f);                          \
                memcpy(rows + e * ld, Y + (ptrdiff_t)indices[start + e] * f, f * sizeof(double));                     \
                delta[e] = (double)targets[start + e];                                                                \
            }                                                                                                         \
            EVLEARN_NAME(add_rows)(Q, u, rows, delta, some, f, ld);                                                   \
        }                                                                                                             \
    }                                                                                                                 \
    /* A constant number of sets lets the compiler unroll. */                                                         \
    EVLEARN_TARGET static void EVLEARN_NAME(gram_##KIND)(                                                             \
        double *Q, double *u, double *rows, const double *Y, const int *indices, const REAL *targets,                 \
        ptrdiff_t count, int f)                                                                                       \
    {                                                                                                                 \
        switch (f) {                                                                                                  \
        case 4: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 4, 8); break;                      \
        case 5: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 5, 8); break;                      \
        case 6: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 6, 8); break;                      \
        case 7: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 7, 8); break;                      \
        case 8: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 8, 8); break;                      \
        case 17: EVLEARN_NAME(fixed_##KIND)(Q, u, rows, Y, indices, targets, count, 17, 24); break;                   \
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
