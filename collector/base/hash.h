/* SPDX-License-Identifier: MIT */
/* Hashes for tables in memory; never stored. The finaliser is the public-domain one of
 * MurmurHash3 by Austin Appleby. Thread-safety: pure functions. */
#ifndef ANNOT_HASH_H
#define ANNOT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static inline uint64_t hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    memcpy(&rest, at, size);
    return hash_u64(hash ^ rest);
}

#endif
