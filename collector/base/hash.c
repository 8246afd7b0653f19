/* SPDX-License-Identifier: MIT */
/* A hash of 128 bits, and CRC-32C. */
#include "hash.h"

#include <pthread.h>
#include <string.h>

/* ---- Of 128 bits ----------------------------------------------------------------------------- */

/* Two lanes of 64 bits, mixed after every 16 bytes. */

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

/* ---- Checksum -------------------------------------------------------------------------------- */

/* CRC-32C: by the SSE4.2 instruction if the CPU has it, else eight tables at a time ("slicing by
 * eight", Kounavis and Berry 2005), made at first use. Thread-safety: tables are made once. */

enum { TABLES = 8 };

static const uint32_t POLYNOMIAL = 0x82f63b78u; /* reflected */

static uint32_t table[TABLES][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][i] = crc;
    }
    for (int t = 1; t < TABLES; t++)
        for (int i = 0; i < 256; i++)
            table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
}

uint32_t checksum_crc32c_portable(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    pthread_once(&table_once, make_tables);
    crc = ~crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t low =
            crc ^ (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    for (; size > 0; at++, size--)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *at,
                                                               size_t size)
{
    uint64_t wide = ~crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size > 0; at++, size--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return ~crc;
}
#endif

uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, bytes, size);
#endif
    return checksum_crc32c_portable(crc, bytes, size);
}
