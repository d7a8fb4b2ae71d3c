/* The functions of agreements.h for one instruction set, EVLEARN_NAME and EVLEARN_TARGET. */

typedef double EVLEARN_NAME(lanes) __attribute__((vector_size(8 * EVLEARN_LANES), aligned(8), may_alias));

/* Add the product of EVLEARN_LANES rows of A (rows, depth) and B (depth, 8) to C (rows, 8). The sums stay in registers. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(multiply)(
    double *C, const double *A, ptrdiff_t stride, const double *B, int depth)
{
    EVLEARN_NAME(lanes) sums[EVLEARN_LANES][8 / EVLEARN_LANES] = {{{0.0}}};
    for (int k = 0; k < depth; k++) {
        const EVLEARN_NAME(lanes) *row = (const EVLEARN_NAME(lanes) *)(B + 8 * k);
        for (int i = 0; i < EVLEARN_LANES; i++)
            for (int p = 0; p < 8 / EVLEARN_LANES; p++) sums[i][p] += A[i * stride + k] * row[p];
    }
    for (int i = 0; i < EVLEARN_LANES; i++)
        for (int p = 0; p < 8 / EVLEARN_LANES; p++) ((EVLEARN_NAME(lanes) *)(C + 8 * i))[p] += sums[i][p];
}

/* Replace numbers by powers of 2 with these exponents, up to a largest exponent. The polynomial of degree 11 for the
 * fraction of the exponent has the smallest maximum error, 3e-18; its integer is added to the bits of the result. */
EVLEARN_TARGET EVLEARN_INLINE void EVLEARN_NAME(powers)(double *restrict values, int count, double largest)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: a sum with it is an integer, in its last bits */
    for (int i = 0; i < count; i++) {
        double x = values[i], whole, y;
        int64_t integer, bits;
        x = x > EVLEARN_SMALLEST_EXPONENT ? x : EVLEARN_SMALLEST_EXPONENT; /* also nan */
        x = x < largest ? x : largest;
        whole = x + shift;
        x -= whole - shift;
        y = 4.45581790833606449e-10 * x + 7.07419429728852101e-9;
        y = y * x + 1.01780570877339411e-7;
        y = y * x + 1.32154325359123762e-6;
        y = y * x + 1.52527338415567726e-5;
        y = y * x + 1.54035304637243542e-4;
        y = y * x + 1.33335581464064707e-3;
        y = y * x + 9.61812910758725667e-3;
        y = y * x + 5.5504108664821627e-2;
        y = y * x + 0.240226506959101596;
        y = y * x + 0.693147180559945309;
        y = y * x + 1.0;
        memcpy(&integer, &whole, sizeof whole);
        memcpy(&bits, &y, sizeof y);
        bits += (int64_t)((uint64_t)integer << 52);
        memcpy(values + i, &bits, sizeof bits);
    }
}

EVLEARN_TARGET static void EVLEARN_NAME(add_agreements)(
    double *sums, const double *tile, const double *exponents, const double *factors, ptrdiff_t stride, int count, int d,
    int f, double largest)
{
    double agreements[EVLEARN_LANDMARKS * EVLEARN_SAMPLES] __attribute__((aligned(64)));
    memset(agreements, 0, sizeof agreements);
    for (int j = 0; j < count; j += EVLEARN_LANES)
        EVLEARN_NAME(multiply)(agreements + 8 * j, exponents + (ptrdiff_t)j * d, d, tile, d);
    EVLEARN_NAME(powers)(agreements, count * EVLEARN_SAMPLES, largest);
    for (int q = 0; q < f; q += EVLEARN_LANES)
        EVLEARN_NAME(multiply)(sums + 8 * q, factors + q * stride, stride, agreements, count);
}
