/* SPDX-License-Identifier: MIT */
/* GPUs in the Chrome exporter.
 *
 * Written like torch.profiler's files, so that readers of those read these: a process for each
 * device, which has the device's number unless a program has it as its pid; in it a thread for each
 * stream, with the stream's number, and one more for each shelf; categories, names of copies and of
 * values as there. A launch is an instant of its thread; if its call is not in the recording, it is
 * a call without a duration, so that readers that join by the number of a call find one. This is
 * decided when all calls have come: launches are kept until then, or CHROME_LAUNCHES_MAX of them.
 * An arrow leads from there to the launched work. Thread-safety: one thread per object. */
#ifndef ANNOT_CHROME_GPU_H
#define ANNOT_CHROME_GPU_H

#include "chrome_annotations.h"
#include "event.h"
#include "export.h"
#include "export_ids.h"
#include "gpu_work.h"
#include "hash_map.h"
#include "pass.h"
#include "shelves.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct chrome_writer;
struct out_stream;
struct trace;

/* A lane of a GPU. */
struct chrome_queue {
    uint32_t lane, pid, stream, context;
    uint32_t device; /* its number; UINT32_MAX: unknown */
    bool is_stream;
    struct shelves shelves;
    VEC(uint32_t) tids; /* of the shelves */
};

/* A device, and the values of its mark. */
struct chrome_device {
    uint32_t lane, pid, number;
    struct arg values[GPU_VALUE_COUNT]; /* by enum gpu_value; kind 0: not given */
};

struct chrome_launch {
    int64_t origin_ns;
    uint32_t thread;
    uint64_t number; /* 0: empty */
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
    struct map64 calls; /* numbers of the calls seen, while launches wait */
    struct chrome_annotations annotations;
    uint64_t last_launch, last_arrow;
    int error; /* 0 or -ENOMEM: of calls */
};

enum {
    CHROME_LAUNCHES = 1 << 12,     /* cache of recent ones */
    CHROME_LAUNCHES_MAX = 1 << 21, /* waiting for calls: 48 MiB */
};

/* 0 or -ENOMEM; then fini all the same. */
int chrome_gpu_init(struct chrome_gpu *gpu, struct chrome_writer *writer, struct export_ids *ids);
void chrome_gpu_fini(struct chrome_gpu *gpu);

/* Takes items on queues. False: not of a GPU, and not taken; *ret_error: 0 or -ENOMEM. */
bool chrome_gpu_take(struct chrome_gpu *gpu, const struct item *item, int *ret_error);

/* Writes the waiting launches. 0 or -ENOMEM. */
int chrome_gpu_finish(struct chrome_gpu *gpu);

/* Replaces chrome_attributes for items on threads: calls to the driver as in torch.profiler; ranges
 * without a category are "user_annotation". */
void chrome_gpu_attributes(struct chrome_gpu *gpu, const struct event *event,
                           const struct args *values);

/* A mark that may describe a device. */
void chrome_gpu_mark(struct chrome_gpu *gpu, const struct event *event, const struct args *values);

/* The process of a device, added if new. UINT32_MAX: out of memory. */
uint32_t chrome_device_pid(struct chrome_gpu *gpu, uint32_t lane);

/* Members of the document, with commas after and before them. Returns true if the rank is known;
 * after _put_base, time 0 of the file is the start of the day (UTC). */
bool chrome_put_rank(struct out_stream *out, const struct trace *trace,
                     const struct export_options *options);
void chrome_put_base(struct chrome_writer *writer);
void chrome_put_devices(struct chrome_gpu *gpu);

#endif
