/* SPDX-License-Identifier: MIT */
/* A queue of samples for the sink, in order, waiting for unknown names of ranges. A sample with an
 * unnamed range path holds up later ones, so that each thread's samples leave in order, for at most
 * 200 ms or 16,384 samples; then it leaves without a path. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_QUEUE_H
#define ANNOT_SAMPLE_QUEUE_H

#include "processes.h"
#include "sample.h"
#include "sampler.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_BATCH = 512 };

/* Without a set it is only a query for the range names that a forked process has from its parent:
 * the result is stored in that process. */
enum { QUEUED_VALUES = 3 };

struct queued_sample {
    struct sample sample; /* its values are those below */
    int64_t values[QUEUED_VALUES];
    uint64_t arrived_ns;
    int32_t child;                /* of a query */
    struct sampled_ranges ranges; /* if known, they give its path */
};

struct sample_queue {
    const struct sampler_options *options; /* sink, trace, lives */
    struct processes *processes;
    VEC(struct queued_sample) waiting;
    size_t first; /* in `waiting` */
    struct sample batch[SAMPLE_BATCH];
    int64_t batch_values[SAMPLE_BATCH][QUEUED_VALUES];
    size_t batch_count;
    uint64_t unnamed; /* left without a path for want of a name */
};

void sample_queue_init(struct sample_queue *queue, const struct sampler_options *options,
                       struct processes *processes);
void sample_queue_fini(struct sample_queue *queue);

/* Copies the sample. 0, -ENOMEM, -errno of the sink. */
int sample_queue_add(struct sample_queue *queue, const struct queued_sample *sample,
                     uint64_t now_ns);

/* Passes on finished samples; `all`: every sample. 0, -ENOMEM, -errno of the sink. */
int sample_queue_flush(struct sample_queue *queue, uint64_t now_ns, bool all);

static inline size_t sample_queue_waiting(const struct sample_queue *queue)
{
    return queue->waiting.count - queue->first;
}

#endif
