/* SPDX-License-Identifier: MIT */
/* See parquet_parts.h. */
#include "parquet_parts.h"
#include "varint.h"

#include <string.h>

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS, RUN_MIN = 8 };

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* At `bit` of zeroed bytes, of which nine follow the place. */
static void pack(uint8_t *bytes, size_t bit, uint64_t value, unsigned width)
{
    uint64_t word;
    unsigned shift = bit % 8;
    uint8_t *at = bytes + bit / 8;
    memcpy(&word, at, sizeof(word));
    word |= value << shift;
    memcpy(at, &word, sizeof(word));
    if (shift > 0 && shift + width > 64)
        at[8] = (uint8_t)(at[8] | value >> (64 - shift));
}

/* ---- Differences ----------------------------------------------------------------------------- */

static void put_miniblock(struct column_bytes *out, const uint64_t *deltas, unsigned count,
                          unsigned width)
{
    enum { SLACK = 9 };

    size_t size = (size_t)width * MINIBLOCK / 8;
    uint8_t *at = column_room(out, size + SLACK);
    for (unsigned i = 0; at && i < count; i++)
        pack(at, (size_t)i * width, deltas[i], width);
    if (at)
        out->vec.count -= SLACK;
}

/* Differences less the smallest of them, in as few bits as each 32 of them need. */
static void put_block(struct column_bytes *out, const uint64_t *deltas, unsigned count)
{
    uint64_t rest[BLOCK];
    uint8_t widths[MINIBLOCKS] = {0};
    int64_t least = (int64_t)deltas[0];
    for (unsigned i = 1; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (unsigned i = 0; i < count; i++) {
        unsigned width;
        rest[i] = deltas[i] - (uint64_t)least;
        width = bits_of(rest[i]);
        if (width > widths[i / MINIBLOCK])
            widths[i / MINIBLOCK] = (uint8_t)width;
    }
    parquet_varint(out, zigzag(least));
    column_put(out, widths, sizeof(widths));
    for (unsigned i = 0; i < count; i += MINIBLOCK) {
        unsigned part = count - i < MINIBLOCK ? count - i : MINIBLOCK;
        put_miniblock(out, rest + i, part, widths[i / MINIBLOCK]);
    }
}

void parquet_delta(struct column_bytes *out, const int64_t *values, uint32_t count)
{
    uint64_t deltas[BLOCK];
    unsigned used = 0;
    parquet_varint(out, BLOCK);
    parquet_varint(out, MINIBLOCKS);
    parquet_varint(out, count);
    parquet_varint(out, zigzag(count ? values[0] : 0));
    for (uint32_t i = 1; i < count; i++) {
        deltas[used++] = (uint64_t)values[i] - (uint64_t)values[i - 1];
        if (used == BLOCK || i + 1 == count) {
            put_block(out, deltas, used);
            used = 0;
        }
    }
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
    enum { SLACK = 9 };

    uint32_t groups = (count + 7) / 8;
    if (count == 0)
        return;
    parquet_varint(out, (uint64_t)groups << 1 | 1);
    uint8_t *at = column_room(out, (size_t)groups * width + SLACK);
    for (uint32_t i = 0; at && i < count; i++)
        pack(at, (size_t)i * width, values[i], width);
    if (at)
        out->vec.count -= SLACK;
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
