/* The functions of prototypes.h for one precision, REAL, and one instruction set, EVLEARN_TARGET. */

typedef REAL EVLEARN_NAME(vec) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));
typedef REAL EVLEARN_NAME(four) __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
#define VEC EVLEARN_NAME(vec)
#define FOUR EVLEARN_NAME(four)
#define LANES ((int)(32 / sizeof(REAL)))
#define TILE EVLEARN_TILE
#define IS_SINGLE (sizeof(REAL) == sizeof(float))
/* Zero threshold: small enough to attract all mass, large enough as a divisor. */
#define REAL_ZERO ((REAL)(IS_SINGLE ? 1e-30 : 1e-200))
/* The largest cost: its inverse is still a normal number. */
#define REAL_TINY ((REAL)(IS_SINGLE ? 1e-35 : 1e-290))
#define REAL_HUGE ((REAL)(IS_SINGLE ? 1e37 : 1e300))
#define REAL_EPS ((REAL)(IS_SINGLE ? 1.1920928955078125e-07 : 2.220446049250313e-16))
#define REAL_POW(x, y) (IS_SINGLE ? (REAL)powf((float)(x), (float)(y)) : (REAL)pow(x, y))

EVLEARN_TARGET static inline double EVLEARN_NAME(lanes)(VEC v)
{
    REAL sum = (v[0] + v[2]) + (v[1] + v[3]);
    for (int l = 4; l < LANES; l += 4) sum += (v[l] + v[l + 2]) + (v[l + 1] + v[l + 3]);
    return sum;
}

/* The rows of a tile, centered, scaled and transposed in blocks of 4 by 4; missing rows at the end are set to the center. */
EVLEARN_TARGET static inline void EVLEARN_NAME(turn)(
    REAL *restrict Xt, const REAL *restrict X, int rows, int d, const REAL *restrict center, REAL scale)
{
    const int whole = rows / 4 * 4;
    for (int t = 0; t < whole; t += 4) {
        const REAL *x = X + (ptrdiff_t)t * d;
        int a = 0;
        for (; a + 3 < d; a += 4) {
            const FOUR c = *(const FOUR *)(center + a);
            const FOUR r0 = (*(const FOUR *)(x + a) - c) * scale, r1 = (*(const FOUR *)(x + a + d) - c) * scale;
            const FOUR r2 = (*(const FOUR *)(x + a + 2 * d) - c) * scale;
            const FOUR r3 = (*(const FOUR *)(x + a + 3 * d) - c) * scale;
            const FOUR e0 = EVLEARN_SHUFFLE(r0, r1, 0, 4, 2, 6), o0 = EVLEARN_SHUFFLE(r0, r1, 1, 5, 3, 7);
            const FOUR e1 = EVLEARN_SHUFFLE(r2, r3, 0, 4, 2, 6), o1 = EVLEARN_SHUFFLE(r2, r3, 1, 5, 3, 7);
            REAL *to = Xt + a * TILE + t;
            *(FOUR *)to = EVLEARN_SHUFFLE(e0, e1, 0, 1, 4, 5);
            *(FOUR *)(to + TILE) = EVLEARN_SHUFFLE(o0, o1, 0, 1, 4, 5);
            *(FOUR *)(to + 2 * TILE) = EVLEARN_SHUFFLE(e0, e1, 2, 3, 6, 7);
            *(FOUR *)(to + 3 * TILE) = EVLEARN_SHUFFLE(o0, o1, 2, 3, 6, 7);
        }
        for (; a < d; a++)
            for (int l = 0; l < 4; l++) Xt[a * TILE + t + l] = (x[a + l * d] - center[a]) * scale;
    }
    for (int a = 0; a < d; a++)
        for (int t = whole; t < TILE; t++)
            Xt[a * TILE + t] = t < rows ? (X[(ptrdiff_t)t * d + a] - center[a]) * scale : 0;
}

/* Squared distances to the prototypes, from differences to avoid cancellation. */
EVLEARN_TARGET static inline void EVLEARN_NAME(distances)(
    REAL *restrict D, const REAL *restrict Xt, const REAL *restrict V, int c, int d)
{
    for (int k = 0; k < c; k++) {
        REAL *restrict to = D + k * TILE;
        const REAL *v = V + k * d;
        for (int t = 0; t < TILE; t++) to[t] = 0;
        int a = 0;
        for (; a + 1 < d; a += 2) {
            const REAL *restrict x0 = Xt + a * TILE, *restrict x1 = x0 + TILE;
            const REAL v0 = v[a], v1 = v[a + 1];
            for (int t = 0; t < TILE; t++) {
                const REAL e0 = x0[t] - v0, e1 = x1[t] - v1;
                to[t] += e0 * e0 + e1 * e1;
            }
        }
        if (a < d) {
            const REAL *restrict x0 = Xt + a * TILE;
            const REAL v0 = v[a];
            for (int t = 0; t < TILE; t++) to[t] += (x0[t] - v0) * (x0[t] - v0);
        }
    }
}

/* The cost of each set, p * (sum of the squared distances to its members) - q, or the zero threshold
 * if it is a rounding error; samples on a barycenter share their mass among all sets without cost. */
EVLEARN_TARGET static inline void EVLEARN_NAME(costs)(
    REAL *restrict R, const REAL *restrict D, REAL *restrict sum, const evlearn_family *family, const REAL *p, const REAL *q)
{
    for (int j = 0; j < family->f; j++) {
        const int *m = family->members + family->begin[j];
        const int size = family->begin[j + 1] - family->begin[j];
        const REAL *from = size == 1 ? D + m[0] * TILE : sum;
        if (size > 1)
            for (int t = 0; t < TILE; t += 2 * LANES) {
                VEC s0 = *(const VEC *)(D + m[0] * TILE + t), s1 = *(const VEC *)(D + m[0] * TILE + t + LANES);
                for (int k = 1; k < size; k++) {
                    s0 += *(const VEC *)(D + m[k] * TILE + t);
                    s1 += *(const VEC *)(D + m[k] * TILE + t + LANES);
                }
                *(VEC *)(sum + t) = s0;
                *(VEC *)(sum + t + LANES) = s1;
            }
        REAL *restrict to = R + j * TILE;
        const REAL pj = p[j], qj = q[j], least = 16 * REAL_EPS;
        for (int t = 0; t < TILE; t++) {
            const REAL whole = pj * from[t], left = whole - qj;
            to[t] = left > least * whole && left > REAL_ZERO ? left : REAL_ZERO;
        }
    }
}

/* Convert costs to masses, in place; `none` receives the masses of the empty set, `best` the cost of each row at its
 * masses. This version is for beta = 2, where masses are proportional to inverse costs; the next one for any beta. */
EVLEARN_TARGET static inline void EVLEARN_NAME(masses_squared)(
    REAL *restrict R, REAL *restrict none, REAL *restrict best, int f, REAL empty)
{
    REAL total[TILE];
    const REAL r0 = 1 / empty;
    for (int t = 0; t < TILE; t++) total[t] = r0;
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) {
            r[t] = 1 / r[t];
            total[t] += r[t];
        }
    }
    for (int t = 0; t < TILE; t++) {
        best[t] = 1 / total[t];
        none[t] = r0 * best[t];
    }
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) r[t] *= best[t];
    }
}

EVLEARN_TARGET static inline void EVLEARN_NAME(masses_any)(
    REAL *restrict R, REAL *restrict none, REAL *restrict best, int f, REAL empty, double power)
{
    REAL least[TILE], total[TILE];
    for (int t = 0; t < TILE; t++) least[t] = empty;
    for (int j = 0; j < f; j++) {
        const REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) least[t] = r[t] < least[t] ? r[t] : least[t];
    }
    for (int t = 0; t < TILE; t++) total[t] = none[t] = REAL_POW(least[t] / empty, (REAL)power);
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) {
            r[t] = REAL_POW(least[t] / r[t], (REAL)power);
            total[t] += r[t];
        }
    }
    for (int t = 0; t < TILE; t++) {
        best[t] = least[t] * REAL_POW(total[t], (REAL)(-1 / power));
        total[t] = 1 / total[t];
        none[t] *= total[t];
    }
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) r[t] *= total[t];
    }
}

/* The same for integer powers, by repeated squaring, which is vectorized. With `raised`, R and `none` receive the masses to
 * the power beta = 1 + 1 / power up to a factor for each row, which is written to `factor`. This needs only one additional
 * product, because the cost of a set times its mass to the power beta - 1 is the same for all sets. */
EVLEARN_TARGET static inline void EVLEARN_NAME(whole_power)(
    REAL *restrict r, REAL *restrict total, REAL floor, int power, int raised)
{
    for (int t = 0; t < TILE; t += 4 * LANES) {
        VEC base[4], x[4], y[4], sum = {0};
        for (int l = 0; l < 4; l++) {
            base[l] = *(const VEC *)(r + t + l * LANES);
            const __typeof__(sum > sum) kept = base[l] > floor - (VEC){0}; /* smaller powers would be subnormal */
            base[l] = (VEC)((__typeof__(kept))base[l] & kept);
            sum += base[l];
        }
        int any = 0;
        for (int i = 0; i < LANES; i++) any |= sum[i] > 0;
        if (!any) { /* usual if masses are almost 0 or 1 */
            for (int l = 0; l < 4; l++) *(VEC *)(r + t + l * LANES) = (VEC){0};
            continue;
        }
        for (int l = 0; l < 4; l++) {
            x[l] = base[l];
            y[l] = base[l];
            if (!(power & 1)) y[l] = 1 - (VEC){0};
        }
        for (int e = power >> 1; e; e >>= 1) {
            for (int l = 0; l < 4; l++) x[l] *= x[l];
            if (e & 1)
                for (int l = 0; l < 4; l++) y[l] *= x[l];
        }
        for (int l = 0; l < 4; l++) {
            *(VEC *)(total + t + l * LANES) += y[l];
            if (raised) y[l] *= base[l];
            *(VEC *)(r + t + l * LANES) = y[l];
        }
    }
}

EVLEARN_TARGET static inline void EVLEARN_NAME(masses_whole)(
    REAL *restrict R, REAL *restrict none, REAL *restrict best, REAL *restrict factor, int f, REAL empty, int power,
    int raised)
{
    REAL least[TILE], total[TILE];
    const REAL floor = REAL_POW(REAL_TINY, (REAL)1 / (power + 1));
    for (int t = 0; t < TILE; t++) least[t] = empty;
    for (int j = 0; j < f; j++) {
        const REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) least[t] = r[t] < least[t] ? r[t] : least[t];
    }
    for (int t = 0; t < TILE; t++) {
        none[t] = least[t] / empty;
        total[t] = 0;
    }
    EVLEARN_NAME(whole_power)(none, total, floor, power, raised);
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) r[t] = least[t] / r[t];
        EVLEARN_NAME(whole_power)(r, total, floor, power, raised);
    }
    for (int t = 0; t < TILE; t++) {
        const REAL root = total[t] == 1 ? 1 : REAL_POW(total[t], (REAL)(-1.0 / power)); /* often 1 for large powers */
        best[t] = least[t] * root;
        factor[t] = root / total[t];
        total[t] = 1 / total[t];
    }
    if (raised) return;
    for (int t = 0; t < TILE; t++) none[t] *= total[t];
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) r[t] *= total[t];
    }
}

/* Powers of the masses of a row of R, weighted, in place; returns their sum. With beta = 1, they already are powers. */
EVLEARN_TARGET static inline double EVLEARN_NAME(raise)(REAL *restrict r, const REAL *restrict weight, double beta)
{
    if (beta == 1)
        for (int t = 0; t < TILE; t++) r[t] *= weight[t];
    else if (beta == 2)
        for (int t = 0; t < TILE; t++) r[t] *= r[t] * weight[t];
    else
        for (int t = 0; t < TILE; t++) r[t] = REAL_POW(r[t], (REAL)beta) * weight[t];
    VEC sum = {0};
    for (int t = 0; t < TILE; t += LANES) sum += *(const VEC *)(r + t);
    return EVLEARN_NAME(lanes)(sum);
}

/* U = for each cluster, the weighted powers of the sets that contain it. */
EVLEARN_TARGET static inline void EVLEARN_NAME(shares)(
    REAL *restrict U, const REAL *restrict R, const evlearn_family *family, const REAL *p)
{
    for (int k = 0; k < family->c; k++) {
        for (int t = 0; t < TILE; t += 4 * LANES) {
            VEC u[4] = {{0}};
            for (int e = family->first[k]; e < family->first[k + 1]; e++) {
                const REAL *r = R + family->sets[e] * TILE + t, pj = p[family->sets[e]];
                for (int l = 0; l < 4; l++) u[l] += pj * *(const VEC *)(r + l * LANES);
            }
            for (int l = 0; l < 4; l++) *(VEC *)(U + k * TILE + t + l * LANES) = u[l];
        }
    }
}

/* B (c by d) += U X, in blocks of 2 clusters and 4 features. */
EVLEARN_TARGET static inline void EVLEARN_NAME(sums)(
    double *restrict B, const REAL *restrict U, const REAL *restrict Xt, int c, int d)
{
    for (int k = 0; k < c; k += 2) {
        const REAL *u0 = U + k * TILE, *u1 = k + 1 < c ? u0 + TILE : u0;
        for (int a = 0; a < d; a += 4) {
            const int some = d - a < 4 ? d - a : 4;
            const REAL *x[4];
            for (int l = 0; l < 4; l++) x[l] = Xt + (l < some ? a + l : a) * TILE;
            VEC s0[4] = {{0}}, s1[4] = {{0}};
            for (int t = 0; t < TILE; t += LANES) {
                const VEC v0 = *(const VEC *)(u0 + t), v1 = *(const VEC *)(u1 + t);
                for (int l = 0; l < 4; l++) {
                    const VEC v = *(const VEC *)(x[l] + t);
                    s0[l] += v0 * v;
                    s1[l] += v1 * v;
                }
            }
            for (int l = 0; l < some; l++) {
                B[(ptrdiff_t)k * d + a + l] += EVLEARN_NAME(lanes)(s0[l]);
                if (k + 1 < c) B[(ptrdiff_t)(k + 1) * d + a + l] += EVLEARN_NAME(lanes)(s1[l]);
            }
        }
    }
}

/* The squared distance to the first prototype up to which the cost of no set exceeds REAL_HUGE. */
EVLEARN_TARGET EVLEARN_RARE static REAL EVLEARN_NAME(reach)(const evlearn_family *family, const REAL *V, const REAL *p)
{
    double dearest = 1, apart = 0;
    for (int j = 0; j < family->f; j++) {
        const double most = (double)p[j] * (family->begin[j + 1] - family->begin[j]);
        if (most > dearest) dearest = most;
    }
    for (int k = 1; k < family->c; k++) {
        double square = 0;
        for (int a = 0; a < family->d; a++)
            square += ((double)V[k * family->d + a] - V[a]) * ((double)V[k * family->d + a] - V[a]);
        if (square > apart) apart = square;
    }
    return (REAL)((double)REAL_HUGE / dearest / 2 - apart);
}

/* True if the distance of a row of a tile is larger than `reach` or NaN. */
EVLEARN_TARGET static inline int EVLEARN_NAME(is_far)(const REAL *restrict D, REAL reach)
{
    const VEC bound = reach - (VEC){0};
    __typeof__(bound <= bound) near = bound <= bound;
    for (int t = 0; t < TILE; t += LANES) near &= *(const VEC *)(D + t) <= bound;
    int all = 1;
    for (int l = 0; l < LANES; l++) all &= near[l] != 0;
    return !all;
}

/* Move rows beyond `reach` to the center, mark them, and set their distances accordingly. Not inlined, like the next
 * function, because such rows are rare and should not slow down the others. */
EVLEARN_TARGET EVLEARN_RARE static void EVLEARN_NAME(mark_far)(
    unsigned char *far, REAL *Xt, REAL *D, const REAL *V, int c, int d, REAL reach)
{
    for (int t = 0; t < TILE; t++) {
        far[t] = !(D[t] <= reach);
        if (!far[t]) continue;
        for (int a = 0; a < d; a++) Xt[a * TILE + t] = 0;
        for (int k = 0; k < c; k++) {
            REAL square = 0;
            for (int a = 0; a < d; a++) square += V[k * d + a] * V[k * d + a];
            D[k * TILE + t] = square;
        }
    }
}

/* Set the masses of far rows: all mass is on the empty set. If its cost is infinite, too, they are the limits of the masses
 * of the other sets, whose costs are proportional to their factors; such rows have no cost and do not influence the
 * prototypes. */
EVLEARN_TARGET EVLEARN_RARE static void EVLEARN_NAME(settle_far)(
    REAL *restrict R, REAL *restrict none, REAL *restrict best, const unsigned char *far, const evlearn_family *family,
    const REAL *p, REAL empty)
{
    const int no_end = !(empty <= REAL_HUGE);
    double total = 0, least = 0;
    for (int j = 0; j < family->f; j++) {
        const double cost = (double)p[j] * (family->begin[j + 1] - family->begin[j]);
        if (j == 0 || cost < least) least = cost;
    }
    for (int j = 0; j < family->f; j++)
        total += pow(least / ((double)p[j] * (family->begin[j + 1] - family->begin[j])), family->power);
    for (int t = 0; t < TILE; t++) {
        if (!far[t]) continue;
        none[t] = no_end ? 0 : 1;
        best[t] = no_end ? 0 : empty;
        for (int j = 0; j < family->f; j++) {
            const double cost = (double)p[j] * (family->begin[j + 1] - family->begin[j]);
            R[j * TILE + t] = no_end ? (REAL)(pow(least / cost, family->power) / total) : 0;
        }
    }
}

/* Convert the costs of a tile to masses; for sums, masses can be raised to the power beta up to a `factor`. */
EVLEARN_TARGET static inline void EVLEARN_NAME(masses)(
    REAL *restrict R, REAL *restrict none, REAL *restrict best, REAL *restrict factor, const evlearn_family *family,
    REAL empty, int for_sums)
{
    if (family->power == 1)
        EVLEARN_NAME(masses_squared)(R, none, best, family->f, empty);
    else if (family->whole)
        EVLEARN_NAME(masses_whole)(R, none, best, factor, family->f, empty, family->whole, for_sums);
    else
        EVLEARN_NAME(masses_any)(R, none, best, family->f, empty, family->power);
}

/* The masses of the empty set for the rows of a tile by the outlier rule. */
EVLEARN_TARGET static inline void EVLEARN_NAME(scores)(
    REAL *restrict score, const REAL *restrict D, const evlearn_family *family)
{
    for (int t = 0; t < TILE; t++) score[t] = D[t] * (REAL)family->reaches[0];
    for (int k = 1; k < family->c; k++) {
        const REAL *restrict x = D + k * TILE;
        const REAL inverse = (REAL)family->reaches[k];
        for (int t = 0; t < TILE; t++) score[t] = x[t] * inverse < score[t] ? x[t] * inverse : score[t];
    }
    for (int i = 0; i < family->n_pairs; i++) {
        const REAL *restrict x = D + family->pairs[2 * i] * TILE, *restrict y = D + family->pairs[2 * i + 1] * TILE;
        const REAL length = (REAL)family->lengths[i], inverse = (REAL)family->pair_reaches[i], quarter = 1 / (4 * length);
        for (int t = 0; t < TILE; t++) {
            const REAL step = x[t] - y[t], apart = x[t] - (step + length) * (step + length) * quarter;
            const REAL ratio = apart > 0 ? apart * inverse : 0;
            const int between = step < length && step > -length;
            score[t] = between && ratio < score[t] ? ratio : score[t];
        }
    }
    for (int t = 0; t < TILE; t++)
        score[t] = score[t] > 0 ? (REAL)(1 / (1 + pow((double)score[t], -family->steepness))) : 0;
}

/* Scale the masses of nonempty sets, which sum to 1, and set the mass of the empty set to the scores. */
EVLEARN_TARGET static inline void EVLEARN_NAME(apply_scores)(
    REAL *restrict R, REAL *restrict none, const REAL *restrict score, int f)
{
    for (int t = 0; t < TILE; t++) none[t] = score[t];
    for (int j = 0; j < f; j++) {
        REAL *restrict r = R + j * TILE;
        for (int t = 0; t < TILE; t++) r[t] *= 1 - score[t];
    }
}

/* Write the transposed masses of a tile to `out` (f + 1 numbers for each row). */
EVLEARN_TARGET static inline void EVLEARN_NAME(write)(REAL *out, const REAL *R, const REAL *none, int rows, int f)
{
    for (int t = 0; t < rows; t++) {
        REAL *to = out + (ptrdiff_t)t * (f + 1);
        to[0] = none[t];
        for (int j = 0; j < f; j++) to[j + 1] = R[j * TILE + t];
    }
}

/* Replace the masses of a tile by weighted powers, add their sums to w, and write the sums for each cluster to U. */
EVLEARN_TARGET static inline void EVLEARN_NAME(add_powers)(
    REAL *restrict U, REAL *restrict R, REAL *restrict none, const REAL *weight, const evlearn_family *family,
    const REAL *p, double *w)
{
    const double beta = family->whole ? 1 : family->beta;
    w[0] += EVLEARN_NAME(raise)(none, weight, beta);
    for (int j = 0; j < family->f; j++) w[j + 1] += EVLEARN_NAME(raise)(R + j * TILE, weight, beta);
    EVLEARN_NAME(shares)(U, R, family, p);
}

/* One pass over n rows. Either `out` (n by f + 1, the empty set first) receives the masses, or w (f + 1), B (c by d)
 * and cost receive the sums. `work` has TILE * (d + 2 c + f) + 2 * TILE entries. */
EVLEARN_TARGET static void EVLEARN_NAME(pass)(
    const evlearn_family *family, const REAL *X, ptrdiff_t n, const REAL *weights, const REAL *center, REAL scale,
    const REAL *V, const REAL *p, const REAL *q, REAL empty, REAL *work, REAL *out, double *w, double *B, double *cost)
{
    const int d = family->d, c = family->c, f = family->f;
    REAL *Xt = work, *D = Xt + d * TILE, *U = D + c * TILE, *R = U + c * TILE, *none = R + f * TILE, *sum = none + TILE;
    REAL weight[TILE], best[TILE], factor[TILE], score[TILE];
    unsigned char far[TILE];
    const int rule = out && family->reaches;
    const REAL reach = EVLEARN_NAME(reach)(family, V, p);
    for (ptrdiff_t start = 0; start < n; start += TILE) {
        const int rows = n - start < TILE ? (int)(n - start) : TILE;
        EVLEARN_NAME(turn)(Xt, X + start * d, rows, d, center, scale);
        EVLEARN_NAME(distances)(D, Xt, V, c, d);
        const int beyond = EVLEARN_NAME(is_far)(D, reach);
        if (rule) EVLEARN_NAME(scores)(score, D, family);
        if (beyond) EVLEARN_NAME(mark_far)(far, Xt, D, V, c, d, reach);
        EVLEARN_NAME(costs)(R, D, sum, family, p, q);
        EVLEARN_NAME(masses)(R, none, best, factor, family, empty, !out);
        if (beyond) EVLEARN_NAME(settle_far)(R, none, best, far, family, p, empty);
        if (rule) {
            if (beyond)
                for (int t = 0; t < TILE; t++) score[t] = far[t] ? 1 : score[t];
            EVLEARN_NAME(apply_scores)(R, none, score, f);
        }
        if (out) {
            EVLEARN_NAME(write)(out + start * (f + 1), R, none, rows, f);
            continue;
        }
        for (int t = 0; t < TILE; t++) weight[t] = t >= rows ? 0 : weights ? weights[start + t] : 1;
        if (beyond)
            for (int t = 0; t < TILE; t++) weight[t] = far[t] && !(empty <= REAL_HUGE) ? 0 : weight[t];
        for (int t = 0; t < TILE; t++) *cost += (double)best[t] * weight[t];
        if (family->whole) /* a far row has all its mass on one set, and powers do not change it */
            for (int t = 0; t < TILE; t++) weight[t] *= beyond && far[t] ? 1 : factor[t];
        EVLEARN_NAME(add_powers)(U, R, none, weight, family, p, w);
        EVLEARN_NAME(sums)(B, U, Xt, c, d);
    }
}

/* The same for given squared distances: `squares` (c by n), none of them beyond reach. Either `out` receives the masses,
 * or w and cost receive the sums, and `squares` receives the factors of rows in the sums of clusters.
 * `work` has TILE * (2 c + f) + 2 * TILE entries. */
EVLEARN_TARGET static void EVLEARN_NAME(pass_known)(
    const evlearn_family *family, REAL *squares, ptrdiff_t n, const REAL *weights, const REAL *p, const REAL *q,
    REAL empty, REAL *work, REAL *out, double *w, double *cost)
{
    const int c = family->c, f = family->f;
    REAL *D = work, *U = D + c * TILE, *R = U + c * TILE, *none = R + f * TILE, *sum = none + TILE;
    REAL weight[TILE], best[TILE], factor[TILE], score[TILE];
    const int rule = out && family->reaches;
    for (ptrdiff_t start = 0; start < n; start += TILE) {
        const int rows = n - start < TILE ? (int)(n - start) : TILE;
        REAL *those = squares + start;
        for (int k = 0; k < c; k++) {
            for (int t = 0; t < rows; t++) D[k * TILE + t] = those[k * n + t];
            for (int t = rows; t < TILE; t++) D[k * TILE + t] = 1;
        }
        if (rule) EVLEARN_NAME(scores)(score, D, family);
        EVLEARN_NAME(costs)(R, D, sum, family, p, q);
        EVLEARN_NAME(masses)(R, none, best, factor, family, empty, !out);
        if (rule) EVLEARN_NAME(apply_scores)(R, none, score, f);
        if (out) {
            EVLEARN_NAME(write)(out + start * (f + 1), R, none, rows, f);
            continue;
        }
        for (int t = 0; t < TILE; t++) weight[t] = t >= rows ? 0 : weights ? weights[start + t] : 1;
        for (int t = 0; t < TILE; t++) *cost += (double)best[t] * weight[t];
        if (family->whole)
            for (int t = 0; t < TILE; t++) weight[t] *= factor[t];
        EVLEARN_NAME(add_powers)(U, R, none, weight, family, p, w);
        for (int k = 0; k < c; k++)
            for (int t = 0; t < rows; t++) those[k * n + t] = U[k * TILE + t];
    }
}

#undef VEC
#undef FOUR
#undef LANES
#undef TILE
#undef IS_SINGLE
#undef REAL_ZERO
#undef REAL_TINY
#undef REAL_HUGE
#undef REAL_EPS
#undef REAL_POW
