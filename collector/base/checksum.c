/* SPDX-License-Identifier: MIT */
/* CRC-32C: by the SSE4.2 instruction where there is one, else eight tables at a time ("slicing by
 * eight", Kounavis and Berry 2005), made at first use. Thread-safety: tables are made once. */
#include "checksum.h"

#include <pthread.h>
#include <string.h>

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
