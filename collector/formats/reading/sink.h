/* SPDX-License-Identifier: MIT */
/* Destination of importers: a trace, and a recording of it, in any order. Ranges become pushed
 * ranges of their threads as far as they nest; others become ranges of the process. Files are
 * foreign bytes: the sink checks them, so that later code need not. Thread-safety: one thread per
 * sink. */
#ifndef ANNOT_SINK_H
#define ANNOT_SINK_H

#include "event.h"
#include "hash_map.h"
#include "sample.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_options;
struct import_result;
struct json_token;

/* ---- State ----------------------------------------------------------------------------------- */

/* Losses of an import; each is counted and reported once. */
enum import_left {
    LEFT_MALFORMED,    /* events with missing fields */
    LEFT_UNKNOWN,      /* of kinds without a counterpart */
    LEFT_END_ALONE,    /* ends without a begin */
    LEFT_OPEN,         /* begins without an end: kept, but reported */
    LEFT_OVERLAPPING,  /* ranges of a thread that don't nest */
    LEFT_CLIPPED,      /* that end a rounding error later than the one around them */
    LEFT_TEXTS,        /* texts beyond the limit */
    LEFT_LONG,         /* that were cut */
    LEFT_VALUES,       /* values that are too many or too long */
    LEFT_UNLAUNCHED,   /* work of queues without a launch */
    LEFT_EVENT_STACKS, /* of events other than samples */
    LEFT_DEEP,         /* stacks that are too deep */
    LEFT_STACKS,       /* frames of stacks beyond the limit */
    LEFT_REPEATED,     /* duplicates of other items */
    LEFT_AT_ONCE,      /* ranges with ends not waited for: too many are open at once */
    LEFT_THREADS,      /* threads and processes beyond the limit */
    LEFT_TRACKS,       /* events on tracks beyond the limit */
    LEFT_RECORDS,      /* records of perf other than samples */
    LEFT_FLOWS_OPEN,   /* flows without an arrival: kept, but reported */
    LEFT_FLOWS_ALONE,  /* points of flows without a begin: the same */
    LEFT_OBJECTS,      /* from here on, by phases of Chrome's events */
    LEFT_SAMPLES,
    LEFT_DUMPS,
    LEFT_CONTEXTS,
    LEFT_CLOCKS,
    LEFT_COUNT,
};

struct import_open {
    int64_t end_ns;
};

struct import_later {
    int64_t end_ns;
    uint64_t id;
};

/* A range that has begun, not yet ended, of those with one id in the file: they nest. */
struct import_pair {
    uint64_t id;     /* in the recording */
    uint32_t around; /* 1 + index of the one around it; of a free entry, of the next free one */
    uint32_t thread; /* where it began */
};

/* State of a flow. */
enum import_flow { FLOW_BEGAN = 1, FLOW_ARRIVED = 2 };

/* A thread, while its events are written. */
struct import_thread {
    VEC(struct import_open) open;   /* ranges, the outermost first */
    VEC(struct import_later) later; /* ends of those that don't nest: a heap, the earliest first */
    VEC(struct event) events;       /* waiting to be written */
    VEC(struct arg) args;
    bool busy; /* it is in `busy`, as it has any of this */
};

enum { SINK_RECENT = 4096 };

struct import_sink {
    struct trace *trace;
    const struct import_options *options;
    struct import_result *result;
    const char *output;
    char *folder; /* of the output */
    struct sorter *events;
    struct sorter *samples; /* NULL: not yet used */
    VEC(uint8_t) record;    /* being made */
    VEC(char) text;         /* the same */
    struct wide_map joined; /* by two names and the character between: the joined name */
    struct wide_map processes, threads;
    VEC(struct import_thread) writing; /* by thread */
    VEC(uint32_t) busy;                /* threads with waiting items */
    size_t waiting, later_count;       /* of all threads */
    struct map64 flows;                /* by id: enum import_flow */
    struct map64 paired;               /* by the file's id: 1 + index of the innermost */
    VEC(struct import_pair) pairs;
    uint32_t free_pair; /* 1 + index; 0: empty list */
    uint64_t text_bytes;
    uint32_t recent[SINK_RECENT]; /* strings, by a part of their hash */
    uint64_t last_id;             /* of ranges of processes */
    uint64_t left[LEFT_COUNT];
    uint32_t other_text; /* string: replaces those beyond the limit; 0: not yet made */
    uint32_t other_process, other_thread; /* the same: 1 + ordinal */
    bool cut;                             /* the file ends early, at `cut_offset` */
    uint64_t cut_offset;
    bool samples_end; /* a sample is taken at the end of the CPU time that it stands for */
    int64_t first_ns, last_ns, shift_ns;
    int64_t realtime_ns; /* of the file's time 0; 0: unknown */
    struct store_writer *writer;
    int error; /* the first one of functions without a result */
};

enum {
    SINK_TEXT_BYTES_MAX = 64 << 20, /* of all texts */
    SINK_TEXTS_MAX = 1 << 20,
    SINK_TEXT_MAX = 1 << 20, /* of one text; it is cut */
    SINK_ARGS_MAX = 1024,    /* of an event */
    SINK_STACKS_MAX = 2 << 20,
    SINK_THREADS_MAX = 1 << 17, /* and processes */
};

/* Replacements beyond the limits. */
#define IMPORT_OTHER "[other text]"

#define IMPORT_OTHER_PROCESSES "[other processes]"

#define IMPORT_OTHER_THREADS "[other threads]"

/* A hundred years on both sides: sums of times never overflow. */
#define IMPORT_TIME_MAX (INT64_C(100) * 366 * 86400 * 1000000000)

/* 0 or -ENOMEM; then fini all the same. */
int import_sink_init(struct import_sink *sink, const char *output,
                     const struct import_options *options, struct import_result *result);
void import_sink_fini(struct import_sink *sink);

/* ---- Notes ----------------------------------------------------------------------------------- */

/* Problems of the file, losses, and counts of omitted events. They go to the result, for messages,
 * and as facts to the recording. */

/* The count for events of a phase that recordings cannot hold. */
enum import_left import_left_of_phase(char phase);

/* An error in the file, for messages: the first one is kept. */
void import_problem(struct import_sink *sink, const char *problem, uint64_t offset);

/* The file ends early, at this byte: the items before are kept, and outputs report that the rest is
 * missing. */
void import_cut(struct import_sink *sink, uint64_t offset);

/* -EBADMSG, with a problem, if the file was cut before any item was read. 0; -ENOMEM. */
int import_cut_check(struct import_sink *sink);

/* Records `count` losses in the recording, which its outputs report. */
void import_lost(struct import_sink *sink, const char *what, uint64_t count);

/* One line in the recording and on standard error. */
void import_note(struct import_sink *sink, const char *text);

/* Reports the omitted items in result->notes and in the recording. 0 or -errno. */
int import_notes_emit(struct import_sink *sink);

/* ---- Names, processes and threads ------------------------------------------------------------ */

/* Identity of a process or thread in the file: a number, or a text. */
struct import_id {
    uint32_t text; /* string; 0: the number */
    int64_t number;
};

/* The string of a text; beyond the limits a common one. Out of memory: 0, and the sink's error. */
uint32_t import_string(struct import_sink *sink, const char *bytes, size_t length);

/* A string, number or boolean of JSON as a value. False: another token, or a value that cannot be
 * kept. */
bool import_scalar(struct import_sink *sink, const struct json_token *token, struct arg *arg);
uint32_t import_text(struct import_sink *sink, const char *text);

/* The name joined of two, with a character between; cached. */
uint32_t import_joined(struct import_sink *sink, uint32_t first, char between, uint32_t second);
uint32_t import_scope(struct import_sink *sink, const struct scope *scope);

/* The name of calls of a Python function; `file` may be empty, `line` 0. */
uint32_t import_call(struct import_sink *sink, uint32_t function, uint32_t file, int32_t line);

/* A process, and a thread of it; added if new; beyond the limits a common one. Out of memory: 0,
 * and the sink's error. */
uint32_t import_process(struct import_sink *sink, const struct import_id *id);
uint32_t import_thread(struct import_sink *sink, uint32_t process, const struct import_id *id);

/* The same without adding; -1 if unknown. */
int64_t import_process_find(const struct import_sink *sink, const struct import_id *id);
int64_t import_thread_find(const struct import_sink *sink, uint32_t process,
                           const struct import_id *id);

/* ---- Events ---------------------------------------------------------------------------------- */

/* Adds the event unchanged; an EVENT_START is closed by the next EVENT_END of its id, inner ones
 * first, those of the same process before others. An EVENT_PUSH is a whole range until its end_ns
 * (INT64_MAX: without end); of equal ones, the one of smaller depth is outside. Impossible times
 * are counted and dropped. 0 or -errno. */
int import_add(struct import_sink *sink, const struct event *event, const struct arg *args);

/* A counter for each value of the event: "NAME/KEY"; a single one called "value", or by its unit,
 * is "NAME". Texts are counted as omitted. 0 or -errno. */
int import_counters(struct import_sink *sink, const struct event *event, const struct arg *args,
                    size_t count);

/* ---- Work of queues -------------------------------------------------------------------------- */

#define IMPORT_NO_DEVICE INT64_C(-1)

struct import_work {
    int64_t device, stream, context; /* context 0: unknown */
    int64_t launch_ns;
    bool has_launch;
    bool is_own; /* without a launch: a wait, overhead */
};

/* Ordinals; the caller names new ones. */
struct import_lanes {
    uint32_t queue, device;
    bool is_new;
};

/* A span of a queue, until its end_ns; its thread is that of the launch. 0 or -errno. */
int import_work(struct import_sink *sink, const struct import_work *work, struct event *event,
                const struct arg *args, struct import_lanes *ret_lanes);

/* The same for a wait of a thread, on a lane beside the streams of its context. */
int import_wait(struct import_sink *sink, const struct import_work *work, struct event *event);
void import_lanes_name(struct import_sink *sink, const struct import_lanes *lanes,
                       uint32_t queue_name, uint32_t device_name);

/* ---- Samples --------------------------------------------------------------------------------- */

/* A frame with the fields shown by outputs; lines 0, strings 0: unknown. */
struct import_frame {
    uint32_t function, file, module; /* strings */
    int32_t line, first_line;
    uint8_t kind; /* enum frame_kind */
};

/* Ordinals of the trace's stacks; beyond STACKS_MAX the parent. Out of memory: 0, and the sink's
 * error. */
uint32_t import_frame(struct import_sink *sink, const struct import_frame *frame);
uint32_t import_stack(struct import_sink *sink, uint32_t parent, uint32_t frame);

/* CPU time of a sample in formats without a unit: 100 samples a second, as py-spy and annot take
 * them. */
#define IMPORT_SAMPLE_NS INT64_C(10000000)

/* Nanoseconds of a weight of 1: the user's choice, else `assumed_ns`. */
int64_t import_unit_ns(const struct import_sink *sink, int64_t assumed_ns);

/* The number of a set. 0: see the sink's error. import_wall_set: samples of wall-clock time, of
 * profilers that do not record if threads ran. */
uint16_t import_set(struct import_sink *sink, const struct sample_set *set);
uint16_t import_wall_set(struct import_sink *sink);

/* Of any thread, in any order. A sample of CPU time covers the time from its instant on, or up to
 * it (sink->samples_end). 0 or -errno. */
int import_sample(struct import_sink *sink, const struct sample *sample);

/* Writes the samples, in order of time. 0 or -errno. */
int import_samples_write(struct import_sink *sink);

/* Writes the recording. 0 or -errno. */
int import_sink_finish(struct import_sink *sink);

#endif
