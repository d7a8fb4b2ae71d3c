/* Sums of outer products of gathered rows: the inner loop of a sweep.
 *
 * Partners are copied, some at a time, into a small buffer whose rows are padded to a multiple of eight doubles, so
 * that sums stay in registers and loops run over whole vectors. Only the blocks on and below the diagonal are summed.
 * Needs GCC or Clang, for their vector types. Compiled for any processor and, on x86-64, for those with AVX2 and FMA
 * as well; the processor decides at run time which of them is called.
 */
#ifndef EVLEARN_GRAM_H
#define EVLEARN_GRAM_H

#include <stddef.h>
#include <string.h>

#define EVLEARN_INLINE static inline __attribute__((always_inline))
#define EVLEARN_PREFETCH(p) __builtin_prefetch(p)
#define EVLEARN_AHEAD 12
#define EVLEARN_ROWS 32 /* copied at a time */

/* Four doubles, in whatever registers the processor has. */
typedef double evlearn_four __attribute__((vector_size(32), aligned(8), may_alias));

static inline int evlearn_padded(int f) { return (f + 7) / 8 * 8; }

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#include "gram_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET __attribute__((target("avx2,fma")))
#include "gram_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#define EVLEARN_HAS_AVX2() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define EVLEARN_CALL(name, ...) \
    do { if (EVLEARN_HAS_AVX2()) evlearn_avx2_##name(__VA_ARGS__); else evlearn_plain_##name(__VA_ARGS__); } while (0)
#else
#define EVLEARN_CALL(name, ...) evlearn_plain_##name(__VA_ARGS__)
#endif

static inline void evlearn_gram_double(double *Q, double *u, double *rows, const double *Y, const int *indices,
                                       const double *targets, ptrdiff_t count, int f)
{
    EVLEARN_CALL(gram_double, Q, u, rows, Y, indices, targets, count, f);
}

static inline void evlearn_gram_float(double *Q, double *u, double *rows, const double *Y, const int *indices,
                                      const float *targets, ptrdiff_t count, int f)
{
    EVLEARN_CALL(gram_float, Q, u, rows, Y, indices, targets, count, f);
}

static inline void evlearn_sum(double *u, const double *Y, const double *delta, ptrdiff_t n, int f)
{
    EVLEARN_CALL(sum, u, Y, delta, n, f);
}

#endif
