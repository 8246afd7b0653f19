/* SPDX-License-Identifier: MIT */
/* Hashes for tables in memory and for files, and the checksum of recordings. Thread-safety: pure
 * functions. */
#ifndef ANNOT_HASH_H
#define ANNOT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Of 64 bits ------------------------------------------------------------------------------ */

/* Hashes for tables in memory; never stored. The finaliser is the public-domain one of
 * MurmurHash3 by Austin Appleby. Thread-safety: pure functions. */

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

/* ---- Of 128 bits ----------------------------------------------------------------------------- */

/* A hash of 128 bits for keys of files: MurmurHash3 x64 128 by Austin Appleby (public domain),
 * written from its description. Fast and even, but without protection against deliberate
 * collisions. Thread-safety: pure function. Cost: about 0.2 ns a byte. */

struct hash128 {
    uint64_t low, high;
};

/* `seed`: zero, or the hash of the preceding bytes. */
struct hash128 hash128_bytes(const void *bytes, size_t size, struct hash128 seed);

/* ---- Checksum -------------------------------------------------------------------------------- */

/* CRC-32C (Castagnoli polynomial, RFC 3720 appendix B.4): the checksum of recordings.
 * Thread-safety: pure function. Cost: about 0.15 ns a byte if the CPU has an instruction for it,
 * else 0.6. */

/* `crc` is 0 for the first part, then the result so far. */
uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same without CPU instructions, for tests. */
uint32_t checksum_crc32c_portable(uint32_t crc, const void *bytes, size_t size);

#endif
