/* SPDX-License-Identifier: MIT */
/* Values of columns, and rows sorted by them. */
#include "range_rows.h"

#include "row_order.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>

enum { ORDER_LABEL_SIZE = 4096 };

static uint64_t running_ns(const struct range_row *row)
{
    uint64_t all = row->total_ns - row->nested_ns, off = row->runnable_ns + row->blocked_ns;
    return all > off ? all - off : 0;
}

/* Samples give waits to pushed ranges only; ranges of other kinds get CPU time, but not the waits
 * of the threads that ran them. */
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

/* The path, then the owner. */
static size_t text_of(const void *context, uint32_t index, char *buffer, size_t size)
{
    const struct range_stats *stats = context;
    const struct range_row *row = range_stats_row(stats, index);
    size_t length = range_stats_label(stats, index, buffer, size);
    if (row->owner == RANGE_NO_OWNER || length + 2 >= size)
        return length;
    bool by_thread = stats->grouping == RANGE_BY_THREAD && row->kind != RANGE_COUNTER;
    struct text text = text_init(buffer + length, size - length);
    char label[ORDER_LABEL_SIZE];
    const struct trace_thread *thread =
        by_thread ? trace_thread_get(stats->trace, row->owner) : NULL;
    uint32_t owner = thread ? thread->process : row->owner;
    const struct trace_process *process = trace_process_get(stats->trace, owner);
    trace_process_label(stats->trace, owner, label, sizeof(label));
    text_format(&text, "\n%s\n%d", label, process ? process->pid : 0);
    if (thread) {
        trace_thread_label(stats->trace, row->owner, label, sizeof(label));
        text_format(&text, "\n%s\n%d", label, thread->tid);
    }
    return length + text.length;
}

int64_t range_stats_sort(const struct range_stats *stats, enum range_kind kind,
                         enum range_column column, uint32_t **ret_rows)
{
    uint32_t rows = range_stats_row_count(stats), count = 0;
    struct order_entry *entries = calloc(rows + 1, sizeof(*entries));
    uint32_t *sorted = calloc(rows + 1, sizeof(*sorted));
    int64_t rc = entries && sorted ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < rows; i++) {
        const struct range_row *row = range_stats_row(stats, i);
        bool sampled = range_kind_has_cpu(kind) && row->cpu_ns > 0;
        if (row->kind == kind && (row->count || sampled))
            entries[count++] = (struct order_entry){.first = range_stats_value(stats, i, column),
                                                    .row = i,
                                                    .last = range_stats_is_other(i)};
    }
    if (rc == 0)
        rc = order_sort(entries, count, text_of, stats);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        sorted[i] = entries[i].row;
    free(entries);
    if (rc == 0)
        *ret_rows = sorted;
    else
        free(sorted);
    return rc == 0 ? count : rc;
}
