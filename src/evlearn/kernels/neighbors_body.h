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

/* Compare one row with the points of a leaf. */
EVLEARN_TARGET static inline void EVLEARN_NAME(scan)(const double *points, const int *numbers, const double *x, int d,
                                                     int left_out, int k, int *indices, double *squares)
{
    evlearn_four total[EVLEARN_FOURS] = {{0}};
    evlearn_bits some = {0};
    double sums[EVLEARN_LEAF];
    for (int j = 0; j < d; j++, points += EVLEARN_LEAF)
        for (int i = 0; i < EVLEARN_FOURS; i++) {
            evlearn_four apart = *(const evlearn_four *)(points + 4 * i) - x[j * EVLEARN_LEAF];
            total[i] += apart * apart;
        }
    for (int i = 0; i < EVLEARN_FOURS; i++) some |= total[i] <= squares[k - 1];
    if (!(some[0] | some[1] | some[2] | some[3])) return;
    for (int i = 0; i < EVLEARN_FOURS; i++) *(evlearn_four *)(sums + 4 * i) = total[i];
    for (int p = 0; p < EVLEARN_LEAF; p++) {
        double square = sums[p];
        int number = numbers[p], place = k - 1;
        if (square > squares[place] || number == left_out || (square == squares[place] && number >= indices[place]))
            continue;
        for (; place > 0 && (square < squares[place - 1] ||
                             (square == squares[place - 1] && number < indices[place - 1])); place--) {
            squares[place] = squares[place - 1];
            indices[place] = indices[place - 1];
        }
        squares[place] = square;
        indices[place] = number;
    }
}

/* Rows that are processed together, with the largest distance and index in the results of each row, and of all rows. */
typedef struct {
    int n, others, k;
    const double *rows;
    const int *numbers;
    int *indices;
    double *squares;
    double farthest[EVLEARN_LEAF], far;
    int lasts[EVLEARN_LEAF], last;
} EVLEARN_NAME(company);

EVLEARN_TARGET static inline void EVLEARN_NAME(begin)(EVLEARN_NAME(company) *who)
{
    for (who->n = 0; who->n < EVLEARN_LEAF && who->numbers[who->n] < INT_MAX; who->n++) {
        ptrdiff_t first = (ptrdiff_t)who->numbers[who->n] * who->k;
        for (ptrdiff_t place = first; place < first + who->k; place++) {
            who->squares[place] = INFINITY;
            who->indices[place] = INT_MAX;
        }
        who->farthest[who->n] = INFINITY;
        who->lasts[who->n] = INT_MAX;
    }
    who->far = INFINITY;
    who->last = INT_MAX;
}

/* True if no point at this distance or farther can be among the nearest. */
EVLEARN_TARGET static inline int EVLEARN_NAME(useless)(double gap, int smallest, double far, int last)
{
    return gap * EVLEARN_SURE > far || (far == 0 && smallest > last);
}

EVLEARN_TARGET static inline void EVLEARN_NAME(visit)(EVLEARN_NAME(company) *who, const evlearn_tree *tree, int node)
{
    ptrdiff_t leaf = node - tree->n_leaves, box = (ptrdiff_t)node * tree->width;
    double gaps[EVLEARN_LEAF];
    int d = tree->d, k = who->k;
    EVLEARN_NAME(gaps)(tree->lower + box, tree->upper + box, who->rows, d, gaps);
    for (int p = 0; p < who->n; p++) {
        if (EVLEARN_NAME(useless)(gaps[p], tree->smallest[node], who->farthest[p], who->lasts[p])) continue;
        ptrdiff_t first = (ptrdiff_t)who->numbers[p] * k;
        EVLEARN_NAME(scan)(tree->points + leaf * d * EVLEARN_LEAF, tree->numbers + leaf * EVLEARN_LEAF, who->rows + p, d,
                           who->others ? who->numbers[p] : -1, k, who->indices + first, who->squares + first);
        who->farthest[p] = who->squares[first + k - 1];
        who->lasts[p] = who->indices[first + k - 1];
    }
    who->far = 0;
    who->last = 0;
    for (int p = 0; p < who->n; p++) {
        who->far = who->farthest[p] > who->far ? who->farthest[p] : who->far;
        who->last = who->lasts[p] > who->last ? who->lasts[p] : who->last;
    }
}

EVLEARN_TARGET static void EVLEARN_NAME(nearest)(const evlearn_tree *tree, const evlearn_tree *asking, int leaf, int others,
                                                 int k, int *indices, double *squares)
{
    int width = tree->width, waiting = 1, nodes[EVLEARN_DEPTH] = {1};
    double far[EVLEARN_DEPTH] = {0};
    const double *lower = asking->lower + (ptrdiff_t)(asking->n_leaves + leaf) * width;
    const double *upper = asking->upper + (ptrdiff_t)(asking->n_leaves + leaf) * width;
    EVLEARN_NAME(company) who = {.others = others, .k = k, .indices = indices, .squares = squares};
    who.rows = asking->points + (ptrdiff_t)leaf * tree->d * EVLEARN_LEAF;
    who.numbers = asking->numbers + (ptrdiff_t)leaf * EVLEARN_LEAF;
    EVLEARN_NAME(begin)(&who);
    while (waiting > 0) {
        int node = nodes[--waiting];
        if (EVLEARN_NAME(useless)(far[waiting], tree->smallest[node], who.far, who.last)) continue;
        if (node >= tree->n_leaves) {
            EVLEARN_NAME(visit)(&who, tree, node);
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
}
