/* SPDX-License-Identifier: MIT */
/* The table of devices and queues: how busy they were. See gpu_stats.h. */
#include "report_parts.h"

#include "gpu_stats.h"

#include <stdio.h>

enum {
    QUEUE_LABEL,
    QUEUE_KIND,
    QUEUE_DEVICE,
    QUEUE_NAME,
    QUEUE_PID,
    QUEUE_PROCESS,
    QUEUE_COUNT,
    QUEUE_TOTAL,
    QUEUE_BUSY,
    QUEUE_PERCENT,
    QUEUE_IDLE,
    QUEUE_STARVED,
    QUEUE_WATCHED,
    QUEUE_LIFE,
    QUEUE_GAPS,
    QUEUE_GAP_MAX,
    QUEUE_FIRST,
    QUEUE_LAST,
};

static const struct table_column queue_columns[] = {
    [QUEUE_LABEL] = {.title = "device, queue"},
    [QUEUE_KIND] = {.name = "kind"},
    [QUEUE_DEVICE] = {.name = "device"},
    [QUEUE_NAME] = {.name = "queue"},
    [QUEUE_PID] = {.name = "pid", .title = "pid", .type = COLUMN_NUMBER, .rank = 3},
    [QUEUE_PROCESS] = {.name = "process", .title = "process", .rank = 6},
    [QUEUE_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT},
    [QUEUE_TOTAL] = {.name = "total_ns", .title = "GPU", .type = COLUMN_TIME, .rank = 2},
    [QUEUE_BUSY] = {.name = "busy_ns", .title = "busy", .type = COLUMN_TIME},
    [QUEUE_PERCENT] = {.name = "busy_percent", .title = "busy %", .type = COLUMN_VALUE},
    [QUEUE_IDLE] = {.name = "idle_ns", .title = "idle", .type = COLUMN_TIME, .rank = 1},
    [QUEUE_STARVED] = {.name = "starved_ns", .title = "starved", .type = COLUMN_TIME},
    [QUEUE_WATCHED] = {.name = "watched_ns", .title = "of", .type = COLUMN_TIME, .rank = 7},
    [QUEUE_LIFE] = {.name = "process_ns", .type = COLUMN_TIME},
    [QUEUE_GAPS] = {.name = "gap_count", .title = "gaps", .type = COLUMN_COUNT, .rank = 5},
    [QUEUE_GAP_MAX] = {.name = "longest_gap_ns",
                       .title = "longest gap",
                       .type = COLUMN_TIME,
                       .rank = 4},
    [QUEUE_FIRST] = {.name = "first_ns", .type = COLUMN_TIME},
    [QUEUE_LAST] = {.name = "last_ns", .type = COLUMN_TIME},
};

static const char *lane_name(const struct report *report, uint32_t ordinal)
{
    const struct trace_lane *lane = trace_lane_get(report->trace, ordinal);
    return lane && lane->name ? trace_string(report->trace, lane->name)->bytes : "(no name)";
}

static uint64_t since_begin(const struct report *report, int64_t time_ns)
{
    int64_t begin_ns = report->facts.totals->begin_ns;
    return time_ns > begin_ns ? (uint64_t)(time_ns - begin_ns) : 0;
}

static void fill_queue(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_queue *queues, *queue;
    gpu_stats_queues(report->gpu, &queues);
    queue = &queues[index];
    const struct trace_process *process = trace_process_get(report->trace, queue->process);
    uint64_t busy_ns = queue->busy_ns, watched_ns = queue->watched_ns;
    char text[512];
    size_t size;
    snprintf(text, sizeof(text), "%s%s", queue->device ? "  " : "", lane_name(report, queue->lane));
    row_text(row, QUEUE_LABEL, text);
    row_text(row, QUEUE_KIND, queue->is_device ? "device" : "queue");
    if (queue->device || queue->is_device)
        row_text(row, QUEUE_DEVICE,
                 lane_name(report, queue->is_device ? queue->lane : queue->device - 1));
    if (!queue->is_device)
        row_text(row, QUEUE_NAME, lane_name(report, queue->lane));
    if (process) {
        row_number(row, QUEUE_PID, process->pid);
        char *room = row_room(row, &size);
        row_take(row, QUEUE_PROCESS,
                 trace_process_label(report->trace, queue->process, room, size));
    }
    row_count(row, QUEUE_COUNT, queue->count);
    row_count(row, QUEUE_TOTAL, queue->total_ns);
    row_count(row, QUEUE_BUSY, queue->busy_ns);
    row_count(row, QUEUE_IDLE, watched_ns > busy_ns ? watched_ns - busy_ns : 0);
    if (queue->is_device || queue->device == 0)
        row_count(row, QUEUE_STARVED, queue->starved_ns);
    if (watched_ns > 0)
        row_value(row, QUEUE_PERCENT,
                  (double)(uint64_t)(1000 * (double)busy_ns / (double)watched_ns + 0.5) / 10);
    row_count(row, QUEUE_WATCHED, watched_ns);
    row_count(row, QUEUE_LIFE, queue->life_ns);
    row_count(row, QUEUE_GAPS, queue->gap_count);
    row_count(row, QUEUE_GAP_MAX, queue->longest_gap_ns);
    row_count(row, QUEUE_FIRST, since_begin(report, queue->first_ns));
    row_count(row, QUEUE_LAST, since_begin(report, queue->last_ns));
}

int report_add_gpu_queues(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_queues", fill_queue);
    const struct gpu_queue *queues;
    const struct gpu_totals *totals = gpu_stats_totals(report->gpu);
    for (size_t i = 0; i < sizeof(queue_columns) / sizeof(*queue_columns); i++)
        table_add_column(table, queue_columns[i]);
    table->row_count = gpu_stats_queues(report->gpu, &queues);
    table->limit = report->options.limit;
    if (table->row_count == 0)
        return 0;
    if (totals->filled_ns)
        table_add_note(table, (struct table_note){
                                  .before = "gaps that were too short to be told apart: ",
                                  .count = totals->filled_ns / 1000,
                                  .after = " us in all",
                              });
    return report_plain_title(table, "how busy GPUs were");
}
