/* SPDX-License-Identifier: MIT */
/* The tables of ranges, marks and counters: each row is one of range_stats.h. */
#include "report_ranges.h"

#include "report_build.h"
#include "report_functions.h"
#include "report_gpu.h"
#include "text.h"
#include "trace_devices.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Imports --------------------------------------------------------------------------------- */

/* The table of imports of Python modules, which pyannot records as ranges: a row per module,
 * independent of the importer. By path they would outnumber the program's own ranges. An import is
 * a range "import MODULE" of OBSERVER_IMPORT. */

enum { MODULE_SIZE = 128, ROWS_SHOWN = 10 };

struct module {
    char name[MODULE_SIZE];
    uint64_t count, total_ns, self_ns;
};

struct modules {
    VEC(struct module) rows;
};

/* Returns the module that a row's range imports, or NULL. */
static const char *module_of(const struct range_stats *stats, uint32_t index)
{
    const size_t length = sizeof(OBSERVER_IMPORT_PREFIX) - 1;
    const char *domain, *name = range_stats_name(stats, index, &domain);
    if (range_stats_observer(stats, index) != OBSERVER_IMPORT)
        return NULL;
    return strncmp(name, OBSERVER_IMPORT_PREFIX, length) == 0 ? name + length : name;
}

bool report_row_is_observed(const struct range_stats *stats, uint32_t index)
{
    switch (range_stats_observer(stats, index)) {
    case OBSERVER_SELFTEST:
    case OBSERVER_GC:
    case OBSERVER_IMPORT:
    case OBSERVER_POOL:
    case OBSERVER_ASYNCIO:
    case OBSERVER_SUBPROCESS:
        return true;
    default:
        return false;
    }
}

/* Returns the row of the innermost import around this row, without ranges of the program in
 * between. */
static uint32_t import_of(const struct range_stats *stats, uint32_t index)
{
    while (index != RANGE_NO_ROW && report_row_is_observed(stats, index) &&
           !module_of(stats, index))
        index = range_stats_parent(stats, index);
    return index != RANGE_NO_ROW && module_of(stats, index) ? index : RANGE_NO_ROW;
}

/* True if the table of imports has the row: an import, or a range of pyannot inside of one. */
static bool report_row_is_import(const struct range_stats *stats, uint32_t index)
{
    return import_of(stats, index) != RANGE_NO_ROW;
}

const char *report_longest_import(const struct range_stats *stats, uint64_t *ret_total_ns)
{
    const char *longest = NULL;
    *ret_total_ns = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        const char *module = row->kind == RANGE_PUSHED ? module_of(stats, i) : NULL;
        if (!module || row->total_ns <= *ret_total_ns)
            continue;
        longest = module;
        *ret_total_ns = row->total_ns;
    }
    return longest;
}

static int add_row(struct modules *modules, const struct range_stats *stats, uint32_t index)
{
    struct module module = {0};
    const struct range_row *row = range_stats_row(stats, index);
    bool is_timed = row->kind == RANGE_PUSHED || row->kind == RANGE_TRACK; /* of a greenlet */
    uint32_t import = is_timed ? import_of(stats, index) : RANGE_NO_ROW;
    if (import == RANGE_NO_ROW)
        return 0;
    struct text name = text_init(module.name, sizeof(module.name));
    text_format(&name, "%s", module_of(stats, import));
    if (import == index) {
        module.count = row->count;
        module.total_ns = row->total_ns;
    }
    module.self_ns = row->self_ns;
    return vec_push(&modules->rows, module);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct module *)a)->name, ((const struct module *)b)->name);
}

static int by_self(const void *a, const void *b)
{
    const struct module *one = a, *other = b;
    if (one->self_ns != other->self_ns)
        return one->self_ns < other->self_ns ? 1 : -1;
    return by_name(a, b);
}

/* One row per module. */
static void merge(struct modules *modules)
{
    struct module *rows = modules->rows.items;
    size_t kept = 0;
    if (modules->rows.count == 0)
        return;
    qsort(rows, modules->rows.count, sizeof(*rows), by_name);
    for (size_t i = 1; i < modules->rows.count; i++) {
        if (strcmp(rows[kept].name, rows[i].name) != 0) {
            rows[++kept] = rows[i];
            continue;
        }
        rows[kept].count += rows[i].count;
        rows[kept].total_ns += rows[i].total_ns;
        rows[kept].self_ns += rows[i].self_ns;
    }
    modules->rows.count = kept + 1;
    qsort(rows, modules->rows.count, sizeof(*rows), by_self);
}

enum { MODULE, COUNT, TOTAL, SELF };

static void fill_import(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct module *module = (const struct module *)table->rows + index;
    row_text(row, MODULE, module->name);
    row_count(row, COUNT, module->count);
    row_count(row, TOTAL, module->total_ns);
    row_count(row, SELF, module->self_ns);
}

static const struct table_column columns[] = {
    {.name = "module", .title = "module", .type = COLUMN_TEXT},
    {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1},
    {.name = "total_ns", .title = "total", .type = COLUMN_TIME},
    {.name = "self_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    {.title = "share", .type = COLUMN_SHARE, .of = SELF},
};

static int add_imports(struct report *report)
{
    struct table *table = report_add_table(report, "imports", fill_import);
    struct modules modules = {0};
    uint64_t limit = report->options.limit;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < range_stats_row_count(report->stats); i++)
        rc = add_row(&modules, report->stats, i);
    merge(&modules);
    table->rows = modules.rows.items;
    table->row_count = modules.rows.count;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SELF + 1].whole = (uint64_t)report->facts.totals->wall_ns;
    table->has_sum = true;
    table->limit = limit == UINT64_MAX || limit < ROWS_SHOWN ? limit : ROWS_SHOWN;
    return rc < 0 ? rc
                  : report_plain_title(
                        table, "imports of Python modules (self: without those that they import)");
}

/* ---- Devices of counters --------------------------------------------------------------------- */

/* The devices that counters refer to: the driver's counts for GPUs, by the names that programs have
 * for the devices. */

enum { DEVICE_SIZE = 256 };

/* True if a counter's device has a lane of a program. */
static bool report_has_devices(const struct report *report)
{
    const struct trace *trace = report->trace;
    for (uint32_t i = 0; i < trace_device_count(trace); i++) {
        uint32_t thread = trace_device_get(trace, i)->thread;
        if (thread && trace_device_next_lane(trace, thread - 1, 0))
            return true;
    }
    return false;
}

/* Fills a cell with the device of a row's counter: "GPU 1: NVIDIA H100 (train.py, 17)" for each
 * program, or the whole of an instance; "" for other counters. */
static void report_fill_device(const struct report *report, uint32_t index, struct table_row *row,
                               unsigned column)
{
    const struct trace *trace = report->trace;
    uint32_t thread = range_stats_row(report->stats, index)->recent_thread - 1, lane = 0;
    const struct trace_device *counted = trace_device_of_thread(trace, thread);
    size_t size;
    char *room = row_room(row, &size), device[DEVICE_SIZE], program[DEVICE_SIZE];
    struct text text = text_init(room, size);
    while ((lane = trace_device_next_lane(trace, thread, lane)) != 0) {
        uint32_t process = trace_lane_get(trace, lane - 1)->process;
        const struct trace_process *entry = trace_process_get(trace, process);
        bool is_part = trace_device_relation(trace, counted,
                                             trace_device_of_lane(trace, lane - 1)) == DEVICE_PART;
        trace_lane_label(trace, lane - 1, device, sizeof(device));
        trace_process_label(trace, process, program, sizeof(program));
        text_format(&text, "%s%s%s (%s, %d)", text.length ? "; " : "",
                    is_part ? "the whole of " : "", device, program, entry ? entry->pid : 0);
    }
    row_take(row, column, text.length);
}

/* Fills a cell with the label by the first program of the device: "power: GPU 1 of train.py". */
static void report_fill_device_label(const struct report *report, uint32_t index,
                                     struct table_row *row, unsigned column)
{
    const struct trace *trace = report->trace;
    const struct range_row *stats = range_stats_row(report->stats, index);
    const char *domain, *name = range_stats_name(report->stats, index, &domain);
    uint32_t thread = stats->recent_thread - 1;
    uint32_t lane = trace_device_next_lane(trace, thread, 0);
    char device[DEVICE_SIZE], program[DEVICE_SIZE], counter[TRACE_DEVICE_COUNTER_SIZE];
    size_t size;
    char *room = row_room(row, &size);
    struct text text = text_init(room, size);
    if (lane == 0 || !name) {
        row_take(row, column, range_stats_label(report->stats, index, room, size));
        return;
    }
    trace_lane_label(trace, lane - 1, device, sizeof(device));
    trace_process_label(trace, trace_lane_get(trace, lane - 1)->process, program, sizeof(program));
    trace_device_counter(trace, &(struct device_counter){name, thread, lane - 1}, counter);
    bool several = trace_device_next_lane(trace, thread, lane) != 0;
    text_format(&text, "%s: %.*s of %s%s", counter, (int)strcspn(device, ":"), device, program,
                several ? ", ..." : "");
    row_take(row, column, text.length);
}

/* Fields besides enum range_column. */
enum {
    FIELD_END_LOST = 64,
    FIELD_SAMPLES,
    FIELD_FEW,
    FIELD_SHARE,
    FIELD_VALUE_LAST,
    FIELD_VALUE_MIN,
    FIELD_VALUE_MEAN,
    FIELD_VALUE_MAX,
    FIELD_VALUE_SUM,
    FIELD_UNIT,
    FIELD_DEVICE,
    FIELD_DEVICE_LABEL,
};

/* Columns of text, before the numbers. */
enum { LABEL = 0, PATH = 1, PID = 2, PROCESS = 3, TID = 4, THREAD = 5 };

struct field {
    struct table_column column;
    unsigned what; /* enum range_column, or one of the above */
};

#define NUMBER(called, heading, is, order)                                                         \
    .name = (called), .title = (heading), .type = COLUMN_##is, .rank = (order)

#define SUM(called, heading, is, order) NUMBER(called, heading, is, order), .adds_up = true

#define RARE(called, heading, is, order) SUM(called, heading, is, order), .rare = true

static const struct field range_fields[] = {
    {{SUM("count", "count", COUNT, 0)}, RANGE_COLUMN_COUNT},
    {{NUMBER("total_ns", "total", TIME, 0)}, RANGE_COLUMN_TOTAL},
    {{SUM("self_ns", "self", TIME, 0)}, RANGE_COLUMN_SELF},
    {{NUMBER(NULL, "share", SHARE, 0)}, FIELD_SHARE},
    {{NUMBER("cpu_ns", "cpu", TIME, 1)}, RANGE_COLUMN_CPU},
    {{SUM("cpu_self_ns", "cpu self", TIME, 2)}, RANGE_COLUMN_CPU_SELF},
    {{NUMBER("running_ns", "running", TIME, 1)}, RANGE_COLUMN_RUNNING},
    {{NUMBER("runnable_ns", "runnable", TIME, 1)}, RANGE_COLUMN_RUNNABLE},
    {{NUMBER("blocked_ns", "blocked", TIME, 1)}, RANGE_COLUMN_BLOCKED},
    {{NUMBER("mean_ns", "mean", TIME, 2)}, RANGE_COLUMN_MEAN},
    {{NUMBER("min_ns", "min", TIME, 9)}, RANGE_COLUMN_MIN},
    {{NUMBER("p50_ns", "p50", TIME, 6)}, RANGE_COLUMN_P50},
    {{NUMBER("p90_ns", "p90", TIME, 8)}, RANGE_COLUMN_P90},
    {{NUMBER("p99_ns", "p99", TIME, 5)}, RANGE_COLUMN_P99},
    {{NUMBER("max_ns", "max", TIME, 4)}, RANGE_COLUMN_MAX},
    {{NUMBER("process_count", "procs", COUNT, 3)}, RANGE_COLUMN_PROCESSES},
    {{NUMBER("thread_count", "threads", COUNT, 7)}, RANGE_COLUMN_THREADS},
    {{RARE("unfinished_count", "unfin", COUNT, 1)}, RANGE_COLUMN_UNFINISHED},
    {{NUMBER("end_lost", NULL, COUNT, 0)}, FIELD_END_LOST},
    {{RARE("lost_count", "lost", COUNT, 0)}, RANGE_COLUMN_LOST},
    {{NUMBER("sample_count", NULL, COUNT, 0)}, FIELD_SAMPLES},
    {{NUMBER("few_samples", NULL, FLAG, 0)}, FIELD_FEW},
};

static const struct field mark_fields[] = {
    {{SUM("count", "count", COUNT, 0)}, RANGE_COLUMN_COUNT},
    {{NUMBER("process_count", "procs", COUNT, 2)}, RANGE_COLUMN_PROCESSES},
    {{NUMBER("thread_count", "threads", COUNT, 1)}, RANGE_COLUMN_THREADS},
};

static const struct field counter_fields[] = {
    {{NUMBER("count", "count", COUNT, 1)}, RANGE_COLUMN_COUNT},
    {{NUMBER("thread_count", NULL, COUNT, 0)}, RANGE_COLUMN_THREADS},
    {{NUMBER("value_last", "last", VALUE, 0)}, FIELD_VALUE_LAST},
    {{NUMBER("value_min", "min", VALUE, 0)}, FIELD_VALUE_MIN},
    {{NUMBER("value_mean", "mean", VALUE, 0)}, FIELD_VALUE_MEAN},
    {{NUMBER("value_max", "max", VALUE, 0)}, FIELD_VALUE_MAX},
    {{NUMBER("value_sum", NULL, VALUE, 0)}, FIELD_VALUE_SUM},
    {{NUMBER("unit", NULL, TEXT, 0)}, FIELD_UNIT},
    {{NUMBER("device", "device", TEXT, 2)}, FIELD_DEVICE},
    {{NUMBER("label", NULL, TEXT, 0)}, FIELD_DEVICE_LABEL},
};

/* Time outside of the program's ranges. */
struct rest {
    const char *what;
    uint64_t self_ns, cpu_self_ns;
};

enum { RESTS_MAX = 4 };

/* The data of a table's rows. */
struct range_table {
    enum range_kind kind;
    bool has_owner, has_thread;
    unsigned first; /* first column of numbers */
    unsigned self, cpu_self;
    unsigned whats[TABLE_COLUMNS_MAX]; /* field of column first + i */
    struct rest rests[RESTS_MAX];
    uint32_t count; /* of rows, without the rests */
    uint32_t rows[];
};

/* ---- Cells ----------------------------------------------------------------------------------- */

/* A range known only from samples has no such number. */
static bool is_untold(const struct range_row *row, unsigned what)
{
    return row->count == 0 && what != RANGE_COLUMN_COUNT && what != RANGE_COLUMN_CPU &&
           what != RANGE_COLUMN_CPU_SELF && what != RANGE_COLUMN_LOST && what < FIELD_END_LOST;
}

/* Returns the unit of a counter, by its domain and name. */
static const char *unit_of(const struct report *report, uint32_t index)
{
    const char *domain, *name = range_stats_name(report->stats, index, &domain);
    for (uint32_t i = 0; name && i < trace_unit_count(report->trace); i++) {
        const struct trace_unit *unit = trace_unit_get(report->trace, i);
        if (strcmp(trace_string(report->trace, unit->counter)->bytes, name) == 0 &&
            strcmp(trace_string(report->trace, unit->domain)->bytes, domain) == 0)
            return trace_string(report->trace, unit->unit)->bytes;
    }
    return "";
}

static double value_of(const struct range_row *row, unsigned what)
{
    switch (what) {
    case FIELD_VALUE_LAST:
        return row->value_last;
    case FIELD_VALUE_MIN:
        return row->value_min;
    case FIELD_VALUE_MEAN:
        return row->count ? row->value_sum / (double)row->count : 0;
    case FIELD_VALUE_MAX:
        return row->value_max;
    default:
        return row->value_sum;
    }
}

static bool is_rough(const struct report *report, const struct range_row *row)
{
    return range_row_is_rough(row) && !report_is_exact(report);
}

static void fill_number(const struct report *report, uint32_t index, unsigned what,
                        struct cell *cell)
{
    const struct range_row *row = range_stats_row(report->stats, index);
    *cell = (struct cell){.state = is_untold(row, what) ? CELL_UNKNOWN : CELL_KNOWN};
    if (what == FIELD_SAMPLES)
        cell->count = row->sample_count;
    else if (what == FIELD_FEW)
        cell->count = is_rough(report, row);
    else if (what == FIELD_END_LOST)
        cell->count = row->end_lost;
    else if (what >= FIELD_VALUE_LAST)
        cell->value = value_of(row, what);
    else
        cell->count = range_stats_value(report->stats, index, (enum range_column)what);
    if (what == RANGE_COLUMN_CPU || what == RANGE_COLUMN_CPU_SELF)
        cell->rough = is_rough(report, row) && cell->count > 0;
}

/* Adds the owner of a row: "python3, main: ", or "812 python3: " */
static size_t owner_label(const struct report *report, const struct range_row *row,
                          struct text *text)
{
    bool has_thread = report->options.grouping == RANGE_BY_THREAD && row->kind != RANGE_COUNTER;
    const struct trace_thread *thread =
        has_thread ? trace_thread_get(report->trace, row->owner) : NULL;
    uint32_t process = thread ? thread->process : has_thread ? 0 : row->owner;
    size_t room = text->size / 2;
    const struct trace_process *entry = trace_process_get(report->trace, process);
    if (entry && report_has_namesake(report->trace, process))
        text_format(text, "%u ", entry->pid); /* first, as the end may be cut */
    if (text->length < room)
        text->length += trace_process_label(report->trace, process, text->buffer + text->length,
                                            room - text->length);
    if (has_thread && text->length + 2 < room) {
        text_add(text, ", ", 2);
        text->length += trace_thread_label(report->trace, row->owner, text->buffer + text->length,
                                           room - text->length);
    }
    if (text->length + 3 < room)
        text_add(text, ": ", 2);
    return text->length;
}

size_t report_range_label(const struct report *report, uint32_t index, char *buffer, size_t size)
{
    const struct range_row *stats = range_stats_row(report->stats, index);
    struct text text = text_init(buffer, size);
    size_t length = 0;
    if (stats->owner != RANGE_NO_OWNER)
        length = owner_label(report, stats, &text);
    return length + range_stats_label(report->stats, index, buffer + length, size - length);
}

static void fill_label(const struct report *report, uint32_t index, struct table_row *row)
{
    size_t size;
    if (row_wants(row, LABEL)) {
        char *room = row_room(row, &size);
        row_take(row, LABEL, report_range_label(report, index, room, size));
    }
    if (row_wants(row, PATH)) {
        char *room = row_room(row, &size);
        row_take(row, PATH, range_stats_label(report->stats, index, room, size));
    }
}

static void fill_owner(const struct report *report, const struct range_table *ranges,
                       uint32_t owner, struct table_row *row)
{
    const struct trace *trace = report->trace;
    const struct trace_thread *thread = ranges->has_thread ? trace_thread_get(trace, owner) : NULL;
    uint32_t ordinal = ranges->has_thread ? (thread ? thread->process : UINT32_MAX) : owner;
    const struct trace_process *process = trace_process_get(trace, ordinal);
    size_t size;
    if (process) {
        char *room = row_room(row, &size);
        row_number(row, PID, process->pid);
        row_take(row, PROCESS, trace_process_label(trace, ordinal, room, size));
    }
    if (thread) {
        char *room = row_room(row, &size);
        row_number(row, TID, thread->tid);
        row_take(row, THREAD, trace_thread_label(trace, owner, room, size));
    }
}

/* True for marks by which observers of GPUs report devices and windows, in contrast to notes for
 * readers. */
static bool is_gpu_fact(const struct report *report, uint32_t index)
{
    const char *domain, *name = range_stats_name(report->stats, index, &domain);
    return name && range_stats_observer(report->stats, index) == OBSERVER_CUPTI &&
           strncmp(name, "GPU: ", strlen("GPU: ")) != 0;
}

/* True for marks that are shown elsewhere. */
static bool is_told(const struct report *report, uint32_t index)
{
    const struct scope *scope = range_stats_scope(report->stats, index);
    return scope->observer == OBSERVER_SELFTEST || scope->observer == OBSERVER_POOL ||
           (scope->observer == OBSERVER_ASYNCIO && scope->role == ASYNCIO_ROLE_AWAITED) ||
           is_gpu_fact(report, index);
}

/* Imports have a separate table; marks of pyannot's self-test (see `annot info`) are hidden, as
 * they are not part of the program. */
static enum row_role role_of(const struct report *report, enum range_kind kind, uint32_t index)
{
    bool is_nested = kind == RANGE_PUSHED || kind == RANGE_TRACK;
    if (is_nested && report_row_is_import(report->stats, index))
        return ROW_APART;
    if (kind == RANGE_TRACK && range_stats_observer(report->stats, index) == OBSERVER_CUPTI)
        return ROW_HIDDEN; /* report_gpu.c */
    return kind == RANGE_MARK && is_told(report, index) ? ROW_HIDDEN : ROW_PLAIN;
}

static void fill_rest(const struct range_table *ranges, const struct rest *rest,
                      struct table_row *row)
{
    row->role = ROW_REST;
    row->rest = rest->what;
    row_count(row, ranges->self, rest->self_ns);
    if (ranges->cpu_self)
        row_count(row, ranges->cpu_self, rest->cpu_self_ns);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct range_table *ranges = table->rows;
    if (index >= ranges->count) {
        fill_rest(ranges, &ranges->rests[index - ranges->count], row);
        return;
    }
    uint32_t at = ranges->rows[index];
    row->role = role_of(report, ranges->kind, at);
    row->observed = report_row_is_observed(report->stats, at);
    fill_label(report, at, row);
    if (ranges->has_owner && row_wants(row, PID))
        fill_owner(report, ranges, range_stats_row(report->stats, at)->owner, row);
    for (unsigned i = ranges->first; i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        unsigned what = ranges->whats[i];
        if (column->type == COLUMN_SHARE || !row_wants(row, i))
            continue;
        if (what == FIELD_UNIT)
            row_text(row, i, unit_of(report, at));
        else if (what == FIELD_DEVICE)
            report_fill_device(report, at, row, i);
        else if (what == FIELD_DEVICE_LABEL)
            report_fill_device_label(report, at, row, i);
        else
            fill_number(report, at, what, &row->cells[i]);
    }
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* True if the recording has that number for such ranges. */
static bool is_known(const struct report *report, enum range_kind kind, unsigned what)
{
    switch (what) {
    case RANGE_COLUMN_SELF:
        return kind != RANGE_OVERLAPPING && kind < RANGE_INHERITED;
    case RANGE_COLUMN_CPU:
    case RANGE_COLUMN_CPU_SELF:
    case FIELD_SAMPLES:
    case FIELD_FEW:
        return report->samples.present && range_kind_has_cpu(kind);
    case RANGE_COLUMN_RUNNING:
    case RANGE_COLUMN_RUNNABLE:
    case RANGE_COLUMN_BLOCKED:
        return report->samples.off_cpu && kind == RANGE_PUSHED;
    case FIELD_DEVICE:
    case FIELD_DEVICE_LABEL:
        return report_has_devices(report);
    default:
        return kind < RANGE_INHERITED;
    }
}

static void add_texts(struct table *table, const struct range_table *ranges, const char *title)
{
    bool plain = ranges->kind == RANGE_MARK || ranges->kind == RANGE_COUNTER;
    table_add_column(table, (struct table_column){.title = title});
    table_add_column(table, (struct table_column){.name = plain ? "name" : "path"});
    if (!ranges->has_owner)
        return;
    table_add_column(table, (struct table_column){.name = "pid", .type = COLUMN_NUMBER});
    table_add_column(table, (struct table_column){.name = "process"});
    if (!ranges->has_thread)
        return;
    table_add_column(table, (struct table_column){.name = "tid", .type = COLUMN_NUMBER});
    table_add_column(table, (struct table_column){.name = "thread"});
}

static struct table_column value_column(const struct report *report, struct table_column column,
                                        bool self)
{
    column = report_value_column(report, column, self ? "value_self" : "value");
    if (report->options.value) {
        column.title = self ? "value self" : "value";
        column.rank = 0; /* explicitly requested */
    }
    return column;
}

static void add_numbers(const struct report *report, struct table *table,
                        struct range_table *ranges)
{
    const struct field *fields = ranges->kind == RANGE_MARK      ? mark_fields
                                 : ranges->kind == RANGE_COUNTER ? counter_fields
                                                                 : range_fields;
    size_t count = ranges->kind == RANGE_MARK      ? sizeof(mark_fields) / sizeof(*fields)
                   : ranges->kind == RANGE_COUNTER ? sizeof(counter_fields) / sizeof(*fields)
                                                   : sizeof(range_fields) / sizeof(*fields);
    unsigned total = 0;
    ranges->first = table->column_count;
    for (size_t i = 0; i < count; i++) {
        struct table_column column = fields[i].column;
        unsigned what = fields[i].what;
        if (what == RANGE_COLUMN_CPU || what == RANGE_COLUMN_CPU_SELF)
            column = value_column(report, column, what == RANGE_COLUMN_CPU_SELF);
        if (!is_known(report, ranges->kind, what))
            continue;
        if (what == FIELD_SHARE) {
            column.of = (uint8_t)total;
            column.whole = (uint64_t)report->facts.totals->wall_ns;
        }
        unsigned at = table_add_column(table, column);
        ranges->whats[at] = what;
        total = what == RANGE_COLUMN_TOTAL ? at : total;
        ranges->self = what == RANGE_COLUMN_SELF ? at : ranges->self;
        ranges->cpu_self = what == RANGE_COLUMN_CPU_SELF ? at : ranges->cpu_self;
    }
}

/* ---- Time outside of the ranges ------------------------------------------------------------ */

static uint64_t cpu_self_ns(const struct range_stats *stats, enum range_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++)
        if (range_stats_row(stats, i)->kind == kind)
            sum += range_stats_row(stats, i)->cpu_self_ns;
    return sum;
}

static unsigned find_rests(const struct report *report, struct range_table *ranges)
{
    const struct range_totals *totals = report->facts.totals;
    const struct range_stats *stats = report->stats;
    struct rest all[RESTS_MAX] = {{"on tracks", 0, cpu_self_ns(stats, RANGE_TRACK)},
                                  {"inherited", 0, cpu_self_ns(stats, RANGE_INHERITED)},
                                  {"unrecorded", 0, cpu_self_ns(stats, RANGE_UNRECORDED)},
                                  {"outside", 0, totals->cpu_ns}};
    uint64_t inside_ns = cpu_self_ns(stats, RANGE_PUSHED);
    unsigned count = 0;
    for (unsigned i = 0; i + 1 < RESTS_MAX; i++)
        inside_ns += all[i].cpu_self_ns;
    struct rest *outside = &all[RESTS_MAX - 1];
    outside->cpu_self_ns -= inside_ns < outside->cpu_self_ns ? inside_ns : outside->cpu_self_ns;
    if (totals->thread_ns > totals->covered_ns)
        outside->self_ns = totals->thread_ns - totals->covered_ns;
    for (unsigned i = 0; i < RESTS_MAX; i++)
        if (all[i].self_ns + all[i].cpu_self_ns > 0)
            ranges->rests[count++] = all[i];
    return count;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static enum range_column sort_of(const struct report *report, enum range_kind kind)
{
    enum range_column sort = report->options.sort;
    if (sort == RANGE_COLUMN_PATH)
        return sort;
    if (kind == RANGE_MARK || kind == RANGE_COUNTER)
        return RANGE_COLUMN_COUNT;
    if (kind >= RANGE_INHERITED)
        return RANGE_COLUMN_CPU;
    return kind == RANGE_OVERLAPPING && sort == RANGE_COLUMN_SELF ? RANGE_COLUMN_TOTAL : sort;
}

/* "ranges (value: alloc:bytes)". 0 or -ENOMEM. */
static int range_title(const struct report *report, struct table *table, const char *title)
{
    if (!report->options.value)
        return report_plain_title(table, title);
    if (asprintf(&table->title, "%s (value: %s)", title, report->options.value) >= 0)
        return 0;
    table->title = NULL;
    return -ENOMEM;
}

static int add_kind(struct report *report, enum range_kind kind, const char *name,
                    const char *title)
{
    struct table *table = report_add_table(report, name, fill);
    enum range_grouping grouping = report->options.grouping;
    struct range_table *ranges = calloc(1, sizeof(*ranges));
    uint32_t *rows = NULL;
    int64_t count = range_stats_sort(report->stats, kind, sort_of(report, kind), &rows);
    size_t size = count > 0 ? (size_t)count * sizeof(*rows) : 0;
    struct range_table *whole =
        ranges && count >= 0 ? realloc(ranges, sizeof(*ranges) + size) : NULL;
    if (!whole) {
        free(ranges);
        free(rows);
        return -ENOMEM;
    }
    table->rows = ranges = whole;
    ranges->kind = kind;
    ranges->has_owner = grouping >= RANGE_BY_PROCESS || kind == RANGE_COUNTER;
    ranges->has_thread = grouping == RANGE_BY_THREAD && kind != RANGE_COUNTER;
    ranges->count = (uint32_t)count;
    memcpy(ranges->rows, rows, size);
    free(rows);
    bool plain = kind == RANGE_MARK || kind == RANGE_COUNTER;
    add_texts(table, ranges, plain ? (kind == RANGE_MARK ? "mark" : "counter") : "range");
    add_numbers(report, table, ranges);
    table->row_count = ranges->count;
    if (kind == RANGE_PUSHED)
        table->row_count += find_rests(report, ranges);
    table->apart = "(imports)";
    table->has_sum = !plain;
    table->sorted = !plain;
    table->tells_hidden = true;
    table->limit = report->options.limit;
    return plain ? report_plain_title(table, title) : range_title(report, table, title);
}

const struct range_duration *report_durations(const struct report *report,
                                              const struct table *table, uint64_t row,
                                              uint32_t *ret_count)
{
    const struct range_table *ranges = table->rows;
    *ret_count = 0;
    if (table->fill != fill)
        return report_gpu_durations(report, table, row, ret_count);
    if (row >= ranges->count)
        return NULL;
    return range_stats_durations(report->stats, ranges->rows[row], ret_count);
}

static bool has_rough_rows(const struct report *report)
{
    for (uint32_t i = 0; i < range_stats_row_count(report->stats); i++) {
        const struct range_row *row = range_stats_row(report->stats, i);
        if (range_kind_has_cpu(row->kind) && is_rough(report, row))
            return true;
    }
    return false;
}

static int add_ranges(struct report *report)
{
    int rc = add_kind(report, RANGE_PUSHED, "ranges", "ranges");
    if (rc == 0)
        rc = add_kind(report, RANGE_OVERLAPPING, "overlapping_ranges",
                      "overlapping ranges (start/end)");
    if (rc == 0)
        rc = add_kind(report, RANGE_TRACK, "track_ranges", "ranges on tracks");
    if (rc == 0)
        rc = add_kind(report, RANGE_INHERITED, "inherited_ranges",
                      "inherited ranges (open where a process was forked or a task submitted)");
    if (rc == 0)
        rc = add_kind(report, RANGE_UNRECORDED, "unrecorded_ranges",
                      "ranges without a recorded beginning");
    if (rc == 0 && report->samples.present && has_rough_rows(report))
        table_add_note(&report->tables[report->table_count - 1],
                       (struct table_note){.before = REPORT_FEW_NOTE, .always = true});
    return rc;
}

static int add_plain(struct report *report)
{
    int rc = add_kind(report, RANGE_MARK, "marks", "marks");
    return rc == 0 ? add_kind(report, RANGE_COUNTER, "counters", "counters") : rc;
}

static int add_tables(struct report *report)
{
    int rc = add_ranges(report);
    if (rc == 0)
        rc = add_imports(report);
    return rc == 0 ? add_plain(report) : rc;
}

const struct report_part report_part_ranges = {.add_tables = add_tables};
