/* SPDX-License-Identifier: MIT */
/* The tables of GPU work: each row is one of gpu_stats.h. */
#include "report_gpu.h"

#include "code_owner.h"
#include "gpu_name.h"
#include "gpu_stalls.h"
#include "gpu_stats.h"
#include "report_build.h"
#include "report_functions.h"
#include "report_ranges.h"
#include "symbol_name.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Graphs, by the ranges of their capture -------------------------------------------------- */

/* The table of graphs' work, by the ranges in which it was captured. A model that is captured once
 * and launched a thousand times has its layers here, over all launches. See gpu_stats.h. */

enum {
    CAPTURED_IN,
    COUNT,
    TOTAL,
    SHARE,
    MEAN,
};

static const struct table_column columns[] = {
    [CAPTURED_IN] = {.name = "captured_in", .title = "captured in"},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [TOTAL] = {.name = "gpu_ns", .title = "GPU", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TOTAL},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 1},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_from *captures;
    gpu_stats_captures(report->gpu, &captures);
    const struct gpu_from *capture = &captures[index];
    row_text(row, CAPTURED_IN,
             capture->what ? trace_string(report->trace, capture->what)->bytes
                           : "(no range, or not recorded)");
    row_count(row, COUNT, capture->count);
    row_count(row, TOTAL, capture->time_ns);
    row_count(row, MEAN, capture->time_ns / capture->count);
}

static int add_captures(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_captures", fill);
    const struct gpu_from *captures;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SHARE].whole = gpu_stats_totals(report->gpu)->total_ns;
    table->row_count = gpu_stats_captures(report->gpu, &captures);
    table->limit = report->options.limit;
    return table->row_count
               ? report_plain_title(table, "GPU time of graphs by the ranges that captured them")
               : 0;
}

/* ---- Devices and queues ---------------------------------------------------------------------- */

/* The table of devices and queues and their busy times. See gpu_stats.h. */

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

static int add_queues(struct report *report)
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

static const char *text_of(const struct report *report, uint32_t string)
{
    return trace_string(report->trace, string)->bytes;
}

static void add_columns(struct table *table, const struct table_column *some, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_add_column(table, some[i]);
}

#define COLUMNS(columns) (columns), sizeof(columns) / sizeof(*(columns))

/* Gigabytes a second, to four digits or to the whole; no cell if unknown. */
static void row_pace(struct table_row *row, unsigned column, uint64_t bytes, uint64_t time_ns)
{
    if (bytes == 0 || time_ns == 0)
        return;
    double pace = (double)bytes / (double)time_ns, scale = 1;
    while (pace * scale < 1000)
        scale *= 10;
    row_value(row, column, (double)(uint64_t)(pace * scale + 0.5) / scale);
}

static void row_delay(const struct report *report, struct table_row *row, unsigned column,
                      const struct gpu_range *range, double fraction)
{
    if (range->delays.count > 0)
        row_count(row, column, gpu_stats_quantile(report->gpu, &range->delays, fraction));
}

/* Limits the quantile to the row's minimum and maximum. */
static void row_quantile(const struct report *report, struct table_row *row, unsigned column,
                         const struct gpu_row *of, double fraction)
{
    uint64_t value = gpu_stats_quantile(report->gpu, &of->durations, fraction);
    if (of->durations.count > 0)
        row_count(row, column,
                  value < of->min_ns   ? of->min_ns
                  : value > of->max_ns ? of->max_ns
                                       : value);
}

/* ---- Launch sources -------------------------------------------------------------------------- */

enum {
    FROM_LABEL,
    FROM_RANGE,
    FROM_RANGE_TIME,
    FROM_CALLER,
    FROM_FUNCTION,
    FROM_LOCATION,
    FROM_FUNCTION_TIME,
    FROM_STACKS_TIME
};

static const struct table_column from_columns[] = {
    [FROM_LABEL] = {.title = "launched from", .rank = 2},
    [FROM_RANGE] = {.name = "range"},
    [FROM_RANGE_TIME] = {.name = "range_ns", .type = COLUMN_TIME},
    [FROM_CALLER] = {.title = "by", .rank = 3, .rare = true},
    [FROM_FUNCTION] = {.name = "function"},
    [FROM_LOCATION] = {.name = "location"},
    [FROM_FUNCTION_TIME] = {.name = "function_ns", .type = COLUMN_TIME},
    [FROM_STACKS_TIME] = {.name = "stacks_ns", .type = COLUMN_TIME},
};

/* Fills in the range that launched most of it, and the function of its sampled launches. */
static void fill_from(const struct report *report, const struct gpu_row *of, struct table_row *row,
                      unsigned column)
{
    const struct gpu_from *range = &of->range, *function = &of->function;
    size_t size;
    char *room;
    if (range->count > 0 && range->what == RANGE_NO_ROW) {
        row_text(row, column + FROM_LABEL, "(outside)");
        row_text(row, column + FROM_RANGE, "");
    } else if (range->count > 0) {
        room = row_room(row, &size);
        row_take(row, column + FROM_LABEL, report_range_label(report, range->what, room, size));
        room = row_room(row, &size);
        row_take(row, column + FROM_RANGE,
                 range_stats_label(report->stats, range->what, room, size));
    }
    if (range->count > 0)
        row_count(row, column + FROM_RANGE_TIME, range->time_ns);
    if (function->count == 0)
        return;
    const struct call_place place = {function->what, 0};
    report_name_cells(report, row, column + FROM_FUNCTION, &place);
    room = row_room(row, &size);
    row_take(row, column + FROM_CALLER, code_name(report->trace, function->what, room, size));
    row_count(row, column + FROM_FUNCTION_TIME, function->time_ns);
    row_count(row, column + FROM_STACKS_TIME, of->stacks_ns);
}

/* ---- By name --------------------------------------------------------------------------------- */

/* The rows of a table. */
struct gpu_list {
    uint32_t count;
    const struct gpu_row *rows[];
};

enum {
    KERNEL_SHORT,
    KERNEL_NAME,
    KERNEL_COUNT,
    KERNEL_TOTAL,
    KERNEL_SHARE,
    KERNEL_MIN,
    KERNEL_P50,
    KERNEL_P95,
    KERNEL_MAX,
    KERNEL_GRID,
    KERNEL_BLOCK,
    KERNEL_REGISTERS,
    KERNEL_SHARED,
    KERNEL_OCCUPANCY,
    KERNEL_SHAPES,
    KERNEL_FROM,
};

static const struct table_column kernel_columns[] = {
    [KERNEL_SHORT] = {.name = "short_name", .title = "kernel"},
    [KERNEL_NAME] = {.name = "name"},
    [KERNEL_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .adds_up = true},
    [KERNEL_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    [KERNEL_SHARE] = {.title = "share", .type = COLUMN_SHARE, .of = KERNEL_TOTAL},
    [KERNEL_MIN] = {.name = "min_ns", .title = "min", .type = COLUMN_TIME, .rank = 8},
    [KERNEL_P50] = {.name = "p50_ns", .title = "p50", .type = COLUMN_TIME, .rank = 1},
    [KERNEL_P95] = {.name = "p95_ns", .title = "p95", .type = COLUMN_TIME, .rank = 2},
    [KERNEL_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 3},
    [KERNEL_GRID] = {.name = "grid", .title = "grid", .rank = 4, .right = true},
    [KERNEL_BLOCK] = {.name = "block", .title = "block", .rank = 5, .right = true},
    [KERNEL_REGISTERS] = {.name = "registers", .title = "regs", .type = COLUMN_COUNT, .rank = 6},
    [KERNEL_SHARED] = {.name = "shared_bytes", .title = "shared", .type = COLUMN_BYTES, .rank = 9},
    [KERNEL_OCCUPANCY] = {.name = "occupancy_percent",
                          .title = "occ %",
                          .type = COLUMN_VALUE,
                          .rank = 7},
    [KERNEL_SHAPES] = {.name = "shape_count", .title = "shapes", .type = COLUMN_COUNT, .rank = 10},
};

static void fill_shape(const struct report *report, const struct gpu_row *kernel,
                       struct table_row *row)
{
    const struct gpu_shape *shape = gpu_stats_shape(report->gpu, kernel);
    row_count(row, KERNEL_SHAPES, kernel->shape_count);
    if (!shape || shape->grid == 0)
        return;
    row_text(row, KERNEL_GRID, text_of(report, shape->grid));
    row_text(row, KERNEL_BLOCK, text_of(report, shape->block));
    row_count(row, KERNEL_REGISTERS, shape->registers);
    row_count(row, KERNEL_SHARED, shape->shared_bytes);
    if (!isnan(shape->occupancy))
        row_value(row, KERNEL_OCCUPANCY, shape->occupancy);
}

static const char *name_of(const struct report *report, const struct gpu_row *row)
{
    return row->name ? text_of(report, row->name) : "(other)";
}

/* Fills in the GPU time outside of kernels. */
static void fill_kernel_rest(const struct report *report, struct table_row *row)
{
    const struct gpu_row *const *rows;
    uint32_t count = gpu_stats_rows(report->gpu, &rows);
    uint64_t time_ns = gpu_stats_totals(report->gpu)->total_ns;
    uint64_t launched = gpu_stats_totals(report->gpu)->count;
    for (uint32_t i = 0; i < count; i++) {
        time_ns -= rows[i]->role == QUEUE_ROLE_KERNEL ? rows[i]->total_ns : 0;
        launched -= rows[i]->role == QUEUE_ROLE_KERNEL ? rows[i]->count : 0;
    }
    row->role = ROW_REST;
    row->rest = "copies, sets, graphs";
    row_count(row, KERNEL_COUNT, launched);
    row_count(row, KERNEL_TOTAL, time_ns);
}

static void fill_kernel(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_list *list = table->rows;
    char name[512];
    if (index >= list->count) {
        fill_kernel_rest(report, row);
        return;
    }
    const struct gpu_row *kernel = list->rows[index];
    gpu_stats_name(report->gpu, kernel, name, sizeof(name));
    row_text(row, KERNEL_SHORT, name);
    row_text(row, KERNEL_NAME, name_of(report, kernel));
    row_count(row, KERNEL_COUNT, kernel->count);
    row_count(row, KERNEL_TOTAL, kernel->total_ns);
    row_count(row, KERNEL_MIN, kernel->min_ns);
    row_quantile(report, row, KERNEL_P50, kernel, 0.5);
    row_quantile(report, row, KERNEL_P95, kernel, 0.95);
    row_count(row, KERNEL_MAX, kernel->max_ns);
    fill_shape(report, kernel, row);
    fill_from(report, kernel, row, KERNEL_FROM);
}

enum {
    OPERATION_NAME,
    OPERATION_KIND,
    OPERATION_DIRECTION,
    OPERATION_COUNT,
    OPERATION_TOTAL,
    OPERATION_BYTES,
    OPERATION_PACE,
    OPERATION_MIN,
    OPERATION_P50,
    OPERATION_P95,
    OPERATION_MAX,
    OPERATION_FROM,
};

static const struct table_column operation_columns[] = {
    [OPERATION_NAME] = {.name = "name", .title = "operation"},
    [OPERATION_KIND] = {.name = "kind"},
    [OPERATION_DIRECTION] = {.name = "direction"},
    [OPERATION_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT},
    [OPERATION_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    [OPERATION_BYTES] = {.name = "bytes", .title = "bytes", .type = COLUMN_BYTES},
    [OPERATION_PACE] = {.name = "gb_per_s", .title = "GB/s", .type = COLUMN_VALUE, .rank = 1},
    [OPERATION_MIN] = {.name = "min_ns", .title = "min", .type = COLUMN_TIME, .rank = 5},
    [OPERATION_P50] = {.name = "p50_ns", .title = "p50", .type = COLUMN_TIME, .rank = 2},
    [OPERATION_P95] = {.name = "p95_ns", .title = "p95", .type = COLUMN_TIME, .rank = 4},
    [OPERATION_MAX] = {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 3},
};

static void fill_operation(const struct table *table, uint64_t index, struct table_row *row)
{
    static const char *const kinds[QUEUE_ROLE_COUNT] = {
        [0] = "other",
        [QUEUE_ROLE_KERNEL] = "kernel",
        [QUEUE_ROLE_COPY] = "copy",
        [QUEUE_ROLE_SET] = "set",
        [QUEUE_ROLE_WAIT] = "wait",
        [QUEUE_ROLE_GRAPH] = "graph",
        [QUEUE_ROLE_CALL] = "call",
        [QUEUE_ROLE_EVENT] = "event",
        [QUEUE_ROLE_MEMORY] = "memory",
        [QUEUE_ROLE_OVERHEAD] = "overhead",
        [QUEUE_ROLE_JIT] = "jit",
    };
    const struct report *report = table->context;
    const struct gpu_row *operation = ((const struct gpu_list *)table->rows)->rows[index];
    bool moves = operation->role == QUEUE_ROLE_COPY || operation->role == QUEUE_ROLE_SET;
    row->role = operation->role == QUEUE_ROLE_OVERHEAD ? ROW_MINOR : ROW_PLAIN;
    row_text(row, OPERATION_NAME, name_of(report, operation));
    row_text(row, OPERATION_KIND, kinds[operation->role]);
    if (operation->direction)
        row_text(row, OPERATION_DIRECTION, text_of(report, operation->direction));
    row_count(row, OPERATION_COUNT, operation->count);
    row_count(row, OPERATION_TOTAL, operation->total_ns);
    if (moves)
        row_count(row, OPERATION_BYTES, operation->bytes);
    if (moves)
        row_pace(row, OPERATION_PACE, operation->bytes, operation->total_ns);
    row_count(row, OPERATION_MIN, operation->min_ns);
    row_quantile(report, row, OPERATION_P50, operation, 0.5);
    row_quantile(report, row, OPERATION_P95, operation, 0.95);
    row_count(row, OPERATION_MAX, operation->max_ns);
    fill_from(report, operation, row, OPERATION_FROM);
}

const struct range_duration *report_gpu_durations(const struct report *report,
                                                  const struct table *table, uint64_t row,
                                                  uint32_t *ret_count)
{
    const struct gpu_list *list = table->rows;
    bool known = table->fill == fill_kernel || table->fill == fill_operation;
    *ret_count = 0;
    return known && row < list->count ? gpu_stats_durations(report->gpu, list->rows[row], ret_count)
                                      : NULL;
}

/* True for marks of times without recording, which are not GPU work. */
static bool is_mark(const struct gpu_row *row)
{
    return row->edge == GPU_WINDOW_RESTS || row->edge == GPU_WINDOW_GOES_ON;
}

/* Lists kernels, or all other rows. 0 or -ENOMEM. */
static int list_rows(const struct report *report, struct table *table, bool kernels)
{
    const struct gpu_row *const *rows;
    uint32_t count = gpu_stats_rows(report->gpu, &rows);
    struct gpu_list *list = calloc(1, sizeof(*list) + count * sizeof(const struct gpu_row *));
    if (!list)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if ((rows[i]->role == QUEUE_ROLE_KERNEL) == kernels && !is_mark(rows[i]))
            list->rows[list->count++] = rows[i];
    table->rows = list;
    table->row_count = list->count;
    table->limit = report->options.limit;
    return 0;
}

static int add_kernels(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_kernels", fill_kernel);
    const struct gpu_totals *totals = gpu_stats_totals(report->gpu);
    int rc = list_rows(report, table, true);
    add_columns(table, COLUMNS(kernel_columns));
    add_columns(table, COLUMNS(from_columns));
    table->columns[KERNEL_SHARE].whole = totals->total_ns;
    table->tells_hidden = true;
    if (rc != 0 || totals->count == 0)
        return rc;
    table->row_count++; /* the rest */
    table->rest_alone = true;
    if (totals->graph_count)
        table_add_note(table, (struct table_note){
                                  .before = "graphs recorded as a whole: ",
                                  .count = totals->graph_count,
                                  .after = "; the names of their kernels are not known "
                                           "(annot record --gpu=nodes)",
                              });
    return report_plain_title(table, "kernels of GPUs");
}

static int add_operations(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_operations", fill_operation);
    int rc = list_rows(report, table, false);
    add_columns(table, COLUMNS(operation_columns));
    add_columns(table, COLUMNS(from_columns));
    if (rc != 0 || table->row_count == 0)
        return rc;
    return report_plain_title(table, "copies and other operations of GPUs");
}

/* ---- By range -------------------------------------------------------------------------------- */

enum {
    RANGE_LABEL,
    RANGE_PATH,
    RANGE_COUNT,
    RANGE_TOTAL,
    RANGE_LAUNCHED,
    RANGE_GPU,
    RANGE_GPU_SELF,
    RANGE_GPU_SHARE,
    RANGE_IDLE,
    RANGE_IDLE_OF,
    RANGE_IDLE_SELF,
    RANGE_STARVED,
    RANGE_CALLS,
    RANGE_CALLS_TIME,
    RANGE_DELAY_P50,
    RANGE_DELAY_P95,
    RANGE_MOVED, /* bytes and rate of each way */
};

static const struct table_column range_columns[] = {
    [RANGE_LABEL] = {.title = "range"},
    [RANGE_PATH] = {.name = "path"},
    [RANGE_COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 5},
    [RANGE_TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    [RANGE_LAUNCHED] = {.name = "launched", .title = "launched", .type = COLUMN_COUNT, .rank = 1},
    [RANGE_GPU] = {.name = "gpu_ns", .title = "GPU", .type = COLUMN_TIME},
    [RANGE_GPU_SELF] = {.name = "gpu_self_ns",
                        .title = "GPU self",
                        .type = COLUMN_TIME,
                        .rank = 4,
                        .adds_up = true},
    [RANGE_GPU_SHARE] = {.title = "share", .type = COLUMN_SHARE, .of = RANGE_GPU},
    [RANGE_IDLE] = {.name = "idle_ns", .title = "GPU idle", .type = COLUMN_TIME},
    [RANGE_IDLE_OF] = {.name = "idle_of_ns", .type = COLUMN_TIME},
    [RANGE_IDLE_SELF] = {.name = "idle_self_ns", .type = COLUMN_TIME},
    [RANGE_STARVED] = {.name = "starved_ns", .title = "starved", .type = COLUMN_TIME, .rank = 0},
    [RANGE_CALLS] = {.name = "launch_call_count", .type = COLUMN_COUNT},
    [RANGE_CALLS_TIME] = {.name = "launch_call_ns",
                          .title = "launching",
                          .type = COLUMN_TIME,
                          .rank = 3,
                          .rare = true},
    [RANGE_DELAY_P50] = {.name = "delay_p50_ns",
                         .title = "delay p50",
                         .type = COLUMN_TIME,
                         .rank = 2},
    [RANGE_DELAY_P95] = {.name = "delay_p95_ns", .title = "p95", .type = COLUMN_TIME, .rank = 6},
    [RANGE_MOVED] = {.name = "to_device_bytes", .title = "to GPU", .type = COLUMN_BYTES, .rank = 7},
    {.name = "to_device_gb_per_s", .title = "GB/s", .type = COLUMN_VALUE, .rank = 8},
    {.name = "from_device_bytes", .title = "from GPU", .type = COLUMN_BYTES, .rank = 9},
    {.name = "from_device_gb_per_s", .title = "GB/s", .type = COLUMN_VALUE, .rank = 10},
    {.name = "other_copied_bytes", .type = COLUMN_BYTES},
    {.name = "other_copied_gb_per_s", .type = COLUMN_VALUE},
};

static void fill_sums(const struct report *report, const struct gpu_range *range,
                      struct table_row *row)
{
    row_count(row, RANGE_LAUNCHED, range->count);
    row_count(row, RANGE_GPU, range->total_ns);
    row_count(row, RANGE_GPU_SELF, range->self_ns);
    row_delay(report, row, RANGE_DELAY_P50, range, 0.5);
    row_delay(report, row, RANGE_DELAY_P95, range, 0.95);
    for (unsigned i = 0; i < GPU_WAYS; i++) {
        row_count(row, RANGE_MOVED + 2 * i, range->moved[i].bytes);
        row_pace(row, RANGE_MOVED + 2 * i + 1, range->moved[i].bytes, range->moved[i].time_ns);
    }
}

static void fill_range_rest(const struct report *report, uint64_t index, struct table_row *row)
{
    const struct gpu_totals *totals = gpu_stats_totals(report->gpu);
    const struct gpu_range *const rests[] = {&totals->outside, &totals->unknown, &totals->further};
    static const char *const names[] = {"outside", "launch not known", "further ranges"};
    row->role = ROW_REST;
    row->rest = names[index];
    fill_sums(report, rests[index], row);
}

static void fill_range(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_range *ranges;
    uint32_t count = gpu_stats_ranges(report->gpu, &ranges);
    if (index >= count) {
        fill_range_rest(report, index - count, row);
        return;
    }
    const struct gpu_range *range = &ranges[index];
    const struct range_row *whole = range_stats_row(report->stats, range->row);
    size_t size;
    char *room = row_room(row, &size);
    row_take(row, RANGE_LABEL, report_range_label(report, range->row, room, size));
    room = row_room(row, &size);
    row_take(row, RANGE_PATH, range_stats_label(report->stats, range->row, room, size));
    row->observed = report_row_is_observed(report->stats, range->row);
    row_count(row, RANGE_COUNT, whole->count);
    row_count(row, RANGE_TOTAL, whole->total_ns);
    fill_sums(report, range, row);
    if (range->stay_ns > 0) {
        row_count(row, RANGE_IDLE, range->idle_ns);
        row_count(row, RANGE_IDLE_OF, range->stay_ns);
        row_count(row, RANGE_IDLE_SELF, range->idle_self_ns);
        row_count(row, RANGE_STARVED, range->starved_ns);
    }
    if (range->call_count > 0) {
        row_count(row, RANGE_CALLS, range->call_count);
        row_count(row, RANGE_CALLS_TIME, range->call_ns);
    }
}

static void add_range_notes(struct table *table, const struct gpu_totals *totals)
{
    if (totals->node_count)
        table_add_note(table, (struct table_note){
                                  .before = "kernels and copies of graphs: ",
                                  .count = totals->node_count,
                                  .after = "; their range is that of the graph's launch "
                                           "(where it was captured: --table gpu_captures)",
                              });
    if (totals->short_count)
        table_add_note(table, (struct table_note){
                                  .before = "short ranges in which idle time was not looked for: ",
                                  .count = totals->short_count,
                                  .after = "",
                              });
}

static int add_ranges(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_ranges", fill_range);
    const struct gpu_totals *totals = gpu_stats_totals(report->gpu);
    const struct gpu_range *ranges;
    add_columns(table, COLUMNS(range_columns));
    table->columns[RANGE_GPU_SHARE].whole = totals->total_ns;
    if (totals->count == 0)
        return 0;
    table->row_count = gpu_stats_ranges(report->gpu, &ranges);
    table->row_count += totals->further.count ? 3 : totals->unknown.count ? 2 : 1;
    table->limit = report->options.limit;
    table->tells_hidden = true;
    table->rest_alone = true;
    add_range_notes(table, totals);
    return report_plain_title(table, "GPU time by the ranges that launched it");
}

static int add_gpu(struct report *report)
{
    int rc = add_kernels(report);
    if (rc == 0)
        rc = add_operations(report);
    if (rc == 0)
        rc = add_ranges(report);
    if (rc == 0)
        rc = add_captures(report);
    return rc == 0 ? add_queues(report) : rc;
}

/* ---- Stalls ---------------------------------------------------------------------------------- */

/* The table of stall reasons of GPU warps: a kernel, and below it each reason. */

enum {
    LABEL,
    KERNEL,
    REASON,
    SAMPLES,
    STALL_SHARE,
    SHARE_OF_ALL,
    NOT_ISSUED,
    PLACES,
    TOP_PC,
    TOP_SAMPLES,
};

static const struct table_column columns_stall[] = {
    [LABEL] = {.title = "kernel, stalled on"},
    [KERNEL] = {.name = "kernel"},
    [REASON] = {.name = "reason"},
    [SAMPLES] = {.name = "samples", .title = "samples", .type = COLUMN_COUNT, .adds_up = true},
    [STALL_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SAMPLES, .of_row = true},
    [SHARE_OF_ALL] = {.title = "of all", .type = COLUMN_SHARE, .rank = 4, .of = SAMPLES},
    [NOT_ISSUED] = {.name = "not_issued",
                    .title = "not issued",
                    .type = COLUMN_COUNT,
                    .rank = 3,
                    .adds_up = true},
    [PLACES] = {.name = "place_count", .title = "places", .type = COLUMN_COUNT, .rank = 5},
    [TOP_PC] = {.name = "top_pc", .title = "most at", .rank = 1, .right = true},
    [TOP_SAMPLES] = {.name = "top_samples", .title = "samples", .type = COLUMN_COUNT, .rank = 2},
};

/* Kernels have mangled C++ names. */
static const char *name_of_stall(const struct report *report, const struct gpu_stall *row,
                                 char shown[SYMBOL_NAME_SIZE])
{
    const char *name = trace_string(report->trace, row->function)->bytes;
    if (row->function == 0)
        return "(other)";
    if (strncmp(name, "_Z", 2) != 0)
        return *name ? name : "(unknown)";
    symbol_demangle(name, shown);
    return shown;
}

static void fill_stall(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct gpu_stalls *stalls = gpu_stats_stalls(report->gpu);
    const struct gpu_stall *stall = &stalls->rows.items[index];
    const char *reason = gpu_stalls_reason(stalls, stall);
    char shown[SYMBOL_NAME_SIZE], label[512], place[32];
    if (stall->reason == 0) {
        const char *name = name_of_stall(report, stall, shown);
        gpu_short_name(name, label, sizeof(label));
        row_text(row, KERNEL, name);
    } else {
        row->role = ROW_PART;
        snprintf(label, sizeof(label), "  %s", reason);
        row_text(row, REASON, reason);
    }
    row_text(row, LABEL, label);
    row_count(row, SAMPLES, stall->samples);
    row_count(row, NOT_ISSUED, stall->not_issued);
    row_count(row, PLACES, stall->place_count);
    if (stall->top_samples == 0)
        return;
    snprintf(place, sizeof(place), "0x%" PRIx64, stall->top_pc);
    row_text(row, TOP_PC, place);
    row_count(row, TOP_SAMPLES, stall->top_samples);
}

static void add_notes(struct table *table, const struct gpu_stall_sums *sums)
{
    const struct table_note notes[] = {
        {.before = "samples that the device dropped: ", .count = sums->dropped, .after = ""},
        {.before = "samples in code that is not the program's: ",
         .count = sums->others,
         .after = ""},
        {.before = "times that the device's buffer was full, and samples were lost: ",
         .count = sums->full,
         .after = " (annot record --gpu=pc-period=N with a larger N)"},
        {.before = "samples at places for which there was no room: ",
         .count = sums->left_out,
         .after = ""},
    };

    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
        if (notes[i].count != 0) {
            struct table_note note = notes[i];
            note.always = true;
            table_add_note(table, note);
        }
}

static int add_stalls(struct report *report)
{
    struct table *table = report_add_table(report, "gpu_stalls", fill_stall);
    const struct gpu_stalls *stalls = gpu_stats_stalls(report->gpu);
    for (size_t i = 0; i < sizeof(columns_stall) / sizeof(*columns_stall); i++)
        table_add_column(table, columns_stall[i]);
    table->columns[SHARE_OF_ALL].whole = stalls->sums.samples;
    table->row_count = stalls->rows.count;
    table->limit = report->options.limit;
    add_notes(table, &stalls->sums);
    return table->row_count ? report_plain_title(table, "why warps of kernels stalled") : 0;
}

/* ---- The part -------------------------------------------------------------------------------- */

static int create(struct report *report)
{
    report->gpu = gpu_stats_create(report->trace, report->stats, report->options.grouping);
    if (!report->gpu)
        return -ENOMEM;
    gpu_stats_keep(report->gpu, report->options.durations);
    return 0;
}

static struct sink sink(const struct report *report)
{
    return gpu_stats_sink(report->gpu);
}

static int finish(struct report *report)
{
    const struct range_totals *totals = range_stats_totals(report->stats);
    int rc = gpu_stats_finish(report->gpu, totals->begin_ns, totals->begin_ns + totals->wall_ns);
    return rc == 0 ? gpu_stats_find_sources(report->gpu, report->samples.own) : rc;
}

static int add_tables(struct report *report)
{
    int rc = add_gpu(report);
    return rc == 0 ? add_stalls(report) : rc;
}

static void destroy(struct report *report)
{
    gpu_stats_destroy(report->gpu);
}

const struct report_part report_part_gpu = {
    .create = create, .sink = sink, .finish = finish, .add_tables = add_tables, .destroy = destroy};
