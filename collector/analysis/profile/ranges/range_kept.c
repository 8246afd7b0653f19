/* SPDX-License-Identifier: MIT */
/* Durations one by one, for comparisons of recordings. See range_kept.h. */
#include "range_kept.h"

#include <stdlib.h>

/* Over all rows. */
enum { KEPT_MAX = 1 << 22 };

/* Drops every second duration, of the kept and of future ones. */
static void thin_out(struct range_kept *kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < kept->count; i += 2)
        kept->items[left++] = kept->items[i];
    kept->count = left;
    kept->stride *= 2;
}

/* Doubles the capacity of a row, unless it or all rows together are at the limit. */
static void make_room(struct range_keeper *keeper, struct range_kept *kept)
{
    uint32_t wanted = kept->capacity ? 2 * kept->capacity : 16;
    if (wanted > keeper->limit)
        wanted = keeper->limit;
    if (wanted == kept->capacity || keeper->total + wanted > KEPT_MAX)
        return;
    struct range_duration *items = realloc(kept->items, wanted * sizeof(*items));
    keeper->failed = keeper->failed || !items;
    if (!items)
        return;
    keeper->total += wanted - kept->capacity;
    kept->items = items;
    kept->capacity = wanted;
}

void range_keep(struct range_keeper *keeper, size_t row, struct range_duration duration)
{
    if (keeper->limit == 0)
        return;
    while (keeper->rows.count <= row && !keeper->failed)
        keeper->failed = vec_push(&keeper->rows, (struct range_kept){.stride = 1}) != 0;
    if (keeper->failed)
        return;
    struct range_kept *kept = &keeper->rows.items[row];
    if (kept->seen++ % kept->stride != 0)
        return;
    if (kept->count == kept->capacity)
        make_room(keeper, kept);
    if (kept->count == kept->capacity && kept->count > 1)
        thin_out(kept);
    if ((kept->seen - 1) % kept->stride == 0 && kept->count < kept->capacity)
        kept->items[kept->count++] = duration;
}

void range_keeper_free(struct range_keeper *keeper)
{
    for (size_t i = 0; i < keeper->rows.count; i++)
        free(keeper->rows.items[i].items);
    vec_free(&keeper->rows);
}

const struct range_duration *range_keeper_get(const struct range_keeper *keeper, size_t row,
                                              uint32_t *ret_count)
{
    *ret_count = row < keeper->rows.count ? keeper->rows.items[row].count : 0;
    return *ret_count > 0 ? keeper->rows.items[row].items : NULL;
}
