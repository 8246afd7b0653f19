/* SPDX-License-Identifier: MIT */
/* The sampler inside a session, and the destination of its samples.
 * Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_SAMPLING_H
#define ANNOT_COLLECTOR_SAMPLING_H

#include "clock_map.h"
#include "collector.h"
#include "collector_gpus.h"
#include "sampler.h"
#include "session_file.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct heaps;
struct lives;
struct store_writer;
struct trace;

struct sampling {
    struct sampler *sampler;           /* NULL: not sampling */
    struct store_writer *writer;       /* NULL: */
    const struct collector_sink *sink; /* receives them */
    struct clock_map *clock;           /* of the programs */
    const struct heaps *heaps;         /* NULL: programs do not count their allocations */
    struct trace *trace;
    uint64_t sample_count, stretch_count;
    VEC(int32_t) waiting; /* pids, until the gate opens */
    cpu_set_t processors; /* of attached processes */
    uint32_t gpu_hz;      /* of the GPU counters; 0: off */
    struct gpus gpus;
    uint32_t range_sequence; /* of the last request in the session's file */
};

/* The registry and the trace outlive it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sampling_init(struct sampling *sampling, const struct collector_options *options,
                  struct trace *trace, struct lives *lives);
void sampling_fini(struct sampling *sampling);

/* Tracks a process now, or in its state when the gate opens. 0, -ESRCH, -EPERM, -ENOMEM; a process
 * that has ended when the gate opens is no error. */
int sampling_track(struct sampling *sampling, int32_t pid, unsigned flags, bool now);
int sampling_begin(struct sampling *sampling);

/* See collector_add_range(). */
int sampling_add_range(struct sampling *sampling, const struct sampler_range_request *wish,
                       struct sampler_range_result *ret_result);

/* 0 or -errno of the recording. */
int sampling_step(struct sampling *sampling, const struct session_file *session);
int sampling_finish(struct sampling *sampling);
int sampling_emit_waiting(struct sampling *sampling);

/* The time until a step is due, `most_ms` at most. */
int sampling_timeout_ms(const struct sampling *sampling, int most_ms);

/* Call when all is in the file: frees the memory of the sampler and of stacks, for later readers of
 * the recording. Keeps the counts, and without a file the stacks. */
void sampling_close(struct sampling *sampling);

#endif
