/* SPDX-License-Identifier: MIT */
/* Threads that slept already when their process was begun with. They are found at once, so that
 * their stretch begins with the recording; their stacks are read when the process's mappings are
 * known. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_ASLEEP_H
#define ANNOT_SAMPLER_ASLEEP_H

#include "hash_map.h"
#include "sample.h"
#include "sampler_abi.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_sampler;
struct sampler_stack;

struct asleep_thread {
    struct sampler_asleep told;
    uint32_t *frames; /* root first; of the trace */
    uint32_t count;
    uint8_t native_end, python_end;
    bool listed;     /* while it is watched, to be told before it ends: */
    uint64_t met_ns; /* when it was last */
};

struct asleep_threads {
    VEC(struct asleep_thread *) unread;
    struct map64 by_key; /* hash of tid and time -> struct asleep_thread *, whose stack is known */
};

void asleep_threads_fini(struct asleep_threads *asleep);

/* Opens their stretches; `known`: finds those whose stretches go on, for `age_ns` at least. 0 or
 * -ENOMEM. */
int sampler_find_asleep(struct bpf_sampler *sampler, bool known, uint64_t age_ns);

/* Reads the stacks of those that were found; of some, perhaps, only later. 0 or -ENOMEM. */
int sampler_read_asleep(struct bpf_sampler *sampler);

/* The stack of such a stretch, which `head` begins, into `sample`; `parts`: what the kernel told of
 * it. Once, unless the stretch goes on. 0, also if it is not known, or -ENOMEM. */
int sampler_take_asleep(struct bpf_sampler *sampler, const struct sampler_head *head,
                        const struct sampler_stack *parts, struct sample *sample);

/* Forgets those that were found while they went on, and were not told now: they are back. */
void sampler_sweep_asleep(struct bpf_sampler *sampler);

#endif
