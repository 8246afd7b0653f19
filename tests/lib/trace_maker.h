/* SPDX-License-Identifier: MIT */
/* Makes recordings by hand: a test describes the events, and gets a trace, batches, or a file.
 *
 * Every call aborts on failure. Names are texts of the caller. Times are nanoseconds since the
 * session's begin, MAKER_BEGIN_NS on CLOCK_MONOTONIC. Thread-safety: none. */
#ifndef ANNOT_TRACE_MAKER_H
#define ANNOT_TRACE_MAKER_H

#include "event.h"
#include "pass.h"
#include "sample.h"
#include "stacks.h"
#include "trace.h"

#define MAKER_BEGIN_NS    INT64_C(5000000000000)
#define MAKER_REALTIME_NS INT64_C(1700000000000000000)

struct maker;

struct maker *maker_create(void);
void maker_destroy(struct maker *maker);
struct trace *maker_trace(struct maker *maker);
uint32_t maker_string(struct maker *maker, const char *text);
/* maker_scope: the scope of events of the program; NULL or "": without a domain or category.
 * maker_observed: the scope of an observer's events. */
uint32_t maker_scope(struct maker *maker, const char *domain, const char *category);
uint32_t maker_observed(struct maker *maker, const char *category, enum observer observer,
                        unsigned role);

/* A process that runs from start to the session's end, and its main thread, if any. */
uint32_t maker_process(struct maker *maker, int32_t pid, int32_t parent, const char *cmdline,
                       int64_t start);
uint32_t maker_thread(struct maker *maker, uint32_t process, int32_t tid, const char *name);

/* Adds an event unchanged, except that `time_ns` counts from the session's begin. */
void maker_event(struct maker *maker, const struct event *event);
void maker_push(struct maker *maker, uint32_t thread, int64_t time, const char *name);
void maker_pop(struct maker *maker, uint32_t thread, int64_t time);
void maker_mark(struct maker *maker, uint32_t thread, int64_t time, const char *name);
void maker_counter(struct maker *maker, uint32_t thread, int64_t time, const char *name,
                   double value);
void maker_start(struct maker *maker, uint32_t thread, int64_t time, const char *name, uint64_t id);
void maker_end(struct maker *maker, uint32_t thread, int64_t time, uint64_t id);

/* EVENT_FLOW_BEGIN, _STEP, _END, or EVENT_TRACK_BEGIN, _END, _MARK, _HIDDEN by a thread. */
struct maker_point {
    enum event_kind kind;
    uint64_t id;      /* of the flow, or ordinal of the track */
    const char *name; /* or NULL */
};

void maker_point(struct maker *maker, uint32_t thread, int64_t time,
                 const struct maker_point *point);

/* The ordinal of a new track of a process, below another track (ordinal) or, with -1, at the
 * top. */
uint32_t maker_track(struct maker *maker, uint32_t process, uint64_t id, const char *name,
                     int64_t parent);

/* Appends a key-value to the last event. */
void maker_value_int(struct maker *maker, const char *key, int64_t value);
void maker_value_text(struct maker *maker, const char *key, const char *value);
void maker_value(struct maker *maker, const char *key, enum value_kind kind, union value value);

/* A message of a log; the unit of a counter without a domain; the last word of the thread's
 * process. */
void maker_log(struct maker *maker, uint32_t thread, int64_t time, const char *severity,
               const char *text);
/* Makes the last event a log message. */
void maker_severity(struct maker *maker, const char *severity);
void maker_unit(struct maker *maker, const char *counter, const char *unit);
void maker_note(struct maker *maker, uint32_t thread, int64_t time, const char *text);

/* A gap after which `depth` pushed ranges are still open; also counted in thread and process. */
struct maker_gap {
    int64_t begin, end;
    uint64_t lost, depth;
    enum loss cause;
};

void maker_lost(struct maker *maker, uint32_t thread, const struct maker_gap *gap);

/* A frame as outputs show it; lines 0: unknown, texts NULL or "": missing. */
struct maker_frame {
    enum frame_kind kind;
    const char *function, *file, *module;
    int32_t line, first_line;
    uint64_t address;
};

/* The frame's ordinal in a trace. Texts like "libm.so+0x40" and "[kernel]" are places. */
uint32_t maker_frame_of(struct trace *trace, const struct maker_frame *frame);

/* The stack below `parent` (0: empty) with one more frame; likewise a range path. Return
 * ordinals. */
uint32_t maker_stack(struct maker *maker, uint32_t parent, const struct maker_frame *frame);
uint32_t maker_path(struct maker *maker, uint32_t parent, const char *name);
/* The same for a range of a track that the thread ran: enum range_path_kind. */
uint32_t maker_path_of_kind(struct maker *maker, uint32_t parent, const char *name, uint32_t kind);

/* Adds a sample unchanged, except that nonzero times count from the session's begin. */
void maker_sample(struct maker *maker, const struct sample *sample);
/* Adds a sample off the CPU until its end, woken at `wake`; 0: never woken, or preempted (its
 * reason). */
void maker_wait(struct maker *maker, const struct sample *sample, int64_t wake);

/* Ends the session: fills in its facts and the counts. */
void maker_finish(struct maker *maker, int64_t time);

/* Returns the events so far as batches, each of one thread; 1, or 0 at the end. `context` is the
 * maker. Then restarts. */
int maker_next(void *context, struct event_batch *ret_batch);

/* The same for samples, 100 at a time. */
int maker_next_samples(void *context, const struct sample **ret_samples, uint32_t *ret_count);

/* All events and samples from the present position, as the source of a pass. */
struct pass_source maker_pass_source(struct maker *maker);

/* Restarts both: 0. */
int maker_rewind(void *context);

/* Drops the events and samples so far, so that a long recording can be written in parts. */
void maker_forget(struct maker *maker);

#endif
