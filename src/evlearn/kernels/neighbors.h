/* The nearest neighbors of many rows in a balanced tree of boxes.
 *
 * Node i has the children 2 i and 2 i + 1; the last level contains the leaves, of EVLEARN_LEAF points each, stored
 * feature by feature so that loops run over points. Query rows are also in leaves of a tree, and the rows of a leaf are
 * processed together, so that they share cached data. Ties are resolved in favor of the lowest index, independently of
 * the order of traversal. Compiled for 2 instruction sets (processor.h).
 */
#ifndef EVLEARN_NEIGHBORS_H
#define EVLEARN_NEIGHBORS_H

#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "processor.h"

#define EVLEARN_LEAF 32
#define EVLEARN_FOURS (EVLEARN_LEAF / 4)
#define EVLEARN_DEPTH 64
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

#define EVLEARN_NAME(name) evlearn_plain_##name
#define EVLEARN_TARGET
#include "neighbors_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET

#if defined(__x86_64__)
#define EVLEARN_NAME(name) evlearn_avx2_##name
#define EVLEARN_TARGET EVLEARN_AVX2
#include "neighbors_body.h"
#undef EVLEARN_NAME
#undef EVLEARN_TARGET
#endif

/* Write the k nearest samples of all rows in a leaf of `asking`; exclude the same index if `others` is set. */
static inline void evlearn_nearest(const evlearn_tree *tree, const evlearn_tree *asking, int leaf, int others, int k,
                                   int *indices, double *squares)
{
    EVLEARN_CALL(nearest, tree, asking, leaf, others, k, indices, squares);
}

#endif
