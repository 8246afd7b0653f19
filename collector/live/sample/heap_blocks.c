/* SPDX-License-Identifier: MIT */
/* Implements heap_blocks.h: a map from numbers to places in an array; free places are reused. */
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
};

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
    if (!*blocks || number == 0)
        return *blocks ? 0 : -ENOMEM;
    int error = place_find(*blocks, &place);
    if (error)
        return error;
    (*blocks)->samples.items[place] = *sample;
    return map64_put(&(*blocks)->places, number, place);
}

bool heap_blocks_take(struct heap_blocks *blocks, uint64_t number, struct queued_sample *ret_sample)
{
    uint64_t place;
    if (!blocks || number == 0 || !map64_take(&blocks->places, number, &place))
        return false;
    *ret_sample = blocks->samples.items[place];
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
