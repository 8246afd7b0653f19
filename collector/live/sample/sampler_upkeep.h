/* SPDX-License-Identifier: MIT */
/* The end of a step: ends and execs without a record, files and mappings to be tried again or
 * forgotten, values for the kernel, facts for the trace. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_UPKEEP_H
#define ANNOT_SAMPLER_UPKEEP_H

#include "processes.h"

#include <stdint.h>

struct bpf_sampler;

/* It must have ended before that time. */
void sampler_end_untold(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns);

/* Spaces, interpreters and values of all processes that changed, into the kernel. 0 or -ENOMEM. */
int sampler_publish(struct bpf_sampler *sampler);

/* Once a second, before sampler_publish(): what else must be looked after. 0 or -ENOMEM. */
int sampler_upkeep(struct bpf_sampler *sampler);

/* Forgets what is not needed any more. */
void sampler_sweep(struct bpf_sampler *sampler);

/* Counters into the trace. 0 or -ENOMEM. */
int sampler_write_facts(struct bpf_sampler *sampler);

#endif
