/* SPDX-License-Identifier: MIT */
/* Recordings made by hand: a test says what happened, and gets a trace, batches, or a file.
 *
 * Every call aborts if it cannot do its work. Names are texts of the caller. Times are nanoseconds
 * since the session's begin, MAKER_BEGIN_NS on CLOCK_MONOTONIC. Thread-safety: none. */
#ifndef ANNOT_TRACE_MAKER_H
#define ANNOT_TRACE_MAKER_H

#include "event.h"
#include "trace.h"

#define MAKER_BEGIN_NS    INT64_C(5000000000000)
#define MAKER_REALTIME_NS INT64_C(1700000000000000000)

struct maker;

struct maker *maker_create(void);
void maker_destroy(struct maker *maker);
struct trace *maker_trace(struct maker *maker);
uint32_t maker_string(struct maker *maker, const char *text);

/* A process that runs from start to the session's end, and its main thread if there is one. */
uint32_t maker_process(struct maker *maker, int32_t pid, int32_t parent, const char *cmdline,
                       int64_t start);
uint32_t maker_thread(struct maker *maker, uint32_t process, int32_t tid, const char *name);

/* An event as it is; `time_ns` counts from the session's begin. */
void maker_event(struct maker *maker, const struct event *event);
void maker_push(struct maker *maker, uint32_t thread, int64_t time, const char *name);
void maker_pop(struct maker *maker, uint32_t thread, int64_t time);
void maker_mark(struct maker *maker, uint32_t thread, int64_t time, const char *name);
void maker_counter(struct maker *maker, uint32_t thread, int64_t time, const char *name,
                   double value);
void maker_start(struct maker *maker, uint32_t thread, int64_t time, const char *name, uint64_t id);
void maker_end(struct maker *maker, uint32_t thread, int64_t time, uint64_t id);

/* A gap after which `depth` pushed ranges are still open; also counted in thread and process. */
struct maker_gap {
    int64_t begin, end;
    uint64_t lost, depth;
    enum loss cause;
};

void maker_lost(struct maker *maker, uint32_t thread, const struct maker_gap *gap);

/* Ends the session: fills in its facts and the counts. */
void maker_finish(struct maker *maker, int64_t time);

/* The events so far as batches, each of one thread; 1, or 0 at the end. `context` is the maker.
 * Then from the start again. */
int maker_next(void *context, struct event_batch *ret_batch);

/* Drops the events so far, so that a long recording can be written as it is made. */
void maker_forget(struct maker *maker);

#endif
