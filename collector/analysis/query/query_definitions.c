/* SPDX-License-Identifier: MIT */
/* The tables of a recording's definitions, one row each. Thread-safety: none. */
#include "query_cells.h"
#include "query_frames.h"
#include "query_report.h"
#include "query_state.h"
#include "reader.h"

#include "missing.h"
#include "stacks.h"
#include "trace_devices.h"

#include <stdio.h>
#include <string.h>

enum definition_table {
    TABLE_RECORDING,
    TABLE_PROCESSES,
    TABLE_THREADS,
    TABLE_LANES,
    TABLE_DEVICES,
    TABLE_FACTS,
    TABLE_FRAMES,
    TABLE_STACKS,
};

enum { LABEL_SIZE = 8192 };

/* ---- The recording --------------------------------------------------------------------------- */

enum {
    RECORDING_PATH,
    RECORDING_COMMAND,
    RECORDING_DIRECTORY,
    RECORDING_HOST,
    RECORDING_KERNEL,
    RECORDING_VERSION,
    RECORDING_BEGAN,
    RECORDING_DURATION,
    RECORDING_PROCESSORS,
    RECORDING_SAMPLING,
    RECORDING_FREQUENCY,
    RECORDING_OFF_CPU,
    RECORDING_COMPLETE,
    RECORDING_EVENTS,
    RECORDING_SAMPLES,
    RECORDING_BYTES,
};

static const struct schema_column recording_columns[] = {
    {"path", "TEXT", "as it was named", BOUND_NONE, NULL},
    {"command", "TEXT", "what was recorded; NULL: not known", BOUND_NONE, NULL},
    {"directory", "TEXT", "where the command was begun", BOUND_NONE, NULL},
    {"host", "TEXT", "name of the machine", BOUND_NONE, NULL},
    {"kernel", "TEXT", "its kernel", BOUND_NONE, NULL},
    {"annot_version", "TEXT", "what recorded it", BOUND_NONE, NULL},
    {"begin_realtime_ns", "INTEGER",
     "nanoseconds from 1970 to the time that other times count from", BOUND_NONE, NULL},
    {"duration_ns", "INTEGER", "of the recording; NULL: it did not end in order", BOUND_NONE, NULL},
    {"cpu_count", "INTEGER", "that the command might use at once", BOUND_NONE, NULL},
    {"sampling", "TEXT", "how threads were sampled", BOUND_NONE, NULL},
    {"frequency_hz", "INTEGER", "samples a second of CPU time; of merged recordings the lowest",
     BOUND_NONE, NULL},
    {"off_cpu", "INTEGER", "1: waits were recorded", BOUND_NONE, NULL},
    {"complete", "INTEGER", "1: it has its end", BOUND_NONE, NULL},
    {"event_count", "INTEGER", "records", BOUND_NONE, NULL},
    {"sample_count", "INTEGER", "samples of all sets", BOUND_NONE, NULL},
    {"file_bytes", "INTEGER", "size of its files", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_recording = {"recording",       "one row: the recording as a whole",
                                            recording_columns, &definition_rows,
                                            TABLE_RECORDING,   false};

static void put_session(struct query *query, unsigned column, sqlite3_context *context)
{
    const struct trace_session *session = trace_session_get(query->trace);
    const uint32_t strings[] = {
        [RECORDING_COMMAND] = session->command,       [RECORDING_DIRECTORY] = session->directory,
        [RECORDING_HOST] = session->hostname,         [RECORDING_KERNEL] = session->kernel,
        [RECORDING_VERSION] = session->annot_version,
    };
    if (column == RECORDING_PATH)
        put_constant(context, query->options.path);
    else if (column <= RECORDING_VERSION)
        put_string(context, query->trace, strings[column]);
    else if (column == RECORDING_BEGAN)
        put_integer(context, session->begin_realtime_ns);
    else if (column == RECORDING_PROCESSORS)
        put_integer(context, session->processors);
    else if (session->end_ns)
        put_time(context, query, session->end_ns);
}

static void put_recording(struct query *query, uint32_t row, unsigned column,
                          sqlite3_context *context)
{
    const struct trace_sampling *sampling = trace_sampling_get(query->trace);
    struct store_info info;
    (void)row;
    store_reader_info(query->places.items[0]->reader, &info);
    const int64_t numbers[] = {
        [RECORDING_FREQUENCY] = sampling->frequency_hz,
        [RECORDING_OFF_CPU] = sampling->off_cpu,
        [RECORDING_COMPLETE] = info.complete,
        [RECORDING_EVENTS] = (int64_t)info.event_count,
        [RECORDING_SAMPLES] = (int64_t)info.sample_count,
        [RECORDING_BYTES] = (int64_t)info.file_bytes,
    };
    if (column < RECORDING_SAMPLING)
        put_session(query, column, context);
    else if (column == RECORDING_SAMPLING)
        put_constant(context, sampling_rung_text(sampling->rung));
    else
        put_integer(context, numbers[column]);
}

/* ---- Processes ------------------------------------------------------------------------------- */

enum {
    PROCESS_ID,
    PROCESS_PID,
    PROCESS_PARENT,
    PROCESS_PARENT_PID,
    PROCESS_LABEL,
    PROCESS_NAME,
    PROCESS_COMM,
    PROCESS_COMMAND,
    PROCESS_HOST,
    PROCESS_START,
    PROCESS_END,
    PROCESS_ENDED,
    PROCESS_FORKED,
    PROCESS_UID,
    PROCESS_EVENTS,
    PROCESS_LOST,
    PROCESS_NOTE,
};

static const struct schema_column process_columns[] = {
    {"id", "INTEGER", "what the other tables call it, from 0", BOUND_ID, NULL},
    {"pid", "INTEGER", "process ID; several in turn may have had it", BOUND_NONE, NULL},
    {"parent", "INTEGER", "processes.id of its parent; NULL: not recorded", BOUND_NONE, NULL},
    {"parent_pid", "INTEGER", "process ID of its parent; NULL: not known", BOUND_NONE, NULL},
    {"label", "TEXT", "what reports call it", BOUND_NONE, NULL},
    {"name", "TEXT", "as it named itself; NULL: it did not", BOUND_NONE, NULL},
    {"comm", "TEXT", "the kernel's short name", BOUND_NONE, NULL},
    {"command", "TEXT", "its arguments", BOUND_NONE, NULL},
    {"host", "TEXT", "name of its machine", BOUND_NONE, NULL},
    {"begin_ns", "INTEGER", "when it began; NULL: not known", BOUND_NONE, NULL},
    {"end_ns", "INTEGER", "when it ended; NULL: it did not, or that is not known", BOUND_NONE,
     NULL},
    {"ended", "TEXT", "how: \"exit 0\", \"SIGKILL\", \"still running\", ...", BOUND_NONE, NULL},
    {"forked", "INTEGER", "1: from its parent, without exec", BOUND_NONE, NULL},
    {"uid", "INTEGER", "user ID", BOUND_NONE, NULL},
    {"event_count", "INTEGER", "records in the recording", BOUND_NONE, NULL},
    {"lost_count", "INTEGER", "records that are missing", BOUND_NONE, NULL},
    {"note", "TEXT", "its last word; NULL: none", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_processes = {"processes",     "a row for each process",
                                            process_columns, &definition_rows,
                                            TABLE_PROCESSES, true};

static void put_label(struct query *query, uint32_t ordinal, sqlite3_context *context,
                      size_t (*label)(const struct trace *, uint32_t, char *, size_t))
{
    char text[LABEL_SIZE];
    size_t length = label(query->trace, ordinal, text, sizeof(text));
    put_copy(context, text, length);
}

static int64_t sum_of_losses(const uint64_t *lost)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        sum += lost[cause];
    return (int64_t)sum;
}

static void put_process_text(struct query *query, uint32_t row, unsigned column,
                             sqlite3_context *context)
{
    const struct trace_process *process = trace_process_get(query->trace, row);
    const struct trace_host *host = trace_host_get(query->trace, process->host);
    if (column == PROCESS_LABEL)
        put_label(query, row, context, trace_process_label);
    else if (column == PROCESS_ENDED)
        put_label(query, row, context, trace_process_end_label);
    else if (column == PROCESS_NAME)
        put_string(context, query->trace, process->name);
    else if (column == PROCESS_COMM)
        put_string(context, query->trace, process->comm);
    else if (column == PROCESS_COMMAND)
        put_string(context, query->trace, process->cmdline);
    else if (column == PROCESS_NOTE)
        put_string(context, query->trace, process->note);
    else if (column == PROCESS_HOST && host)
        put_string(context, query->trace, host->name);
}

static void put_process(struct query *query, uint32_t row, unsigned column,
                        sqlite3_context *context)
{
    const struct trace_process *process = trace_process_get(query->trace, row);
    switch (column) {
    case PROCESS_ID:
        put_integer(context, row);
        break;
    case PROCESS_PID:
        put_integer(context, process->pid);
        break;
    case PROCESS_PARENT:
        if (process->parent >= 0)
            put_integer(context, process->parent);
        break;
    case PROCESS_PARENT_PID:
        if (process->ppid)
            put_integer(context, process->ppid);
        break;
    case PROCESS_START:
        if (process->start_ns)
            put_time(context, query, process->start_ns);
        break;
    case PROCESS_END:
        if (process->end_ns)
            put_time(context, query, process->end_ns);
        break;
    case PROCESS_FORKED:
        put_integer(context, process->forked);
        break;
    case PROCESS_UID:
        put_integer(context, process->uid);
        break;
    case PROCESS_EVENTS:
        put_integer(context, (int64_t)process->event_count);
        break;
    case PROCESS_LOST:
        put_integer(context, sum_of_losses(process->lost));
        break;
    default:
        put_process_text(query, row, column, context);
    }
}

/* ---- Threads and lanes ----------------------------------------------------------------------- */

enum {
    THREAD_ID,
    THREAD_PROCESS,
    THREAD_TID,
    THREAD_LABEL,
    THREAD_NAME,
    THREAD_FIRST,
    THREAD_LAST,
    THREAD_EVENTS,
    THREAD_LOST,
};

static const struct schema_column thread_columns[] = {
    {"id", "INTEGER", "what the other tables call it, from 0", BOUND_ID, NULL},
    {"process", "INTEGER", "processes.id", BOUND_NONE, NULL},
    {"tid", "INTEGER", "thread ID", BOUND_NONE, NULL},
    {"label", "TEXT", "what reports call it", BOUND_NONE, NULL},
    {"name", "TEXT", "as it named itself; NULL: it did not", BOUND_NONE, NULL},
    {"first_ns", "INTEGER", "its first event; NULL: it had none", BOUND_NONE, NULL},
    {"last_ns", "INTEGER", "its last event; NULL: it had none", BOUND_NONE, NULL},
    {"event_count", "INTEGER", "its records in the recording", BOUND_NONE, NULL},
    {"lost_count", "INTEGER", "its records that are missing", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_threads = {"threads",        "a row for each thread", thread_columns,
                                          &definition_rows, TABLE_THREADS,           true};

static void put_thread(struct query *query, uint32_t row, unsigned column, sqlite3_context *context)
{
    const struct trace_thread *thread = trace_thread_get(query->trace, row);
    if (column == THREAD_ID)
        put_integer(context, row);
    else if (column == THREAD_PROCESS)
        put_integer(context, thread->process);
    else if (column == THREAD_TID)
        put_integer(context, thread->tid);
    else if (column == THREAD_LABEL)
        put_label(query, row, context, trace_thread_label);
    else if (column == THREAD_NAME)
        put_string(context, query->trace, thread->name);
    else if (column == THREAD_FIRST && thread->event_count)
        put_time(context, query, thread->first_ns);
    else if (column == THREAD_LAST && thread->event_count)
        put_time(context, query, thread->last_ns);
    else if (column == THREAD_EVENTS)
        put_integer(context, (int64_t)thread->event_count);
    else if (column == THREAD_LOST)
        put_integer(context, sum_of_losses(thread->lost));
}

enum { LANE_ID, LANE_KIND, LANE_OWNER, LANE_NAME, LANE_PATH, LANE_PARENT, LANE_OWN_ID };

static const struct schema_column lane_columns[] = {
    {"id", "INTEGER", "what the other tables call it, from 0", BOUND_ID, NULL},
    {"kind", "TEXT", "\"track\", \"queue\", \"cpu\", \"device\"", BOUND_NONE, NULL},
    {"process", "INTEGER", "processes.id of the first process that emitted on it", BOUND_NONE,
     NULL},
    {"name", "TEXT", "what it is called", BOUND_NONE, NULL},
    {"path", "TEXT", "with the names of those above it: \"requests/request 17\"", BOUND_NONE, NULL},
    {"parent", "INTEGER", "tracks.id of the one above it; NULL: none", BOUND_NONE, NULL},
    {"track_id", "TEXT", "as the programs know it: \"0x1f\"", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_lanes = {
    "tracks",     "timelines that are no thread's: tracks, queues",
    lane_columns, &definition_rows,
    TABLE_LANES,  true};

static void put_lane(struct query *query, uint32_t row, unsigned column, sqlite3_context *context)
{
    const struct trace_lane *lane = trace_lane_get(query->trace, row);
    char text[24];
    if (column == LANE_ID)
        put_integer(context, row);
    else if (column == LANE_KIND)
        put_constant(context, lane->kind == LANE_QUEUE    ? "queue"
                              : lane->kind == LANE_CPU    ? "cpu"
                              : lane->kind == LANE_DEVICE ? "device"
                                                          : "track");
    else if (column == LANE_OWNER)
        put_integer(context, lane->process);
    else if (column == LANE_NAME)
        put_label(query, row, context, trace_lane_label);
    else if (column == LANE_PATH)
        put_label(query, row, context, trace_lane_path);
    else if (column == LANE_PARENT && lane->parent)
        put_integer(context, (int64_t)lane->parent - 1);
    else if (column == LANE_OWN_ID)
        put_copy(context, text,
                 (size_t)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)lane->id));
}

/* ---- Devices --------------------------------------------------------------------------------- */

enum {
    DEVICE_ID,
    DEVICE_SAME_AS,
    DEVICE_LANE,
    DEVICE_THREAD,
    DEVICE_UUID,
    DEVICE_CARD,
    DEVICE_PCI
};

static const struct schema_column device_columns[] = {
    {"id", "INTEGER", "a number, from 0", BOUND_ID, NULL},
    {"device", "INTEGER", "the same in all rows of one device of a host", BOUND_NONE, NULL},
    {"track", "INTEGER", "tracks.id of a program's; NULL: it is what counters are about",
     BOUND_NONE, NULL},
    {"thread", "INTEGER", "threads.id that has its counters; NULL: it is a program's", BOUND_NONE,
     NULL},
    {"uuid", "TEXT", "\"GPU-...\", of an instance \"MIG-...\"; NULL: not known", BOUND_NONE, NULL},
    {"whole_uuid", "TEXT", "of an instance, that of the whole device; else NULL", BOUND_NONE, NULL},
    {"pci", "TEXT", "where on the bus: \"0000:1a:00.0\"; NULL: not known", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_devices = {
    "devices",      "GPUs, as each program and their driver have them",
    device_columns, &definition_rows,
    TABLE_DEVICES,  true};

static void put_device(struct query *query, uint32_t row, unsigned column, sqlite3_context *context)
{
    const struct trace_device *device = trace_device_get(query->trace, row);
    if (column == DEVICE_ID)
        put_integer(context, row);
    else if (column == DEVICE_SAME_AS)
        put_integer(context, trace_device_first(query->trace, row));
    else if (column == DEVICE_LANE && device->lane)
        put_integer(context, (int64_t)device->lane - 1);
    else if (column == DEVICE_THREAD && device->thread)
        put_integer(context, (int64_t)device->thread - 1);
    else if (column == DEVICE_UUID && device->uuid)
        put_string(context, query->trace, device->uuid);
    else if (column == DEVICE_CARD && device->card)
        put_string(context, query->trace, device->card);
    else if (column == DEVICE_PCI && device->place)
        put_string(context, query->trace, device->place);
}

/* ---- Facts, frames, stacks ------------------------------------------------------------------- */

static const struct schema_column fact_columns[] = {
    {"name", "TEXT", "what it says", BOUND_NONE, NULL},
    {"kind", "TEXT", "\"count\"; \"loss\": data that is missing; \"note\": so often", BOUND_NONE,
     NULL},
    {"value", "INTEGER", "the number", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_facts = {
    "facts", "what the recorder counted", fact_columns, &definition_rows, TABLE_FACTS, false};

static void put_fact(struct query *query, uint32_t row, unsigned column, sqlite3_context *context)
{
    const struct trace_fact *fact = trace_fact_get(query->trace, row);
    if (column == 0)
        put_string(context, query->trace, fact->name);
    else if (column == 1)
        put_constant(context, fact->kind == FACT_LOSS   ? "loss"
                              : fact->kind == FACT_NOTE ? "note"
                                                        : "count");
    else
        put_integer(context, (int64_t)fact->value);
}

static const struct schema_column frame_columns[] = {
    {"id", "INTEGER", "what the other tables call it, from 1", BOUND_ID, NULL},
    {"function", "TEXT", "what its function is called", BOUND_NONE, NULL},
    {"file", "TEXT", "its source; NULL: not known", BOUND_NONE, NULL},
    {"line", "INTEGER", "the line; NULL: not known", BOUND_NONE, NULL},
    {"owner", "TEXT", "whose it is: \"own\", \"library\", \"stdlib\", ...", BOUND_NONE, NULL},
    {"kind", "TEXT", "\"native\", \"python\", \"kernel\", \"jit\", \"collector\", \"note\"",
     BOUND_NONE, NULL},
    {"module", "TEXT", "the file of native code; NULL: none", BOUND_NONE, NULL},
    {"first_line", "INTEGER", "of the function; NULL: not known", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_frames = {"frames",      "places in code that samples were at",
                                         frame_columns, &definition_rows,
                                         TABLE_FRAMES,  true};

static void put_frame_of(struct query *query, uint32_t row, unsigned column,
                         sqlite3_context *context)
{
    if (column == 0)
        put_integer(context, row);
    else
        put_cell(context, frame_cell(query, row, (enum frame_part)(FRAME_FUNCTION + column - 1)));
}

static const struct schema_column stack_columns[] = {
    {"id", "INTEGER", "what the other tables call it, from 1", BOUND_ID, NULL},
    {"parent", "INTEGER", "stacks.id of its caller; NULL: it is a root", BOUND_NONE, NULL},
    {"frame", "INTEGER", "frames.id of the innermost frame", BOUND_NONE, NULL},
    {0},
};

const struct query_table query_stacks = {"stacks",      "stacks as a tree: a frame and its caller",
                                         stack_columns, &definition_rows,
                                         TABLE_STACKS,  true};

static void put_stack(struct query *query, uint32_t row, unsigned column, sqlite3_context *context)
{
    const struct stack *stack = stacks_get_stack(trace_stacks_get(query->trace), row);
    if (column == 0)
        put_integer(context, row);
    else if (column == 2)
        put_integer(context, stack->frame);
    else if (stack->parent)
        put_integer(context, stack->parent);
}

/* ---- Scans ----------------------------------------------------------------------------------- */

typedef void put_row(struct query *query, uint32_t row, unsigned column, sqlite3_context *context);

static put_row *const put_of[] = {
    [TABLE_RECORDING] = put_recording, [TABLE_PROCESSES] = put_process,
    [TABLE_THREADS] = put_thread,      [TABLE_LANES] = put_lane,
    [TABLE_DEVICES] = put_device,      [TABLE_FACTS] = put_fact,
    [TABLE_FRAMES] = put_frame_of,     [TABLE_STACKS] = put_stack,
};

/* Frames and stacks include number 0, which is unused. */
static uint32_t rows_of(const struct query *query, unsigned kind)
{
    const struct trace *trace = query->trace;
    switch (kind) {
    case TABLE_PROCESSES:
        return trace_process_count(trace);
    case TABLE_THREADS:
        return trace_thread_count(trace);
    case TABLE_LANES:
        return trace_lane_count(trace);
    case TABLE_DEVICES:
        return trace_device_count(trace);
    case TABLE_FACTS:
        return trace_fact_count(trace);
    case TABLE_FRAMES:
        return stacks_frame_count(trace_stacks_get(trace));
    case TABLE_STACKS:
        return stacks_stack_count(trace_stacks_get(trace));
    default:
        return 1;
    }
}

struct definition_scan {
    uint64_t row, end;
    bool begun;
};

static int filter(struct query_cursor *cursor, const struct query_bounds *bounds)
{
    struct definition_scan *scan = cursor->state;
    unsigned kind = cursor->table->kind;
    uint64_t first = kind == TABLE_FRAMES || kind == TABLE_STACKS;
    *scan = (struct definition_scan){.row = first, .end = rows_of(cursor->query, kind)};
    if (bounds->given & BIT_ID) {
        bool known = bounds->id >= (int64_t)first && bounds->id < (int64_t)scan->end;
        scan->row = known ? (uint64_t)bounds->id : 0;
        scan->end = known ? scan->row + 1 : 0;
    }
    return 0;
}

static int next(struct query_cursor *cursor)
{
    struct definition_scan *scan = cursor->state;
    scan->row += scan->begun;
    scan->begun = true;
    return scan->row < scan->end;
}

static void put(const struct query_cursor *cursor, unsigned column, sqlite3_context *context)
{
    const struct definition_scan *scan = cursor->state;
    put_of[cursor->table->kind](cursor->query, (uint32_t)scan->row, column, context);
}

static int64_t number(const struct query_cursor *cursor)
{
    const struct definition_scan *scan = cursor->state;
    return (int64_t)scan->row;
}

static double count(const struct query *query, unsigned kind)
{
    return rows_of(query, kind) + 1.0;
}

const struct query_rows definition_rows = {
    .state_size = sizeof(struct definition_scan),
    .count = count,
    .filter = filter,
    .next = next,
    .put = put,
    .number = number,
};
