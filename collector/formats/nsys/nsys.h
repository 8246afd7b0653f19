/* SPDX-License-Identifier: MIT */
/* The exporter for Nsight Systems: its state, and the rows of each kind.
 *
 * A database cannot be written sequentially, so it is built in a temporary file in one transaction
 * and then copied to the output. Only tables with rows exist. Columns are the union of 2022.4 to
 * 2024.2. Thread-safety: one thread per exporter. */
#ifndef ANNOT_NSYS_H
#define ANNOT_NSYS_H

#include "chosen_frames.h"
#include "event.h"
#include "export.h"
#include "export_ids.h"
#include "gpu_work.h"
#include "hash_map.h"
#include "nsys_database.h"
#include "pass.h"
#include "sample.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct nsys_device {
    uint32_t number;
    uint32_t lane;                      /* for its name */
    struct arg values[GPU_VALUE_COUNT]; /* by enum gpu_value; without kind: unknown */
};

/* Time and place of a launch. */
struct nsys_launch {
    int64_t thread, start_ns; /* globalTid; time since the start of the recording */
    int64_t correlation;      /* the driver's number; 0: not recorded */
    int64_t number;           /* joins it with the launched work */
};

struct nsys {
    struct nsys_database db;
    const struct export_job *job;
    const struct trace *trace;
    struct export_ids ids;
    struct gpu_keys keys;
    struct chosen_frames chosen;
    int64_t begin_ns;
    struct out_stream *json;  /* memory stream */
    struct map64 scopes;      /* scopes of processes that have their rows */
    struct wide_map names;    /* domains and categories of processes that have their rows */
    struct map64 short_names; /* of kernels: string to id */
    struct map64 contexts;    /* process and context: 1 + device */
    VEC(struct nsys_device) devices;
    uint8_t *chains; /* by stack: its callchain was written */
    uint32_t stack_count;
    int64_t sample_count;
    struct nsys_launch last_launch; /* number 0: unset */
    int64_t own_launches;
};

enum { NSYS_UNKNOWN = -1 };

/* CUDA contexts have smaller numbers; these are other lanes. */
#define NSYS_CONTEXTS UINT32_C(0xffffff00)

/* nsys_thread returns a globalTid, or NSYS_UNKNOWN for an unknown thread. nsys_process returns a
 * globalPid. */
int64_t nsys_thread(const struct nsys *nsys, uint32_t thread);
int64_t nsys_process(const struct nsys *nsys, uint32_t process);

/* Write the next column: a time since the start of the recording; a globalTid or globalPid. */
void nsys_put_time(struct nsys *nsys, int64_t time_ns);
void nsys_put_who(struct nsys *nsys, int64_t global);

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Rows about the whole recording: processes, threads, times, devices, enums. */
void nsys_put_facts(struct nsys *nsys);

/* ---- GPU work -------------------------------------------------------------------------------- */

/* Rows of GPU work and of the calls that launched it. */

/* 0 or -ENOMEM. */
int nsys_gpu_init(struct nsys *nsys);

/* Returns false for items other than GPU work and its calls. */
bool nsys_gpu_take(struct nsys *nsys, const struct item *item);

/* Takes facts of a device. */
void nsys_gpu_mark(struct nsys *nsys, const struct item *item);

/* Writes launches without a recorded call. */
void nsys_gpu_finish(struct nsys *nsys);

/* ---- Ranges and samples ---------------------------------------------------------------------- */

/* Rows of ranges and marks, samples and waits. */
void nsys_take_range(struct nsys *nsys, const struct item *item);
void nsys_take_mark(struct nsys *nsys, const struct item *item);
void nsys_take_sample(struct nsys *nsys, const struct sample *sample);

#endif
