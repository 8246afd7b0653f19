/* SPDX-License-Identifier: MIT */
/* What GPUs did, by who launched it: time, bytes and number of kernels, copies, sets and graphs as
 * samples, whose stacks end with the name of what ran.
 *
 * What a thread launched inside of one path of ranges under one name is exact, and so is the sum of
 * all. Where a thread launched it is known of a part of the launches (SAMPLE_ROLE_LAUNCH): the
 * whole is divided among those stacks in proportion to what the sampled ones took, each times the
 * launches it stands for; if all were sampled, that is exact, too. What was launched under a name
 * and path of which no launch was sampled has its ranges as frames, and one that says so. So has
 * what nobody knows the launch of, with the thread that told of it.
 *
 * The samples are of a set of their own, which the trace gains. Memory: 160 bytes for each thread,
 * path and name, 64 for each of these and a stack, 32 for each sampled launch. Thread-safety: one
 * thread per object. */
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

/* "gpu:gpu", "gpu:bytes", "gpu:calls": what sample_weight_find knows them by. NULL: no such word of
 * "time|bytes|launches". */
const char *gpu_value_name(const char *word);

struct gpu_stacks_totals {
    uint64_t values[LAUNCHED_VALUES];
    uint64_t sampled;                   /* of the calls: their own stack is known */
    uint64_t unplaced[LAUNCHED_VALUES]; /* without any stack */
};

struct gpu_stacks_options {
    bool by_range; /* whoever takes the samples shows their paths: stacks need not */
};

/* Reads the recording. 0 or -errno. What the arguments point to outlives the object; destroy
 * accepts NULL. */
int gpu_stacks_read(const struct pass_source *source, const struct pass_selection *selection,
                    const struct gpu_stacks_options *options, struct gpu_stacks **ret_stacks);
void gpu_stacks_destroy(struct gpu_stacks *stacks);

const struct gpu_stacks_totals *gpu_stacks_totals(const struct gpu_stacks *stacks);

/* "stacks of launches sampled: 1 of 31.4; sums are exact" */
const char *gpu_stacks_say(const struct gpu_stacks_totals *totals, char *buffer, size_t size);

/* A source with the events of another one and these samples, which have their time as if it were
 * CPU time: for who knows of no other. It is read once. */
struct pass_source gpu_stacks_source(struct gpu_stacks *stacks, const struct pass_source *events);

/* Tells all samples, as items of a pass; a nonzero answer ends it and is returned. */
int gpu_stacks_tell(const struct gpu_stacks *stacks, const struct sink *sink);

#endif
