/* SPDX-License-Identifier: MIT */
/* See row_schema.h. */
#include "row_schema.h"

struct schema_row schema_row_of(const struct trace *trace, const struct item *item)
{
    return (struct schema_row){
        .trace = trace,
        .event = item->event,
        .zero_ns = trace_begin_ns(trace),
        .begin_ns = item->begin_ns,
        .end_ns = item->end_ns,
        .child_ns = item->child_ns,
        .off = item->off,
        .depth = item->depth,
        .end_thread = item->end_thread,
        .stack = item->stack,
        .flags = item->flags,
        .lane = item->lane,
    };
}

const char *schema_range_kind(unsigned lane)
{
    return lane == LANE_THREAD    ? "pushed"
           : lane == LANE_PROCESS ? "overlapping"
           : lane == LANE_QUEUE   ? "queue"
                                  : "track";
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static struct schema_cell none(void)
{
    return (struct schema_cell){.kind = SCHEMA_NULL};
}

static struct schema_cell integer(int64_t value)
{
    return (struct schema_cell){.kind = SCHEMA_INTEGER, .integer = value};
}

static struct schema_cell string(uint32_t ordinal)
{
    return ordinal ? (struct schema_cell){.kind = SCHEMA_STRING, .string = ordinal} : none();
}

static struct schema_cell constant(const char *text)
{
    return (struct schema_cell){.kind = SCHEMA_CONSTANT, .constant = text};
}

static struct schema_cell bits(enum schema_cell_kind kind, uint64_t value)
{
    return (struct schema_cell){.kind = (uint8_t)kind, .bits = value};
}

/* Foreign times may be anywhere: saturates. */
static struct schema_cell instant(const struct schema_row *row, int64_t time_ns)
{
    int64_t after;
    if (__builtin_sub_overflow(time_ns, row->zero_ns, &after))
        after = time_ns < 0 ? INT64_MIN : INT64_MAX;
    return integer(after);
}

static int64_t difference(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) || result < 0 ? 0 : result;
}

static struct schema_cell flag(const struct schema_row *row, unsigned flags)
{
    return integer((row->flags & flags) != 0);
}

/* ---- All events ------------------------------------------------------------------------------ */

static struct schema_cell get_name(const struct schema_row *row)
{
    return string(row->event->name);
}

static struct schema_cell get_domain(const struct schema_row *row)
{
    return string(trace_scope_domain(row->trace, row->event->scope));
}

static struct schema_cell get_category(const struct schema_row *row)
{
    return string(trace_scope_category(row->trace, row->event->scope));
}

static struct schema_cell get_process(const struct schema_row *row)
{
    const struct trace_thread *thread = trace_thread_get(row->trace, row->event->thread);
    return thread ? integer(thread->process) : none();
}

static struct schema_cell get_thread(const struct schema_row *row)
{
    return integer(row->event->thread);
}

static struct schema_cell get_pid(const struct schema_row *row)
{
    const struct trace_thread *thread = trace_thread_get(row->trace, row->event->thread);
    const struct trace_process *process =
        thread ? trace_process_get(row->trace, thread->process) : NULL;
    return process ? integer(process->pid) : none();
}

static struct schema_cell get_tid(const struct schema_row *row)
{
    const struct trace_thread *thread = trace_thread_get(row->trace, row->event->thread);
    return thread ? integer(thread->tid) : none();
}

static struct schema_cell get_time(const struct schema_row *row)
{
    return instant(row, row->event->time_ns);
}

static struct schema_cell get_begin(const struct schema_row *row)
{
    return instant(row, row->begin_ns);
}

static struct schema_cell get_end(const struct schema_row *row)
{
    return instant(row, row->end_ns);
}

static struct schema_cell get_lane(const struct schema_row *row)
{
    bool has = event_has_lane(row->event->kind) && row->event->lane != EVENT_OWN_LANE;
    return has ? integer(row->event->lane) : none();
}

static struct schema_cell get_value(const struct schema_row *row)
{
    const union value value = row->event->value;
    switch (row->event->value_kind) {
    case VALUE_INT64:
        return integer(value.int64);
    case VALUE_UINT64: /* integers of outputs are signed */
        return value.uint64 <= INT64_MAX
                   ? integer((int64_t)value.uint64)
                   : (struct schema_cell){.kind = SCHEMA_REAL, .real = (double)value.uint64};
    case VALUE_DOUBLE:
        return (struct schema_cell){.kind = SCHEMA_REAL, .real = value.float64};
    case VALUE_BOOL:
        return integer(value.uint64 != 0);
    case VALUE_STRING:
        return (struct schema_cell){.kind = SCHEMA_STRING, .string = value.string};
    default:
        return none();
    }
}

static struct schema_cell get_level(const struct schema_row *row)
{
    return integer(row->event->level);
}

static struct schema_cell get_color(const struct schema_row *row)
{
    return row->event->flags & EVENT_HAS_COLOR ? bits(SCHEMA_COLOR, row->event->color) : none();
}

static struct schema_cell get_observer(const struct schema_row *row)
{
    return constant(observer_name(trace_scope(row->trace, row->event->scope)->observer));
}

static struct schema_cell get_role(const struct schema_row *row)
{
    return integer(trace_scope(row->trace, row->event->scope)->role);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static struct schema_cell get_duration(const struct schema_row *row)
{
    return integer(difference(row->end_ns, row->begin_ns));
}

static struct schema_cell get_self(const struct schema_row *row)
{
    return integer(difference(difference(row->end_ns, row->begin_ns), row->child_ns));
}

/* Times of the thread of a pushed range. */
static struct schema_cell thread_time(const struct schema_row *row, int64_t time_ns)
{
    bool known = row->lane == LANE_THREAD && trace_sampling_get(row->trace)->off_cpu;
    return known ? integer(time_ns) : none();
}

static struct schema_cell get_running(const struct schema_row *row)
{
    int64_t off_ns = (int64_t)(row->off.runnable_ns + row->off.blocked_ns);
    return thread_time(row, difference(difference(row->end_ns, row->begin_ns), off_ns));
}

static struct schema_cell get_ready(const struct schema_row *row)
{
    return thread_time(row, (int64_t)row->off.runnable_ns);
}

static struct schema_cell get_waiting(const struct schema_row *row)
{
    return thread_time(row, (int64_t)row->off.blocked_ns);
}

static struct schema_cell get_range_kind(const struct schema_row *row)
{
    return constant(schema_range_kind(row->lane));
}

static struct schema_cell get_depth(const struct schema_row *row)
{
    return integer(row->depth);
}

static struct schema_cell get_end_thread(const struct schema_row *row)
{
    return integer(row->end_thread);
}

static struct schema_cell get_range_id(const struct schema_row *row)
{
    return row->lane == LANE_PROCESS ? bits(SCHEMA_ID, row->event->id) : none();
}

static struct schema_cell get_unfinished(const struct schema_row *row)
{
    return flag(row, ITEM_UNFINISHED);
}

static struct schema_cell get_end_lost(const struct schema_row *row)
{
    return flag(row, ITEM_END_LOST);
}

static struct schema_cell get_cut(const struct schema_row *row)
{
    return flag(row, ITEM_CUT_BEGIN | ITEM_CUT_END);
}

static struct schema_cell get_launched(const struct schema_row *row)
{
    bool known = row->lane == LANE_QUEUE && row->event->origin_ns != EVENT_NO_ORIGIN;
    return known ? instant(row, row->event->origin_ns) : none();
}

static struct schema_cell get_launch_stack(const struct schema_row *row)
{
    return row->lane == LANE_QUEUE && row->stack ? integer(row->stack) : none();
}

/* ---- Counters, flows, losses ----------------------------------------------------------------- */

static struct schema_cell get_unit(const struct schema_row *row)
{
    uint32_t domain = trace_scope_domain(row->trace, row->event->scope);
    return string(trace_unit_find(row->trace, domain, row->event->name));
}

static struct schema_cell get_flow(const struct schema_row *row)
{
    return bits(SCHEMA_ID, row->event->id);
}

static struct schema_cell get_flow_kind(const struct schema_row *row)
{
    return constant(row->event->kind == EVENT_FLOW_BEGIN  ? "begin"
                    : row->event->kind == EVENT_FLOW_STEP ? "step"
                                                          : "end");
}

static struct schema_cell get_cause(const struct schema_row *row)
{
    return constant(loss_name(row->event->level < LOSS_COUNT ? row->event->level : LOSS_CORRUPT));
}

static struct schema_cell get_records(const struct schema_row *row)
{
    uint64_t records = row->event->value.uint64;
    return records <= INT64_MAX
               ? integer((int64_t)records)
               : (struct schema_cell){.kind = SCHEMA_REAL, .real = (double)records};
}

/* ---- Columns --------------------------------------------------------------------------------- */

#define COMMON_COLUMNS(what)                                                                       \
    [AT_NAME] = {"name", "TEXT", what, BOUND_NAME, get_name},                                      \
    [AT_DOMAIN] = {"domain", "TEXT", "its domain; NULL: none", BOUND_NONE, get_domain},            \
    [AT_CATEGORY] = {"category", "TEXT", "its category; NULL: none", BOUND_NONE, get_category},    \
    [AT_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS, get_process},             \
    [AT_THREAD] = {"thread", "INTEGER", "threads.id of the thread that emitted it", BOUND_THREAD,  \
                   get_thread},                                                                    \
    [AT_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE, get_pid},                              \
    [AT_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE, get_tid}

const struct schema_column schema_ranges[] = {
    COMMON_COLUMNS("what the program calls it"),
    [RANGES_BEGIN] = {"begin_ns", "INTEGER", "when it began", BOUND_BEGIN, get_begin},
    [RANGES_END] = {"end_ns", "INTEGER", "when it ended, or the recording did", BOUND_END, get_end},
    [RANGES_DURATION] = {"duration_ns", "INTEGER", "end_ns - begin_ns", BOUND_NONE, get_duration},
    [RANGES_SELF] = {"self_ns", "INTEGER", "duration without the ranges directly inside",
                     BOUND_NONE, get_self},
    [RANGES_RUNNING] = {"running_ns", "INTEGER",
                        "its thread was on a CPU: duration_ns - runnable_ns - blocked_ns",
                        BOUND_NONE, get_running},
    [RANGES_RUNNABLE] = {"runnable_ns", "INTEGER", "its thread could have run, others had the CPUs",
                         BOUND_NONE, get_ready},
    [RANGES_BLOCKED] = {"blocked_ns", "INTEGER",
                        "its thread waited; these three are NULL without data about waits, and of "
                        "ranges of kinds other than \"pushed\"",
                        BOUND_NONE, get_waiting},
    [RANGES_KIND] = {"kind", "TEXT", "\"pushed\", \"overlapping\", \"track\", \"queue\"",
                     BOUND_NONE, get_range_kind},
    [RANGES_DEPTH] = {"depth", "INTEGER", "ranges around it", BOUND_NONE, get_depth},
    [RANGES_PATH] = {"path", "TEXT",
                     "the names of those and its own, outermost first: \"job/load\"", BOUND_NONE,
                     NULL},
    [RANGES_PARENT] = {"parent", "TEXT", "the path around it; NULL: it is an outermost one",
                       BOUND_NONE, NULL},
    [RANGES_LANE] = {"track", "INTEGER", "tracks.id of a range on a track or queue; else NULL",
                     BOUND_NONE, get_lane},
    [RANGES_END_THREAD] = {"end_thread", "INTEGER", "threads.id of the thread that ended it",
                           BOUND_NONE, get_end_thread},
    [RANGES_ID] = {"id", "TEXT", "of an overlapping range, as the program knows it: \"0x1f\"",
                   BOUND_NONE, get_range_id},
    [RANGES_PAYLOAD] = {"payload", "", "its value; NULL: none", BOUND_NONE, get_value},
    [RANGES_ARGS] = {"args", "TEXT", "its key-values as a JSON object; NULL: none", BOUND_NONE,
                     NULL},
    [RANGES_LEVEL] = {"level", "INTEGER", "its level", BOUND_NONE, get_level},
    [RANGES_COLOR] = {"color", "TEXT", "\"#aarrggbb\"; NULL: none", BOUND_NONE, get_color},
    [RANGES_OBSERVER] = {"observer", "TEXT",
                         "who reported it: \"program\", \"gc\", \"import\", ...", BOUND_NONE,
                         get_observer},
    [RANGES_ROLE] = {"role", "INTEGER", "what it is to its observer (annot/observers.h)",
                     BOUND_NONE, get_role},
    [RANGES_UNFINISHED] = {"unfinished", "INTEGER", "1: it was not ended", BOUND_NONE,
                           get_unfinished},
    [RANGES_END_LOST] = {"end_lost", "INTEGER", "1: its end was lost; end_ns is the end of the gap",
                         BOUND_NONE, get_end_lost},
    [RANGES_CUT] =
        {"cut", "INTEGER",
         "1: it goes on outside of --from or --to; begin_ns and end_ns are what is inside",
         BOUND_NONE, get_cut},
    [RANGES_LAUNCHED] = {"launched_ns", "INTEGER",
                         "of a range on a queue: when its thread launched it; NULL: not known",
                         BOUND_NONE, get_launched},
    [RANGES_LAUNCH_PATH] = {"launch_path", "TEXT",
                            "the ranges that its thread had open then; NULL: none", BOUND_NONE,
                            NULL},
    [RANGES_LAUNCH_STACK] = {"launch_stack", "INTEGER",
                             "stacks.id of its stack then; NULL: not sampled", BOUND_NONE,
                             get_launch_stack},
    [RANGES_FILE] = {"file", "TEXT", "of a call: the file of its function; else NULL", BOUND_NONE,
                     NULL},
    [RANGES_LINE] = {"line", "INTEGER", "of a call: the line at which that begins", BOUND_NONE,
                     NULL},
    [RANGES_COLUMNS] = {0},
};

const struct schema_column schema_marks[] = {
    COMMON_COLUMNS("what the program calls it; of a message of a log its text"),
    [MARKS_TIME] = {"time_ns", "INTEGER", "when it was", BOUND_BEGIN, get_time},
    [MARKS_LANE] = {"track", "INTEGER", "tracks.id of a mark on a track; else NULL", BOUND_NONE,
                    get_lane},
    [MARKS_PAYLOAD] = {"payload", "", "its value; NULL: none", BOUND_NONE, get_value},
    [MARKS_ARGS] = {"args", "TEXT", "its key-values as a JSON object; NULL: none", BOUND_NONE,
                    NULL},
    [MARKS_LEVEL] = {"level", "INTEGER", "its level", BOUND_NONE, get_level},
    [MARKS_COLOR] = {"color", "TEXT", "\"#aarrggbb\"; NULL: none", BOUND_NONE, get_color},
    [MARKS_OBSERVER] = {"observer", "TEXT", "who reported it; \"log\": it is a message of a log",
                        BOUND_NONE, get_observer},
    [MARKS_ROLE] = {"role", "INTEGER", "what it is to its observer; of a log 1 + the severity",
                    BOUND_NONE, get_role},
    [MARKS_COLUMNS] = {0},
};

const struct schema_column schema_counters[] = {
    COMMON_COLUMNS("what the program calls it"),
    [COUNTERS_TIME] = {"time_ns", "INTEGER", "from when on it had this value", BOUND_BEGIN,
                       get_time},
    [COUNTERS_VALUE] = {"value", "", "INTEGER or REAL, as the program set it", BOUND_NONE,
                        get_value},
    [COUNTERS_UNIT] = {"unit", "TEXT", "what it counts; NULL: not known", BOUND_NONE, get_unit},
    [COUNTERS_OBSERVER] = {"observer", "TEXT", "who reported it", BOUND_NONE, get_observer},
    [COUNTERS_COLUMNS] = {0},
};

const struct schema_column schema_flows[] = {
    COMMON_COLUMNS("what the program calls it; NULL: nothing"),
    [FLOWS_TIME] = {"time_ns", "INTEGER", "when it was", BOUND_BEGIN, get_time},
    [FLOWS_ID] = {"flow", "TEXT", "points of one flow have the same: \"0x1f\"", BOUND_NONE,
                  get_flow},
    [FLOWS_KIND] = {"kind", "TEXT", "\"begin\", \"step\", \"end\"", BOUND_NONE, get_flow_kind},
    [FLOWS_OBSERVER] = {"observer", "TEXT", "who reported it", BOUND_NONE, get_observer},
    [FLOWS_COLUMNS] = {0},
};

const struct schema_column schema_losses[] = {
    [LOSSES_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS, get_process},
    [LOSSES_THREAD] = {"thread", "INTEGER", "threads.id of the thread whose records are missing",
                       BOUND_THREAD, get_thread},
    [LOSSES_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE, get_pid},
    [LOSSES_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE, get_tid},
    [LOSSES_BEGIN] = {"begin_ns", "INTEGER", "records are missing from here", BOUND_NONE,
                      get_begin},
    [LOSSES_END] = {"end_ns", "INTEGER", "to here", BOUND_NONE, get_end},
    [LOSSES_CAUSE] = {"cause", "TEXT", "why: \"buffer full\", ...", BOUND_NONE, get_cause},
    [LOSSES_RECORDS] = {"lost_count", "INTEGER", "how many", BOUND_NONE, get_records},
    [LOSSES_COLUMNS] = {0},
};

/* ---- Samples --------------------------------------------------------------------------------- */

#define SHARED_COLUMNS(begin, begin_help, end_help)                                                \
    [SAMPLES_PROCESS] = {"process", "INTEGER", "processes.id", BOUND_PROCESS, NULL},               \
    [SAMPLES_THREAD] = {"thread", "INTEGER", "threads.id", BOUND_THREAD, NULL},                    \
    [SAMPLES_PID] = {"pid", "INTEGER", "process ID", BOUND_NONE, NULL},                            \
    [SAMPLES_TID] = {"tid", "INTEGER", "thread ID", BOUND_NONE, NULL},                             \
    [SAMPLES_BEGIN] = {begin, "INTEGER", begin_help, BOUND_BEGIN, NULL},                           \
    [SAMPLES_END] = {"end_ns", "INTEGER", end_help, BOUND_END, NULL},                              \
    [SAMPLES_DURATION] = {"duration_ns", "INTEGER", "from its begin to its end; 0 at an instant",  \
                          BOUND_NONE, NULL},                                                       \
    [SAMPLES_RUNNABLE] = {"runnable_ns", "INTEGER",                                                \
                          "of this time, the thread could have run, but others had the CPUs",      \
                          BOUND_NONE, NULL},                                                       \
    [SAMPLES_BLOCKED] = {"blocked_ns", "INTEGER", "of this time, it waited", BOUND_NONE, NULL},    \
    [SAMPLES_REASON] = {"reason", "TEXT", "for what: \"lock\", \"socket\", \"sleep\", ...",        \
                        BOUND_NONE, NULL},                                                         \
    [SAMPLES_PATH] = {"path", "TEXT", "the ranges that were open: \"job/load\"; NULL: none",       \
                      BOUND_NONE, NULL},                                                           \
    [SAMPLES_STACK] = {"stack", "INTEGER", "stacks.id, stack_frames.stack; NULL: none",            \
                       BOUND_NONE, NULL},                                                          \
    [SAMPLES_FUNCTION] = {"function", "TEXT", "of the innermost frame", BOUND_NONE, NULL},         \
    [SAMPLES_FILE] = {"file", "TEXT", "of the innermost frame: its source; NULL: not known",       \
                      BOUND_NONE, NULL},                                                           \
    [SAMPLES_LINE] = {"line", "INTEGER", "of the innermost frame; NULL: not known", BOUND_NONE,    \
                      NULL},                                                                       \
    [SAMPLES_OWNER] = {"owner", "TEXT", "whose that is: \"own\", \"library\", \"stdlib\", ...",    \
                       BOUND_NONE, NULL},                                                          \
    [SAMPLES_OWN_FUNCTION] = {"own_function", "TEXT",                                              \
                              "of the innermost frame of own code; NULL: there is none",           \
                              BOUND_NONE, NULL},                                                   \
    [SAMPLES_OWN_FILE] = {"own_file", "TEXT", "its source", BOUND_NONE, NULL},                     \
    [SAMPLES_OWN_LINE] = {"own_line", "INTEGER", "its line", BOUND_NONE, NULL},                    \
    [SAMPLES_PROCESSOR] = {"cpu", "INTEGER", "number of the CPU", BOUND_NONE, NULL},               \
    [SAMPLES_OPEN] = {"unfinished", "INTEGER", "1: it had not ended when the recording did",       \
                      BOUND_NONE, NULL}

const struct schema_column schema_samples[] = {
    SHARED_COLUMNS("time_ns", "when it was taken, or what it measures began",
                   "when what it measures ended; NULL: it is of an instant"),
    [SAMPLES_SET] = {"sample_set", "TEXT", "\"cpu\", \"off-cpu\", \"short-waits\", ...: what it is",
                     BOUND_NONE, NULL},
    [SAMPLES_CPU] = {"cpu_ns", "INTEGER", "CPU time that it stands for; 0 of other sets",
                     BOUND_NONE, NULL},
    [SAMPLES_VALUES_OF] = {"sample_values", "TEXT", "all values, by their names, as a JSON object",
                           BOUND_NONE, NULL},
    [SAMPLES_ID] = {"id", "TEXT", "in sets of the heap, identifies the block; else NULL",
                    BOUND_NONE, NULL},
    [SAMPLES_KERNEL] = {"in_kernel", "INTEGER", "1: in the kernel", BOUND_NONE, NULL},
    [SAMPLES_COLLECTING] = {"collecting", "INTEGER",
                            "1: the interpreter collected garbage in this thread", BOUND_NONE,
                            NULL},
    [SAMPLES_GIL] = {"holds_gil", "INTEGER", "1: the thread held the GIL", BOUND_NONE, NULL},
    [SAMPLES_NATIVE_END] = {"native_end", "TEXT", "how the walk of the native stack ended",
                            BOUND_NONE, NULL},
    [SAMPLES_PYTHON_END] = {"python_end", "TEXT", "how the walk of the Python stack ended",
                            BOUND_NONE, NULL},
    [SAMPLES_COLUMNS] = {0},
};

const struct schema_column schema_waits[] = {
    SHARED_COLUMNS("begin_ns", "when the thread stopped running", "when it ran again"),
    [SAMPLES_ONLY] = {0},
};
