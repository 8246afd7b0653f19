/* SPDX-License-Identifier: MIT */
/* Spreads the bits of a number over 64, one to one (the finalizer of SplitMix64). Part of the
 * format: readers of a recording compute annot_current's numbers with it. */
#ifndef ANNOT_MIX_H
#define ANNOT_MIX_H

#include <stdint.h>

#define MIX_SERIAL   UINT64_C(0x9e3779b97f4a7c15)
#define MIX_INSTANCE UINT64_C(0xbf58476d1ce4e5b9)

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
