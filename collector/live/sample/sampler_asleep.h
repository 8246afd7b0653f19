/* SPDX-License-Identifier: MIT */
/* Threads that slept already when sampling of their process began. They are found at once, so that
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
    struct sampler_asleep found;
    uint32_t *frames; /* root first; of the trace */
    uint32_t count;
    uint8_t native_end, python_end;
    bool listed;     /* its stretch is unfinished, and to be reported before it ends: */
    uint64_t met_ns; /* time of the last listing */
};

struct asleep_threads {
    VEC(struct asleep_thread *) unread;
    struct map64 by_key; /* hash of tid and time -> struct asleep_thread * with a known stack */
};

void asleep_threads_fini(struct asleep_threads *asleep);

/* Opens their stretches; `known`: finds those with unfinished stretches of at least `age_ns`. 0 or
 * -ENOMEM. */
int sampler_find_asleep(struct bpf_sampler *sampler, bool known, uint64_t age_ns);

/* Reads the stacks of the threads found; some may be deferred. 0 or -ENOMEM. */
int sampler_read_asleep(struct bpf_sampler *sampler);

/* Moves the stack of such a stretch, identified by `head`, into `sample`; `parts`: the kernel's
 * parts of it. Once, unless the stretch goes on. 0, even if it is unknown, or -ENOMEM. */
int sampler_take_asleep(struct bpf_sampler *sampler, const struct sampler_head *head,
                        const struct sampler_stack *parts, struct sample *sample);

/* Drops threads listed as unfinished before, but not now: they are back. */
void sampler_sweep_asleep(struct bpf_sampler *sampler);

#endif
