/* SPDX-License-Identifier: MIT */
/* One way of sampling, behind sampler.h: a rung of the ladder.
 *
 * sampler.c picks the highest that works and hands every call on to it. Contracts are those of
 * sampler.h. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_RUNG_H
#define ANNOT_SAMPLER_RUNG_H

#include "sampler.h"

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
    int (*finish)(void *state);
};

struct sampler {
    const struct sampler_rung *rung; /* NULL: none works */
    void *state;
};

extern const struct sampler_rung sampler_rung_bpf;    /* sampler_bpf.c; if built with eBPF */
extern const struct sampler_rung sampler_rung_remote; /* sampler_remote.c */

#endif
