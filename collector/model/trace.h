/* SPDX-License-Identifier: MIT */
/* State of a recording besides its events: strings, processes, threads, losses, the session.
 *
 * Built by the intake while recording and by the store's reader from a file. Ordinals count from 0
 * in order of appearance and never change; entries only gain information. String ordinal 0 is the
 * empty string. Each change of an entry raises its `revision`; the store's writer writes entries
 * with a new revision again.
 *
 * Thread-safety: none; one owner at a time. */
#ifndef ANNOT_MODEL_TRACE_H
#define ANNOT_MODEL_TRACE_H

#include "event.h"

#include <stdbool.h>

enum process_end {
    PROCESS_RUNNING = 0,        /* still running when the recording ended */
    PROCESS_EXITED = 1,         /* end_value = exit status */
    PROCESS_SIGNALED = 2,       /* end_value = signal */
    PROCESS_EXITED_ORDERLY = 3, /* ran its exit handlers; the status is unknown */
    PROCESS_VANISHED = 4,       /* ended by a signal or _exit; the status is unknown */
    PROCESS_EXEC = 5,           /* replaced itself by another program */
    PROCESS_UNRECORDED = 6,     /* imported: the file has no ends of processes */
};

/* API calls without effect by contract; numbers of the wire. */
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

/* Work that a process gave to queues; counts. Those before QUEUED_FOUND are counted in its
 * segment. */
enum queued {
    QUEUED_LAUNCHED = 0, /* to be reported later */
    QUEUED_REPORTED = 1, /* of these, already reported */
    QUEUED_DROPPED = 2,  /* dropped, by the driver's count */
    QUEUED_UNTIMED = 3,  /* reported without times */
    QUEUED_FOUND = 4,
    QUEUED_MISTIMED = 4, /* left out: impossible times or an unknown clock */
    QUEUED_ACAUSAL = 5,  /* began before its cause; recorded unchanged */
    QUEUED_COUNT = 6,
};

struct trace_string {
    const char *bytes; /* UTF-8, NUL-terminated, owned by the trace; no NUL inside */
    uint32_t length;
};

/* Reporter of an event; numbers are those of the wire (annot/observers.h): append-only. */
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
                          * between the program's own by time, and are in the paths of samples */
    OBSERVER_NVTX = 11,
    OBSERVER_ITT = 12,
    OBSERVER_CUPTI = 13,
    OBSERVER_IMPORTER = 14,
    OBSERVER_INHERITED = 15, /* a copy of a range of another thread that submitted the work done
                              * inside of it: it refers to that range and is not counted */
    OBSERVER_MEMORY = 16, /* the collector's counters of the memory of processes; never a program */
};

/* "program", "gc", ...: constant text; "unknown" for those of later versions. */
const char *observer_name(unsigned observer);

/* Roles of ranges of OBSERVER_POOL. */
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

/* Roles of events of OBSERVER_ASYNCIO. */
enum asyncio_role {
    ASYNCIO_ROLE_TASK = 1,
    ASYNCIO_ROLE_BLOCKED = 2,
    ASYNCIO_ROLE_AWAITED = 3,
};

/* Roles of ranges of OBSERVER_PYTHON_CALLS. */
enum calls_role {
    CALLS_ROLE_ESTIMATED = 1,
    CALLS_ROLE_WHOLE = 2,    /* a call of a coroutine on a track of its task, besides its pieces */
    CALLS_ROLE_AWAITING = 3, /* inside of those: the task was suspended */
    CALLS_ROLE_STOPPED = 4,  /* a mark: open calls of the process end here, unfinished */
};

/* Roles of spans of OBSERVER_CUPTI, numbered as in annot/queues.h. */
enum queue_role {
    QUEUE_ROLE_NONE = 0, /* another role, or one of a later version */
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
    QUEUE_ROLE_COUNT = 11, /* number of the roles of spans; roles of marks: */
    QUEUE_ROLE_PC = 32,    /* sampled positions of warps in a kernel, and their stall reasons */
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

/* Domain, category and observer of an event. Scope 0 is the default: no domain, no category,
 * reported by the program. */
struct scope {
    uint32_t domain;   /* string; 0 = default */
    uint32_t category; /* string; 0 = uncategorized */
    uint16_t observer; /* enum observer; unknown numbers are of later versions */
    uint16_t role;     /* meaning to that observer */
};

enum { TRACE_SCOPES_MAX = 1 << 20 }; /* further ones get scope 0 */

/* One boot of one kernel: its CLOCK_MONOTONIC is one clock, and pids, tids and CPUs are its own. */
struct trace_host {
    uint32_t revision;
    uint8_t boot_id[16];   /* zeros: unknown */
    uint32_t name, kernel; /* strings */
    int32_t rank;          /* in a parallel program, -1 = not part of one */
    uint32_t processors;   /* to be used; 0 for recordings read as one; not stored */
    /* Change of its times to those of host 0: at the start of its recording, with the maximum
     * error, and the drift per nanosecond after that. */
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

/* A clock other than CLOCK_MONOTONIC. Anchors pair its readings with CLOCK_MONOTONIC. */
struct trace_clock {
    uint32_t revision;
    uint32_t host; /* ordinal */
    uint8_t kind;  /* enum clock_kind */
};

/* A source of late events, besides the programs themselves. */
struct trace_stream {
    uint32_t revision;
    uint32_t name; /* string */
};

enum { TRACE_STREAMS_MAX = 254 };

struct trace_anchor {
    uint32_t clock; /* ordinal */
    uint64_t raw;   /* reading of that clock */
    int64_t ns;     /* CLOCK_MONOTONIC at that reading, within error_ns: */
    int64_t error_ns;
};

struct trace_process {
    uint32_t revision;
    uint32_t host;            /* ordinal */
    int32_t pid, ppid;        /* as the collector sees them; ppid 0 = unknown */
    int32_t ns_pid;           /* as the process sees itself */
    uint64_t pid_ns;          /* inode of its pid namespace */
    uint64_t identity;        /* unique in the recording */
    int32_t parent;           /* ordinal of the recorded parent, -1 = unknown or not recorded */
    bool forked;              /* from `parent`, without exec */
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC; 0 = unknown */
    int64_t fork_ns;          /* 0 = not forked or unknown */
    uint32_t fork_thread;     /* 1 + ordinal of the parent's thread that forked it; 0 = unknown */
    uint8_t end;              /* enum process_end */
    int32_t end_value;
    uint32_t uid;
    uint32_t name;    /* string: annot_name_process, or its title; 0 = unset */
    uint32_t comm;    /* string: the kernel's short name */
    uint32_t cmdline; /* string: arguments joined by blanks, quoted where needed */
    uint32_t runtime_version;
    uint64_t lost[LOSS_COUNT]; /* all threads of the process together */
    uint64_t misuse[MISUSE_COUNT];
    uint64_t peak_bytes;  /* most shared memory held at once */
    uint64_t event_count; /* in the recording, without key-values, losses and edges; a group of
                           * counters counts once per counter */
    uint32_t note;        /* string: text of annot_abort_note, 0 = unset */
    uint32_t note_thread; /* 1 + ordinal of the thread that called it; 0 = unknown */
    int64_t note_ns;
    uint64_t queued[QUEUED_COUNT];
    int64_t calls_end_ns;   /* the last CALLS_ROLE_STOPPED; 0 = none */
    int64_t known_until_ns; /* of a merge: its own recording's end; 0 = the session's; not stored */
};

struct trace_thread {
    uint32_t revision;
    uint32_t process; /* ordinal */
    uint32_t serial;  /* registration number in its process: 1 is the first to emit */
    int32_t tid;      /* as the process sees it */
    uint32_t name;    /* string: annot_name_thread, 0 = unset */
    uint32_t comm;    /* string */
    int64_t first_ns, last_ns;
    uint64_t event_count;
    uint64_t lost[LOSS_COUNT];
    bool probed; /* an outside observer reports spans of it (EVENT_SPAN on EVENT_OWN_LANE), which
                  * may be late: readers put them between its own ranges */
    bool unnumbered; /* short calls of it were left out: its push numbers are unknown */
    uint8_t reserved[6];
};

/* Kinds of timelines. Numbers are those of the recording format: explicit and append-only. */
enum lane_kind {
    LANE_THREAD = 1,  /* of a thread: every struct trace_thread is one */
    LANE_PROCESS = 2, /* of a process, for ranges of any thread, which may overlap */
    LANE_TRACK = 3,   /* made by a program */
    LANE_QUEUE = 4,   /* of work that others do for a process: a GPU's stream */
    LANE_CPU = 5,
    LANE_DEVICE = 6,
};

/* A timeline of another kind than a thread. */
struct trace_lane {
    uint32_t revision;
    uint32_t process; /* ordinal: the first that emitted on it */
    uint64_t id;      /* the programs' id; LANE_QUEUE: context << 32 | stream, since streams are
                       * numbered anew in each context; LANE_CPU: number */
    uint32_t name;    /* string; 0 = unknown (its begins were lost) */
    uint32_t parent;  /* 1 + ordinal of the lane above it; 0 = the process */
    uint8_t levels;   /* of the tree from here down, itself included */
    uint8_t kind;     /* enum lane_kind; unknown ones are of later versions */
};

/* Lanes form trees of at most this many levels, without cycles. */
enum { TRACE_LANE_LEVELS = 32, TRACE_LANES_MAX = 1 << 20 };

/* Unit of a counter. */
struct trace_unit {
    uint32_t revision;
    uint32_t counter, domain, unit; /* strings */
};

/* A name of events that stands for a label: calls of that function have it. Its text is the
 * label's; two functions of equal text have two names. */
struct trace_label_name {
    uint32_t string, label;
};

/* A process that failed to take part. */
struct trace_refusal {
    int32_t pid;
    uint32_t comm;   /* string */
    uint32_t reason; /* string, one line for humans */
};

/* Rules of a filter, and the time when they came into force (docs/wire-format.md, "Filters"). */
struct trace_filter {
    int64_t time_ns;
    uint32_t rules; /* string; 0: unfiltered */
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
    uint32_t directory;        /* string: working directory at the command's start */
    uint32_t processors;       /* that it may use at once */
};

/* How threads were sampled: the rung used, and the reason why not a higher one. */
enum sampling_rung {
    SAMPLING_OFF = 0,    /* turned off (--sampling none) */
    SAMPLING_NONE = 1,   /* no rung works here: annotations only */
    SAMPLING_REMOTE = 2, /* Python stacks by reading the memory of the process */
    /* 3 and 4 are unassigned */
    SAMPLING_BPF = 5,
};

struct trace_sampling {
    uint32_t revision;
    uint8_t rung; /* enum sampling_rung */
    bool off_cpu;
    bool slowed;           /* lowered from first_hz to frequency_hz during the recording */
    bool mixed;            /* a merge of rates from frequency_hz to first_hz; not stored */
    uint32_t frequency_hz; /* samples have their own weight: sample_cpu_ns() */
    uint32_t first_hz;     /* at the start; 0 = frequency_hz */
    int64_t off_cpu_threshold_ns;
    uint32_t reason; /* string: why not a higher rung, one line; 0 = it is the highest */
    uint32_t hint;   /* string: the command that makes it available */
};

/* An interval in which a process recorded, if `--capture-range` restricted it. */
struct trace_capture {
    uint32_t process;
    int64_t from_ns, to_ns;
};

/* State of the list of these intervals, which read/captures.c finds once. */
enum trace_captures {
    CAPTURES_UNKNOWN = 0, /* not searched yet */
    CAPTURES_ALL = 1,     /* the whole time is recorded */
    CAPTURES_KNOWN = 2,
    CAPTURES_FAILED = 3, /* out of memory */
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
    FACT_LOSS = 1,  /* lost data: shown in every output if not 0 */
    FACT_NOTE = 2,  /* the name is a whole sentence for humans; value = how often */
};

/* FACT_COUNTs of processes with another policy than dropping their newest records when their buffer
 * was full, and of those with a smaller buffer. */
#define TRACE_FACT_OVERWRITE "processes that overwrote their oldest records"
#define TRACE_FACT_WAIT      "processes that waited for room in their buffers"
#define TRACE_FACT_SMALL     "processes with a smaller buffer because of ulimit -v or ulimit -f"

/* Names of the counters of OBSERVER_MEMORY of each process, in bytes: blocks that it has allocated
 * since the recording began and not freed, an estimate; its resident memory; the part of that which
 * maps files or is shared. */
#define TRACE_COUNTER_HEAP_LIVE "heap live"
#define TRACE_COUNTER_RSS       "RSS"
#define TRACE_COUNTER_RSS_FILES "RSS of files"

/* FACT_COUNTs of processes that the kernel killed, during the recording, for lack of memory: in the
 * memory control groups of recorded processes, and on the whole machine (these included). */
#define TRACE_FACT_GROUP_KILLS  "processes killed at the memory limit of their cgroup"
#define TRACE_FACT_MEMORY_KILLS "processes that the kernel killed for lack of memory"

/* Prefix of the FACT_LOSS of processes that may have run on after their recording ended; the time
 * follows it. */
#define TRACE_FACT_UNWATCHED "processes: may have gone on unrecorded from "

/* The FACT_COUNT of short-lived processes without a sample or record: they have no entry. */
#define TRACE_FACT_UNSEEN "processes without a sample or a record"

/* FACT_COUNTs of the CPU time used, during the recording, on the processors available to the
 * command: by programs (the recorded ones included), and by the host of a virtual machine. 0: zero
 * or unknown. */
#define TRACE_FACT_USED_MS   "processors: ms used by all programs"
#define TRACE_FACT_STOLEN_MS "processors: ms taken by the host of this virtual machine"

/* FACT_COUNTs of the block of a program that requested the recording (pyannot.record): its start
 * after that of the recording, and its duration. A merge has neither. */
#define TRACE_FACT_BLOCK_BEGIN "block: ns after the recording began"
#define TRACE_FACT_BLOCK_TIME  "block: ns long"

/* The FACT_COUNT of ranks of the parallel program, if its launcher gave it. */
#define TRACE_FACT_RANKS "ranks of the program"

/* The FACT_COUNT of Python functions with traced calls or lines; in each process. */
#define TRACE_FACT_TRACED "functions of Python traced"

/* Prefix of FACT_NOTEs: an option of `annot record` without effect, and the reason. */
#define TRACE_FACT_IDLE_OPTION "option without effect: "

/* The FACT_NOTE of calls left out because they were too short; its value is their number. */
#define TRACE_FACT_SHORT                                                                           \
    "calls of Python were too short for --trace-functions=min and were left out; their time "      \
    "counts for their callers"

struct label;
struct source_place;
struct trace; /* holds all of the above */

/* NULL: out of memory. destroy accepts NULL. */
struct trace *trace_create(void);
void trace_destroy(struct trace *trace);

/* The ordinal of a text, added if new. Bytes are made valid UTF-8 (U+FFFD for invalid bytes and
 * NUL). Returns 0 for length 0; -ENOMEM as a negative number. Ordinals fit 31 bits. */
int64_t trace_string_add(struct trace *trace, const char *bytes, size_t length);

/* Always a new ordinal, even for a known text: for readers, which get ordinals from the file. */
int64_t trace_string_append(struct trace *trace, const char *bytes, size_t length);

/* Never NULL: an unknown ordinal gives "<unknown name N>". Valid until the trace is destroyed. */
const struct trace_string *trace_string(const struct trace *trace, uint32_t ordinal);
uint32_t trace_string_count(const struct trace *trace);

/* The ordinal of a scope, added if new; -ENOMEM, -ENOSPC. The same for a domain alone. */
int64_t trace_scope_add(struct trace *trace, const struct scope *scope);
int64_t trace_scope_of_domain(struct trace *trace, uint32_t domain);

/* For readers, which get ordinals from the file: missing scopes below this one become copies of
 * scope 0. 0, -ENOMEM, -ENOSPC. */
int trace_scope_set(struct trace *trace, uint32_t ordinal, const struct scope *scope);

/* Never NULL: scope 0 for an unknown ordinal. Valid until the next add. The others return a string
 * of it. */
const struct scope *trace_scope(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_domain(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_category(const struct trace *trace, uint32_t ordinal);
uint32_t trace_scope_count(const struct trace *trace);                      /* with ordinal 0 */
bool trace_has_observer(const struct trace *trace, enum observer observer); /* in any scope */

/* True for a call of a Python function: it nests with the ranges of its thread, but is not a range
 * of the program and in no path of ranges. */
static inline bool event_is_python_call(const struct trace *trace, const struct event *event)
{
    return event->scope && trace_scope(trace, event->scope)->observer == OBSERVER_PYTHON_CALLS;
}

/* Sources of late events, each with a separate settled time: ordinals from 0. -ENOMEM, -ENOSPC.
 * NULL for an unknown ordinal. */
int64_t trace_stream_add(struct trace *trace, uint32_t name);
uint32_t trace_stream_count(const struct trace *trace);
struct trace_stream *trace_stream(struct trace *trace, uint32_t ordinal);
const struct trace_stream *trace_stream_get(const struct trace *trace, uint32_t ordinal);

/* Hosts and clocks: their ordinals; -ENOMEM, -ENOSPC: more than 4,096 of them, or than 2^20
 * anchors. A new host has rank -1. `anchor` is copied. */
int64_t trace_host_add(struct trace *trace);
int64_t trace_clock_add(struct trace *trace, uint32_t host, enum clock_kind kind);
int64_t trace_anchor_add(struct trace *trace, const struct trace_anchor *anchor);
uint32_t trace_host_count(const struct trace *trace);
uint32_t trace_clock_count(const struct trace *trace);
uint32_t trace_anchor_count(const struct trace *trace);
/* NULL for an unknown ordinal. */
struct trace_host *trace_host(struct trace *trace, uint32_t ordinal);
struct trace_clock *trace_clock(struct trace *trace, uint32_t ordinal);
const struct trace_host *trace_host_get(const struct trace *trace, uint32_t ordinal);
const struct trace_clock *trace_clock_get(const struct trace *trace, uint32_t ordinal);
const struct trace_anchor *trace_anchor_get(const struct trace *trace, uint32_t ordinal);

/* Adds a process or thread: returns its ordinal, or -ENOMEM. The entry is zero, parent -1, revision
 * 1. */
int64_t trace_process_add(struct trace *trace);
int64_t trace_thread_add(struct trace *trace, uint32_t process);
int64_t trace_refusal_add(struct trace *trace, const struct trace_refusal *refusal);

/* NULL for an unknown ordinal. The pointer is valid until the next add of its kind. */
struct trace_process *trace_process(struct trace *trace, uint32_t ordinal);
struct trace_thread *trace_thread(struct trace *trace, uint32_t ordinal);
const struct trace_process *trace_process_get(const struct trace *trace, uint32_t ordinal);
const struct trace_thread *trace_thread_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_process_count(const struct trace *trace);
/* True if the process is known to have ended by itself: no signal, not lost from sight. */
bool trace_process_exited(const struct trace_process *process);
uint32_t trace_thread_count(const struct trace *trace);
uint32_t trace_refusal_count(const struct trace *trace);
/* In order of time; empty if there was no filter. */
int64_t trace_filter_add(struct trace *trace, const struct trace_filter *filter);
uint32_t trace_filter_count(const struct trace *trace);
const struct trace_filter *trace_filter_get(const struct trace *trace, uint32_t index);

const struct trace_refusal *trace_refusal_get(const struct trace *trace, uint32_t index);

enum { SAMPLING_RATE_SIZE = 96 };

/* Writes "99 Hz", "499 Hz, then 99 Hz", of a merge "99 Hz to 999 Hz", or "" without a rate. Returns
 * `buffer`. */
const char *sampling_rate_text(const struct trace_sampling *sampling,
                               char buffer[SAMPLING_RATE_SIZE]);
/* The highest and the lowest rate of samples; 0 without a rate. */
uint32_t sampling_fastest_hz(const struct trace_sampling *sampling);
uint32_t sampling_slowest_hz(const struct trace_sampling *sampling);
struct trace_sampling *trace_sampling(struct trace *trace);
const struct trace_sampling *trace_sampling_get(const struct trace *trace);
struct trace_session *trace_session(struct trace *trace);
const struct trace_session *trace_session_get(const struct trace *trace);

/* Frames, stacks and range paths (stacks.h). */
struct stacks *trace_stacks(struct trace *trace);
const struct stacks *trace_stacks_get(const struct trace *trace);

/* The label with the fields of `like` and this text; 0 without a text and a source. The others
 * return that of a Python function, by strings, and one of its frames; path 0, file "": unknown.
 * -ENOMEM. */
int64_t trace_label_add(struct trace *trace, const struct label *like, const char *text);
int64_t trace_python_label(struct trace *trace, uint32_t text, uint32_t path, int32_t first_line);
int64_t trace_python_frame(struct trace *trace, const char *function, const char *file,
                           const struct source_place *place, int32_t first_line);

/* The name that stands for a label, added if new; 0 for label 0. -ENOMEM. */
int64_t trace_label_name(struct trace *trace, uint32_t label);
/* The label that a name stands for; 0 for other names. Cost: a load. */
uint32_t trace_name_label(const struct trace *trace, uint32_t string);

/* The label of a context of calls: LABEL_TASK or LABEL_RANGE, by its name. -ENOMEM. */
int64_t trace_context_label(struct trace *trace, uint8_t flag, const char *name, size_t length);
/* For readers, which get names from the file: no effect if the string or label does not exist. 0 or
 * -ENOMEM. */
int trace_label_name_append(struct trace *trace, const struct trace_label_name *name);
uint32_t trace_label_name_count(const struct trace *trace);
const struct trace_label_name *trace_label_name_get(const struct trace *trace, uint32_t index);

/* Place of a frame without a label: "libfoo.so+0x1234", "[kernel]". Returns the length. */
size_t trace_frame_place(const struct trace *trace, uint32_t frame, char *buffer, size_t size);

/* For readers: labels frames without a label by their place. 0 or -ENOMEM. */
int trace_name_places(struct trace *trace);

/* Sets and value types of samples (sample.h), and their names: never NULL; undefined ones are "set
 * 17", "value 70", in `buffer`. */
struct sample_sets *trace_sets(struct trace *trace);
const struct sample_sets *trace_sets_get(const struct trace *trace);
const char *trace_set_name(const struct trace *trace, unsigned set, char buffer[16]);
const char *trace_value_name(const struct trace *trace, unsigned type, char buffer[16]);
const char *trace_value_unit(const struct trace *trace, unsigned type);

/* Tracks, like threads. -ENOSPC: more than TRACE_LANES_MAX. `trace_lane_find`: the ordinal of a
 * track by its id, or -ENOENT. A parent may have the larger ordinal, if it was seen later. */
int64_t trace_lane_add(struct trace *trace, uint64_t id);
int trace_lane_set_id(struct trace *trace, uint32_t ordinal, uint64_t id); /* 0 or -ENOMEM */
int64_t trace_lane_find(const struct trace *trace, uint64_t id);

/* The lane of another kind with this id in a process, added if new. -ENOMEM, -ENOSPC. */
int64_t trace_lane_of(struct trace *trace, enum lane_kind kind, uint32_t process, uint64_t id);
struct trace_lane *trace_lane(struct trace *trace, uint32_t ordinal);
const struct trace_lane *trace_lane_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_lane_count(const struct trace *trace);

/* Sets the parent, unless the tree would become too deep or cyclic. Returns true if it was set. */
bool trace_lane_set_parent(struct trace *trace, uint32_t ordinal, uint32_t parent_ordinal);

/* For readers, which get tracks from the file: removes every parent that does not exist or that
 * trace_lane_set_parent would have refused; an unknown process becomes the first one. 0 or
 * -ENOMEM. */
int trace_lanes_check(struct trace *trace);

/* The same for all references between tables: removes threads that do not exist, and parents of
 * processes that do not exist or form a cycle. 0 or -ENOMEM. */
int trace_check(struct trace *trace);

/* Sets the unit of a counter. 0, -ENOMEM, -EINVAL: it has no name; -ENOSPC: more than 65,536. */
int trace_unit_set(struct trace *trace, uint32_t domain, uint32_t counter, uint32_t unit);
/* The string of a counter's unit, or 0. */
uint32_t trace_unit_find(const struct trace *trace, uint32_t domain, uint32_t counter);
uint32_t trace_unit_count(const struct trace *trace);
const struct trace_unit *trace_unit_get(const struct trace *trace, uint32_t index);

/* Intervals of capture: added in order of processes, then of time. 0 or -ENOMEM. */
int trace_capture_add(struct trace *trace, const struct trace_capture *capture);
void trace_captures_set(struct trace *trace, enum trace_captures state);
enum trace_captures trace_captures(const struct trace *trace);
/* The first interval of a process that ends after a time, followed by all later ones; `ret_count`:
 * their number. */
const struct trace_capture *trace_captures_from(const struct trace *trace, uint32_t process,
                                                int64_t time_ns, size_t *ret_count);

/* Sets the fact of that name, made if new. 0, -ENOMEM, or -ENOSPC: more than 1,024. */
int trace_fact_set(struct trace *trace, enum fact_kind kind, const char *name, uint64_t value);
uint32_t trace_fact_count(const struct trace *trace);
/* For readers, which get the order from the file: adds an empty one. -ENOMEM, -ENOSPC. */
int64_t trace_fact_add(struct trace *trace);
struct trace_fact *trace_fact(struct trace *trace, uint32_t index);
const struct trace_fact *trace_fact_get(const struct trace *trace, uint32_t index);
/* The value of the fact of that name; 0 if it does not exist. */
uint64_t trace_fact_value(const struct trace *trace, const char *name);
/* The number of facts that begin with TRACE_FACT_IDLE_OPTION. */
uint32_t trace_idle_option_count(const struct trace *trace);

/* The times of pyannot.record's block, [from, to), CLOCK_MONOTONIC. set: 0 or as trace_fact_set;
 * get: false without a block. */
int trace_block_set(struct trace *trace, int64_t from_ns, int64_t to_ns);
bool trace_block(const struct trace *trace, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* The blocks of memory that a reading takes as held: allocated at or after from_ns (0: at any time)
 * and live at at_ns (0: at the end of their process). peak_ns: when all processes together held
 * most. Chosen by the reader, not stored; at first, blocks from before a recording's first readable
 * volume are left out. */
struct trace_heap_window {
    int64_t from_ns, at_ns, peak_ns;
};

void trace_heap_window_set(struct trace *trace, const struct trace_heap_window *window);
const struct trace_heap_window *trace_heap_window(const struct trace *trace);

/* The name of the FACT_LOSS that begins with TRACE_FACT_UNWATCHED, without its "processes: "; NULL:
 * as far as is known, processes were recorded to their end. */
const char *trace_unwatched(const struct trace *trace);

/* Display name of a process: its set name, else the base name of its program (for interpreters the
 * script: "python pipeline.py", "pipeline.py worker"), else comm, else "process PID". Writes at
 * most size bytes with NUL; returns the length. trace_process_end_label: how it ended: "exit 0",
 * "SIGKILL", "still running", "not recorded", ... */
size_t trace_process_label(const struct trace *trace, uint32_t process, char *buffer, size_t size);
size_t trace_process_end_label(const struct trace *trace, uint32_t process, char *buffer,
                               size_t size);
size_t trace_thread_label(const struct trace *trace, uint32_t thread, char *buffer, size_t size);

/* A track: its name, else "track 0xID" or "track #ORDINAL". trace_lane_path adds the names of its
 * parents: "requests/request 17". */
size_t trace_lane_label(const struct trace *trace, uint32_t track, char *buffer, size_t size);
size_t trace_lane_path(const struct trace *trace, uint32_t track, char *buffer, size_t size);

/* Processes in display order: the main process first, then children by start time, each followed by
 * its own children. order[i] = ordinal; room for trace_process_count() entries. 0 or -ENOMEM. */
int trace_process_order(const struct trace *trace, uint32_t *order);

/* A range path's innermost range: "load", "nvtx:step". */
size_t trace_range_label(const struct trace *trace, uint32_t path, char *buffer, size_t size);

/* Time zero of outputs: the start of the session. */
int64_t trace_begin_ns(const struct trace *trace);

#endif
