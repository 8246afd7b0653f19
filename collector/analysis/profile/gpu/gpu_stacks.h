/* SPDX-License-Identifier: MIT */
/* GPU work by its launching stack: time, bytes and number of kernels, copies, sets and graphs as
 * samples, whose stacks end with the name of the work.
 *
 * The values of a thread's launches inside of one path of ranges under one name are exact, and so
 * is the sum of all. The stack is known for sampled launches (SAMPLE_ROLE_LAUNCH): the whole is
 * divided among their stacks in proportion to the values of the sampled launches, each times the
 * number of launches it stands for; if all launches were sampled, that is exact, too. Work under a
 * name and path without sampled launches has its ranges as frames, and a frame that says so;
 * likewise work of unknown launch, under the thread that reported it.
 *
 * The samples form a new set, which is added to the trace. Memory: 160 bytes for each thread, path
 * and name, 64 for each of these and a stack, 32 for each sampled launch. Thread-safety: one thread
 * per object. */
#ifndef ANNOT_GPU_STACKS_H
#define ANNOT_GPU_STACKS_H

#include "pass.h"

struct gpu_stacks;

/* Values of the samples, in this order. */
enum launched_value {
    LAUNCHED_TIME = 0,
    LAUNCHED_BYTES = 1,
    LAUNCHED_CALLS = 2,
    LAUNCHED_VALUES = 3
};

/* "gpu:gpu", "gpu:bytes", "gpu:calls": the names for sample_weight_find. NULL: not a word of
 * "time|bytes|launches". */
const char *gpu_value_name(const char *word);

struct gpu_stacks_totals {
    uint64_t values[LAUNCHED_VALUES];
    uint64_t sampled;                   /* calls with a known stack */
    uint64_t unplaced[LAUNCHED_VALUES]; /* without any stack */
};

struct gpu_stacks_options {
    bool by_range; /* the reader of the samples shows their paths, so stacks omit them */
};

/* Reads the recording. 0 or -errno. The arguments' pointees outlive the object; destroy accepts
 * NULL. */
int gpu_stacks_read(const struct pass_source *source, const struct pass_selection *selection,
                    const struct gpu_stacks_options *options, struct gpu_stacks **ret_stacks);
void gpu_stacks_destroy(struct gpu_stacks *stacks);

const struct gpu_stacks_totals *gpu_stacks_totals(const struct gpu_stacks *stacks);

/* "stacks of launches sampled: 1 of 31.4; sums are exact" */
const char *gpu_stacks_say(const struct gpu_stacks_totals *totals, char *buffer, size_t size);

/* Returns a source with the events of another one and these samples, with their time as CPU time,
 * for readers that support only that. Can be read once. */
struct pass_source gpu_stacks_source(struct gpu_stacks *stacks, const struct pass_source *events);

/* Passes all samples to the sink, as items of a pass; stops at the first nonzero result and returns
 * it. */
int gpu_stacks_report(const struct gpu_stacks *stacks, const struct sink *sink);

#endif
