/* SPDX-License-Identifier: MIT */
/* Threads that slept already when their process was begun with.
 *
 * Found at once, so that their stretch begins with the recording; read when the process's mappings
 * are known. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_ASLEEP_H
#define ANNOT_SAMPLER_ASLEEP_H

#include "sample_parts.h"

/* Opens their stretches. 0 or -ENOMEM. */
int sampler_find_asleep(struct bpf_sampler *sampler);
/* Reads the stacks of those that were found since the last call. 0 or -ENOMEM. */
int sampler_read_asleep(struct bpf_sampler *sampler);
/* The stack of such a stretch, which `head` begins, into `sample`; `parts`: what the kernel told of
 * it. Once. 0, also if it is not known, or -ENOMEM. */
int sampler_take_asleep(struct bpf_sampler *sampler, const struct sampler_head *head,
                        const struct sampler_stack *parts, struct sample *sample);

#endif
