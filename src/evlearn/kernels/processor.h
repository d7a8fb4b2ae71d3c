/* Selection of the instruction set.
 *
 * Loops over rows are compiled for any processor and, on x86-64, also for AVX2, most of them with FMA, and some for
 * AVX-512; the version is selected at run time. Their order of summation or their rounding differs, so results can differ
 * in the last digits. The environment variable EVLEARN_PROCESSOR=baseline selects the first version on all processors,
 * and EVLEARN_PROCESSOR=avx2 excludes AVX-512.
 */
#ifndef EVLEARN_PROCESSOR_H
#define EVLEARN_PROCESSOR_H

#if !defined(__GNUC__) && !defined(__clang__)
#error "evidential-learn needs GCC or Clang, for their vector types. On Windows, set CC=clang-cl or use MinGW-w64."
#endif

#define EVLEARN_INLINE static inline __attribute__((always_inline))

/* 4 doubles, in any registers of the processor. */
typedef double evlearn_four __attribute__((vector_size(32), aligned(8), may_alias));

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#define EVLEARN_AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define EVLEARN_AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
#else
#define EVLEARN_AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

/* Return 1 if the processor has AVX2 and FMA, 2 if it also has AVX-512, and 0 otherwise or if the system does not save the
 * wide registers. Without __builtin_cpu_supports, which clang-cl cannot link. */
static inline int evlearn_ask_processor(void)
{
    unsigned a, b, c, d, kept, high;
    const char *setting = getenv("EVLEARN_PROCESSOR");
    if (setting != NULL && strcmp(setting, "baseline") == 0) return 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA) || !(c & bit_OSXSAVE)) return 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if ((kept & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
    if (setting != NULL && strcmp(setting, "avx2") == 0) return 1;
    return (kept & 0xe6) == 0xe6 && (b & bit_AVX512F) && (b & bit_AVX512DQ) && (b & bit_AVX512VL) ? 2 : 1;
}

/* Detected once; concurrent calls get the same result. */
static inline int evlearn_processor(void)
{
    static int known; /* the result plus 1; 0 before the detection */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!answer) {
        answer = evlearn_ask_processor() + 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer - 1;
}

static inline int evlearn_has_avx2(void) { return evlearn_processor() >= 1; }
static inline int evlearn_has_avx512(void) { return evlearn_processor() == 2; }

#define EVLEARN_CALL(name, ...)                                                                                       \
    do {                                                                                                              \
        if (evlearn_has_avx2())                                                                                       \
            evlearn_avx2_##name(__VA_ARGS__);                                                                         \
        else                                                                                                          \
            evlearn_plain_##name(__VA_ARGS__);                                                                        \
    } while (0)
#else
static inline int evlearn_has_avx2(void) { return 0; }
#define EVLEARN_CALL(name, ...) evlearn_plain_##name(__VA_ARGS__)
#endif

#endif
