/* Sums of the agreement of samples with landmarks, times factors of the landmarks: 2 products and an exponential.
 *
 * Tiles contain EVLEARN_SAMPLES samples, so that loops run over samples, and the agreements of a tile with
 * EVLEARN_LANDMARKS landmarks stay in the cache. Compiled for 3 instruction sets (processor.h).
 */
#ifndef EVLEARN_AGREEMENTS_H
#define EVLEARN_AGREEMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "processor.h"

#define EVLEARN_SAMPLES 8
#define EVLEARN_LANDMARKS 32
#define EVLEARN_SMALLEST_EXPONENT -1000.0

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#define EVLEARN_LANES 2
#include "agreements_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#undef EVLEARN_LANES

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET EVLEARN_AVX2
#define EVLEARN_LANES 4
#include "agreements_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#undef EVLEARN_LANES

#define EVLEARN_NAME(name) evlearn_avx512_##name
#define EVLEARN_TARGET EVLEARN_AVX512
#define EVLEARN_LANES 8
#include "agreements_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#undef EVLEARN_LANES
#endif

/* Add to the sums (f, EVLEARN_SAMPLES) of a tile (d, EVLEARN_SAMPLES) its agreements with `count` landmarks. Rows of
 * exponents (count, d) and of factors (f, stride) are those of the landmarks; count and f are multiples of 8. */
static inline void evlearn_add_agreements(double *sums, const double *tile, const double *exponents, const double *factors,
                                          ptrdiff_t stride, int count, int d, int f, double largest)
{
#if defined(__x86_64__)
    if (evlearn_has_avx512()) {
        evlearn_avx512_add_agreements(sums, tile, exponents, factors, stride, count, d, f, largest);
        return;
    }
#endif
    EVLEARN_CALL(add_agreements, sums, tile, exponents, factors, stride, count, d, f, largest);
}

#endif
