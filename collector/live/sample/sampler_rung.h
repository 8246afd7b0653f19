/* SPDX-License-Identifier: MIT */
/* One way of sampling: a rung of the ladder. sampler.c picks the highest that works and delegates
 * every call to it; contracts are those of sampler.h. */
#ifndef ANNOT_SAMPLER_RUNG_H
#define ANNOT_SAMPLER_RUNG_H

#include "sampler.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler_rung {
    enum sampling_rung rung;
    /* 0, -ENOMEM, or -errno with one line in `reason`: then the next rung is tried. Options are
     * copied if kept. */
    int (*create)(const struct sampler_options *options, void **ret_state, char *reason,
                  size_t reason_size);
    void (*destroy)(void *state); /* accepts NULL */
    int (*track)(void *state, int32_t pid, unsigned flags);
    int (*fd)(const void *state);
    int (*timeout_ms)(const void *state);
    int (*step)(void *state);
    int (*emit_waiting)(void *state); /* NULL: unsupported */
    int (*finish)(void *state);
    /* NULL: unsupported. */
    int (*add_range)(void *state, const struct sampler_range_request *wish,
                     struct sampler_range_result *ret_result);
};

struct sampler {
    const struct sampler_rung *rung; /* NULL: none works */
    void *state;
};

extern const struct sampler_rung sampler_rung_bpf;    /* sampler_bpf.c; if built with eBPF */
extern const struct sampler_rung sampler_rung_remote; /* sampler_remote.c */

/* ---- Pace: the slow-down of a recording, as short programs would have few samples at the rate of
 * long ones ----
 *
 * It begins at sampler_options.first_hz, until enough CPU time was sampled: that bounds the cost,
 * and a waiting launcher does not use it up. Timers wake idle processors as well, so a limit by the
 * clock applies, too. */

#define PACE_CPU_NS   UINT64_C(1000000000)
#define PACE_CLOCK_NS UINT64_C(10000000000)

struct pace {
    bool fast;
    uint64_t begin_ns;
    uint64_t cpu_ns; /* sampled so far */
};

static inline bool pace_is_over(const struct pace *pace, uint64_t now_ns)
{
    return pace->fast && (pace->cpu_ns >= PACE_CPU_NS || now_ns - pace->begin_ns >= PACE_CLOCK_NS);
}

static inline void pace_slow(struct pace *pace, struct trace *trace)
{
    struct trace_sampling *sampling = trace_sampling(trace);
    pace->fast = false;
    sampling->slowed = true;
    sampling->revision++;
}

#endif
