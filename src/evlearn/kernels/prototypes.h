/* Costs, masses and additive statistics of a block of rows: the inner loop of the prototype methods.
 *
 * Rows are processed in tiles. A tile is transposed so that loops run over rows, which the compiler vectorizes; its data
 * stay in the L1 cache. Compiled for single and double precision, and for 2 instruction sets (processor.h).
 */
#ifndef EVLEARN_PROTOTYPES_H
#define EVLEARN_PROTOTYPES_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "processor.h"

#define EVLEARN_TILE 64
#define EVLEARN_RARE __attribute__((noinline))

/* Parameters that are the same for all blocks. Sets are the nonempty ones; c clusters, f sets. */
typedef struct {
    int d, c, f;
    const int *begin;   /* f + 1: start of the members of each set in `members` */
    const int *members; /* the clusters of each set */
    const int *first;   /* c + 1: start of the sets of each cluster in `sets` */
    const int *sets;    /* the sets that contain each cluster */
    double power, beta; /* power = 1 / (beta - 1) */
    int whole;          /* the power if it is an integer above 1, else 0 */
    /* The outlier rule; `reaches` is NULL if there is none. */
    const double *reaches;      /* c: inverse squared reaches of the clusters */
    int n_pairs;                /* segments between 2 prototypes */
    const int *pairs;           /* n_pairs by 2: their ends */
    const double *lengths;      /* their squared lengths */
    const double *pair_reaches; /* their inverse squared reaches */
    double steepness;           /* exponent of the squared ratio of distance and reach */
} evlearn_family;

#define EVLEARN_PASTE_(a, b, c) evlearn_##a##_##b##_##c
#define EVLEARN_PASTE(a, b, c) EVLEARN_PASTE_(a, b, c)
#define EVLEARN_NAME(name) EVLEARN_PASTE(EVLEARN_ISA, REAL, name)

/* Shuffle of 2 vectors. GCC supports the name of Clang since version 12. */
#if defined(__clang__) || __GNUC__ >= 12
#define EVLEARN_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef long long evlearn_places_of_double __attribute__((vector_size(4 * sizeof(double))));
typedef int evlearn_places_of_float __attribute__((vector_size(4 * sizeof(float))));
#define EVLEARN_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (EVLEARN_PASTE(places, of, REAL)){__VA_ARGS__})
#endif

#define EVLEARN_ISA plain
#define EVLEARN_TARGET
#define REAL double
#include "prototypes_body.h"
#undef REAL
#define REAL float
#include "prototypes_body.h"
#undef REAL
#undef EVLEARN_ISA
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_ISA avx2
#define EVLEARN_TARGET EVLEARN_AVX2
#define REAL double
#include "prototypes_body.h"
#undef REAL
#define REAL float
#include "prototypes_body.h"
#undef REAL
#endif

static inline void evlearn_pass_double(
    const evlearn_family *family, const double *X, ptrdiff_t n, const double *weights, const double *center, double scale,
    const double *V, const double *p, const double *q, double empty, double *work, double *out, double *w, double *B, double *cost)
{
    EVLEARN_CALL(double_pass, family, X, n, weights, center, scale, V, p, q, empty, work, out, w, B, cost);
}

static inline void evlearn_pass_float(
    const evlearn_family *family, const float *X, ptrdiff_t n, const float *weights, const float *center, float scale,
    const float *V, const float *p, const float *q, float empty, float *work, float *out, double *w, double *B, double *cost)
{
    EVLEARN_CALL(float_pass, family, X, n, weights, center, scale, V, p, q, empty, work, out, w, B, cost);
}

static inline void evlearn_known_double(
    const evlearn_family *family, double *squares, ptrdiff_t n, const double *weights, const double *p, const double *q,
    double empty, double *work, double *out, double *w, double *cost)
{
    EVLEARN_CALL(double_pass_known, family, squares, n, weights, p, q, empty, work, out, w, cost);
}

static inline void evlearn_known_float(
    const evlearn_family *family, float *squares, ptrdiff_t n, const float *weights, const float *p, const float *q,
    float empty, float *work, float *out, double *w, double *cost)
{
    EVLEARN_CALL(float_pass_known, family, squares, n, weights, p, q, empty, work, out, w, cost);
}

#endif
