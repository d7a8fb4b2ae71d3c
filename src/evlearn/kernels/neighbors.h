/* The nearest neighbors of many rows in a balanced tree of boxes.
 *
 * Node i has the children 2 i and 2 i + 1; the last level contains the leaves, of EVLEARN_LEAF points each, stored
 * feature by feature so that loops run over points. Query rows are also in leaves of a tree, and the rows of a leaf are
 * processed together, so that they share cached data. Ties are resolved in favor of the lowest index, independently of
 * the order of traversal. If there are many neighbors, candidates are collected until they are about twice as many, and
 * then the nearest are selected. Compiled for 2 instruction sets (processor.h), both without FMA, so that the same squares
 * result.
 */
#ifndef EVLEARN_NEIGHBORS_H
#define EVLEARN_NEIGHBORS_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "processor.h"

#ifndef __SIZEOF_INT128__
#error "evidential-learn needs a 64-bit processor and compiler, for integers of 128 bits."
#endif

#define EVLEARN_LEAF 32
#define EVLEARN_FOURS (EVLEARN_LEAF / 4)
#define EVLEARN_DEPTH 64
#define EVLEARN_FEW 32 /* neighbors or candidates that are sorted by insertion */
#define EVLEARN_SURE (1 - 1e-12) /* tolerance of rounding errors of gaps */

typedef long long evlearn_bits __attribute__((vector_size(32)));
#define EVLEARN_POSITIVE(values) ((evlearn_four)(((values) > 0) & (evlearn_bits)(values)))

/* `width` is the number d of features, padded to a multiple of 4. */
typedef struct {
    int d, width, n_leaves;
    const double *lower, *upper; /* 2 n_leaves by width: the boxes of the nodes, padded with zeros */
    const double *points;        /* n_leaves by d by EVLEARN_LEAF, padded with infinity */
    const int *numbers;          /* n_leaves by EVLEARN_LEAF: the sample index of each point, padded with INT_MAX */
    const int *smallest;         /* 2 n_leaves: the lowest sample index below each node */
} evlearn_tree;

/* A squared distance and an index, in an integer with the order of such pairs: the bits of numbers that are not negative
 * have the order of the numbers. */
typedef unsigned __int128 evlearn_candidate;

/* The same as a vector: moves of candidates must have one width, because a load cannot be served by 2 recent stores. */
typedef long long evlearn_pair __attribute__((vector_size(16), may_alias));

static inline void evlearn_move(evlearn_candidate *to, const evlearn_candidate *from)
{
    *(evlearn_pair *)to = *(const evlearn_pair *)from;
}

static inline evlearn_candidate evlearn_candidate_of(double square, int number)
{
    unsigned long long bits;
    memcpy(&bits, &square, sizeof bits);
    return (evlearn_candidate)bits << 64 | (unsigned)number;
}

static inline double evlearn_square_of(evlearn_candidate candidate)
{
    double square;
    const unsigned long long bits = (unsigned long long)(candidate >> 64);
    memcpy(&square, &bits, sizeof square);
    return square;
}

/* Number of candidates of a row for k neighbors: 1 more than are needed, because the next one is always written. */
static inline ptrdiff_t evlearn_capacity(int k) { return 2 * (ptrdiff_t)k + EVLEARN_LEAF + 1; }

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#include "neighbors_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET __attribute__((target("avx2")))
#include "neighbors_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#endif

/* Write the k nearest samples of all rows in a leaf of `queries`; exclude the same index if `others` is set. `candidates`
 * is memory for EVLEARN_LEAF rows. */
static inline void evlearn_nearest(const evlearn_tree *tree, const evlearn_tree *queries, int leaf, int others, int k,
                                   evlearn_candidate *candidates, int *indices, double *squares)
{
    EVLEARN_CALL(nearest, tree, queries, leaf, others, k, candidates, (int)evlearn_capacity(k), indices, squares);
}

#endif
