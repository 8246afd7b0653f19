/* SPDX-License-Identifier: MIT */
/* Implements heap_draw.h. Series with an error below 1e-9 stand in for log and exp. */
#include "heap_draw.h"

#include <stdatomic.h>

/* ---- Random numbers -------------------------------------------------------------------------- */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return 0;
#endif
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

void heap_random_seed(struct heap_random *random)
{
    static _Atomic uint64_t serial;
    uint64_t number = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) + 1;
    random->state = mix(number * UINT64_C(0x9e3779b97f4a7c15) ^ ticks()) | 1;
}

/* xorshift64 */
static uint64_t next(struct heap_random *random)
{
    uint64_t x = random->state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return random->state = x;
}

/* ---- Distances ------------------------------------------------------------------------------- */

#define LN_2 0.69314718055994530942

/* The natural logarithm of a normal number above 0: by its exponent, and by the series of
 * 2 artanh((m - 1) / (m + 1)) for a mantissa within a factor of sqrt(2) of 1. */
static double logarithm(double x)
{
    union {
        double value;
        uint64_t bits;
    } parts = {x};

    int exponent = (int)(parts.bits >> 52) - 1023;
    parts.bits = (parts.bits & UINT64_C(0xfffffffffffff)) | (UINT64_C(1023) << 52);
    if (parts.value > 1.41421356237309505) {
        parts.value /= 2;
        exponent++;
    }
    double s = (parts.value - 1) / (parts.value + 1), square = s * s, sum = 0;
    for (int odd = 13; odd >= 1; odd -= 2)
        sum = sum * square + 1.0 / odd;
    return exponent * LN_2 + 2 * s * sum;
}

int64_t heap_draw(struct heap_random *random, uint64_t rate)
{
    double uniform = (double)((next(random) >> 11) + 1) * 0x1p-53; /* in (0, 1] */
    double bytes = -logarithm(uniform) * (double)rate;
    return bytes < 1 ? 1 : (int64_t)bytes;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* 1 - exp(-x) for x >= 0: the series for small x; squares of it for larger ones, as
 * 1 - exp(-2y) = p (2 - p) with p = 1 - exp(-y). */
static double complement(double x)
{
    int halvings = 0;
    if (x > 40)
        return 1;
    for (; x > 0.125; halvings++)
        x /= 2;
    double p =
        x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7))))));
    for (; halvings > 0; halvings--)
        p *= 2 - p;
    return p;
}

uint64_t heap_weight(uint64_t size, uint64_t rate)
{
    if (size == 0)
        return 0;
    return (uint64_t)((double)size / complement((double)size / (double)rate) + 0.5);
}
