/* SPDX-License-Identifier: MIT */
/* Samples of the sampler's two sets, in one expression. Their values stay valid for the next 65,536
 * samples. One thread. */
#ifndef ANNOT_MADE_SAMPLE_H
#define ANNOT_MADE_SAMPLE_H

#include "sample.h"

static inline int64_t *made_values(void)
{
    static int64_t rows[1 << 16][2];
    static unsigned next;
    return rows[next++ % (1u << 16)];
}

/* On a CPU, for `cpu_ns` of CPU time. */
static inline struct sample made_cpu(struct sample sample, int64_t cpu_ns)
{
    int64_t *values = made_values();
    values[0] = cpu_ns;
    sample.set = SAMPLE_SET_CPU;
    sample.end_ns = 0;
    sample.values = values;
    sample.value_count = 1;
    return sample;
}

/* Off the CPU from its time to its end, woken at `wake_ns`; 0: never woken, or preempted (its
 * reason). */
static inline struct sample made_wait(struct sample sample, int64_t wake_ns)
{
    sample_set_wait(&sample, wake_ns, made_values());
    return sample;
}

#endif
