/* The functions of neighbors.h for one instruction set. */

/* The squared distance between two boxes. */
EVLEARN_TARGET static inline double EVLEARN_NAME(apart)(const double *lower, const double *upper, const double *other_lower,
                                                        const double *other_upper, int width)
{
    evlearn_four sums = {0};
    for (int j = 0; j < width; j += 4) {
        evlearn_four below = *(const evlearn_four *)(lower + j) - *(const evlearn_four *)(other_upper + j);
        evlearn_four above = *(const evlearn_four *)(other_lower + j) - *(const evlearn_four *)(upper + j);
        evlearn_four gap = EVLEARN_POSITIVE(below) + EVLEARN_POSITIVE(above); /* at least one term is 0 */
        sums += gap * gap;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The squared distances of the rows of a leaf to a box. */
EVLEARN_TARGET static inline void EVLEARN_NAME(gaps)(const double *lower, const double *upper, const double *rows, int d,
                                                     double *sums)
{
    evlearn_four total[EVLEARN_FOURS] = {{0}};
    for (int j = 0; j < d; j++, rows += EVLEARN_LEAF)
        for (int i = 0; i < EVLEARN_FOURS; i++) {
            evlearn_four row = *(const evlearn_four *)(rows + 4 * i);
            evlearn_four gap = EVLEARN_POSITIVE(lower[j] - row) + EVLEARN_POSITIVE(row - upper[j]);
            total[i] += gap * gap;
        }
    for (int i = 0; i < EVLEARN_FOURS; i++) *(evlearn_four *)(sums + 4 * i) = total[i];
}

/* Move the candidates that precede a pivot to the front, without branches; return the final place of the pivot. */
EVLEARN_TARGET static int EVLEARN_NAME(divide)(evlearn_candidate *candidates, int n)
{
    const evlearn_candidate pivot = candidates[n / 2];
    int place = 0;
    evlearn_move(candidates + n / 2, candidates + n - 1);
    for (int i = 0; i < n - 1; i++) {
        const evlearn_pair moved = *(const evlearn_pair *)(candidates + i);
        const int precedes = candidates[i] < pivot;
        evlearn_move(candidates + i, candidates + place);
        *(evlearn_pair *)(candidates + place) = moved;
        place += precedes;
    }
    evlearn_move(candidates + n - 1, candidates + place);
    candidates[place] = pivot;
    return place;
}

/* Move the k first candidates to the front, and the last of them to place k - 1. */
EVLEARN_TARGET static void EVLEARN_NAME(select)(evlearn_candidate *candidates, int n, int k)
{
    while (n > 1) {
        int place = EVLEARN_NAME(divide)(candidates, n);
        if (place == k - 1) return;
        if (place < k) {
            candidates += place + 1;
            n -= place + 1;
            k -= place + 1;
        } else {
            n = place;
        }
    }
}

/* Insert a candidate into those before `place`, which are sorted. */
EVLEARN_TARGET static inline void EVLEARN_NAME(insert)(evlearn_candidate *candidates, int place,
                                                       evlearn_candidate candidate)
{
    for (; place > 0 && candidate < candidates[place - 1]; place--)
        evlearn_move(candidates + place, candidates + place - 1);
    candidates[place] = candidate;
}

EVLEARN_TARGET static void EVLEARN_NAME(sort)(evlearn_candidate *candidates, int n)
{
    while (n > EVLEARN_FEW) {
        int place = EVLEARN_NAME(divide)(candidates, n);
        if (2 * place < n) { /* the recursion is into the shorter part, so its depth is logarithmic */
            EVLEARN_NAME(sort)(candidates, place);
            candidates += place + 1;
            n -= place + 1;
        } else {
            EVLEARN_NAME(sort)(candidates + place + 1, n - place - 1);
            n = place;
        }
    }
    for (int i = 1; i < n; i++) EVLEARN_NAME(insert)(candidates, i, candidates[i]);
}

/* Add the points of a leaf that precede a bound to the candidates of a row, which are sorted if k is small; return their
 * number. */
EVLEARN_TARGET static inline int EVLEARN_NAME(scan)(const double *points, const int *numbers, const double *x, int d,
                                                    int left_out, evlearn_candidate bound, int k,
                                                    evlearn_candidate *candidates, int count)
{
    const double far = evlearn_square_of(bound);
    evlearn_four total[EVLEARN_FOURS] = {{0}};
    evlearn_bits some = {0};
    double sums[EVLEARN_LEAF];
    for (int j = 0; j < d; j++, points += EVLEARN_LEAF)
        for (int i = 0; i < EVLEARN_FOURS; i++) {
            evlearn_four apart = *(const evlearn_four *)(points + 4 * i) - x[j * EVLEARN_LEAF];
            total[i] += apart * apart;
        }
    for (int i = 0; i < EVLEARN_FOURS; i++) some |= total[i] <= far;
    if (!(some[0] | some[1] | some[2] | some[3])) return count;
    for (int i = 0; i < EVLEARN_FOURS; i++) *(evlearn_four *)(sums + 4 * i) = total[i];
    for (int p = 0; p < EVLEARN_LEAF; p++) {
        const evlearn_candidate candidate = evlearn_candidate_of(sums[p], numbers[p]);
        if (k > EVLEARN_FEW) { /* without branches */
            candidates[count] = candidate;
            count += (candidate < bound) & (numbers[p] != left_out);
        } else if (sums[p] <= far && candidate < bound && numbers[p] != left_out) {
            EVLEARN_NAME(insert)(candidates, count < k ? count++ : k - 1, candidate);
            if (count == k) bound = candidates[k - 1];
        }
    }
    return count;
}

/* Rows that are processed together, with their candidates, and bounds of candidates for each row and for all rows. */
typedef struct {
    int n, others, k, capacity;
    const double *rows;
    const int *numbers;
    evlearn_candidate *candidates;
    int counts[EVLEARN_LEAF];
    evlearn_candidate bounds[EVLEARN_LEAF], bound;
} EVLEARN_NAME(group);

EVLEARN_TARGET static inline void EVLEARN_NAME(begin)(EVLEARN_NAME(group) *group)
{
    for (group->n = 0; group->n < EVLEARN_LEAF && group->numbers[group->n] < INT_MAX; group->n++) {
        group->counts[group->n] = 0;
        group->bounds[group->n] = evlearn_candidate_of(INFINITY, INT_MAX);
    }
    group->bound = evlearn_candidate_of(INFINITY, INT_MAX);
}

/* Keep the k nearest candidates of a row, in order if k is small. */
EVLEARN_TARGET static inline void EVLEARN_NAME(keep)(EVLEARN_NAME(group) *group, int p)
{
    evlearn_candidate *candidates = group->candidates + (ptrdiff_t)p * group->capacity;
    if (group->counts[p] < group->k) return;
    if (group->k > EVLEARN_FEW) EVLEARN_NAME(select)(candidates, group->counts[p], group->k);
    group->counts[p] = group->k;
    group->bounds[p] = candidates[group->k - 1];
}

/* Write the nearest candidates of all rows in order. */
EVLEARN_TARGET static inline void EVLEARN_NAME(finish)(EVLEARN_NAME(group) *group, int *indices, double *squares)
{
    for (int p = 0; p < group->n; p++) {
        evlearn_candidate *candidates = group->candidates + (ptrdiff_t)p * group->capacity;
        ptrdiff_t first = (ptrdiff_t)group->numbers[p] * group->k;
        EVLEARN_NAME(keep)(group, p);
        if (group->k > EVLEARN_FEW) EVLEARN_NAME(sort)(candidates, group->counts[p]);
        for (int place = 0; place < group->k; place++) {
            int exists = place < group->counts[p];
            indices[first + place] = exists ? (int)candidates[place] : INT_MAX;
            squares[first + place] = exists ? evlearn_square_of(candidates[place]) : INFINITY;
        }
    }
}

/* True if no point at this distance or farther, with this or a larger index, can be among the nearest. */
EVLEARN_TARGET static inline int EVLEARN_NAME(useless)(double gap, int smallest, evlearn_candidate bound)
{
    const double far = evlearn_square_of(bound);
    return gap * EVLEARN_SURE > far || (far == 0 && smallest > (int)bound);
}

EVLEARN_TARGET static inline void EVLEARN_NAME(visit)(EVLEARN_NAME(group) *group, const evlearn_tree *tree, int node)
{
    ptrdiff_t leaf = node - tree->n_leaves, box = (ptrdiff_t)node * tree->width;
    double gaps[EVLEARN_LEAF];
    int d = tree->d, k = group->k;
    EVLEARN_NAME(gaps)(tree->lower + box, tree->upper + box, group->rows, d, gaps);
    for (int p = 0; p < group->n; p++) {
        if (EVLEARN_NAME(useless)(gaps[p], tree->smallest[node], group->bounds[p])) continue;
        group->counts[p] = EVLEARN_NAME(scan)(
            tree->points + leaf * d * EVLEARN_LEAF, tree->numbers + leaf * EVLEARN_LEAF, group->rows + p, d,
            group->others ? group->numbers[p] : -1, group->bounds[p], k, group->candidates + (ptrdiff_t)p * group->capacity,
            group->counts[p]);
        if (k <= EVLEARN_FEW || group->counts[p] + EVLEARN_LEAF >= group->capacity) EVLEARN_NAME(keep)(group, p);
    }
    group->bound = 0;
    for (int p = 0; p < group->n; p++) group->bound = group->bounds[p] > group->bound ? group->bounds[p] : group->bound;
}

EVLEARN_TARGET static void EVLEARN_NAME(nearest)(const evlearn_tree *tree, const evlearn_tree *queries, int leaf, int others,
                                                 int k, evlearn_candidate *candidates, int capacity, int *indices,
                                                 double *squares)
{
    int width = tree->width, waiting = 1, nodes[EVLEARN_DEPTH] = {1};
    double far[EVLEARN_DEPTH] = {0};
    const double *lower = queries->lower + (ptrdiff_t)(queries->n_leaves + leaf) * width;
    const double *upper = queries->upper + (ptrdiff_t)(queries->n_leaves + leaf) * width;
    EVLEARN_NAME(group) group = {.others = others, .k = k, .capacity = capacity, .candidates = candidates};
    group.rows = queries->points + (ptrdiff_t)leaf * tree->d * EVLEARN_LEAF;
    group.numbers = queries->numbers + (ptrdiff_t)leaf * EVLEARN_LEAF;
    EVLEARN_NAME(begin)(&group);
    while (waiting > 0) {
        int node = nodes[--waiting];
        if (EVLEARN_NAME(useless)(far[waiting], tree->smallest[node], group.bound)) continue;
        if (node >= tree->n_leaves) {
            EVLEARN_NAME(visit)(&group, tree, node);
            continue;
        }
        const double *left_lower = tree->lower + 2 * (ptrdiff_t)node * width;
        const double *left_upper = tree->upper + 2 * (ptrdiff_t)node * width;
        double left = EVLEARN_NAME(apart)(left_lower, left_upper, lower, upper, width);
        double right = EVLEARN_NAME(apart)(left_lower + width, left_upper + width, lower, upper, width);
        int nearer = left <= right ? 0 : 1;
        nodes[waiting] = 2 * node + 1 - nearer;
        far[waiting++] = nearer ? left : right;
        nodes[waiting] = 2 * node + nearer;
        far[waiting++] = nearer ? right : left;
    }
    EVLEARN_NAME(finish)(&group, indices, squares);
}
