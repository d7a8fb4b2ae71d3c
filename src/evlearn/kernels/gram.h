/* Sums of outer products of gathered rows: the inner loop of a sweep.
 *
 * Partners are copied four at a time into a small buffer whose rows are padded to a multiple of four doubles, so that
 * each element of Q is loaded and stored once for four partners, and the loops run over whole vectors. Only the blocks
 * on and below the diagonal are summed. Compiled for plain x86-64 and, where the compiler can choose at run time, for
 * processors with AVX2 and FMA as well.
 */
#ifndef EVLEARN_GRAM_H
#define EVLEARN_GRAM_H

#include <stddef.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define EVLEARN_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define EVLEARN_CLONES
#endif

#if defined(__GNUC__) || defined(__clang__)
#define EVLEARN_INLINE static inline __attribute__((always_inline))
#define EVLEARN_PREFETCH(p) __builtin_prefetch(p)
#else
#define EVLEARN_INLINE static inline
#define EVLEARN_PREFETCH(p)
#endif

#define EVLEARN_AHEAD 12

static inline int evlearn_padded(int f) { return (f + 3) / 4 * 4; }

/* Q (f rows of ld) += sum of four rows' outer products; u -= sum of delta times row. */
EVLEARN_INLINE void evlearn_add_four(
    double *restrict Q, double *restrict u, const double *restrict rows, const double *restrict delta, int f, int ld)
{
    const double *restrict r0 = rows, *restrict r1 = rows + ld, *restrict r2 = rows + 2 * ld, *restrict r3 = rows + 3 * ld;
    for (int a = 0; a < f; a++) {
        const double y0 = r0[a], y1 = r1[a], y2 = r2[a], y3 = r3[a];
        double *restrict q = Q + (size_t)a * ld;
        const int stop = (a / 4 + 1) * 4;
        u[a] -= delta[0] * y0 + delta[1] * y1 + delta[2] * y2 + delta[3] * y3;
        for (int b = 0; b < stop; b++)
            q[b] += y0 * r0[b] + y1 * r1[b] + y2 * r2[b] + y3 * r3[b];
    }
}

#define EVLEARN_DEFINE_GRAM(NAME, REAL)                                                                               \
    EVLEARN_INLINE void NAME##_fixed(double *Q, double *u, double *rows, const double *Y, const int *indices,         \
                                     const REAL *targets, ptrdiff_t count, int f, int ld)                             \
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
            evlearn_add_four(Q, u, rows, delta, f, ld);                                                               \
        }                                                                                                             \
    }                                                                                                                 \
    /* A constant number of sets lets the compiler unroll. */                                                         \
    EVLEARN_CLONES static void NAME(double *Q, double *u, double *rows, const double *Y, const int *indices,          \
                                    const REAL *targets, ptrdiff_t count, int f)                                      \
    {                                                                                                                 \
        switch (f) {                                                                                                  \
        case 4: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 4, 4); break;                                    \
        case 5: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 5, 8); break;                                    \
        case 6: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 6, 8); break;                                    \
        case 7: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 7, 8); break;                                    \
        case 8: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 8, 8); break;                                    \
        case 17: NAME##_fixed(Q, u, rows, Y, indices, targets, count, 17, 20); break;                                 \
        default: NAME##_fixed(Q, u, rows, Y, indices, targets, count, f, evlearn_padded(f));                          \
        }                                                                                                             \
    }

EVLEARN_DEFINE_GRAM(evlearn_gram_double, double)
EVLEARN_DEFINE_GRAM(evlearn_gram_float, float)

/* u -= sum over all n rows of delta times row. */
EVLEARN_INLINE void evlearn_sum_fixed(double *restrict u, const double *restrict Y, const double *restrict delta,
                                      ptrdiff_t n, int f)
{
    for (ptrdiff_t j = 0; j < n; j++)
        for (int a = 0; a < f; a++)
            u[a] -= delta[j] * Y[j * f + a];
}

EVLEARN_CLONES static void evlearn_sum(double *u, const double *Y, const double *delta, ptrdiff_t n, int f)
{
    switch (f) {
    case 4: evlearn_sum_fixed(u, Y, delta, n, 4); break;
    case 5: evlearn_sum_fixed(u, Y, delta, n, 5); break;
    case 6: evlearn_sum_fixed(u, Y, delta, n, 6); break;
    case 8: evlearn_sum_fixed(u, Y, delta, n, 8); break;
    default: evlearn_sum_fixed(u, Y, delta, n, f);
    }
}

#endif
