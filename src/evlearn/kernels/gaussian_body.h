/* The functions of gaussian.h for one instruction set, EVLEARN_TARGET. */

EVLEARN_TARGET static void EVLEARN_NAME(squared_norms)(
    double *restrict norms, const double *restrict tile, const double *restrict triangle, int d)
{
    double y[EVLEARN_SAMPLES];
    for (int t = 0; t < EVLEARN_SAMPLES; t++) norms[t] = 0;
    for (int a = 0; a < d; a++) {
        const double *row = triangle + (ptrdiff_t)a * d;
        for (int t = 0; t < EVLEARN_SAMPLES; t++) y[t] = row[0] * tile[t];
        for (int b = 1; b <= a; b++) {
            const double *restrict x = tile + (ptrdiff_t)b * EVLEARN_SAMPLES;
            for (int t = 0; t < EVLEARN_SAMPLES; t++) y[t] += row[b] * x[t];
        }
        for (int t = 0; t < EVLEARN_SAMPLES; t++) norms[t] += y[t] * y[t];
    }
}

EVLEARN_TARGET static void EVLEARN_NAME(add_products)(
    double *restrict S, const double *restrict tile, const double *restrict weights, int d)
{
    double weighted[EVLEARN_SAMPLES];
    for (int a = 0; a < d; a++) {
        const double *restrict x = tile + (ptrdiff_t)a * EVLEARN_SAMPLES;
        for (int t = 0; t < EVLEARN_SAMPLES; t++) weighted[t] = weights[t] * x[t];
        for (int b = 0; b <= a; b++) {
            const double *restrict z = tile + (ptrdiff_t)b * EVLEARN_SAMPLES;
            evlearn_four even = {0, 0, 0, 0}, odd = {0, 0, 0, 0};
            for (int t = 0; t < EVLEARN_SAMPLES; t += 8) {
                even += *(const evlearn_four *)(weighted + t) * *(const evlearn_four *)(z + t);
                odd += *(const evlearn_four *)(weighted + t + 4) * *(const evlearn_four *)(z + t + 4);
            }
            even += odd;
            S[(ptrdiff_t)a * d + b] += (even[0] + even[2]) + (even[1] + even[3]);
        }
    }
}
