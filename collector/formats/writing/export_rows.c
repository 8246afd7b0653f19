/* SPDX-License-Identifier: MIT */
/* See export_rows.h. */
#include "export_rows.h"

#include "call_label.h"
#include "call_path.h"
#include "profile_frames.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Paths of ranges ------------------------------------------------------------------------- */

int rows_paths_init(struct rows_paths *paths, const struct trace *trace)
{
    *paths = (struct rows_paths){.trace = trace, .text = out_stream_memory()};
    return paths->text ? 0 : -ENOMEM;
}

void rows_paths_fini(struct rows_paths *paths)
{
    vec_free(&paths->links);
    out_stream_abandon(paths->text);
}

const char *rows_paths_text(const struct rows_paths *paths, size_t *ret_length)
{
    return (const char *)out_stream_memory_bytes(paths->text, ret_length);
}

static bool is_same(const struct rows_link *link, const struct event *event)
{
    return link->name == event->name && link->scope == event->scope;
}

void rows_paths_cut(struct rows_paths *paths, size_t count)
{
    paths->links.count = count;
    out_stream_memory_cut(paths->text, count ? paths->links.items[count - 1].end : 0);
}

int rows_paths_add(struct rows_paths *paths, uint32_t name, uint32_t scope)
{
    struct rows_link link = {.name = name, .scope = scope};
    out_write(paths->text, "/", paths->links.count > 0);
    call_put_range(paths->trace, name, scope, paths->text);
    link.end = out_bytes(paths->text);
    return out_error(paths->text) ? -ENOMEM : vec_push(&paths->links, link);
}

/* Changes the path to that of this range. 0 or -ENOMEM. */
static int rows_paths_take(struct rows_paths *paths, const struct item *item)
{
    size_t same = 0;
    int error = 0;
    while (same < paths->links.count && same < item->depth &&
           is_same(&paths->links.items[same], item->parents[same]))
        same++;
    if (same < paths->links.count && same == item->depth &&
        is_same(&paths->links.items[same], item->event))
        same++;
    rows_paths_cut(paths, same);
    for (size_t i = same; i <= item->depth && !error; i++) {
        const struct event *event = i < item->depth ? item->parents[i] : item->event;
        error = rows_paths_add(paths, event->name, event->scope);
    }
    return error;
}

enum { TEXTS_MAX = 32 << 20, KEPT_MAX = 1 << 20 };

/* Kind of a text, in the upper half of its key. */
enum text_kind {
    TEXT_STRING = 1,
    TEXT_PROCESS,
    TEXT_THREAD,
    TEXT_LANE,
    TEXT_PATH,
    TEXT_STACK,
    TEXT_SET,
    TEXT_REASON,
    TEXT_KIND, /* of a lane */
};

/* ---- Cells ----------------------------------------------------------------------------------- */

static struct rows_cell *put_integer(struct rows_cell *at, int64_t integer)
{
    *at = (struct rows_cell){.kind = CELL_INTEGER, .integer = integer};
    return at + 1;
}

static struct rows_cell *put_none(struct rows_cell *at)
{
    *at = (struct rows_cell){.kind = CELL_NONE};
    return at + 1;
}

static struct rows_cell *put_text(struct rows_cell *at, enum text_kind kind, uint32_t number)
{
    *at = (struct rows_cell){.kind = CELL_TEXT, .key = (uint64_t)kind << 32 | number};
    return at + 1;
}

/* Number 0 gives an empty cell. */
static struct rows_cell *put_known(struct rows_cell *at, enum text_kind kind, uint32_t number)
{
    return number ? put_text(at, kind, number) : put_none(at);
}

/* A cell with the contents of rows->made. */
static struct rows_cell *put_made(struct rows *rows, struct rows_cell *at)
{
    size_t length;
    rows->bytes = (const char *)out_stream_memory_bytes(rows->made, &length);
    *at = (struct rows_cell){.kind = CELL_BYTES, .length = length};
    return at + 1;
}

static struct rows_cell *put_who(const struct rows *rows, struct rows_cell *at, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(rows->trace, thread);
    uint32_t process = entry ? entry->process : UINT32_MAX;
    if (process < trace_process_count(rows->trace)) {
        at = put_integer(at, trace_process_get(rows->trace, process)->pid);
        at = put_text(at, TEXT_PROCESS, process);
    } else {
        at = put_none(put_none(at));
    }
    if (!entry)
        return put_none(put_none(at));
    return put_text(put_integer(at, entry->tid), TEXT_THREAD, thread);
}

/* ---- Key-values ------------------------------------------------------------------------------ */

void rows_put_value(struct json_doc *doc, const struct trace *trace, uint32_t kind,
                    union value value)
{
    switch ((enum value_kind)kind) {
    case VALUE_INT64:
        json_doc_int(doc, NULL, value.int64);
        break;
    case VALUE_UINT64:
        json_doc_uint(doc, NULL, value.uint64);
        break;
    case VALUE_DOUBLE:
        json_doc_double(doc, NULL, value.float64);
        break;
    case VALUE_BOOL:
        json_doc_bool(doc, NULL, value.uint64 != 0);
        break;
    case VALUE_STRING:
        json_doc_text(doc, NULL, trace_string(trace, value.string)->bytes);
        break;
    default:
        json_doc_null(doc, NULL);
    }
}

void rows_put_values(struct json_doc *doc, const struct trace *trace, const struct args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        const struct trace_string *key = trace_string(trace, arg->key);
        json_doc_key(doc, key->bytes, key->length, "");
        rows_put_value(doc, trace, arg->kind, arg->value);
    }
}

/* As a JSON object, the payload first. */
static void make_args(struct rows *rows, const struct item *item, struct rows_cell *at)
{
    const struct event *event = item->event;
    struct json_doc doc = {.out = rows->made};
    if (!event->value_kind && !item->args.count) {
        put_none(at);
        return;
    }
    out_stream_memory_reset(rows->made);
    json_doc_object(&doc, NULL);
    if (event->value_kind) {
        json_doc_key(&doc, "payload", strlen("payload"), "");
        rows_put_value(&doc, rows->trace, event->value_kind, event->value);
    }
    rows_put_values(&doc, rows->trace, &item->args);
    json_doc_close(&doc);
    put_made(rows, at);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static void make_kind(struct rows *rows, const struct item *item, struct rows_cell *cell)
{
    (void)rows;
    put_text(cell, TEXT_KIND, item->lane);
}

/* put_event changes the path. */
static void make_path(struct rows *rows, const struct item *item, struct rows_cell *cell)
{
    (void)rows, (void)item;
    *cell = (struct rows_cell){.kind = CELL_PATH};
}

static void make_lane(struct rows *rows, const struct item *item, struct rows_cell *cell)
{
    (void)rows;
    if (item->lane == LANE_TRACK || item->lane == LANE_QUEUE)
        put_text(cell, TEXT_LANE, item->event->lane);
    else
        put_none(cell);
}

/* Processes, threads and lanes are labels here, numbers in SQL. put_who makes four cells. */
enum { WHO_FIRST = 3, WHO_CELLS = 4 };

#define EVENT_COLUMNS(table)                                                                       \
    {&(table)[AT_NAME], ROWS_TEXT, NULL}, {&(table)[AT_DOMAIN], ROWS_TEXT, NULL},                  \
        {&(table)[AT_CATEGORY], ROWS_TEXT, NULL}, {&(table)[AT_PID], ROWS_INTEGER, NULL},          \
        {&(table)[AT_PROCESS], ROWS_TEXT, NULL}, {&(table)[AT_TID], ROWS_INTEGER, NULL},           \
    {                                                                                              \
        &(table)[AT_THREAD], ROWS_TEXT, NULL                                                       \
    }

static const struct rows_column range_columns[] = {
    EVENT_COLUMNS(schema_ranges),
    {&schema_ranges[RANGES_BEGIN], ROWS_TIME, NULL},
    {&schema_ranges[RANGES_DURATION], ROWS_INTEGER, NULL},
    {&schema_ranges[RANGES_SELF], ROWS_INTEGER, NULL},
    {&schema_ranges[RANGES_KIND], ROWS_TEXT, make_kind},
    {&schema_ranges[RANGES_DEPTH], ROWS_INTEGER, NULL},
    {&schema_ranges[RANGES_PATH], ROWS_PATH, make_path},
    {&schema_ranges[RANGES_LANE], ROWS_TEXT, make_lane},
    {&schema_ranges[RANGES_UNFINISHED], ROWS_INTEGER, NULL},
    {&schema_ranges[RANGES_ARGS], ROWS_BYTES, make_args},
};

static const struct rows_column sample_columns[] = {
    {&schema_samples[SAMPLES_PID], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_PROCESS], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_TID], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_THREAD], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_BEGIN], ROWS_TIME, NULL},
    {&schema_samples[SAMPLES_DURATION], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_SET], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_CPU], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_BLOCKED], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_RUNNABLE], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_REASON], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_PATH], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_FUNCTION], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_FILE], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_LINE], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_STACK], ROWS_TEXT, NULL},
    {&schema_samples[SAMPLES_PROCESSOR], ROWS_INTEGER, NULL},
    {&schema_samples[SAMPLES_VALUES_OF], ROWS_BYTES, NULL},
};

static const struct rows_column counter_columns[] = {
    EVENT_COLUMNS(schema_counters),
    {&schema_counters[COUNTERS_TIME], ROWS_TIME, NULL},
    {&schema_counters[COUNTERS_VALUE], ROWS_NUMBER, NULL},
    {&schema_counters[COUNTERS_UNIT], ROWS_TEXT, NULL},
};

static const struct rows_column mark_columns[] = {
    EVENT_COLUMNS(schema_marks),
    {&schema_marks[MARKS_TIME], ROWS_TIME, NULL},
    {&schema_marks[MARKS_LANE], ROWS_TEXT, make_lane},
    {&schema_marks[MARKS_ARGS], ROWS_BYTES, make_args},
};

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *name;
    const struct rows_column *columns;
    uint32_t count, wants;
} tables[ROWS_TABLES] = {
    [ROWS_RANGES] = {"ranges", range_columns, COUNT(range_columns), WANT_EVENTS},
    [ROWS_SAMPLES] = {"samples", sample_columns, COUNT(sample_columns), WANT_SAMPLES | WANT_PATHS},
    [ROWS_COUNTERS] = {"counters", counter_columns, COUNT(counter_columns), WANT_EVENTS},
    [ROWS_MARKS] = {"marks", mark_columns, COUNT(mark_columns), WANT_EVENTS},
};

const struct option_spec rows_options[] = {
    {"table", 0, OPTION_CHOICE, EXPORT_AT(table), "ranges|samples|counters|marks",
     "table to export (default: ranges)", NULL},
    {0},
};

/* The table chosen by --table. */
static enum rows_table rows_table_of(const struct export_options *options)
{
    enum rows_table table = ROWS_RANGES;
    while (options->table && table + 1 < ROWS_TABLES &&
           strcmp(options->table, tables[table].name) != 0)
        table++;
    return table;
}

const char *rows_table_name(enum rows_table table)
{
    return tables[table].name;
}

uint32_t rows_wants(const struct export_options *options)
{
    return tables[rows_table_of(options)].wants;
}

int rows_init(struct rows *rows, const struct export_job *job)
{
    enum rows_table table = rows_table_of(job->options);
    const struct trace *trace = job->source->trace;
    *rows = (struct rows){.trace = trace,
                          .sets = trace_sets_get(trace),
                          .table = table,
                          .columns = tables[table].columns,
                          .count = tables[table].count,
                          .begin_ns = trace_begin_ns(trace),
                          .made = out_stream_memory(),
                          .text = out_stream_memory()};
    int error = rows_paths_init(&rows->paths, trace);
    return rows->made && rows->text ? error : -ENOMEM;
}

void rows_fini(struct rows *rows)
{
    out_stream_abandon(rows->made);
    out_stream_abandon(rows->text);
    rows_paths_fini(&rows->paths);
    map64_free(&rows->by_key);
    strtab_free(&rows->texts);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Columns of events that have other texts than strings have a maker. */
static struct rows_cell cell_of(struct schema_cell cell, enum rows_type type)
{
    if (cell.kind == SCHEMA_INTEGER)
        return (struct rows_cell){.kind = CELL_INTEGER, .integer = cell.integer};
    switch ((enum schema_cell_kind)cell.kind) {
    case SCHEMA_REAL:
        return (struct rows_cell){.kind = CELL_REAL, .real = cell.real};
    case SCHEMA_STRING:
        if (type != ROWS_TEXT) /* of a foreign counter */
            return (struct rows_cell){.kind = CELL_NONE};
        return (struct rows_cell){.kind = CELL_TEXT,
                                  .key = (uint64_t)TEXT_STRING << 32 | cell.string};
    default:
        return (struct rows_cell){.kind = CELL_NONE};
    }
}

static int put_event(struct rows *rows, const struct item *item)
{
    const struct schema_row row = schema_row_of(rows->trace, item);
    put_who(rows, &rows->cells[WHO_FIRST], item->event->thread);
    for (uint32_t i = 0; i < rows->count; i += i == WHO_FIRST - 1 ? WHO_CELLS + 1 : 1) {
        const struct rows_column *column = &rows->columns[i];
        if (column->make)
            column->make(rows, item, &rows->cells[i]);
        else
            rows->cells[i] = cell_of(column->schema->get(&row), (enum rows_type)column->type);
    }
    return rows->table == ROWS_RANGES ? rows_paths_take(&rows->paths, item) : 0;
}

/* Values of sets other than CPU time and waits. */
static struct rows_cell *put_values(struct rows *rows, struct rows_cell *at,
                                    const struct sample *sample)
{
    struct json_doc doc = {.out = rows->made};
    const struct sample_set *set = sample_set_get(rows->sets, sample->set);
    char name[16];
    out_stream_memory_reset(rows->made);
    json_doc_object(&doc, NULL);
    for (int i = 0; i < sample->value_count && i < set->count; i++) {
        const char *text = trace_value_name(rows->trace, set->types[i], name);
        json_doc_key(&doc, text, strlen(text), "");
        json_doc_int(&doc, NULL, sample->values[i]);
    }
    json_doc_close(&doc);
    return put_made(rows, at);
}

static void put_place(const struct rows *rows, struct rows_cell **at, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(rows->trace);
    const struct frame *frame = stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
    const struct label *label = stacks_get_label(stacks, frame->label);
    *at = put_known(*at, TEXT_STRING, stack ? label->text : 0);
    *at = put_known(*at, TEXT_STRING, stacks_get_source(stacks, label->source)->path);
    *at = frame->line > 0 ? put_integer(*at, frame->line) : put_none(*at);
    *at = put_known(*at, TEXT_STACK, stack);
}

static void put_sample(struct rows *rows, const struct sample *sample)
{
    const struct off_share share = sample_off_share(rows->sets, sample);
    enum sample_role role = sample_role(rows->sets, sample);
    bool waits = role == SAMPLE_ROLE_OFF_CPU || role == SAMPLE_ROLE_SHORT_WAITS;
    struct rows_cell *at = put_who(rows, rows->cells, sample->thread);
    at = put_integer(at, sample->time_ns - rows->begin_ns);
    at = put_integer(at, sample->end_ns > sample->time_ns ? sample->end_ns - sample->time_ns : 0);
    at = put_text(at, TEXT_SET, sample->set);
    at = put_integer(at, (int64_t)sample_cpu_ns(rows->sets, sample));
    at = waits ? put_integer(at, (int64_t)share.blocked_ns) : put_none(at);
    at = waits ? put_integer(at, (int64_t)share.runnable_ns) : put_none(at);
    at = role == SAMPLE_ROLE_OFF_CPU ? put_text(at, TEXT_REASON, sample->reason) : put_none(at);
    at = put_known(at, TEXT_PATH, sample->path);
    put_place(rows, &at, sample->stack);
    at = put_integer(at, sample->cpu);
    if (waits || role == SAMPLE_ROLE_CPU)
        put_none(at);
    else
        put_values(rows, at, sample);
}

int rows_take(struct rows *rows, const struct item *item)
{
    static const uint8_t kinds[ROWS_TABLES] = {
        [ROWS_RANGES] = ITEM_SPAN,
        [ROWS_SAMPLES] = ITEM_SAMPLE,
        [ROWS_COUNTERS] = ITEM_COUNTER,
        [ROWS_MARKS] = ITEM_INSTANT,
    };
    int error = 0;
    if (item->kind != kinds[rows->table])
        return 0;
    if (rows->table == ROWS_SAMPLES)
        put_sample(rows, item->sample);
    else
        error = put_event(rows, item);
    return error || out_error(rows->made) ? -ENOMEM : 1;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* "main;load;read": functions from the root, ';' in them as ','. */
static void make_stack(struct rows *rows, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(rows->trace);
    uint32_t frames[PROFILE_DEPTH_MAX];
    uint32_t count = stacks_frames(stacks, stack, frames, PROFILE_DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t text = stacks_label_of(stacks, frames[i])->text;
        const char *at = text ? trace_string(rows->trace, text)->bytes : "?", *end;
        out_text(rows->text, i ? ";" : "");
        for (; (end = strchr(at, ';')) != NULL; at = end + 1) {
            out_write(rows->text, at, (size_t)(end - at));
            out_text(rows->text, ",");
        }
        out_text(rows->text, at);
    }
}

static void make_text(struct rows *rows, enum text_kind kind, uint32_t number)
{
    const struct trace *trace = rows->trace;
    char label[CALL_LABEL_SIZE] = "", small[16];
    switch (kind) {
    case TEXT_PROCESS:
        trace_process_label(trace, number, label, sizeof(label));
        break;
    case TEXT_THREAD:
        trace_thread_label(trace, number, label, sizeof(label));
        break;
    case TEXT_LANE:
        trace_lane_path(trace, number, label, sizeof(label));
        break;
    case TEXT_PATH:
        call_put_path(trace, number, rows->text);
        break;
    case TEXT_STACK:
        make_stack(rows, number);
        break;
    case TEXT_SET:
        out_text(rows->text, trace_set_name(trace, number, small));
        break;
    case TEXT_REASON:
        out_text(rows->text, wait_reason_name((enum wait_reason)number));
        break;
    default:
        out_text(rows->text, schema_range_kind(number));
    }
    out_text(rows->text, label);
}

static size_t recent_of(uint64_t key)
{
    return (key ^ key >> 28) % ROWS_RECENT;
}

static void forget_texts(struct rows *rows)
{
    map64_free(&rows->by_key);
    strtab_free(&rows->texts);
    rows->texts = (struct strtab){0};
    memset(rows->recent, 0, sizeof(rows->recent));
    rows->text_bytes = 0;
}

/* Makes the text of a new key; long texts are not kept. NULL: out of memory. */
static const char *add_text(struct rows *rows, uint64_t key, size_t *ret_length)
{
    out_stream_memory_reset(rows->text);
    make_text(rows, (enum text_kind)(key >> 32), (uint32_t)key);
    const char *bytes = (const char *)out_stream_memory_bytes(rows->text, ret_length);
    if (out_error(rows->text))
        return NULL;
    if (*ret_length > KEPT_MAX)
        return bytes;
    if (rows->text_bytes > TEXTS_MAX)
        forget_texts(rows);
    int64_t place = strtab_append(&rows->texts, bytes, *ret_length);
    rows->text_bytes += *ret_length + 64;
    if (place < 0 || map64_put(&rows->by_key, key, (uint64_t)place + 1) != 0)
        return NULL;
    bytes = strtab_get(&rows->texts, (size_t)place)->bytes;
    rows->recent[recent_of(key)] = (struct rows_recent){key, bytes, *ret_length};
    return bytes;
}

const char *rows_text(struct rows *rows, uint64_t key, size_t *ret_length)
{
    struct rows_recent *recent = &rows->recent[recent_of(key)];
    if (key >> 32 == TEXT_STRING) {
        const struct trace_string *string = trace_string(rows->trace, (uint32_t)key);
        *ret_length = string->length;
        return string->bytes;
    }
    if (recent->key != key) {
        const uint64_t *known = map64_find(&rows->by_key, key);
        if (!known)
            return add_text(rows, key, ret_length);
        const struct strtab_entry *entry = strtab_get(&rows->texts, (size_t)*known - 1);
        *recent = (struct rows_recent){key, entry->bytes, entry->length};
    }
    *ret_length = recent->length;
    return recent->bytes;
}
