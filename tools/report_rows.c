/* SPDX-License-Identifier: MIT */
/* Fields of rows, and the table of them as CSV (RFC 4180, but for line ends). */
#include "report_rows.h"

#include "json_writer.h"
#include "line.h"
#include "loss_sums.h"
#include "missing.h"
#include "report_lists.h"
#include "report_tasks.h"
#include "term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field_kind { OF_RANGES = 1, OF_COUNTERS = 2, OF_ALL = 4 };

struct field {
    const char *name;
    enum field_kind of;
};

/* Appended to, never changed: scripts know them. */
static const struct field fields[REPORT_FIELDS] = {
    {"count", OF_ALL},           {"total_ns", OF_RANGES},     {"self_ns", OF_RANGES},
    {"cpu_ns", OF_RANGES},       {"cpu_self_ns", OF_RANGES},  {"running_ns", OF_RANGES},
    {"runnable_ns", OF_RANGES},  {"blocked_ns", OF_RANGES},   {"mean_ns", OF_RANGES},
    {"min_ns", OF_RANGES},       {"p50_ns", OF_RANGES},       {"p90_ns", OF_RANGES},
    {"p99_ns", OF_RANGES},       {"max_ns", OF_RANGES},       {"process_count", OF_ALL},
    {"thread_count", OF_ALL},    {"unfinished", OF_RANGES},   {"end_lost", OF_RANGES},
    {"lost", OF_RANGES},         {"value_last", OF_COUNTERS}, {"value_min", OF_COUNTERS},
    {"value_mean", OF_COUNTERS}, {"value_max", OF_COUNTERS},  {"value_sum", OF_COUNTERS},
    {"unit", OF_COUNTERS},       {"sample_count", OF_RANGES}, {"few_samples", OF_RANGES},
};

static const enum range_column columns[] = {
    RANGE_COLUMN_COUNT,      RANGE_COLUMN_TOTAL,   RANGE_COLUMN_SELF,      RANGE_COLUMN_CPU,
    RANGE_COLUMN_CPU_SELF,   RANGE_COLUMN_RUNNING, RANGE_COLUMN_RUNNABLE,  RANGE_COLUMN_BLOCKED,
    RANGE_COLUMN_MEAN,       RANGE_COLUMN_MIN,     RANGE_COLUMN_P50,       RANGE_COLUMN_P90,
    RANGE_COLUMN_P99,        RANGE_COLUMN_MAX,     RANGE_COLUMN_PROCESSES, RANGE_COLUMN_THREADS,
    RANGE_COLUMN_UNFINISHED,
};

enum {
    FIELD_SELF = 2,
    FIELD_CPU = 3,
    FIELD_CPU_SELF = 4,
    FIELD_RUNNING = 5, /* and the two behind it */
    FIELD_END_LOST = 17,
    FIELD_LOST = 18,
    FIELD_VALUES = 19,
    FIELD_UNIT = 24,
    FIELD_SAMPLES = 25,
    FIELD_FEW = 26
};

const char *report_kind_name(enum range_kind kind)
{
    return line_range_name(kind);
}

const char *report_field_name(unsigned field)
{
    return fields[field].name;
}

static bool is_known(const struct report_data_options *options, unsigned field,
                     enum range_kind kind)
{
    if (field == FIELD_SELF)
        return kind != RANGE_OVERLAPPING;
    if (field == FIELD_CPU || field == FIELD_CPU_SELF || field >= FIELD_SAMPLES)
        return range_kind_has_cpu(kind) && options->samples->present;
    if (kind >= RANGE_INHERITED) /* nothing but CPU time is known */
        return false;
    if (field >= FIELD_RUNNING && field < FIELD_RUNNING + 3)
        return kind == RANGE_PUSHED && options->samples->off_cpu;
    return true;
}

bool report_field_is_of(const struct report_data_options *options, unsigned field,
                        enum range_kind kind)
{
    if (fields[field].of == OF_ALL)
        return true;
    if (kind == RANGE_COUNTER || kind == RANGE_MARK)
        return kind == RANGE_COUNTER && fields[field].of == OF_COUNTERS;
    return fields[field].of == OF_RANGES && is_known(options, field, kind);
}

/* What it counts, by the counter's name behind its domain. */
static const char *unit_of(const struct report_data_options *options, uint32_t index)
{
    char label[REPORT_LABEL_SIZE];
    range_stats_label(options->stats, index, label, sizeof(label));
    for (uint32_t i = 0; i < trace_unit_count(options->trace); i++) {
        const struct trace_unit *unit = trace_unit_get(options->trace, i);
        const struct trace_string *domain = trace_string(options->trace, unit->domain);
        const char *name = trace_string(options->trace, unit->counter)->bytes;
        size_t size = unit->domain ? domain->length + 1u : 0;
        bool in_domain = strlen(label) >= size &&
                         (size == 0 || (memcmp(label, domain->bytes, domain->length) == 0 &&
                                        label[domain->length] == ':'));
        if (in_domain && strcmp(label + size, name) == 0)
            return trace_string(options->trace, unit->unit)->bytes;
    }
    return "";
}

static double number_of(const struct range_row *row, unsigned field)
{
    switch (field - FIELD_VALUES) {
    case 0:
        return row->value_last;
    case 1:
        return row->value_min;
    case 2:
        return row->count ? row->value_sum / (double)row->count : 0;
    case 3:
        return row->value_max;
    default:
        return row->value_sum;
    }
}

struct report_value report_value(const struct report_data_options *options, uint32_t index,
                                 unsigned field)
{
    const struct range_row *row = range_stats_row(options->stats, index);
    struct report_value value = {0};
    if (field == FIELD_SAMPLES) {
        value.count = row->sample_count;
    } else if (field == FIELD_FEW) {
        value.count = range_row_is_rough(row);
    } else if (field == FIELD_UNIT) {
        value.is_text = true;
        value.text = unit_of(options, index);
    } else if (field >= FIELD_VALUES) {
        value.is_double = true;
        value.number = number_of(row, field);
    } else if (field == FIELD_END_LOST) {
        value.count = row->end_lost;
    } else if (field == FIELD_LOST) {
        value.count = row->lost;
    } else {
        value.count = range_stats_value(options->stats, index, columns[field]);
    }
    return value;
}

void report_row_init(struct report_row *row, const struct report_data_options *options,
                     uint32_t index)
{
    const struct range_row *stats = range_stats_row(options->stats, index);
    const struct trace *trace = options->trace;
    row->process = NULL;
    row->thread = NULL;
    row->process_label[0] = row->thread_label[0] = '\0';
    range_stats_label(options->stats, index, row->label, sizeof(row->label));
    if (stats->owner == RANGE_NO_OWNER)
        return;
    uint32_t process = stats->owner;
    if (options->grouping == RANGE_BY_THREAD && stats->kind != RANGE_COUNTER) {
        row->thread = trace_thread_get(trace, stats->owner);
        trace_thread_label(trace, stats->owner, row->thread_label, sizeof(row->thread_label));
        process = row->thread ? row->thread->process : UINT32_MAX;
    }
    row->process = trace_process_get(trace, process);
    if (row->process)
        trace_process_label(trace, process, row->process_label, sizeof(row->process_label));
}

int64_t report_rows(const struct report_data_options *options, enum range_kind kind,
                    uint32_t **ret_rows)
{
    enum range_column sort = options->sort;
    bool no_self = kind == RANGE_OVERLAPPING && sort == RANGE_COLUMN_SELF;
    if (no_self)
        sort = RANGE_COLUMN_TOTAL;
    if ((kind == RANGE_MARK || kind == RANGE_COUNTER) && sort != RANGE_COLUMN_PATH)
        sort = RANGE_COLUMN_COUNT;
    return range_stats_sort(options->stats, kind, sort, ret_rows);
}

uint64_t report_cpu_self_ns(const struct range_stats *stats, enum range_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++)
        if (range_stats_row(stats, i)->kind == kind)
            sum += range_stats_row(stats, i)->cpu_self_ns;
    return sum;
}

struct report_outside report_outside(const struct range_stats *stats, uint64_t cpu_ns)
{
    const struct range_totals *totals = range_stats_totals(stats);
    uint64_t inside_ns = 0;
    for (unsigned kind = 0; kind < RANGE_KIND_COUNT; kind++)
        if (range_kind_has_cpu((enum range_kind)kind))
            inside_ns += report_cpu_self_ns(stats, (enum range_kind)kind);
    bool whole = totals->thread_ns > totals->covered_ns;
    return (struct report_outside){
        .self_ns = whole ? totals->thread_ns - totals->covered_ns : 0,
        .cpu_self_ns = cpu_ns > inside_ns ? cpu_ns - inside_ns : 0,
    };
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Foreign text, with control characters shown as in the tables. */
static void put_text(struct out_stream *out, const char *text)
{
    bool quoted = text[strcspn(text, "\",\r\n")] != '\0';
    out_write(out, "\"", quoted);
    while (*text) {
        char bytes[TERM_GLYPH_SIZE];
        size_t size = term_take(&text, bytes);
        out_write(out, "\"", bytes[0] == '"'); /* told twice */
        out_write(out, bytes, size);
    }
    out_write(out, "\"", quoted);
}

static void put_value(struct out_stream *out, const struct report_value *value)
{
    uint8_t *at = out_reserve(out, JSON_DOUBLE_MAX);
    if (value->is_text)
        put_text(out, value->text);
    else if (value->is_double)
        out_advance(out, (size_t)(json_put_double(at, value->number) - at));
    else if (value->is_integer)
        out_advance(out, (size_t)(json_put_int(at, value->integer) - at));
    else
        out_advance(out, (size_t)(json_put_uint(at, value->count) - at));
}

static void put_number(struct out_stream *out, bool known, int32_t number)
{
    uint8_t *at = out_reserve(out, JSON_INTEGER_MAX);
    if (known)
        out_advance(out, (size_t)(json_put_int(at, number) - at));
    out_write(out, ",", 1);
}

/* The columns behind `fields`, which ranges do not have. Appended to, too. */
static const char *const list_columns[] = {
    "code", "module", "reason", "cpu_python_ns", "gc_ns", "gil_ns",
};

enum { LIST_COLUMNS = sizeof(list_columns) / sizeof(*list_columns) };

static void end_row(struct out_stream *out)
{
    for (unsigned i = 0; i < LIST_COLUMNS; i++)
        out_write(out, ",", 1);
    out_text(out, "\n");
}

static void put_cell(struct out_stream *out, const struct report_item *item, const char *column)
{
    out_write(out, ",", 1);
    for (unsigned i = 0; i < item->count; i++)
        if (strcmp(item->cells[i].column, column) == 0)
            put_value(out, &item->cells[i].value);
}

static void put_item(void *context, const struct report_item *item)
{
    static const char *const first[] = {"path", "pid", "process", "tid", "thread"};
    struct out_stream *out = context;
    put_text(out, item->kind);
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        put_cell(out, item, first[i]);
    for (unsigned field = 0; field < REPORT_FIELDS; field++)
        put_cell(out, item, fields[field].name);
    for (unsigned i = 0; i < LIST_COLUMNS; i++)
        put_cell(out, item, list_columns[i]);
    out_text(out, "\n");
}

/* What the ranges lack. */
static void put_outside(const struct report_data_options *options, struct out_stream *out)
{
    struct report_outside outside =
        report_outside(options->stats, options->samples->all.all.cpu_ns);
    struct report_item item = {
        .kind = "outside",
        .cells = {{"self_ns", "self_ns", {.count = outside.self_ns}},
                  {"cpu_self_ns", "cpu_self_ns", {.count = outside.cpu_self_ns}}},
        .count = options->samples->present ? 2 : 1,
    };
    put_item(out, &item);
}

static int put_rows(const struct report_data_options *options, enum range_kind kind,
                    struct out_stream *out)
{
    struct report_row row;
    uint32_t *rows = NULL;
    int64_t count = report_rows(options, kind, &rows);
    for (int64_t i = 0; i < count; i++) {
        report_row_init(&row, options, rows[i]);
        put_text(out, report_kind_name(kind));
        out_write(out, ",", 1);
        put_text(out, row.label);
        out_write(out, ",", 1);
        put_number(out, row.process, row.process ? row.process->pid : 0);
        put_text(out, row.process_label);
        out_write(out, ",", 1);
        put_number(out, row.thread, row.thread ? row.thread->tid : 0);
        put_text(out, row.thread_label);
        for (unsigned field = 0; field < REPORT_FIELDS; field++) {
            struct report_value value = report_value(options, rows[i], field);
            out_write(out, ",", 1);
            if (report_field_is_of(options, field, kind))
                put_value(out, &value);
        }
        end_row(out);
    }
    free(rows);
    return count < 0 ? (int)count : 0;
}

/* What is missing, by cause, of the whole recording. */
static void put_missing(void *context, const struct missing *missing)
{
    static const char *const kinds[MISSING_KINDS] = {
        [MISSING_RECORDS] = "lost record",
        [MISSING_SAMPLED] = "missing",
        [MISSING_PROCESSES] = "refused process",
        [MISSING_CALLS] = "remarkable call",
    };
    const struct report_item item = {
        .kind = kinds[missing->kind],
        .cells = {{"path", "path", {.is_text = true, .text = missing->what}},
                  {"count", "count", {.count = missing->count}}},
        .count = 2,
    };
    put_item(context, &item);
}

int report_csv(const struct report_data_options *options, struct out_stream *out)
{
    static const enum range_kind kinds[] = {RANGE_PUSHED,    RANGE_OVERLAPPING, RANGE_TRACK,
                                            RANGE_INHERITED, RANGE_UNRECORDED,  RANGE_MARK,
                                            RANGE_COUNTER};

    uint64_t lost[LOSS_COUNT];
    int error = 0;
    out_text(out, "kind,path,pid,process,tid,thread");
    for (unsigned field = 0; field < REPORT_FIELDS; field++) {
        out_write(out, ",", 1);
        out_text(out, fields[field].name);
    }
    for (unsigned i = 0; i < LIST_COLUMNS; i++) {
        out_write(out, ",", 1);
        out_text(out, list_columns[i]);
    }
    out_text(out, "\n");
    for (size_t i = 0; !error && i < sizeof(kinds) / sizeof(*kinds); i++)
        error = put_rows(options, kinds[i], out);
    put_outside(options, out);
    report_tasks_each(options->trace, options->tasks, put_item, out);
    for (unsigned list = REPORT_THREADS; list <= REPORT_PLACES; list++)
        report_list_each(options, (enum report_list)list, put_item, out);
    loss_sums(options->trace, range_stats_totals(options->stats)->lost, lost);
    missing_each(options->trace, lost, put_missing, out);
    return error;
}
