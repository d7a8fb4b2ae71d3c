/* Gaussian components over tiles of samples: quadratic forms and scatter matrices.
 *
 * A tile contains the differences of EVLEARN_SAMPLES samples from a mean, feature by feature, so that loops run over
 * samples. Compiled for two kinds of processor (processor.h).
 */
#ifndef EVLEARN_GAUSSIAN_H
#define EVLEARN_GAUSSIAN_H

#include <stddef.h>

#include "processor.h"

#define EVLEARN_SAMPLES 64

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#include "gaussian_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET EVLEARN_AVX2
#include "gaussian_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#endif

/* The differences of `count` samples from a mean; the tile is padded with zeros. Xt is (d, stride). */
static inline void evlearn_differences(double *tile, const double *Xt, ptrdiff_t stride, int count, const double *mean, int d)
{
    for (int a = 0; a < d; a++) {
        const double *x = Xt + a * stride;
        double *to = tile + (ptrdiff_t)a * EVLEARN_SAMPLES;
        for (int t = 0; t < count; t++) to[t] = x[t] - mean[a];
        for (int t = count; t < EVLEARN_SAMPLES; t++) to[t] = 0;
    }
}

/* The squared norm of each difference times a lower triangular matrix. */
static inline void evlearn_squared_norms(double *norms, const double *tile, const double *triangle, int d)
{
    EVLEARN_CALL(squared_norms, norms, tile, triangle, d);
}

/* Add the weighted products of the differences to the lower triangle of S. */
static inline void evlearn_add_products(double *S, const double *tile, const double *weights, int d)
{
    EVLEARN_CALL(add_products, S, tile, weights, d);
}

#endif
