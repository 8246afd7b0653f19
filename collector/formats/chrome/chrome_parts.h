/* SPDX-License-Identifier: MIT */
/* What the files of the Chrome exporter share with each other only. Thread-safety: none. */
#ifndef ANNOT_CHROME_PARTS_H
#define ANNOT_CHROME_PARTS_H

#include "counter_groups.h"
#include "export.h"
#include "export_facts.h"
#include "export_ids.h"
#include "flame_chart.h"
#include "flow_arrows.h"
#include "gpu_work.h"
#include "json_writer.h"
#include "sample_order.h"
#include "shelves.h"
#include "thread_states.h"

#include <stdint.h>

/* ---- Writer: chrome_writer.c ----
 *
 * One event of the Chrome trace format after the other: head, fields, arguments, end.
 *
 *     chrome_begin(w, 'X', name);        ,\n{"ph":"X","name":"load"
 *     chrome_place(w, thread, time_ns);  ,"pid":1,"tid":1,"ts":0.500
 *     chrome_attributes(w, event);       ,"cat":"io","args":{"payload":1
 *     chrome_argument(w, &fact);         ,"unfinished":true
 *     chrome_end(w);                     }}
 *
 * Times are microseconds with three decimals since the trace's origin: exact, as a double holds
 * them to the nanosecond for more than a hundred days. */

enum { CHROME_PLACE_MAX = 64 };

/* Integers up to here are exact in all readers of JSON; larger ones go as text. */
#define CHROME_EXACT_MAX (INT64_C(1) << 53)

static inline bool chrome_is_exact(int64_t value)
{
    return value >= -CHROME_EXACT_MAX && value <= CHROME_EXACT_MAX;
}

struct chrome_thread {
    uint8_t place_size;
    char place[CHROME_PLACE_MAX]; /* ,"pid":1,"tid":1,"ts": */
};

struct chrome_writer {
    const struct trace *trace;
    struct out_stream *out;
    const struct export_ids *ids;
    int64_t origin_ns; /* what the file calls 0 */
    struct export_keys keys;
    struct chrome_thread *threads;
    uint32_t thread_count;
    uint8_t *plain; /* of string: 0 not looked at, 1 needs no escapes, 2 does */
    uint32_t string_count;
    bool any_event, any_argument; /* written: in the file, in the present event */
};

/* 0 or -ENOMEM; then call fini all the same. */
int chrome_writer_init(struct chrome_writer *writer, const struct trace *trace,
                       const struct export_ids *ids, struct out_stream *out);
void chrome_writer_fini(struct chrome_writer *writer);

/* A complete event of a pushed range without attributes: the same as the calls below, faster. */
void chrome_plain_range(struct chrome_writer *writer, const struct event *event, int64_t end_ns);

void chrome_begin(struct chrome_writer *writer, char phase, uint32_t name);
void chrome_begin_text(struct chrome_writer *writer, char phase, const char *name);
void chrome_begin_bare(struct chrome_writer *writer, char phase); /* without a name */
void chrome_place(struct chrome_writer *writer, uint32_t thread, int64_t time_ns);
void chrome_number(struct chrome_writer *writer, const char *key, uint64_t value);
void chrome_micros(struct chrome_writer *writer, const char *key, int64_t time_ns);
void chrome_string(struct chrome_writer *writer, const char *key, uint32_t string);
void chrome_text(struct chrome_writer *writer, const char *key, const char *text);

/* Category (but for ranges on no thread: see chrome_shelves below), colour as the nearest of the
 * format's names; then the arguments: payload, domain, ..., key-values. */
void chrome_attributes(struct chrome_writer *writer, const struct event *event,
                       const struct args *values);
/* Of these, the key-values alone. */
void chrome_values(struct chrome_writer *writer, const struct args *values);
void chrome_argument(struct chrome_writer *writer, const struct fact *argument);
/* Whether it is JSON, is the caller's care. */
void chrome_raw(struct chrome_writer *writer, const char *key, const char *json);
void chrome_end(struct chrome_writer *writer);

/* "key":value without a comma. */
void chrome_fact(struct chrome_writer *writer, const struct fact *fact);

/* The category that viewers filter by: that of a scope, else its domain; 0 = none. */
uint32_t chrome_category(const struct chrome_writer *writer, uint32_t scope);

/* ---- Ranges on no thread: chrome_shelves.c ----
 *
 * Ranges that lie on no thread: "b" and "e" with an id. Overlapping ranges have one each; those of
 * the recording's tracks have that of their shelf (shelves.h), inside of which they nest.
 *
 * The format has no names for such lines: the Perfetto UI takes that of the first event of an id.
 * So each shelf begins with an instant that is called like its line. The category is what ids are
 * scoped by, so it is the line's as well. */

struct chrome_shelves {
    struct chrome_writer *writer;
    struct track_groups groups;
    uint64_t last_id;
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_shelves_init(struct chrome_shelves *shelves, struct chrome_writer *writer);
void chrome_shelves_fini(struct chrome_shelves *shelves);

/* Items of LANE_PROCESS and LANE_TRACK. */
int chrome_shelves_take(struct chrome_shelves *shelves, const struct item *item);

/* ---- Counters: chrome_counters.c ----
 *
 * Counters: an event of one argument, of a group one argument a series. The format knows no units:
 * that of a counter is the name of its argument, of a series it stands behind. JSON has no NaN and
 * no infinity: such values are left out and counted. */

struct chrome_gpu;

struct chrome_counters {
    struct chrome_writer *writer;
    struct chrome_gpu *gpu;
    struct counter_groups groups;
    struct export_text label, series; /* of the one that is written */
    uint64_t left_out;                /* values */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_counters_init(struct chrome_counters *counters, struct chrome_gpu *gpu);
int chrome_counters_add(struct chrome_counters *counters, const struct event *event);
int chrome_counters_finish(struct chrome_counters *counters);
void chrome_counters_fini(struct chrome_counters *counters);

/* ---- Rows of samples: chrome_rows.c ----
 *
 * The flame chart of each thread (flame_chart.h) as begins and ends on a thread of its own beside
 * it, "NAME: stacks": on the thread itself they would mix with its ranges. Its states
 * (thread_states.h) on another one, "NAME: run state", as complete events with the colours that the
 * format has for them. */

enum chrome_row_kind { CHROME_ROW_STATE, CHROME_ROW_STACKS, CHROME_ROW_KINDS };

/* Where a row stands in its process: a thread, its rows, its losses. */
static inline uint64_t chrome_thread_rank(const struct export_ids *ids, uint32_t thread)
{
    return (CHROME_ROW_KINDS + 2ull) * ids->thread_rank[thread];
}

static inline uint64_t chrome_row_rank(const struct export_ids *ids, uint32_t thread,
                                       enum chrome_row_kind kind)
{
    return chrome_thread_rank(ids, thread) + 1 + kind;
}

struct chrome_row {
    char place[48]; /* ,"pid":1,"tid":1; empty: not there yet */
};

struct chrome_rows {
    struct chrome_writer *writer;
    struct export_ids *ids;
    const char *prefixes;      /* of file names: profile/call_label.h */
    struct sample_order order; /* in front of these */
    struct flame_chart chart;
    struct thread_states states;
    struct chrome_row *rows; /* CHROME_ROW_KINDS of each thread */
    bool has_chart, has_states;
};

/* 0 or -ENOMEM; then call fini all the same. All samples in recording order, then finish. */
int chrome_rows_init(struct chrome_rows *rows, struct chrome_writer *writer, struct export_ids *ids,
                     const struct export_job *job);
int chrome_rows_add(struct chrome_rows *rows, const struct sample *sample);
int chrome_rows_finish(struct chrome_rows *rows);
void chrome_rows_fini(struct chrome_rows *rows);

/* ---- GPUs: chrome_gpu.c, chrome_device.c ----
 *
 * As torch.profiler writes them, so that what reads its files reads these: a process for each
 * device, which has the device's number if no program has it as its pid; in it a thread for each
 * stream, with the stream's number, and one more for each shelf; categories, names of copies and of
 * values as there. A launch is an instant of its thread; if its call is not in the recording, it is
 * a call without a duration, so that readers that join by the number of a call find one. Which it
 * is, is known when all calls have come: so launches are kept until then, or CHROME_LAUNCHES_MAX of
 * them. An arrow leads from there to what was launched. */

/* A lane of a GPU. */
struct chrome_queue {
    uint32_t lane, pid, stream, context;
    uint32_t device; /* its number; UINT32_MAX: not known */
    bool is_stream;
    struct shelves shelves;
    VEC(uint32_t) tids; /* of the shelves */
};

/* A device, and what a mark said of it. */
struct chrome_device {
    uint32_t lane, pid, number;
    struct arg values[GPU_VALUE_COUNT]; /* by enum gpu_value; kind 0: not told */
};

enum {
    CHROME_LAUNCHES = 1 << 12,     /* recent ones that are known again */
    CHROME_LAUNCHES_MAX = 1 << 21, /* that wait for calls: 48 MiB */
};

struct chrome_launch {
    int64_t origin_ns;
    uint32_t thread;
    uint64_t number; /* 0: empty */
};

/* ---- Ranges on streams: chrome_annotations.c ----
 *
 * "gpu_user_annotation": a range of the launching thread, from the begin of the first to the end of
 * the last that was launched inside of it to a stream, one for each stream. They begin together
 * with kernels that are written before, and readers nest by the order in the file: so they lie on
 * threads of their own, "stream 7: ranges". */

struct chrome_annotated {
    int64_t begin_ns, end_ns;
    uint32_t thread, name, depth;
};

/* Something that a stream did. */
struct chrome_work {
    int64_t origin_ns, begin_ns, end_ns;
    uint32_t thread, queue; /* index of chrome_gpu.queues */
};

struct chrome_annotations {
    VEC(struct chrome_annotated) ranges;
    VEC(struct chrome_work) launches;
    size_t judged;     /* of the ranges: they have launches */
    uint64_t left_out; /* launches */
};

struct chrome_gpu {
    struct chrome_writer *writer;
    struct export_ids *ids;
    struct gpu_keys keys;
    bool any, has_calls;
    uint32_t *queue_of; /* of lane: 1 + index */
    uint32_t lane_count;
    VEC(struct chrome_queue) queues;
    VEC(struct chrome_device) devices;
    struct chrome_launch *launches;
    VEC(struct chrome_launch) waiting;
    struct map64 calls; /* numbers of those that were met, while launches wait */
    struct chrome_annotations annotations;
    uint64_t last_launch, last_arrow;
    int error; /* 0 or -ENOMEM: of calls */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_gpu_init(struct chrome_gpu *gpu, struct chrome_writer *writer, struct export_ids *ids);
void chrome_gpu_fini(struct chrome_gpu *gpu);

/* What lies on queues. False: it is of no GPU, and not taken; *ret_error: 0 or -ENOMEM. */
bool chrome_gpu_take(struct chrome_gpu *gpu, const struct item *item, int *ret_error);

/* The launches that wait. 0 or -ENOMEM. */
int chrome_gpu_finish(struct chrome_gpu *gpu);

/* In place of chrome_attributes, of what lies on threads: calls to the driver as torch.profiler has
 * them; ranges without a category of their own are "user_annotation". */
void chrome_gpu_attributes(struct chrome_gpu *gpu, const struct event *event,
                           const struct args *values);

/* A mark that may tell of a device. */
void chrome_gpu_mark(struct chrome_gpu *gpu, const struct event *event, const struct args *values);

/* A range of a thread that has ended; work of a queue. 0 or -ENOMEM. */
int chrome_annotations_range(struct chrome_gpu *gpu, const struct item *item);
int chrome_annotations_launch(struct chrome_gpu *gpu, const struct item *item,
                              const struct chrome_queue *queue);
/* Writes them. 0 or -ENOMEM. */
int chrome_annotations_finish(struct chrome_gpu *gpu);
void chrome_annotations_fini(struct chrome_annotations *all);

/* The process of a device, made if new. UINT32_MAX: out of memory. */
uint32_t chrome_device_pid(struct chrome_gpu *gpu, uint32_t lane);

/* Members of the document, with commas behind and before them. Whether the rank is known; with
 * _put_base, what the file calls 0 is from here on when the day (UTC) began. */
bool chrome_put_rank(struct out_stream *out, const struct trace *trace,
                     const struct export_options *options);
void chrome_put_base(struct chrome_writer *writer);
void chrome_put_devices(struct chrome_gpu *gpu);

/* What all events of it share: ,"pid":0,"tid":7 */
enum { CHROME_GPU_PLACE = 48 };

void chrome_put_metadata(struct chrome_writer *writer, const char *place, const char *name,
                         const struct fact *argument);

#endif
