/* Sums of outer products of gathered rows: the inner loop of a sweep.
 *
 * Blocks of partners are copied to a small buffer whose rows are padded to a multiple of 8 doubles, so that sums stay
 * in registers and loops run over whole vectors. Only the blocks on and below the diagonal are summed. Compiled for 2
 * instruction sets (processor.h).
 */
#ifndef EVLEARN_GRAM_H
#define EVLEARN_GRAM_H

#include <stddef.h>
#include <string.h>

#include "processor.h"

#define EVLEARN_PREFETCH(p) __builtin_prefetch(p)
#define EVLEARN_AHEAD 12
#define EVLEARN_ROWS 32 /* rows per block */

static inline int evlearn_padded(int f) { return (f + 7) / 8 * 8; }

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#include "gram_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET EVLEARN_AVX2
#include "gram_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
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
