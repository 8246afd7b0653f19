/* SPDX-License-Identifier: MIT */
/* The sampler inside a session: where its samples go.
 * Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_SAMPLING_H
#define ANNOT_COLLECTOR_SAMPLING_H

#include "collector.h"
#include "store.h"
#include "vec.h"

struct sampling {
    struct sampler *sampler; /* NULL: no samples wanted */
    struct store_writer *writer;
    struct trace *trace;
    uint64_t sample_count, stretch_count;
    VEC(int32_t) waiting; /* pids, until the gate opens */
};

/* the registry and the trace outlive it. 0 or -ENOMEM. fini accepts a zeroed object. */
int sampling_init(struct sampling *sampling, const struct collector_options *options,
                  struct trace *trace, struct lives *lives);
void sampling_fini(struct sampling *sampling);

/* Now, or when the gate opens: then with what has become of the process until then. 0, -ESRCH,
 * -EPERM, -ENOMEM; a process that is gone when the gate opens is no error. */
int sampling_track(struct sampling *sampling, int32_t pid, unsigned flags, bool now);
int sampling_begin(struct sampling *sampling);

/* 0 or -errno of the recording. */
int sampling_step(struct sampling *sampling);
int sampling_finish(struct sampling *sampling);

#endif
