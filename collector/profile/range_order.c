/* SPDX-License-Identifier: MIT */
/* Columns of the statistics as numbers, and rows sorted by them. */
#include "range_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t running_ns(const struct range_row *row)
{
    uint64_t all = row->total_ns - row->nested_ns, off = row->runnable_ns + row->blocked_ns;
    return all > off ? all - off : 0;
}

/* What samples told of a pushed range; of others when they used the CPU, but not for what the
 * threads that ran them waited. */
static uint64_t sampled_value(const struct range_row *row, enum range_column column)
{
    bool timed = column == RANGE_COLUMN_CPU || column == RANGE_COLUMN_CPU_SELF;
    if (row->kind != RANGE_PUSHED && !(timed && range_kind_has_cpu(row->kind)))
        return 0;
    switch (column) {
    case RANGE_COLUMN_CPU:
        return row->cpu_ns;
    case RANGE_COLUMN_CPU_SELF:
        return row->cpu_self_ns;
    case RANGE_COLUMN_RUNNING:
        return running_ns(row);
    case RANGE_COLUMN_RUNNABLE:
        return row->runnable_ns;
    case RANGE_COLUMN_BLOCKED:
        return row->blocked_ns;
    default:
        return 0;
    }
}

uint64_t range_stats_value(const struct range_stats *stats, uint32_t index,
                           enum range_column column)
{
    const struct range_row *row = range_stats_row(stats, index);
    bool timed = row->kind != RANGE_MARK && row->kind != RANGE_COUNTER;
    if (!timed && column >= RANGE_COLUMN_TOTAL && column <= RANGE_COLUMN_MAX)
        return 0;
    switch (column) {
    case RANGE_COLUMN_PATH:
        return 0;
    case RANGE_COLUMN_COUNT:
        return row->count;
    case RANGE_COLUMN_TOTAL:
        return row->total_ns - row->nested_ns;
    case RANGE_COLUMN_SELF:
        return row->self_ns;
    case RANGE_COLUMN_MIN:
        return row->min_ns;
    case RANGE_COLUMN_MEAN:
        return row->count ? (row->total_ns + row->count / 2) / row->count : 0;
    case RANGE_COLUMN_P50:
        return range_stats_quantile(stats, index, 0.50);
    case RANGE_COLUMN_P90:
        return range_stats_quantile(stats, index, 0.90);
    case RANGE_COLUMN_P99:
        return range_stats_quantile(stats, index, 0.99);
    case RANGE_COLUMN_MAX:
        return row->max_ns;
    case RANGE_COLUMN_PROCESSES:
        return row->process_count;
    case RANGE_COLUMN_THREADS:
        return row->thread_count;
    case RANGE_COLUMN_UNFINISHED:
        return row->unfinished;
    case RANGE_COLUMN_LOST:
        return row->lost;
    default:
        return sampled_value(row, column);
    }
}

struct sort_entry {
    uint64_t value;
    char *label; /* RANGE_COLUMN_PATH only */
    uint32_t row;
};

static int compare(const void *left, const void *right)
{
    const struct sort_entry *a = left, *b = right;
    if (range_stats_is_other(a->row) != range_stats_is_other(b->row))
        return range_stats_is_other(a->row) ? 1 : -1;
    int order = a->label && b->label ? strcmp(a->label, b->label) : 0;
    if (order == 0 && a->value != b->value)
        order = a->value < b->value ? 1 : -1;
    return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

int64_t range_stats_sort(const struct range_stats *stats, enum range_kind kind,
                         enum range_column column, uint32_t **ret_rows)
{
    uint32_t rows = range_stats_row_count(stats), count = 0;
    struct sort_entry *entries = calloc(rows + 1, sizeof(*entries));
    uint32_t *sorted = calloc(rows + 1, sizeof(*sorted));
    int64_t rc = -ENOMEM;
    if (!entries || !sorted)
        goto out;
    for (uint32_t i = 0; i < rows; i++) {
        const struct range_row *row = range_stats_row(stats, i);
        bool sampled = range_kind_has_cpu(kind) && row->cpu_ns > 0;
        if (row->kind != kind || !(row->count || sampled))
            continue;
        struct sort_entry *entry = &entries[count++];
        entry->row = i;
        entry->value = range_stats_value(stats, i, column);
        if (column != RANGE_COLUMN_PATH)
            continue;
        char label[4096];
        range_stats_label(stats, i, label, sizeof(label));
        entry->label = strdup(label);
        if (!entry->label)
            goto out;
    }
    qsort(entries, count, sizeof(*entries), compare);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = entries[i].row;
    *ret_rows = sorted;
    sorted = NULL;
    rc = count;
out:
    for (uint32_t i = 0; entries && i < count; i++)
        free(entries[i].label);
    free(entries);
    free(sorted);
    return rc;
}
