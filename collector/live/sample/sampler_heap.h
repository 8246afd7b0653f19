/* SPDX-License-Identifier: MIT */
/* Samples of memory: blocks that libannot-heap.so samples, when they are allocated and when they
 * are freed.
 *
 * An allocation is a sample of the set "heap" with its stack and ranges; the free of the block is a
 * sample of the set "heap-freed" with the thread, stack and ranges of the allocation, and with the
 * block's lifetime, so live memory at any time is the difference of two sums. The frees of blocks
 * that were allocated before the recording, or by the parent of a forked process, are counted but
 * not recorded.
 *
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLER_HEAP_H
#define ANNOT_SAMPLER_HEAP_H

#include "sampler_abi.h"

#include <stdint.h>

struct bpf_sampler;
struct queued_sample;

struct heap_watch {
    uint16_t allocated, freed; /* sets; 0: not defined yet */
    uint64_t blocks, unknown;  /* samples; frees of unknown blocks */
    uint64_t endless;          /* samples without a report of their free */
    int error;
};

/* Watches the library of the options from now on. */
void sampler_watch_heap(struct bpf_sampler *sampler);

/* Fills set and values of an allocation's sample, and keeps a copy for the free. 0 or -errno. */
int sampler_keep_block(struct bpf_sampler *sampler, const struct sampler_sample *record,
                       struct queued_sample *sample);
int sampler_take_freed(struct bpf_sampler *sampler, const struct sampler_freed *record);

/* Writes counts and failures into the trace. 0 or -errno. */
int sampler_write_heap(const struct bpf_sampler *sampler,
                       const uint64_t counters[SAMPLER_COUNTERS]);

#endif
