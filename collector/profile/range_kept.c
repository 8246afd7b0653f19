/* SPDX-License-Identifier: MIT */
/* What is known of single durations of ranges: their quantiles; and, for those that compare
 * recordings, durations one by one, in the order in which a pass tells them, evenly thinned out
 * where there is no room for all. */
#include "range_parts.h"

#include <stdlib.h>

/* Of all rows together. */
enum { KEPT_MAX = 1 << 22 };

/* Every second one goes, of what is there and of what comes. */
static void thin_out(struct range_kept *kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < kept->count; i += 2)
        kept->items[left++] = kept->items[i];
    kept->count = left;
    kept->stride *= 2;
}

/* Where the rows together have no room, the row has none. */
static void make_room(struct range_stats *stats, struct range_kept *kept)
{
    uint32_t wanted = kept->capacity ? 2 * kept->capacity : 16;
    if (wanted > stats->kept_limit)
        wanted = stats->kept_limit;
    if (wanted == kept->capacity || stats->kept_total + wanted > KEPT_MAX)
        return;
    struct range_duration *items = realloc(kept->items, wanted * sizeof(*items));
    stats->kept_failed = stats->kept_failed || !items;
    if (!items)
        return;
    stats->kept_total += wanted - kept->capacity;
    kept->items = items;
    kept->capacity = wanted;
}

void range_keep(struct range_stats *stats, const struct range_row *row,
                struct range_duration duration)
{
    size_t index = (size_t)(row - stats->rows.items);
    if (stats->kept_limit == 0)
        return;
    while (stats->kept.count <= index && !stats->kept_failed)
        stats->kept_failed = vec_push(&stats->kept, (struct range_kept){.stride = 1}) != 0;
    if (stats->kept_failed)
        return;
    struct range_kept *kept = &stats->kept.items[index];
    if (kept->seen++ % kept->stride != 0)
        return;
    if (kept->count == kept->capacity)
        make_room(stats, kept);
    if (kept->count == kept->capacity && kept->count > 1)
        thin_out(kept);
    if ((kept->seen - 1) % kept->stride == 0 && kept->count < kept->capacity)
        kept->items[kept->count++] = duration;
}

void range_stats_free_kept(struct range_stats *stats)
{
    for (size_t i = 0; i < stats->kept.count; i++)
        free(stats->kept.items[i].items);
    vec_free(&stats->kept);
}

const struct range_duration *range_stats_durations(const struct range_stats *stats, uint32_t index,
                                                   uint32_t *ret_count)
{
    *ret_count = index < stats->kept.count ? stats->kept.items[index].count : 0;
    return *ret_count > 0 ? stats->kept.items[index].items : NULL;
}

uint64_t range_stats_quantile(const struct range_stats *stats, uint32_t index, double fraction)
{
    const struct range_row *row = &stats->rows.items[index];
    uint64_t value = histogram_quantile(stats->histograms, &row->durations, fraction);
    return value < row->min_ns ? row->min_ns : value > row->max_ns ? row->max_ns : value;
}
