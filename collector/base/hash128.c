/* SPDX-License-Identifier: MIT */
/* Two lanes of 64 bits that are mixed with each other after every 16 bytes. */
#include "hash128.h"

#include "hash.h"

#include <string.h>

static uint64_t turn(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t mix_low(uint64_t x)
{
    return turn(x * UINT64_C(0x87c37b91114253d5), 31) * UINT64_C(0x4cf5ad432745937f);
}

static uint64_t mix_high(uint64_t x)
{
    return turn(x * UINT64_C(0x4cf5ad432745937f), 33) * UINT64_C(0x87c37b91114253d5);
}

struct hash128 hash128_bytes(const void *bytes, size_t size, struct hash128 seed)
{
    const uint8_t *at = bytes;
    uint64_t low = seed.low, high = seed.high, words[2];
    size_t rest = size;
    for (; rest >= sizeof(words); at += sizeof(words), rest -= sizeof(words)) {
        memcpy(words, at, sizeof(words));
        low = (turn(low ^ mix_low(words[0]), 27) + high) * 5 + 0x52dce729;
        high = (turn(high ^ mix_high(words[1]), 31) + low) * 5 + 0x38495ab5;
    }
    if (rest > 0) {
        memset(words, 0, sizeof(words));
        memcpy(words, at, rest);
        low ^= mix_low(words[0]);
        high ^= mix_high(words[1]);
    }
    low ^= size;
    high ^= size;
    low += high;
    high += low;
    low = hash_u64(low);
    high = hash_u64(high);
    low += high;
    return (struct hash128){low, high + low};
}
