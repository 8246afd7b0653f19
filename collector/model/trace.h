/* SPDX-License-Identifier: MIT */
/* What a recording knows beside its events: strings, processes, threads, losses, the session.
 *
 * Built by the intake while recording and, equally, by the store's reader from a file. Ordinals
 * count from 0 in order of appearance and never change; entries only gain knowledge. String
 * ordinal 0 is the empty string. Each change of an entry raises its `revision`, by which the
 * store's writer knows what to write again.
 *
 * Thread-safety: none; one owner at a time. */
#ifndef ANNOT_MODEL_TRACE_H
#define ANNOT_MODEL_TRACE_H

#include "event.h"

#include <stdbool.h>

enum process_end {
    PROCESS_RUNNING = 0,        /* still running when the recording ended             */
    PROCESS_EXITED = 1,         /* end_value = exit status                            */
    PROCESS_SIGNALED = 2,       /* end_value = signal                                 */
    PROCESS_EXITED_ORDERLY = 3, /* ran its exit handlers; the status is not known  */
    PROCESS_VANISHED = 4,       /* ended; killed or _exit, the status is not known    */
    PROCESS_EXEC = 5,           /* replaced itself by another program                 */
};

/* Calls that by contract do nothing; numbers of the wire. */
enum misuse {
    MISUSE_POP_EMPTY = 0,
    MISUSE_END_FOREIGN = 1,
    MISUSE_NAME_CUT = 2,
    MISUSE_NAME_INLINE = 3,
    MISUSE_PAYLOAD_CUT = 4,
    MISUSE_SCHEMA = 5,
    MISUSE_NAME_LEFT = 6,
    MISUSE_COUNT = 7,
};

/* Work that a process handed to queues; how many of it. Those before QUEUED_FOUND are counted in
 * its segment. */
enum queued {
    QUEUED_LAUNCHED = 0, /* will be told */
    QUEUED_TOLD = 1,     /* of these */
    QUEUED_DROPPED = 2,  /* as the driver says */
    QUEUED_UNTIMED = 3,  /* told without times */
    QUEUED_FOUND = 4,
    QUEUED_MISTIMED = 4, /* with times that cannot be, or by an unknown clock; left out */
    QUEUED_ACAUSAL = 5,  /* began before what caused it; is in the recording as it was told */
    QUEUED_COUNT = 6,
};

struct trace_string {
    const char *bytes; /* UTF-8, NUL-terminated, owned by the trace; no NUL inside */
    uint32_t length;
};

/* Who reports an event; numbers are those of the wire (annot/observers.h): append-only. */
enum observer {
    OBSERVER_PROGRAM = 0,
    OBSERVER_SELFTEST = 1,
    OBSERVER_NATIVE_CALLS = 2,
    OBSERVER_PYTHON_CALLS = 3,
    OBSERVER_GC = 4,
    OBSERVER_IMPORT = 5,
    OBSERVER_POOL = 6,
    OBSERVER_ASYNCIO = 7,
    OBSERVER_SUBPROCESS = 8,
    OBSERVER_LOG = 9,
    OBSERVER_PROBE = 10, /* ranges that a BPF program reports of a thread: they lie on its lane,
                            between the program's own by time, and are in the paths of samples */
    OBSERVER_NVTX = 11,
    OBSERVER_ITT = 12,
    OBSERVER_CUPTI = 13,
    OBSERVER_IMPORTER = 14,
    OBSERVER_INHERITED = 15, /* a range of another thread that submitted what this one does inside
                                of it: opened here again, it leads to that and counts nowhere */
};

/* "program", "gc", ...: constant text; "unknown" of those of later versions. */
const char *observer_name(unsigned observer);

/* What ranges of OBSERVER_POOL are. */
enum pool_role {
    POOL_ROLE_SUBMIT = 1,
    POOL_ROLE_SEND = 2,
    POOL_ROLE_UNPICKLE = 3,
    POOL_ROLE_RUN = 4,
    POOL_ROLE_FETCH = 5,
    POOL_ROLE_START_UP = 6,
    POOL_ROLE_START = 7,
    POOL_ROLE_INITIALIZER = 8,
    POOL_ROLE_COUNT = 9,
    POOL_ROLE_MADE = 10,
    POOL_ROLE_WORKER = 11,
    POOL_ROLE_CALL = 12,
};

/* What events of OBSERVER_ASYNCIO are. */
enum asyncio_role {
    ASYNCIO_ROLE_TASK = 1,
    ASYNCIO_ROLE_BLOCKED = 2,
    ASYNCIO_ROLE_AWAITED = 3,
};

/* What spans of OBSERVER_CUPTI are, as annot/queues.h numbers it. */
enum calls_role {
    CALLS_ROLE_ESTIMATED = 1,
    CALLS_ROLE_WHOLE = 2,    /* a call of a coroutine on a track of its task's, beside its pieces */
    CALLS_ROLE_AWAITING = 3, /* inside of those: the task was suspended */
};

enum queue_role {
    QUEUE_ROLE_NONE = 0, /* nothing of these, or of a later version */
    QUEUE_ROLE_KERNEL = 1,
    QUEUE_ROLE_COPY = 2,
    QUEUE_ROLE_SET = 3,
    QUEUE_ROLE_WAIT = 4,  /* of a thread */
    QUEUE_ROLE_GRAPH = 5, /* as a whole */
    QUEUE_ROLE_CALL = 6,  /* of the program, on its own thread */
    QUEUE_ROLE_EVENT = 7,
    QUEUE_ROLE_MEMORY = 8,
    QUEUE_ROLE_OVERHEAD = 9,
    QUEUE_ROLE_JIT = 10,
    QUEUE_ROLE_COUNT = 11, /* of those that spans have; of marks: */
    QUEUE_ROLE_PC = 32,    /* where in a kernel warps were sampled, and why they stood there */
    QUEUE_ROLE_PC_SUMS = 33,
};

/* Texts of these observers, as annot/observers.h and annot/queues.h define them. */
#define QUEUE_KEY_GRID         "grid"
#define QUEUE_KEY_BLOCK        "block"
#define QUEUE_KEY_REGISTERS    "registers"
#define QUEUE_KEY_SHARED       "shared memory [bytes]"
#define QUEUE_KEY_OCCUPANCY    "occupancy [%]"
#define QUEUE_KEY_GRAPH        "graph"
#define QUEUE_KEY_CAPTURED     "captured in"
#define QUEUE_KEY_BYTES        "size [bytes]"
#define QUEUE_KEY_DIRECTION    "direction"
#define QUEUE_KEY_SOURCE       "source"
#define QUEUE_KEY_DESTINATION  "destination"
#define QUEUE_KEY_CUBIN        "cubin"
#define QUEUE_KEY_PC           "pc"
#define QUEUE_KEY_SAMPLES      "samples"
#define QUEUE_KEY_DROPPED      "dropped"
#define QUEUE_KEY_OTHERS       "other code"
#define QUEUE_KEY_FULL         "buffer full"
#define OBSERVER_IMPORT_PREFIX "import "
#define POOL_FLOW              "task"
#define POOL_KEY_BYTES         "bytes"
#define POOL_KEY_CHUNK         "chunk"
#define POOL_KEY_SINCE         "submitted_ns_ago"
#define POOL_KEY_POOL          "pool"
#define POOL_KEY_METHOD        "method"
#define POOL_KEY_NAME          "name"
#define POOL_KEY_KIND          "kind"
#define POOL_KEY_SIZE          "workers"
#define POOL_KEY_STARTED       "start_method"
#define ASYNCIO_KEY_MS         "ms"
#define ASYNCIO_KEY_AWAITS     "awaits"
#define ASYNCIO_KEY_FUNCTION   "function"
#define ASYNCIO_KEY_FILE       "file"
#define ASYNCIO_KEY_LINE       "line"

/* What an event belongs to and who told it. Scope 0 is the default: of no domain and no category,
 * told by the program. */
struct scope {
    uint32_t domain;   /* string; 0 = default */
    uint32_t category; /* string; 0 = none */
    uint16_t observer; /* enum observer; unknown numbers are of later versions */
    uint16_t role;     /* what it is to that observer */
};

enum { TRACE_SCOPES_MAX = 1 << 20 }; /* what would be one more has scope 0 */

/* One boot of one kernel: its CLOCK_MONOTONIC is one clock, and pids, tids and CPUs are its own. */
struct trace_host {
    uint32_t revision;
    uint8_t boot_id[16];   /* zeros: not known */
    uint32_t name, kernel; /* strings */
    int32_t rank;          /* in a parallel program, -1 = none */
    uint32_t processors;   /* that were to be used; of recordings read as one, else 0; not stored */
    /* What its times were changed by, so that they are those of host 0: at the begin of its
     * recording, and how far off that is at most; and by how much more a nanosecond later. */
    int64_t offset_ns, error_ns;
    double drift;
};

/* "0123abcd-...", or "unknown"; room for it. Returns `buffer`. */
enum { TRACE_BOOT_ID_SIZE = 37 };

const char *trace_boot_id(const struct trace_host *host, char buffer[TRACE_BOOT_ID_SIZE]);

/* Numbers are those of the recording format. */
enum clock_kind {
    CLOCK_KIND_TSC = 1, /* the processor's, of one host */
    CLOCK_KIND_REALTIME = 2,
    CLOCK_KIND_GPU = 3,
    CLOCK_KIND_FOREIGN = 4, /* an importer's */
};

/* A clock other than CLOCK_MONOTONIC, and what both showed at some instants. */
struct trace_clock {
    uint32_t revision;
    uint32_t host; /* ordinal */
    uint8_t kind;  /* enum clock_kind */
};

/* A source of events that come late, beside the programs themselves. */
struct trace_stream {
    uint32_t revision;
    uint32_t name; /* string */
};

enum { TRACE_STREAMS_MAX = 254 };

struct trace_anchor {
    uint32_t clock; /* ordinal */
    uint64_t raw;   /* as that clock showed it */
    int64_t ns;     /* CLOCK_MONOTONIC, which was so far from it at most: */
    int64_t error_ns;
};

struct trace_process {
    uint32_t revision;
    uint32_t host;            /* ordinal */
    int32_t pid, ppid;        /* as the collector sees them; ppid 0 = unknown */
    int32_t ns_pid;           /* as the process sees itself */
    uint64_t pid_ns;          /* inode of its pid namespace */
    uint64_t identity;        /* unique in the recording */
    int32_t parent;           /* ordinal of the recorded parent, -1 = none or unknown */
    bool forked;              /* from `parent`, without exec */
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0 = unknown */
    int64_t fork_ns;          /* 0 = not forked or unknown */
    uint32_t fork_thread;     /* 1 + ordinal of the parent's thread that forked it; 0 = unknown */
    uint8_t end;              /* enum process_end */
    int32_t end_value;
    uint32_t uid;
    uint32_t name;    /* string: annot_name_process, or its title; 0 = none */
    uint32_t comm;    /* string: the kernel's short name */
    uint32_t cmdline; /* string: arguments joined by blanks, quoted where needed */
    uint32_t runtime_version;
    uint64_t lost[LOSS_COUNT]; /* all threads of the process together */
    uint64_t misuse[MISUSE_COUNT];
    uint64_t peak_bytes;  /* most shared memory held at once */
    uint64_t event_count; /* in the recording, without key-values, losses and edges; a group of
                             counters counts once for each of them */
    uint32_t note;        /* string: its last word (annot_abort_note), 0 = none */
    uint32_t note_thread; /* 1 + ordinal of the thread that said it; 0 = unknown */
    int64_t note_ns;
    uint64_t queued[QUEUED_COUNT];
    int64_t known_until_ns; /* of a merge: its own one's end; 0 = the session's; not stored */
};

struct trace_thread {
    uint32_t revision;
    uint32_t process; /* ordinal */
    uint32_t serial;  /* registration number in its process: 1 is the first to emit */
    int32_t tid;      /* as the process sees it */
    uint32_t name;    /* string: annot_name_thread, 0 = none */
    uint32_t comm;    /* string */
    int64_t first_ns, last_ns;
    uint64_t event_count;
    uint64_t lost[LOSS_COUNT];
    bool probed; /* an outside observer reports spans of it (EVENT_SPAN on EVENT_OWN_LANE), which
                    may come late: readers put them between its own ranges */
    bool unnumbered; /* short calls of it were left out: nobody knows which push a range was */
    uint8_t reserved[6];
};

/* What a timeline is. Numbers are those of the recording format: explicit and append-only. */
enum lane_kind {
    LANE_THREAD = 1,  /* a thread's own: every struct trace_thread is one                       */
    LANE_PROCESS = 2, /* a process's, of ranges that begin and end on any thread, and may overlap */
    LANE_TRACK = 3,   /* made by a program */
    LANE_QUEUE = 4,   /* of work that others do for a process: a GPU's stream */
    LANE_CPU = 5,
    LANE_DEVICE = 6,
};

/* A timeline that is no thread's. */
struct trace_lane {
    uint32_t revision;
    uint32_t process; /* ordinal: the first that emitted on it */
    uint64_t id;      /* as the programs know it; LANE_QUEUE: context << 32 | stream, since streams
                         are numbered anew in each context; LANE_CPU: number */
    uint32_t name;    /* string; 0 = not known (its begins were lost) */
    uint32_t parent;  /* 1 + ordinal of the lane above it; 0 = the process */
    uint8_t levels;   /* of the tree from here down, itself included */
    uint8_t kind;     /* enum lane_kind; unknown ones are of later versions */
};

/* Lanes form trees of at most this many levels: parents never go round. */
enum { TRACE_LANE_LEVELS = 32, TRACE_LANES_MAX = 1 << 20 };

/* What a counter counts. */
struct trace_unit {
    uint32_t revision;
    uint32_t counter, domain, unit; /* strings */
};

/* A name of events that stands for a label: calls of that function have it. Its text is the
 * label's; the names of two functions of one text are two. */
struct trace_label_name {
    uint32_t string, label;
};

/* A process that wanted to take part and could not. */
struct trace_refusal {
    int32_t pid;
    uint32_t comm;   /* string */
    uint32_t reason; /* string, one line for humans */
};

/* From when on which rules of a filter were in force (docs/wire-format.md, "Filters"). */
struct trace_filter {
    int64_t time_ns;
    uint32_t rules; /* string; 0: none, everything was recorded */
};

/* Facts about the recording itself. Strings are ordinals; 0 = unknown. */
struct trace_session {
    uint32_t revision;
    uint64_t id, parent_id;
    uint32_t hostname, kernel, command, annot_version;
    uint32_t clock;            /* string: "tsc", "monotonic" */
    int64_t begin_ns, end_ns;  /* CLOCK_MONOTONIC; end 0 = not ended in order */
    int64_t begin_realtime_ns; /* CLOCK_REALTIME at begin_ns */
    int32_t command_status;    /* wait status of the command; -1 = unknown */
    bool recovered;            /* completed by `annot recover` after the collector had died */
    uint64_t peak_bytes;       /* most shared memory held by all segments at once */
    uint32_t nested;           /* string: recordings of sessions inside this one, by newline */
    uint32_t directory;        /* string: where the command was begun */
    uint32_t processors;       /* that it may use at once */
};

/* How threads were sampled: by which rung of the ladder, and why not by a higher one. */
enum sampling_rung {
    SAMPLING_OFF = 0,    /* not wanted (--no-sample) */
    SAMPLING_NONE = 1,   /* wanted, but nothing works here: annotations only */
    SAMPLING_REMOTE = 2, /* Python stacks by reading the memory of the process */
    /* 3: CPU-time timer, 4: unprivileged perf event: not made yet */
    SAMPLING_BPF = 5,
};

struct trace_sampling {
    uint32_t revision;
    uint8_t rung; /* enum sampling_rung */
    bool off_cpu;
    bool slowed;           /* from first_hz to frequency_hz, before the end */
    bool mixed;            /* a merge of rates from frequency_hz to first_hz; not stored */
    uint32_t frequency_hz; /* samples have their own weight: sample_cpu_ns() */
    uint32_t first_hz;     /* at the begin; 0 = frequency_hz */
    int64_t off_cpu_threshold_ns;
    uint32_t reason; /* string: why not a higher rung, one line; 0 = it is the highest */
    uint32_t hint;   /* string: the command that lifts it */
};

/* A number about the recording that outputs show: "samples", "lost: ring full". */
struct trace_fact {
    uint32_t revision;
    uint32_t name; /* string */
    uint8_t kind;  /* enum fact_kind */
    uint64_t value;
};

enum fact_kind {
    FACT_COUNT = 0, /* for information */
    FACT_LOSS = 1,  /* data that is missing: shown in every output if not 0 */
    FACT_NOTE = 2,  /* the name is a whole sentence for humans; value = how often */
};

/* The FACT_COUNTs of processes that did not just drop their newest records when their buffer was
 * full, and of those with a smaller one. */
#define TRACE_FACT_OVERWRITE "processes that overwrote their oldest records"
#define TRACE_FACT_WAIT      "processes that waited for room in their buffers"
#define TRACE_FACT_SMALL     "processes with a smaller buffer because of ulimit -v or ulimit -f"

/* How the FACT_LOSS of processes begins that went on when nobody recorded them any more; behind it
 * stands from when on. */
#define TRACE_FACT_UNWATCHED "processes: may have gone on unrecorded from "

/* The FACT_COUNT of processes that came and went without one: they have no entry. */
#define TRACE_FACT_UNSEEN "processes without a sample or a record"

/* The FACT_COUNTs of what ran on the processors that the command might use, while it was recorded:
 * programs (the recorded ones, too), and the host of a virtual machine. 0: nothing, or not known.
 */
#define TRACE_FACT_USED_MS   "processors: ms used by all programs"
#define TRACE_FACT_STOLEN_MS "processors: ms taken by the host of this virtual machine"

/* The FACT_COUNTs of the block of a program that asked for the recording (pyannot.record): when it
 * began after the recording, and how long it was. A merge has none. */
#define TRACE_FACT_BLOCK_BEGIN "block: ns after the recording began"
#define TRACE_FACT_BLOCK_TIME  "block: ns long"

/* The FACT_COUNT of the parallel program that this was a part of, if its launcher said it. */
#define TRACE_FACT_RANKS "ranks of the program"

/* The FACT_NOTE of calls that were left out because they did not last; its value: so many. */
#define TRACE_FACT_SHORT                                                                           \
    "calls of Python shorter than --min-duration were left out; their time is that of their "      \
    "callers"

struct label;
struct source_place;
struct trace; /* holds all of the above */

/* NULL: out of memory. destroy accepts NULL. */
struct trace *trace_create(void);
void trace_destroy(struct trace *trace);

/* The ordinal of a text, added if new. Bytes are made valid UTF-8 (U+FFFD for what is not, and for
 * NUL). Returns 0 for length 0; -ENOMEM as a negative number. Ordinals fit 31 bits. */
int64_t trace_string_add(struct trace *trace, const char *bytes, size_t length);

/* Always a new ordinal, even for a text that is there: for readers, whose ordinals are given. */
int64_t trace_string_append(struct trace *trace, const char *bytes, size_t length);

/* Never NULL: an unknown ordinal gives "<unknown name N>". Valid until the trace is destroyed. */
const struct trace_string *trace_string(const struct trace *trace, uint32_t ordinal);
uint32_t trace_string_count(const struct trace *trace);

/* The ordinal of a scope, added if new; -ENOMEM, -ENOSPC. The same for a domain alone. */
int64_t trace_scope_add(struct trace *trace, const struct scope *scope);
int64_t trace_scope_of_domain(struct trace *trace, uint32_t domain);

/* For readers, whose ordinals are given: scopes up to this one that are not there become as scope
 * 0. 0, -ENOMEM, -ENOSPC. */
int trace_scope_set(struct trace *trace, uint32_t ordinal, const struct scope *scope);

/* Never NULL: of an unknown ordinal scope 0. Valid until the next add. Others: a string of it. */
const struct scope *trace_scope(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_domain(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_category(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_count(const struct trace *trace);                      /* with ordinal 0 */
bool trace_has_observer(const struct trace *trace, enum observer observer); /* of any scope */

/* A call of a function of Python: it nests with the ranges of its thread, but is none of those that
 * the program made, and in no path of ranges. */
static inline bool event_is_python_call(const struct trace *trace, const struct event *event)
{
    return event->scope && trace_scope(trace, event->scope)->observer == OBSERVER_PYTHON_CALLS;
}

/* Sources of events with a lateness of their own: their ordinals, from 0. -ENOMEM, -ENOSPC. NULL
 * for an ordinal that is not there. */
int64_t trace_stream_add(struct trace *trace, uint32_t name);
uint32_t trace_stream_count(const struct trace *trace);
struct trace_stream *trace_stream(struct trace *trace, uint32_t ordinal);
const struct trace_stream *trace_stream_get(const struct trace *trace, uint32_t ordinal);

/* Hosts and clocks: their ordinals; -ENOMEM, -ENOSPC: more than 4,096 of them, or than 2^20
 * anchors. A host's rank is -1. `anchor` is copied. */
int64_t trace_host_add(struct trace *trace);
int64_t trace_clock_add(struct trace *trace, uint32_t host, enum clock_kind kind);
int64_t trace_anchor_add(struct trace *trace, const struct trace_anchor *anchor);
uint32_t trace_host_count(const struct trace *trace);
uint32_t trace_clock_count(const struct trace *trace);
uint32_t trace_anchor_count(const struct trace *trace);
/* NULL for an ordinal that is not there. */
struct trace_host *trace_host(struct trace *trace, uint32_t ordinal);
struct trace_clock *trace_clock(struct trace *trace, uint32_t ordinal);
const struct trace_host *trace_host_get(const struct trace *trace, uint32_t ordinal);
const struct trace_clock *trace_clock_get(const struct trace *trace, uint32_t ordinal);
const struct trace_anchor *trace_anchor_get(const struct trace *trace, uint32_t ordinal);

/* A new process or thread: returns its ordinal, or -ENOMEM. The entry is zero, parent -1,
 * revision 1. */
int64_t trace_process_add(struct trace *trace);
int64_t trace_thread_add(struct trace *trace, uint32_t process);
int64_t trace_refusal_add(struct trace *trace, const struct trace_refusal *refusal);

/* NULL for an ordinal that is not there. The pointer is valid until the next add of its kind. */
struct trace_process *trace_process(struct trace *trace, uint32_t ordinal);
struct trace_thread *trace_thread(struct trace *trace, uint32_t ordinal);
const struct trace_process *trace_process_get(const struct trace *trace, uint32_t ordinal);
const struct trace_thread *trace_thread_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_process_count(const struct trace *trace);
uint32_t trace_thread_count(const struct trace *trace);
uint32_t trace_refusal_count(const struct trace *trace);
/* In order of time; without any, there was no filter. */
int64_t trace_filter_add(struct trace *trace, const struct trace_filter *filter);
uint32_t trace_filter_count(const struct trace *trace);
const struct trace_filter *trace_filter_get(const struct trace *trace, uint32_t index);

const struct trace_refusal *trace_refusal_get(const struct trace *trace, uint32_t index);

enum { SAMPLING_RATE_SIZE = 96 };

/* Writes "99 Hz", "499 Hz, then 99 Hz", of a merge "99 Hz to 999 Hz", or "" without a rate. Returns
 * `buffer`. */
const char *sampling_rate_text(const struct trace_sampling *sampling,
                               char buffer[SAMPLING_RATE_SIZE]);
/* The highest and the lowest rate at which there are samples; 0: there is none. */
uint32_t sampling_fastest_hz(const struct trace_sampling *sampling);
uint32_t sampling_slowest_hz(const struct trace_sampling *sampling);
struct trace_sampling *trace_sampling(struct trace *trace);
const struct trace_sampling *trace_sampling_get(const struct trace *trace);
struct trace_session *trace_session(struct trace *trace);
const struct trace_session *trace_session_get(const struct trace *trace);

/* Frames, stacks and range paths (stacks.h). */
struct stacks *trace_stacks(struct trace *trace);
const struct stacks *trace_stacks_get(const struct trace *trace);

/* The label that is as given, but for its text; without a text and a source none, 0. That of a
 * Python function, by strings, and one of its frames; path 0, file "": not known. -ENOMEM. */
int64_t trace_label_add(struct trace *trace, const struct label *like, const char *text);
int64_t trace_python_label(struct trace *trace, uint32_t text, uint32_t path, int32_t first_line);
int64_t trace_python_frame(struct trace *trace, const char *function, const char *file,
                           const struct source_place *place, int32_t first_line);

/* The name that stands for a label, made if there is none; 0 of label 0. -ENOMEM. */
int64_t trace_label_name(struct trace *trace, uint32_t label);
/* The label that a name stands for; 0: none. Cost: a load. */
uint32_t trace_name_label(const struct trace *trace, uint32_t string);

/* The label of what calls are made in: LABEL_TASK or LABEL_RANGE, by its name. -ENOMEM. */
int64_t trace_context_label(struct trace *trace, uint8_t flag, const char *name, size_t length);
/* For readers, whose names are given: nothing if there is no such string or label. 0 or -ENOMEM. */
int trace_label_name_append(struct trace *trace, const struct trace_label_name *name);
uint32_t trace_label_name_count(const struct trace *trace);
const struct trace_label_name *trace_label_name_get(const struct trace *trace, uint32_t index);

/* Where a frame without a label lies: "libfoo.so+0x1234", "[kernel]". Returns the length. */
size_t trace_frame_place(const struct trace *trace, uint32_t frame, char *buffer, size_t size);

/* For readers: frames without a label are called by the place where they lie. 0 or -ENOMEM. */
int trace_name_places(struct trace *trace);

/* What samples measure (sample.h), and its names: never NULL; of what is not defined "set 17",
 * "value 70", in `buffer`. */
struct sample_sets *trace_sets(struct trace *trace);
const struct sample_sets *trace_sets_get(const struct trace *trace);
const char *trace_set_name(const struct trace *trace, unsigned set, char buffer[16]);
const char *trace_value_name(const struct trace *trace, unsigned type, char buffer[16]);
const char *trace_value_unit(const struct trace *trace, unsigned type);

/* Tracks, as threads. -ENOSPC: more than TRACE_LANES_MAX. `trace_lane_find`: the ordinal of a
 * track by its id, or -ENOENT. A parent may have the larger ordinal: it was seen later. */
int64_t trace_lane_add(struct trace *trace, uint64_t id);
int trace_lane_set_id(struct trace *trace, uint32_t ordinal, uint64_t id); /* 0 or -ENOMEM */
int64_t trace_lane_find(const struct trace *trace, uint64_t id);

/* The lane of another kind that has this id in a process, added if new. -ENOMEM, -ENOSPC. */
int64_t trace_lane_of(struct trace *trace, enum lane_kind kind, uint32_t process, uint64_t id);
struct trace_lane *trace_lane(struct trace *trace, uint32_t ordinal);
const struct trace_lane *trace_lane_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_lane_count(const struct trace *trace);

/* Sets the parent; not if the tree would get too deep or a ring. Whether it was set. */
bool trace_lane_set_parent(struct trace *trace, uint32_t ordinal, uint32_t parent_ordinal);

/* For readers, whose tracks are given: takes away every parent that is not there, or that
 * trace_lane_set_parent would have refused; a process that is not there becomes the first one. 0
 * or -ENOMEM. */
int trace_lanes_check(struct trace *trace);

/* The same for all references between tables: parents of processes that are not there, or that go
 * round, are taken away, and so are threads that are not there. 0 or -ENOMEM. */
int trace_check(struct trace *trace);

/* Sets the unit of a counter. 0, -ENOMEM, -EINVAL: it has no name; -ENOSPC: more than 65,536. */
int trace_unit_set(struct trace *trace, uint32_t domain, uint32_t counter, uint32_t unit);
/* The string of a counter's unit, or 0. */
uint32_t trace_unit_find(const struct trace *trace, uint32_t domain, uint32_t counter);
uint32_t trace_unit_count(const struct trace *trace);
const struct trace_unit *trace_unit_get(const struct trace *trace, uint32_t index);

/* Sets the fact of that name, made if new. 0, -ENOMEM, or -ENOSPC: more than 1,024. */
int trace_fact_set(struct trace *trace, enum fact_kind kind, const char *name, uint64_t value);
uint32_t trace_fact_count(const struct trace *trace);
/* For readers, whose order is given: an empty one. -ENOMEM, -ENOSPC. */
int64_t trace_fact_add(struct trace *trace);
struct trace_fact *trace_fact(struct trace *trace, uint32_t index);
const struct trace_fact *trace_fact_get(const struct trace *trace, uint32_t index);
/* The value of the fact of that name; 0 if there is none. */
uint64_t trace_fact_value(const struct trace *trace, const char *name);

/* The times of that block, [from, to), CLOCK_MONOTONIC. set: 0 or as trace_fact_set; get: false if
 * there is none. */
int trace_block_set(struct trace *trace, int64_t from_ns, int64_t to_ns);
bool trace_block(const struct trace *trace, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* The name of the FACT_LOSS that begins with TRACE_FACT_UNWATCHED, without its "processes: "; NULL:
 * as far as is known, processes were recorded to their end. */
const char *trace_unwatched(const struct trace *trace);

/* What a human calls a process: its set name, else the base name of its program (for interpreters
 * the script: "python pipeline.py", "pipeline.py worker"), else comm, else "process PID". Writes at
 * most size bytes with NUL; returns the length. How it ended, as text: "exit 0", "SIGKILL", "still
 * running", ... */
size_t trace_process_label(const struct trace *trace, uint32_t process, char *buffer, size_t size);
size_t trace_process_end_label(const struct trace *trace, uint32_t process, char *buffer,
                               size_t size);
size_t trace_thread_label(const struct trace *trace, uint32_t thread, char *buffer, size_t size);

/* A track: its name, else "track 0xID" or "track #ORDINAL". With the names of those above it:
 * "requests/request 17". */
size_t trace_lane_label(const struct trace *trace, uint32_t track, char *buffer, size_t size);
size_t trace_lane_path(const struct trace *trace, uint32_t track, char *buffer, size_t size);

/* Processes in the order in which people want to see them: the main process first, then children
 * by start time, each followed by its own children. order[i] = ordinal; room for
 * trace_process_count() entries. 0 or -ENOMEM. */
int trace_process_order(const struct trace *trace, uint32_t *order);

/* A range path's innermost range: "load", "nvtx:step". */
size_t trace_range_label(const struct trace *trace, uint32_t path, char *buffer, size_t size);

/* The time that outputs call zero: the beginning of the session. */
int64_t trace_begin_ns(const struct trace *trace);

#endif
