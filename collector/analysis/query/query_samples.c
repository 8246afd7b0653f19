/* SPDX-License-Identifier: MIT */
/* The tables of samples: all samples, and only the waits. */
#include "query_samples.h"

#include "query_cells.h"
#include "query_frames.h"
#include "query_report.h"
#include "query_scan.h"
#include "query_state.h"
#include "reader.h"

#include "call_label.h"
#include "call_path.h"
#include "code_owner.h"
#include "json_writer.h"
#include "row_schema.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sample_table { TABLE_SAMPLES, TABLE_WAITS };

/* ---- Tables ---------------------------------------------------------------------------------- */

const struct query_table query_samples = {
    "samples",      "samples of all sets: CPU time, waits, short waits, what the recording defines",
    schema_samples, &sample_rows,
    TABLE_SAMPLES,  false};
const struct query_table query_waits = {
    "waits",      "times in which a thread did not run, each with its cause",
    schema_waits, &sample_rows,
    TABLE_WAITS,  false};

/* ---- A scan ---------------------------------------------------------------------------------- */

/* Times from the values of a sample; only computed if requested. */
struct sample_times {
    int64_t cpu_ns, runnable_ns, blocked_ns;
};

struct sample_row {
    struct sample sample;
    struct sample_times times;
    int64_t values[SAMPLE_VALUES_MAX];
};

struct sample_scan {
    struct query_scan scan; /* first */
    const struct sample_sets *sets;
    bool keeps_times, keeps_processor;
    VEC(struct sample_row) rows;
};

/* The sorted bytes of a sample; its times only if requested. The rest is in its group. */
struct sorted_sample {
    int64_t time_ns, end_ns;
    struct sample_times times;
};

static size_t sorted_size(const struct sample_scan *scan)
{
    return scan->keeps_times ? sizeof(struct sorted_sample) : offsetof(struct sorted_sample, times);
}

static struct sample_times times_of(const struct sample_scan *scan, const struct sample *sample)
{
    if (!scan->keeps_times)
        return (struct sample_times){0};
    const struct off_share off = sample_off_share(scan->sets, sample);
    return (struct sample_times){
        .cpu_ns = (int64_t)sample_cpu_ns(scan->sets, sample),
        .runnable_ns = (int64_t)off.runnable_ns,
        .blocked_ns = (int64_t)off.blocked_ns,
    };
}

static int sort_sample(struct sample_scan *scan, const struct sample *sample)
{
    const struct sorted_sample sorted = {sample->time_ns, sample->end_ns, times_of(scan, sample)};
    uint64_t processor = scan->keeps_processor ? sample->cpu : 0;
    const struct wide_key *group =
        WIDE_KEY(sample->stack | (uint64_t)sample->path << 32,
                 sample->thread | (uint64_t)sample->set << 32 | processor << 48,
                 sample->reason | (uint64_t)sample->flags << 8 |
                     (uint64_t)sample->native_end << 16 | (uint64_t)sample->python_end << 24);
    return query_sort_add(scan->scan.sort, group, &sorted);
}

static struct sample sample_of_group(const struct wide_key *group)
{
    return (struct sample){
        .stack = (uint32_t)group->words[0],
        .path = (uint32_t)(group->words[0] >> 32),
        .thread = (uint32_t)group->words[1],
        .set = (uint16_t)(group->words[1] >> 32),
        .cpu = (uint16_t)(group->words[1] >> 48),
        .reason = (uint8_t)group->words[2],
        .flags = (uint8_t)(group->words[2] >> 8),
        .native_end = (uint8_t)(group->words[2] >> 16),
        .python_end = (uint8_t)(group->words[2] >> 24),
    };
}

static int make_row(struct query_scan *base, const struct wide_key *group, const void *bytes)
{
    struct sample_scan *scan = (struct sample_scan *)base;
    struct sorted_sample sorted = {0};
    if (scan->keeps_times)
        memcpy(&sorted, bytes, sizeof(sorted));
    else
        memcpy(&sorted, bytes, offsetof(struct sorted_sample, times));
    if (vec_reserve(&scan->rows, 1) != 0)
        return -ENOMEM;
    struct sample_row *row = &scan->rows.items[0];
    row->sample = sample_of_group(group);
    row->sample.time_ns = sorted.time_ns;
    row->sample.end_ns = sorted.end_ns;
    row->times = sorted.times;
    scan->rows.count = 1;
    return 0;
}

static int take(void *context, const struct item *item)
{
    struct sample_scan *scan = context;
    const struct sample *sample = item->sample;
    if (scan->scan.cursor->table->kind == TABLE_WAITS &&
        sample_role(scan->sets, sample) != SAMPLE_ROLE_OFF_CPU)
        return 0;
    if (scan->scan.sort)
        return sort_sample(scan, sample);
    if (vec_reserve(&scan->rows, 1) != 0)
        return -ENOMEM;
    struct sample_row *row = &scan->rows.items[scan->rows.count++];
    row->sample = *sample;
    row->times = times_of(scan, sample);
    for (unsigned i = 0; i < sample->value_count && i < SAMPLE_VALUES_MAX; i++)
        row->values[i] = sample->values[i];
    return 0;
}

static size_t count_rows(const struct query_scan *scan)
{
    return ((const struct sample_scan *)scan)->rows.count;
}

static void forget_rows(struct query_scan *scan)
{
    ((struct sample_scan *)scan)->rows.count = 0;
}

static struct query_cell stack_cell(const struct query_scan *scan, uint32_t stack, unsigned column)
{
    struct query *query = scan->cursor->query;
    const struct stacks *stacks = trace_stacks_get(query->trace);
    if (!stack)
        return (struct query_cell){.type = QUERY_NULL};
    if (column == SAMPLES_STACK)
        return integer_cell(stack);
    bool own = column >= SAMPLES_OWN_FUNCTION;
    uint32_t frame = own ? query_own_frame(query, stack) : stacks_get_stack(stacks, stack)->frame;
    unsigned part = column - (own ? SAMPLES_OWN_FUNCTION : SAMPLES_FUNCTION);
    return frame_cell(query, frame, (enum frame_part)(FRAME_FUNCTION + part));
}

/* The columns by which rows can be sorted. */
static struct query_cell plain_cell(const struct query_scan *scan, const struct sample *sample,
                                    unsigned column)
{
    const struct sample_sets *sets = trace_sets_get(scan->trace);
    if (column <= SAMPLES_TID)
        return owner_cell(scan->trace, sample->thread,
                          (enum owner_part)(OWNER_PROCESS + column - SAMPLES_PROCESS));
    if (column == SAMPLES_PROCESSOR)
        return integer_cell(sample->cpu);
    if (column != SAMPLES_REASON)
        return stack_cell(scan, sample->stack, column);
    return sample_role(sets, sample) == SAMPLE_ROLE_OFF_CPU
               ? constant_cell(wait_reason_name((enum wait_reason)sample->reason))
               : (struct query_cell){.type = QUERY_NULL};
}

static struct query_cell cell_of_group(struct query_scan *scan, const struct wide_key *group,
                                       unsigned column)
{
    const struct sample sample = sample_of_group(group);
    return plain_cell(scan, &sample, column);
}

static const struct query_scan_rows scan_rows = {count_rows, forget_rows, make_row, cell_of_group};

#define COLUMN(column) (UINT64_C(1) << (column))
#define STACK_COLUMNS  (COLUMN(SAMPLES_OWN_LINE + 1) - COLUMN(SAMPLES_STACK))
#define GROUP_COLUMNS                                                                              \
    ((COLUMN(SAMPLES_TID + 1) - 1) | COLUMN(SAMPLES_REASON) | STACK_COLUMNS |                      \
     COLUMN(SAMPLES_PROCESSOR))
#define TIMES_COLUMNS    (COLUMN(SAMPLES_RUNNABLE) | COLUMN(SAMPLES_BLOCKED) | COLUMN(SAMPLES_CPU))
#define UNSORTED_COLUMNS (COLUMN(SAMPLES_VALUES_OF) | COLUMN(SAMPLES_ID) | COLUMN(63))

static bool can_sort(unsigned kind, uint64_t order, uint64_t columns)
{
    (void)kind;
    return !(order & ~GROUP_COLUMNS) && !(columns & UNSORTED_COLUMNS);
}

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct sample_scan *scan = cursor->state;
    bool paths = (bounds->columns >> SAMPLES_PATH) & 1;
    const struct sink sink = {take, scan, WANT_SAMPLES | (paths ? WANT_PATHS : 0)};
    scan->keeps_times = bounds->columns & TIMES_COLUMNS;
    scan->keeps_processor = bounds->columns & COLUMN(SAMPLES_PROCESSOR);
    int error = query_scan_begin(cursor, bounds, &scan_rows, &sink, sorted_size(scan));
    if (!error)
        scan->sets = trace_sets_get(scan->scan.trace);
    return error;
}

static double count(const struct query *query, unsigned kind)
{
    struct store_info info;
    store_reader_info(query->places.items[0]->reader, &info);
    return (double)info.sample_count / (kind == TABLE_WAITS ? 2 : 1) + 1;
}

static void finish(struct query_cursor *cursor)
{
    struct sample_scan *scan = cursor->state;
    query_scan_end(&scan->scan);
    vec_free(&scan->rows);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

void query_put_path(struct query *query, const struct trace *trace, uint32_t path,
                    sqlite3_context *context)
{
    out_stream_memory_reset(query->text);
    call_put_path(trace, path, query->text);
    if (out_bytes(query->text) > 0)
        put_made(context, query);
}

static void put_values(const struct sample_scan *scan, const struct sample_row *row,
                       sqlite3_context *context)
{
    struct query *query = scan->scan.cursor->query;
    struct json_doc doc = {.out = query->text};
    const struct sample_set *set = sample_set_get(scan->sets, row->sample.set);
    char name[16];
    out_stream_memory_reset(query->text);
    json_doc_object(&doc, NULL);
    for (unsigned i = 0; i < row->sample.value_count && i < SAMPLE_VALUES_MAX; i++)
        json_doc_int(&doc,
                     trace_value_name(scan->scan.trace, i < set->count ? set->types[i] : 0, name),
                     row->values[i]);
    json_doc_close(&doc);
    put_made(context, query);
}

static void put_times(const struct sample_scan *scan, const struct sample_row *row, unsigned column,
                      sqlite3_context *context)
{
    const struct query *query = scan->scan.cursor->query;
    const struct sample *sample = &row->sample;
    const struct sample_set *set = sample_set_get(scan->sets, sample->set);
    bool lasts = set->flags & (SAMPLE_SET_STRETCH | SAMPLE_SET_INTERVAL);
    int64_t duration_ns = 0;
    if (!lasts || __builtin_sub_overflow(sample->end_ns, sample->time_ns, &duration_ns))
        duration_ns = 0;
    if (column == SAMPLES_BEGIN)
        put_time(context, query, sample->time_ns);
    else if (column == SAMPLES_END && lasts)
        put_time(context, query, sample->end_ns);
    else if (column == SAMPLES_DURATION)
        put_integer(context, duration_ns > 0 ? duration_ns : 0);
    else if (column == SAMPLES_RUNNABLE)
        put_integer(context, row->times.runnable_ns);
    else if (column == SAMPLES_BLOCKED)
        put_integer(context, row->times.blocked_ns);
    else if (column == SAMPLES_CPU)
        put_integer(context, row->times.cpu_ns);
}

static void put_rest(const struct sample_scan *scan, const struct sample_row *row, unsigned column,
                     sqlite3_context *context)
{
    const struct sample *sample = &row->sample;
    const struct sample_set *set = sample_set_get(scan->sets, sample->set);
    static const uint8_t flags[] = {
        [SAMPLES_OPEN] = SAMPLE_UNFINISHED,
        [SAMPLES_KERNEL] = SAMPLE_IN_KERNEL,
        [SAMPLES_COLLECTING] = SAMPLE_GC,
        [SAMPLES_GIL] = SAMPLE_HOLDS_GIL,
        [SAMPLES_COLUMNS] = 0,
    };
    char text[24];
    switch (column) {
    case SAMPLES_PATH:
        query_put_path(scan->scan.cursor->query, scan->scan.trace, sample->path, context);
        break;
    case SAMPLES_SET: {
        const char *name = trace_set_name(scan->scan.trace, sample->set, text);
        put_copy(context, name, strlen(name));
        break;
    }
    case SAMPLES_VALUES_OF:
        put_values(scan, row, context);
        break;
    case SAMPLES_ID:
        if (set->flags & SAMPLE_SET_HEAP)
            put_copy(
                context, text,
                (size_t)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)sample->id));
        break;
    case SAMPLES_NATIVE_END:
        put_constant(context, stack_end_name(sample->native_end));
        break;
    case SAMPLES_PYTHON_END:
        put_constant(context, stack_end_name(sample->python_end));
        break;
    default:
        put_integer(context, (sample->flags & flags[column]) != 0);
    }
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct sample_scan *scan = cursor->state;
    const struct sample_row *row = &scan->rows.items[scan->scan.at];
    if (GROUP_COLUMNS & COLUMN(column))
        put_cell(context, plain_cell(&scan->scan, &row->sample, column));
    else if (column <= SAMPLES_BLOCKED || column == SAMPLES_CPU)
        put_times(scan, row, column, context);
    else
        put_rest(scan, row, column, context);
}

const struct query_rows sample_rows = {
    .state_size = sizeof(struct sample_scan),
    .count = count,
    .filter = filter,
    .next = query_scan_next,
    .put = put,
    .close = finish,
    .can_sort = can_sort,
};
