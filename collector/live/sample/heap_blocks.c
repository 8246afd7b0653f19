/* SPDX-License-Identifier: MIT */
/* Implements heap_blocks.h: a map from numbers to places in an array; free places are reused. The
 * first value of a sample is its bytes. */
#include "heap_blocks.h"

#include "hash_map.h"
#include "sample_queue.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

struct heap_blocks {
    struct map64 places; /* number -> index in `samples` */
    VEC(struct queued_sample) samples;
    VEC(size_t) unused;
    struct heap_levels levels;
    bool waits; /* no change after the marked time has come */
};

static void change(struct heap_blocks *blocks, int64_t bytes, uint64_t time_ns)
{
    struct heap_levels *levels = &blocks->levels;
    if (blocks->waits && time_ns > levels->marked.time_ns)
        blocks->waits = false;
    levels->last.bytes += bytes;
    levels->last.time_ns = time_ns;
    if (blocks->waits)
        levels->marked.bytes = levels->last.bytes;
    if (levels->last.bytes > levels->most.bytes)
        levels->most = levels->last;
}

void heap_blocks_levels(struct heap_blocks *blocks, struct heap_levels *ret_levels)
{
    *ret_levels = blocks ? blocks->levels : (struct heap_levels){0};
    if (blocks)
        blocks->levels.most = blocks->levels.last;
}

void heap_blocks_mark(struct heap_blocks *blocks, uint64_t time_ns)
{
    if (!blocks)
        return;
    blocks->levels.marked = (struct heap_level){blocks->levels.last.bytes, time_ns};
    blocks->waits = true;
}

static int place_find(struct heap_blocks *blocks, size_t *ret_place)
{
    if (blocks->unused.count > 0) {
        *ret_place = blocks->unused.items[--blocks->unused.count];
        return 0;
    }
    *ret_place = blocks->samples.count;
    return vec_push(&blocks->samples, (struct queued_sample){0});
}

int heap_blocks_add(struct heap_blocks **blocks, uint64_t number,
                    const struct queued_sample *sample)
{
    size_t place;
    if (!*blocks)
        *blocks = calloc(1, sizeof(**blocks));
    if (!*blocks)
        return -ENOMEM;
    change(*blocks, sample->values[0], (uint64_t)sample->sample.time_ns);
    if (number == 0)
        return 0;
    int error = place_find(*blocks, &place);
    if (error)
        return error;
    (*blocks)->samples.items[place] = *sample;
    return map64_put(&(*blocks)->places, number, place);
}

bool heap_blocks_take(struct heap_blocks *blocks, uint64_t number, uint64_t time_ns,
                      struct queued_sample *ret_sample)
{
    uint64_t place;
    if (!blocks || number == 0 || !map64_take(&blocks->places, number, &place))
        return false;
    *ret_sample = blocks->samples.items[place];
    change(blocks, -ret_sample->values[0], time_ns);
    (void)vec_push(&blocks->unused, (size_t)place); /* without memory the place stays unused */
    return true;
}

void heap_blocks_destroy(struct heap_blocks *blocks)
{
    if (!blocks)
        return;
    map64_free(&blocks->places);
    vec_free(&blocks->samples);
    vec_free(&blocks->unused);
    free(blocks);
}
