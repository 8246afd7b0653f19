/* SPDX-License-Identifier: MIT */
/* Columns, order and filter of each view of `annot top`. */
#include "top.h"

#include "code_owner.h"
#include "report_text.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The content of a column. */
enum field {
    NONE = 0,
    FUNCTION,
    LOCATION,
    REASON,
    RANGE,
    RANGE_KIND,
    PROCESS,
    THREAD,
    STATE,
    COMMAND,
    FIRST_NUMBER,
    PID = FIRST_NUMBER,
    TID,
    CPU,
    CPU_SHARE,
    TOTAL,
    TOTAL_SHARE,
    RUNNABLE,
    RUNNABLE_SHARE,
    BLOCKED,
    BLOCKED_SHARE,
    GIL,
    GIL_SHARE,
    GIL_WAITS,
    GIL_WAITS_SHARE,
    COUNT,
    RATE,
    MEAN,
    MAX,
    OPEN,
    RSS,
    LIVE,
    ALLOCATED,
    ALLOCATED_RATE,
    FIELDS,
};

/* Table columns of the fields. Fields without a name, such as rates, are not in machine output. */
static const struct table_column fields[FIELDS] = {
    [FUNCTION] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [REASON] = {.name = "reason", .title = "waits for", .type = COLUMN_TEXT},
    [RANGE] = {.name = "range", .title = "range", .type = COLUMN_TEXT},
    [RANGE_KIND] = {.name = "kind", .title = "kind", .type = COLUMN_TEXT, .rank = 5},
    [PROCESS] = {.name = "process", .title = "process", .type = COLUMN_TEXT},
    [THREAD] = {.name = "thread", .title = "thread", .type = COLUMN_TEXT},
    [STATE] = {.name = "state", .title = "state", .type = COLUMN_TEXT, .rank = 4},
    [COMMAND] = {.name = "command", .type = COLUMN_TEXT},
    [PID] = {.name = "pid", .title = "pid", .type = COLUMN_NUMBER, .rank = 2},
    [TID] = {.name = "tid", .title = "tid", .type = COLUMN_NUMBER, .rank = 3},
    [CPU] = {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME, .rank = 4},
    [CPU_SHARE] = {.title = "cpu %", .type = COLUMN_SHARE},
    [TOTAL] = {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .rank = 4},
    [TOTAL_SHARE] = {.title = "total %", .type = COLUMN_SHARE, .rank = 2},
    [RUNNABLE] = {.name = "runnable_ns", .title = "runnable", .type = COLUMN_TIME, .rank = 4},
    [RUNNABLE_SHARE] = {.title = "runnable %", .type = COLUMN_SHARE, .rank = 3},
    [BLOCKED] = {.name = "blocked_ns", .title = "blocked", .type = COLUMN_TIME, .rank = 4},
    [BLOCKED_SHARE] = {.title = "blocked %", .type = COLUMN_SHARE, .rank = 1},
    [GIL] = {.name = "gil_ns", .title = "GIL", .type = COLUMN_TIME, .rank = 4},
    [GIL_SHARE] = {.title = "GIL %", .type = COLUMN_SHARE, .rank = 2},
    [GIL_WAITS] = {.name = "gil_waiting_ns", .title = "awaited", .type = COLUMN_TIME, .rank = 4},
    [GIL_WAITS_SHARE] = {.title = "awaits %", .type = COLUMN_SHARE},
    [COUNT] = {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 3},
    [RATE] = {.title = "per s", .type = COLUMN_VALUE, .rank = 2},
    [MEAN] = {.name = "mean_ns", .title = "mean", .type = COLUMN_TIME, .rank = 3},
    [MAX] = {.name = "max_ns", .title = "longest", .type = COLUMN_TIME, .rank = 2},
    [OPEN] = {.name = "open", .title = "open", .type = COLUMN_COUNT, .rank = 3},
    [RSS] = {.name = "rss_bytes", .title = "RSS", .type = COLUMN_BYTES, .rank = 1},
    [LIVE] = {.name = "heap_live_bytes", .title = "heap live", .type = COLUMN_BYTES},
    [ALLOCATED] = {.name = "allocated_bytes",
                   .title = "allocated",
                   .type = COLUMN_BYTES,
                   .rank = 4},
    [ALLOCATED_RATE] = {.title = "alloc/s", .type = COLUMN_BYTES, .rank = 1},
};

enum { VIEW_COLUMNS = 20, FIRST_NS = 1000000000 };

struct view {
    const char *name;
    uint8_t columns[VIEW_COLUMNS]; /* enum field: texts, then numbers; 0 ends them */
    uint8_t sort;                  /* initial sort column */
};

static struct view views[TOP_KINDS] = {
    [TOP_FUNCTIONS] = {"functions",
                       {FUNCTION, LOCATION, CPU_SHARE, CPU, TOTAL_SHARE, TOTAL, RUNNABLE_SHARE,
                        RUNNABLE, BLOCKED_SHARE, BLOCKED},
                       CPU},
    [TOP_LINES] = {"lines",
                   {FUNCTION, LOCATION, CPU_SHARE, CPU, RUNNABLE_SHARE, RUNNABLE, BLOCKED_SHARE,
                    BLOCKED},
                   CPU},
    [TOP_RANGES] = {"ranges",
                    {RANGE, RANGE_KIND, TOTAL_SHARE, TOTAL, CPU_SHARE, CPU, COUNT, RATE, MEAN,
                     OPEN},
                    TOTAL},
    [TOP_PROCESSES] = {"processes",
                       {PROCESS, STATE, COMMAND, PID, OPEN, CPU_SHARE, CPU, RUNNABLE_SHARE,
                        RUNNABLE, BLOCKED_SHARE, BLOCKED, GIL_SHARE, GIL},
                       CPU},
    [TOP_THREADS] = {"threads",
                     {THREAD, PROCESS, TID, CPU_SHARE, CPU, RUNNABLE_SHARE, RUNNABLE, BLOCKED_SHARE,
                      BLOCKED, GIL_SHARE, GIL, GIL_WAITS_SHARE, GIL_WAITS},
                     CPU},
    [TOP_WAITS] = {"waits",
                   {FUNCTION, LOCATION, REASON, BLOCKED_SHARE, BLOCKED, COUNT, RATE, MAX, OPEN},
                   BLOCKED},
    [TOP_GIL] = {"gil",
                 {FUNCTION, LOCATION, THREAD, GIL_SHARE, GIL, GIL_WAITS_SHARE, GIL_WAITS},
                 GIL},
};

static void append_column(enum top_kind kind, enum field field)
{
    uint8_t *columns = views[kind].columns;
    unsigned at = 0;
    while (columns[at])
        at++;
    columns[at] = (uint8_t)field;
}

void top_show_memory(bool blocks)
{
    static const enum field of_blocks[] = {LIVE, ALLOCATED_RATE, ALLOCATED};

    append_column(TOP_PROCESSES, RSS);
    for (size_t i = 0; i < sizeof(of_blocks) / sizeof(*of_blocks) && blocks; i++) {
        append_column(TOP_FUNCTIONS, of_blocks[i]);
        append_column(TOP_PROCESSES, of_blocks[i]);
    }
}

const char *top_kind_name(enum top_kind kind)
{
    return views[kind].name;
}

enum top_kind top_kind_of(const char *word)
{
    int kind = 0;
    while (kind < TOP_KINDS && word && strcmp(views[kind].name, word) != 0)
        kind++;
    return word ? (enum top_kind)kind : TOP_FUNCTIONS;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint64_t number_of(const struct top_row *row, enum field field)
{
    const uint64_t numbers[FIELDS] = {
        [CPU] = row->cpu_ns,
        [CPU_SHARE] = row->cpu_ns,
        [TOTAL] = row->total_ns,
        [TOTAL_SHARE] = row->total_ns,
        [RUNNABLE] = row->runnable_ns,
        [RUNNABLE_SHARE] = row->runnable_ns,
        [BLOCKED] = row->blocked_ns,
        [BLOCKED_SHARE] = row->blocked_ns,
        [GIL] = row->gil_ns,
        [GIL_SHARE] = row->gil_ns,
        [GIL_WAITS] = row->gil_wait_ns,
        [GIL_WAITS_SHARE] = row->gil_wait_ns,
        [COUNT] = row->count,
        [RATE] = row->count,
        [MEAN] = row->count ? row->total_ns / row->count : 0,
        [MAX] = row->max_ns,
        [OPEN] = row->open,
        [RSS] = row->rss,
        [LIVE] = row->live,
        [ALLOCATED] = row->allocated,
        [ALLOCATED_RATE] = row->allocated,
    };
    return numbers[field];
}

static int64_t id_of(const struct trace *trace, const struct top_row *row, enum field field)
{
    const struct trace_process *process = trace_process_get(trace, row->process);
    const struct trace_thread *thread = trace_thread_get(trace, row->thread);
    if (field == PID)
        return process ? process->pid : 0;
    return thread ? thread->tid : 0;
}

/* The time column to which a share belongs. */
static enum field time_of(enum field share)
{
    return (enum field)(share - 1);
}

static bool is_share(enum field field)
{
    return fields[field].type == COLUMN_SHARE;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

const char *top_short_command(const char *command)
{
    size_t first = strcspn(command, " ");
    while (first > 0 && command[first - 1] != '/')
        first--;
    return command + first;
}

static void command_text(const struct trace *trace, uint32_t process, char *buffer, size_t size)
{
    const struct trace_process *entry = trace_process_get(trace, process);
    snprintf(buffer, size, "%s", entry ? trace_string(trace, entry->cmdline)->bytes : "");
}

static const char *state_of(const struct trace *trace, const struct top_row *row)
{
    const struct trace_process *process = trace_process_get(trace, row->process);
    if (!process || (process->end == PROCESS_RUNNING && process->end_ns == 0))
        return "";
    return process->end == PROCESS_EXEC ? "replaced" : "ended";
}

static void function_text(const struct trace *trace, const struct own_row *place, char *buffer,
                          size_t size)
{
    char name[200];
    if (place->label) {
        code_name(trace, place->label, buffer, size);
        return;
    }
    code_rest_name(trace, place->purpose, place->program, name, sizeof(name));
    snprintf(buffer, size, "(%s)", name);
}

static void text_of(const struct top_data *data, const struct top_row *row, enum field field,
                    char *buffer, size_t size)
{
    static const char *const kinds[] = {
        [RANGE_PUSHED] = "", [RANGE_OVERLAPPING] = "overlapping", [RANGE_TRACK] = "track"};
    const struct trace *trace = data->trace;
    buffer[0] = '\0';
    switch (field) {
    case FUNCTION:
        function_text(trace, &row->place, buffer, size);
        break;
    case LOCATION:
        if (row->place.label)
            code_location(trace, row->place.label, row->place.line, buffer, size);
        break;
    case REASON:
        snprintf(buffer, size, "%s", wait_reason_name((enum wait_reason)row->reason));
        break;
    case RANGE:
        snprintf(buffer, size, "%s", row->label);
        break;
    case RANGE_KIND:
        snprintf(buffer, size, "%s", kinds[row->range_kind]);
        break;
    case PROCESS:
        trace_process_label(trace, row->process, buffer, size);
        break;
    case THREAD:
        trace_thread_label(trace, row->thread, buffer, size);
        break;
    case COMMAND:
        command_text(trace, row->process, buffer, size);
        break;
    default:
        snprintf(buffer, size, "%s", state_of(trace, row));
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* True for times that only the sampling of waits provides. */
static bool is_wait(enum field field)
{
    return field == RUNNABLE || field == BLOCKED || field == GIL_WAITS;
}

static void fill_cell(const struct top_data *data, const struct top_row *from,
                      struct table_row *row, unsigned at)
{
    enum field field = (enum field)views[data->view->kind].columns[at];
    if (is_share(field))
        return;
    if (field < FIRST_NUMBER) {
        size_t size;
        char *room = row_room(row, &size);
        text_of(data, from, field, room, size);
        row_take(row, at, strlen(room));
    } else if (field == PID || field == TID) {
        row_number(row, at, id_of(data->trace, from, field));
    } else if (!top_sees_waits(data) && is_wait(field)) {
        row->cells[at].state = CELL_UNKNOWN;
    } else if (field == ALLOCATED_RATE) {
        row_count(row, at, (uint64_t)((double)from->allocated * 1e9 / (double)data->length_ns));
    } else if (field == RATE) {
        row_value(row, at, (double)from->count * 1e9 / (double)data->length_ns);
    } else {
        row_count(row, at, number_of(from, field));
    }
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct top_data *data = table->context;
    const struct top_row *from = &data->rows.items[index];
    row->owner =
        (uint8_t)(from->place.label ? code_owner_of(data->trace, from->place.label) : CODE_UNKNOWN);
    for (unsigned i = 0; i < table->column_count; i++)
        fill_cell(data, from, row, i);
}

/* ---- Order and filter ------------------------------------------------------------------------ */

static bool matches(const struct top_data *data, const struct top_row *row, char *text, size_t size)
{
    const uint8_t *columns = views[data->view->kind].columns;
    char id[24];
    if (!data->view->filter[0])
        return true;
    for (unsigned i = 0; i < VIEW_COLUMNS && columns[i]; i++) {
        if (columns[i] < FIRST_NUMBER) {
            text_of(data, row, (enum field)columns[i], text, size);
            if (strcasestr(text, data->view->filter))
                return true;
        } else if (columns[i] == PID || columns[i] == TID) {
            snprintf(id, sizeof(id), "%lld",
                     (long long)id_of(data->trace, row, (enum field)columns[i]));
            if (strcmp(id, data->view->filter) == 0)
                return true;
        }
    }
    return false;
}

static int leave_matching(struct top_data *data)
{
    size_t kept = 0;
    char *text = malloc(TABLE_LABEL_SIZE);
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < data->rows.count; i++)
        if (matches(data, &data->rows.items[i], text, TABLE_LABEL_SIZE))
            data->rows.items[kept++] = data->rows.items[i];
    data->rows.count = kept;
    free(text);
    return 0;
}

struct order {
    enum field field;
    const struct top_data *data;
};

/* Ties are broken by CPU time, waits, total time, then order of discovery. */
static int largest_first(const void *left, const void *right, void *context)
{
    const struct top_row *a = left, *b = right;
    const struct order *order = context;
    if (order->field == PID || order->field == TID) {
        int64_t x = id_of(order->data->trace, a, order->field);
        int64_t y = id_of(order->data->trace, b, order->field);
        return x < y ? -1 : x > y;
    }
    const uint64_t keys[][2] = {
        {number_of(a, order->field), number_of(b, order->field)},
        {a->cpu_ns, b->cpu_ns},
        {a->blocked_ns + a->gil_wait_ns, b->blocked_ns + b->gil_wait_ns},
        {a->total_ns, b->total_ns},
        {b->place.label, a->place.label},
        {b->thread, a->thread},
        {b->process, a->process},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? -1 : 1;
    return 0;
}

static enum field sort_field(const struct top_view *view)
{
    const struct view *shown = &views[view->kind];
    return view->sort >= 0 && view->sort < VIEW_COLUMNS && shown->columns[view->sort]
               ? (enum field)shown->columns[view->sort]
               : (enum field)shown->sort;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* A time and its share order rows alike; only the time is offered for sorting. */
int top_sort_column(enum top_kind kind, int at)
{
    const uint8_t *columns = views[kind].columns;
    for (int i = 0; i < VIEW_COLUMNS && columns[i]; i++)
        if (columns[i] >= FIRST_NUMBER && !is_share((enum field)columns[i]) && at-- == 0)
            return i;
    return -1;
}

const char *top_column_title(enum top_kind kind, int column)
{
    enum field field = (enum field)(column >= 0 ? views[kind].columns[column] : views[kind].sort);
    return fields[field].title;
}

int top_column_of(enum top_kind kind, const char *name)
{
    const uint8_t *columns = views[kind].columns;
    for (int i = 0; i < VIEW_COLUMNS && columns[i]; i++)
        if (columns[i] >= FIRST_NUMBER && !is_share((enum field)columns[i]) &&
            strcmp(fields[columns[i]].title, name) == 0)
            return i;
    return -1;
}

int top_sorted_column(const struct top_view *view)
{
    const uint8_t *columns = views[view->kind].columns;
    int at = 0;
    while (at < VIEW_COLUMNS && columns[at] && columns[at] != sort_field(view))
        at++;
    return at;
}

static void add_columns(const struct top_data *data, struct table *table)
{
    const uint8_t *columns = views[data->view->kind].columns;
    for (unsigned i = 0; i < VIEW_COLUMNS && columns[i]; i++) {
        struct table_column column = fields[columns[i]];
        column.whole = (uint64_t)data->length_ns;
        if (data->view->kind == TOP_PROCESSES && columns[i] == OPEN)
            column = (struct table_column){
                .name = "threads", .title = "threads", .type = COLUMN_COUNT, .rank = 3};
        table_add_column(table, column);
    }
    for (unsigned i = 0; i < table->column_count; i++)
        for (unsigned j = 0; j < table->column_count && is_share((enum field)columns[i]); j++)
            if (columns[j] == time_of((enum field)columns[i]))
                table->columns[i].of = (uint8_t)j;
}

int top_table_make(struct top_data *data, struct table *ret_table)
{
    struct order order = {sort_field(data->view), data};
    int error = leave_matching(data);
    *ret_table = (struct table){.name = views[data->view->kind].name,
                                .fill = fill,
                                .context = data,
                                .row_count = data->rows.count,
                                .limit = UINT64_MAX,
                                .long_labels = true,
                                .brief = true};
    if (data->rows.count > 0)
        qsort_r(data->rows.items, data->rows.count, sizeof(data->rows.items[0]), largest_first,
                &order);
    add_columns(data, ret_table);
    ret_table->title = strdup(ret_table->name);
    return error || ret_table->title ? error : -ENOMEM;
}

const char *top_nothing_text(const struct top_data *data)
{
    static const char *const texts[TOP_KINDS] = {
        [TOP_FUNCTIONS] = "nothing ran, and no wait began or ended",
        [TOP_LINES] = "nothing ran, and no wait began or ended",
        [TOP_RANGES] = "no range was open: programs have them by pyannot, annot.h or NVTX",
        [TOP_PROCESSES] = "no process is there any more",
        [TOP_THREADS] = "nothing ran, and no wait began or ended",
        [TOP_WAITS] = "no thread waited for long enough",
        [TOP_GIL] = "no thread held Python's lock, or waited for it",
    };
    if (data->length_ns < FIRST_NS)
        return "the first samples are on their way";
    if (data->view->filter[0])
        return "no row has this text; escape shows all";
    if (!top_sees_waits(data) && data->view->kind != TOP_RANGES &&
        data->view->kind != TOP_PROCESSES)
        return data->view->kind == TOP_WAITS ? "waits are not sampled" : "nothing ran";
    return texts[data->view->kind];
}
