/* SPDX-License-Identifier: MIT */
/* The tables of samples: all of them, and those that are waits. Thread-safety: none. */
#include "query_parts.h"

#include "code_owner.h"
#include "json_writer.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sample_table { TABLE_SAMPLES, TABLE_WAITS };

/* ---- Columns --------------------------------------------------------------------------------- */

/* Those behind SAMPLE_ONLY are not in the table of waits. */
enum {
    SAMPLE_PROCESS,
    SAMPLE_THREAD,
    SAMPLE_PID,
    SAMPLE_TID,
    SAMPLE_BEGIN,
    SAMPLE_END,
    SAMPLE_DURATION,
    SAMPLE_READY,
    SAMPLE_WAITING,
    SAMPLE_REASON,
    SAMPLE_PATH,
    SAMPLE_STACK,
    SAMPLE_FUNCTION,
    SAMPLE_FILE,
    SAMPLE_LINE,
    SAMPLE_OWNER,
    SAMPLE_OWN_FUNCTION,
    SAMPLE_OWN_FILE,
    SAMPLE_OWN_LINE,
    SAMPLE_PROCESSOR,
    SAMPLE_OPEN,
    SAMPLE_ONLY,
    SAMPLE_SET = SAMPLE_ONLY,
    SAMPLE_CPU,
    SAMPLE_VALUES_OF,
    SAMPLE_ID,
    SAMPLE_KERNEL,
    SAMPLE_COLLECTING,
    SAMPLE_GIL,
    SAMPLE_NATIVE_END,
    SAMPLE_PYTHON_END,
    SAMPLE_COLUMNS,
};

#define SHARED_COLUMNS(begin, begin_help, end_help)                                                \
    [SAMPLE_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS},                      \
    [SAMPLE_THREAD] = {"thread", "INTEGER", "threads.id", BOUND_THREAD},                           \
    [SAMPLE_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE},                                   \
    [SAMPLE_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE},                                    \
    [SAMPLE_BEGIN] = {begin, "INTEGER", begin_help, BOUND_BEGIN},                                  \
    [SAMPLE_END] = {"end_ns", "INTEGER", end_help, BOUND_END},                                     \
    [SAMPLE_DURATION] = {"duration_ns", "INTEGER", "from its begin to its end; 0 at an instant",   \
                         BOUND_NONE},                                                              \
    [SAMPLE_READY] = {"ready_ns", "INTEGER",                                                       \
                      "of this time, the thread could have run, but others had the CPUs",          \
                      BOUND_NONE},                                                                 \
    [SAMPLE_WAITING] = {"waiting_ns", "INTEGER", "of this time, it waited", BOUND_NONE},           \
    [SAMPLE_REASON] = {"reason", "TEXT", "for what: \"lock\", \"socket\", \"sleep\", ...",         \
                       BOUND_NONE},                                                                \
    [SAMPLE_PATH] = {"path", "TEXT", "the ranges that were open: \"job/load\"; NULL: none",        \
                     BOUND_NONE},                                                                  \
    [SAMPLE_STACK] = {"stack", "INTEGER", "stacks.id, stack_frames.stack; NULL: none",             \
                      BOUND_NONE},                                                                 \
    [SAMPLE_FUNCTION] = {"function", "TEXT", "of the innermost frame", BOUND_NONE},                \
    [SAMPLE_FILE] = {"file", "TEXT", "of the innermost frame: its source; NULL: not known",        \
                     BOUND_NONE},                                                                  \
    [SAMPLE_LINE] = {"line", "INTEGER", "of the innermost frame; NULL: not known", BOUND_NONE},    \
    [SAMPLE_OWNER] = {"owner", "TEXT", "whose that is: \"own\", \"library\", \"stdlib\", ...",     \
                      BOUND_NONE},                                                                 \
    [SAMPLE_OWN_FUNCTION] = {"own_function", "TEXT",                                               \
                             "of the innermost frame of own code; NULL: there is none",            \
                             BOUND_NONE},                                                          \
    [SAMPLE_OWN_FILE] = {"own_file", "TEXT", "its source", BOUND_NONE},                            \
    [SAMPLE_OWN_LINE] = {"own_line", "INTEGER", "its line", BOUND_NONE},                           \
    [SAMPLE_PROCESSOR] = {"processor", "INTEGER", "number of the CPU", BOUND_NONE},                \
    [SAMPLE_OPEN] = {"unfinished", "INTEGER", "1: it had not ended when the recording did",        \
                     BOUND_NONE}

static const struct query_column sample_columns[] = {
    SHARED_COLUMNS("time_ns", "when it was taken, or what it measures began",
                   "when what it measures ended; NULL: it is of an instant"),
    [SAMPLE_SET] = {"sample_set", "TEXT", "\"cpu\", \"off-cpu\", \"short-waits\", ...: what it is",
                    BOUND_NONE},
    [SAMPLE_CPU] = {"cpu_ns", "INTEGER", "CPU time that it stands for; 0 of other sets",
                    BOUND_NONE},
    [SAMPLE_VALUES_OF] = {"sample_values", "TEXT", "all values, by their names, as a JSON object",
                          BOUND_NONE},
    [SAMPLE_ID] = {"id", "TEXT", "in sets of the heap the address of the block; else NULL",
                   BOUND_NONE},
    [SAMPLE_KERNEL] = {"in_kernel", "INTEGER", "1: in the kernel", BOUND_NONE},
    [SAMPLE_COLLECTING] = {"collecting", "INTEGER",
                           "1: the interpreter collected garbage in this thread", BOUND_NONE},
    [SAMPLE_GIL] = {"holds_gil", "INTEGER", "1: the thread held the GIL", BOUND_NONE},
    [SAMPLE_NATIVE_END] = {"native_end", "TEXT", "how the walk of the native stack ended",
                           BOUND_NONE},
    [SAMPLE_PYTHON_END] = {"python_end", "TEXT", "how the walk of the Python stack ended",
                           BOUND_NONE},
    [SAMPLE_COLUMNS] = {0},
};

static const struct query_column wait_columns[] = {
    SHARED_COLUMNS("begin_ns", "when the thread stopped running", "when it ran again"),
    [SAMPLE_ONLY] = {0},
};

const struct query_table query_samples = {
    "samples",      "samples of all sets: CPU time, waits, short waits, what the recording defines",
    sample_columns, &sample_rows,
    TABLE_SAMPLES,  false};
const struct query_table query_waits = {
    "waits",      "times in which a thread did not run, each with its cause",
    wait_columns, &sample_rows,
    TABLE_WAITS,  false};

/* ---- A scan ---------------------------------------------------------------------------------- */

struct sample_row {
    struct sample sample;
    int64_t values[SAMPLE_VALUES_MAX];
};

struct sample_scan {
    struct query_cursor *cursor;
    struct query_place *place;
    const struct trace *trace;
    const struct sample_sets *sets;
    struct pass *pass;
    struct pass_selection selection;
    const struct pass_selection *chosen; /* by the command's options */
    bool has_process, has_thread;
    int64_t process, thread; /* of a condition */
    int64_t until_ns;        /* none that begins later is meant */
    VEC(struct sample_row) rows;
    size_t at; /* of the present row */
};

static int take(void *context, const struct item *item)
{
    struct sample_scan *scan = context;
    const struct sample *sample = item->sample;
    if (scan->cursor->table->kind == TABLE_WAITS &&
        sample_role(scan->sets, sample) != SAMPLE_ROLE_OFF_CPU)
        return 0;
    if (vec_reserve(&scan->rows, 1) != 0)
        return -ENOMEM;
    struct sample_row *row = &scan->rows.items[scan->rows.count++];
    row->sample = *sample;
    for (unsigned i = 0; i < sample->value_count && i < SAMPLE_VALUES_MAX; i++)
        row->values[i] = sample->values[i];
    return 0;
}

static bool wants_thread(void *context, uint32_t thread)
{
    const struct sample_scan *scan = context;
    const struct trace_thread *entry = trace_thread_get(scan->trace, thread);
    if (scan->has_thread && scan->thread != (int64_t)thread)
        return false;
    if (scan->has_process && (!entry || scan->process != (int64_t)entry->process))
        return false;
    return pass_selects_thread(scan->chosen, thread);
}

static void select_samples(struct sample_scan *scan, const struct query_bounds *bounds)
{
    int64_t begin_ns = scan->cursor->query->begin_ns;
    scan->selection = *scan->chosen;
    query_select_times(&scan->selection, bounds, begin_ns);
    scan->until_ns =
        bounds->given & BIT_UNTIL ? query_time_plus(bounds->until_ns, begin_ns) : INT64_MAX;
    scan->has_thread = bounds->given & BIT_THREAD;
    scan->has_process = bounds->given & BIT_PROCESS;
    scan->thread = bounds->thread;
    scan->process = bounds->process;
    if (scan->has_thread || scan->has_process) {
        scan->selection.wants = wants_thread;
        scan->selection.context = scan;
    }
}

static void scan_reset(struct sample_scan *scan)
{
    pass_destroy(scan->pass);
    if (scan->place)
        query_give_place(scan->place);
    scan->pass = NULL;
    scan->place = NULL;
    scan->rows.count = scan->at = 0;
}

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct sample_scan *scan = cursor->state;
    struct query *query = cursor->query;
    bool paths = (bounds->columns >> SAMPLE_PATH) & 1;
    const struct sink sink = {take, scan, WANT_SAMPLES | (paths ? WANT_PATHS : 0)};
    scan_reset(scan);
    scan->cursor = cursor;
    scan->chosen = query->options.selection;
    scan->place = query_take_place(query, true);
    if (!scan->place)
        return query->read_error;
    scan->trace = store_reader_trace(scan->place->reader);
    scan->sets = trace_sets_get(scan->trace);
    select_samples(scan, bounds);
    const struct pass_source source = recording_pass_source(scan->place->reader);
    scan->pass = pass_create(&source, &scan->selection, &sink, 1);
    return scan->pass ? 0 : -ENOMEM;
}

static int next(struct query_cursor *cursor)
{
    struct sample_scan *scan = cursor->state;
    if (scan->at + 1 < scan->rows.count) {
        scan->at++;
        return 1;
    }
    scan->rows.count = scan->at = 0;
    int status = 1;
    while (status == 1 && !scan->rows.count && !*cursor->query->options.stop &&
           pass_samples_settled_ns(scan->pass) <= scan->until_ns)
        status = pass_step(scan->pass);
    if (*cursor->query->options.stop)
        return -EINTR;
    return status < 0 ? status : scan->rows.count > 0;
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
    scan_reset(scan);
    vec_free(&scan->rows);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void put_path(const struct sample_scan *scan, uint32_t path, sqlite3_context *context)
{
    enum { PATHS_MAX = 1024, LABEL_SIZE = 4096 };
    struct query *query = scan->cursor->query;
    uint32_t paths[PATHS_MAX];
    char label[LABEL_SIZE];
    uint32_t count = stacks_paths(trace_stacks_get(scan->trace), path, paths, PATHS_MAX);
    if (!count)
        return;
    out_stream_memory_reset(query->text);
    for (uint32_t i = 0; i < count; i++) {
        trace_range_label(scan->trace, paths[i], label, sizeof(label));
        out_text(query->text, i ? "/" : "");
        out_text(query->text, label);
    }
    put_made(context, query);
}

static void put_values(const struct sample_scan *scan, const struct sample_row *row,
                       sqlite3_context *context)
{
    struct query *query = scan->cursor->query;
    struct json_doc doc = {.out = query->text};
    const struct sample_set *set = sample_set_get(scan->sets, row->sample.set);
    char name[16];
    out_stream_memory_reset(query->text);
    json_doc_object(&doc, NULL);
    for (unsigned i = 0; i < row->sample.value_count && i < SAMPLE_VALUES_MAX; i++)
        json_doc_int(&doc, trace_value_name(scan->trace, i < set->count ? set->types[i] : 0, name),
                     row->values[i]);
    json_doc_close(&doc);
    put_made(context, query);
}

static void put_owner(const struct sample_scan *scan, const struct sample *sample, unsigned column,
                      sqlite3_context *context)
{
    const struct trace_thread *thread = trace_thread_get(scan->trace, sample->thread);
    const struct trace_process *process =
        thread ? trace_process_get(scan->trace, thread->process) : NULL;
    if (column == SAMPLE_THREAD)
        put_integer(context, sample->thread);
    else if (column == SAMPLE_PROCESS && thread)
        put_integer(context, thread->process);
    else if (column == SAMPLE_TID && thread)
        put_integer(context, thread->tid);
    else if (column == SAMPLE_PID && process)
        put_integer(context, process->pid);
}

static void put_times(const struct sample_scan *scan, const struct sample_row *row, unsigned column,
                      sqlite3_context *context)
{
    const struct query *query = scan->cursor->query;
    struct sample sample = row->sample;
    sample.values = row->values;
    const struct sample_set *set = sample_set_get(scan->sets, sample.set);
    bool lasts = set->flags & (SAMPLE_SET_STRETCH | SAMPLE_SET_INTERVAL);
    const struct off_share off = sample_off_share(scan->sets, &sample);
    int64_t duration_ns = 0;
    if (!lasts || __builtin_sub_overflow(sample.end_ns, sample.time_ns, &duration_ns))
        duration_ns = 0;
    if (column == SAMPLE_BEGIN)
        put_time(context, query, sample.time_ns);
    else if (column == SAMPLE_END && lasts)
        put_time(context, query, sample.end_ns);
    else if (column == SAMPLE_DURATION)
        put_integer(context, duration_ns > 0 ? duration_ns : 0);
    else if (column == SAMPLE_READY)
        put_integer(context, (int64_t)off.runnable_ns);
    else if (column == SAMPLE_WAITING)
        put_integer(context, (int64_t)off.blocked_ns);
    else if (column == SAMPLE_CPU)
        put_integer(context, (int64_t)sample_cpu_ns(scan->sets, &sample));
}

static void put_stack(const struct sample_scan *scan, uint32_t stack, unsigned column,
                      sqlite3_context *context)
{
    struct query *query = scan->cursor->query;
    const struct stacks *stacks = trace_stacks_get(query->trace);
    if (!stack)
        return;
    if (column == SAMPLE_STACK) {
        put_integer(context, stack);
        return;
    }
    bool own = column >= SAMPLE_OWN_FUNCTION;
    uint32_t frame = own ? query_own_frame(query, stack) : stacks_get_stack(stacks, stack)->frame;
    unsigned part = column - (own ? SAMPLE_OWN_FUNCTION : SAMPLE_FUNCTION);
    put_frame(context, query, frame, (enum frame_part)(FRAME_FUNCTION + part));
}

static void put_rest(const struct sample_scan *scan, const struct sample_row *row, unsigned column,
                     sqlite3_context *context)
{
    const struct sample *sample = &row->sample;
    const struct sample_set *set = sample_set_get(scan->sets, sample->set);
    static const uint8_t flags[] = {
        [SAMPLE_OPEN] = SAMPLE_UNFINISHED,
        [SAMPLE_KERNEL] = SAMPLE_IN_KERNEL,
        [SAMPLE_COLLECTING] = SAMPLE_GC,
        [SAMPLE_GIL] = SAMPLE_HOLDS_GIL,
        [SAMPLE_COLUMNS] = 0,
    };
    char text[24];
    switch (column) {
    case SAMPLE_REASON:
        if (set->role == SAMPLE_ROLE_OFF_CPU)
            put_constant(context, wait_reason_name((enum wait_reason)sample->reason));
        break;
    case SAMPLE_PATH:
        put_path(scan, sample->path, context);
        break;
    case SAMPLE_PROCESSOR:
        put_integer(context, sample->cpu);
        break;
    case SAMPLE_SET: {
        const char *name = trace_set_name(scan->trace, sample->set, text);
        put_copy(context, name, strlen(name));
        break;
    }
    case SAMPLE_VALUES_OF:
        put_values(scan, row, context);
        break;
    case SAMPLE_ID:
        if (set->flags & SAMPLE_SET_HEAP)
            put_copy(
                context, text,
                (size_t)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)sample->id));
        break;
    case SAMPLE_NATIVE_END:
        put_constant(context, stack_end_name(sample->native_end));
        break;
    case SAMPLE_PYTHON_END:
        put_constant(context, stack_end_name(sample->python_end));
        break;
    default:
        put_integer(context, (sample->flags & flags[column]) != 0);
    }
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct sample_scan *scan = cursor->state;
    const struct sample_row *row = &scan->rows.items[scan->at];
    if (column <= SAMPLE_TID)
        put_owner(scan, &row->sample, column, context);
    else if (column <= SAMPLE_WAITING || column == SAMPLE_CPU)
        put_times(scan, row, column, context);
    else if (column >= SAMPLE_STACK && column <= SAMPLE_OWN_LINE)
        put_stack(scan, row->sample.stack, column, context);
    else
        put_rest(scan, row, column, context);
}

const struct query_rows sample_rows = {
    .state_size = sizeof(struct sample_scan),
    .count = count,
    .filter = filter,
    .next = next,
    .put = put,
    .close = finish,
};
