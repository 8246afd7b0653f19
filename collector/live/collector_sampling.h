/* SPDX-License-Identifier: MIT */
/* The sampler inside a session: where its samples go.
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

struct lives;
struct store_writer;
struct trace;

struct sampling {
    struct sampler *sampler;           /* NULL: no samples wanted */
    struct store_writer *writer;       /* NULL: */
    const struct collector_sink *sink; /* takes them */
    struct clock_map *clock;           /* of the programs */
    struct trace *trace;
    uint64_t sample_count, stretch_count;
    VEC(int32_t) waiting; /* pids, until the gate opens */
    cpu_set_t processors; /* of those that it attached to */
    uint32_t gpu_hz;      /* of its counters; 0: none */
    struct gpus gpus;
    uint32_t range_sequence; /* of what was asked for last, in the session's file */
};

/* The registry and the trace outlive it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sampling_init(struct sampling *sampling, const struct collector_options *options,
                  struct trace *trace, struct lives *lives);
void sampling_fini(struct sampling *sampling);

/* Now, or when the gate opens: then with what has become of the process until then. 0, -ESRCH,
 * -EPERM, -ENOMEM; a process that is gone when the gate opens is no error. */
int sampling_track(struct sampling *sampling, int32_t pid, unsigned flags, bool now);
int sampling_begin(struct sampling *sampling);

/* See collector_add_range(). */
int sampling_add_range(struct sampling *sampling, const struct sampler_range_wish *wish,
                       struct sampler_range_told *ret_told);

/* 0 or -errno of the recording. */
int sampling_step(struct sampling *sampling, const struct session_file *session);
int sampling_finish(struct sampling *sampling);
int sampling_tell_waiting(struct sampling *sampling);

/* When a step is due, in `most_ms` at the latest. */
int sampling_timeout_ms(const struct sampling *sampling, int most_ms);

/* Once all is in the file: the memory of the sampler and of stacks is given back, for who reads the
 * recording next. The counts stay; without a file, stacks too. */
void sampling_close(struct sampling *sampling);

#endif
