/* SPDX-License-Identifier: MIT */
/* The end of a step: ends and execs without a record, files and mappings to be retried or dropped,
 * values for the kernel, facts for the trace. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_UPKEEP_H
#define ANNOT_SAMPLER_UPKEEP_H

#include "processes.h"

#include <stdint.h>

struct bpf_sampler;

/* Ends a process without a record, at that time at the latest. */
void sampler_end_unreported(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns);

/* Publishes spaces, interpreters and values of all changed processes to the kernel. 0 or
 * -ENOMEM. */
int sampler_publish(struct bpf_sampler *sampler);

/* Once a second, before sampler_publish(): the other upkeep. 0 or -ENOMEM. */
int sampler_upkeep(struct bpf_sampler *sampler);

/* Frees unused state. */
void sampler_sweep(struct bpf_sampler *sampler);

/* Writes counters into the trace. 0 or -ENOMEM. */
int sampler_write_facts(struct bpf_sampler *sampler);

#endif
