/* SPDX-License-Identifier: MIT */
/* See parquet_parts.h. */
#include "parquet_parts.h"
#include "varint.h"

#include <string.h>

enum { MINIBLOCKS = 4, MINIBLOCK = DELTA_BLOCK / MINIBLOCKS, RUN_MIN = 8 };

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Bits one after the other, from the lowest. */
struct packer {
    uint8_t *at;
    uint64_t bits;
    unsigned used; /* of `bits`, fewer than 64 */
};

static inline void pack(struct packer *packer, uint64_t value, unsigned width)
{
    packer->bits |= value << packer->used;
    packer->used += width;
    if (packer->used < 64)
        return;
    memcpy(packer->at, &packer->bits, sizeof(packer->bits));
    packer->at += sizeof(packer->bits);
    packer->used -= 64;
    packer->bits = packer->used ? value >> (width - packer->used) : 0;
}

/* `count` values, and zeros up to `places` of them: a multiple of eight. */
static void put_bits(struct column_bytes *out, const uint64_t *values, unsigned count,
                     unsigned places, unsigned width)
{
    size_t size = (size_t)places * width / 8;
    struct packer packer = {.at = column_room(out, size + sizeof(packer.bits))};
    uint8_t *begin = packer.at;
    if (!begin)
        return;
    for (unsigned i = 0; i < count; i++)
        pack(&packer, values[i], width);
    memcpy(packer.at, &packer.bits, sizeof(packer.bits));
    packer.at += (packer.used + 7) / 8;
    if (packer.at < begin + size)
        memset(packer.at, 0, (size_t)(begin + size - packer.at));
    out->vec.count -= sizeof(packer.bits);
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Differences less the smallest of them, in as few bits as each 32 of them need. */
static void put_block(struct column_bytes *out, const uint64_t *deltas, unsigned count)
{
    uint64_t rest[DELTA_BLOCK];
    uint8_t widths[MINIBLOCKS] = {0};
    int64_t least = (int64_t)deltas[0];
    for (unsigned i = 1; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (unsigned i = 0; i < count; i++)
        rest[i] = deltas[i] - (uint64_t)least;
    for (unsigned i = 0; i < count; i += MINIBLOCK) {
        uint64_t all = 0;
        for (unsigned k = i; k < count && k < i + MINIBLOCK; k++)
            all |= rest[k];
        widths[i / MINIBLOCK] = (uint8_t)bits_of(all);
    }
    parquet_varint(out, zigzag(least));
    column_put(out, widths, sizeof(widths));
    for (unsigned i = 0; i < count; i += MINIBLOCK) {
        unsigned part = count - i < MINIBLOCK ? count - i : MINIBLOCK;
        if (widths[i / MINIBLOCK])
            put_bits(out, rest + i, part, MINIBLOCK, widths[i / MINIBLOCK]);
    }
}

void parquet_delta_begin(struct parquet_delta *delta, struct column_bytes *out, uint32_t count,
                         int64_t first)
{
    delta->out = out;
    delta->last = (uint64_t)first;
    delta->used = 0;
    parquet_varint(out, DELTA_BLOCK);
    parquet_varint(out, MINIBLOCKS);
    parquet_varint(out, count);
    parquet_varint(out, zigzag(first));
}

void parquet_delta_flush(struct parquet_delta *delta)
{
    if (delta->used > 0)
        put_block(delta->out, delta->deltas, delta->used);
    delta->used = 0;
}

/* ---- Runs and packed bits -------------------------------------------------------------------- */

static void put_run(struct column_bytes *out, uint32_t value, uint32_t length, unsigned width)
{
    uint8_t bytes[4];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    parquet_varint(out, (uint64_t)length << 1);
    column_put(out, bytes, (width + 7) / 8);
}

/* Groups of eight; the last is filled with zeros. */
static void put_packed(struct column_bytes *out, const uint32_t *values, uint32_t count,
                       unsigned width)
{
    uint32_t groups = (count + 7) / 8;
    if (count == 0)
        return;
    parquet_varint(out, (uint64_t)groups << 1 | 1);
    for (uint32_t i = 0; i < count; i += DELTA_BLOCK) {
        uint64_t part[DELTA_BLOCK];
        uint32_t size = count - i < DELTA_BLOCK ? count - i : DELTA_BLOCK;
        for (uint32_t k = 0; k < size; k++)
            part[k] = values[i + k];
        put_bits(out, part, size, (size + 7) / 8 * 8, width);
    }
}

static uint32_t run_at(const uint32_t *values, uint32_t count)
{
    uint32_t length = 1;
    while (length < count && values[length] == values[0])
        length++;
    return length;
}

/* Only whole groups may stand before something else, so a run gives up what fills the last one. */
void parquet_hybrid(struct column_bytes *out, const uint32_t *values, uint32_t count,
                    unsigned width)
{
    uint32_t packed = 0; /* before `at` that are not written yet */
    for (uint32_t at = 0; at < count;) {
        uint32_t run = run_at(values + at, count - at), fill = (8 - packed % 8) % 8;
        if (run < RUN_MIN + fill) {
            packed += run;
            at += run;
            continue;
        }
        put_packed(out, values + at - packed, packed + fill, width);
        put_run(out, values[at], run - fill, width);
        packed = 0;
        at += run;
    }
    put_packed(out, values + count - packed, packed, width);
}
