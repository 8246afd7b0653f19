/* SPDX-License-Identifier: MIT */
/* Samples of a thread, which wait for its events of their time, and the path of ranges of each:
 * read from the live stack, and checked against the events. Functions that return a path return
 * -ENOMEM as well. Thread-safety: one thread per pass. */
#ifndef ANNOT_LANE_SAMPLES_H
#define ANNOT_LANE_SAMPLES_H

#include "event.h"
#include "pass_state.h"
#include "sample.h"

#include <stdbool.h>
#include <stdint.h>

struct lane;
struct pass;
struct stacks;

enum path_verdict {
    PATH_AGREES = 1,  /* with the ranges open at the instant */
    PATH_AT_EDGE = 2, /* with the ranges open a moment before or after */
    PATH_UNSURE = 4,  /* events of the thread were lost before, or later ones are missing */
};

/* Registers the forks of the trace. 0 or -ENOMEM. */
int samples_start(struct pass *pass);
void lane_samples_free(struct lane *lane);

/* Reads a batch of them, unless all samples that begin before that time were read, or too many
 * wait: 1; 0: not needed, or at the end. */
int samples_read_some(struct pass *pass, int64_t time_ns);

/* True if more may wait. */
bool samples_room(const struct pass *pass);

/* Compares samples before the lane's path changes at that time, or, `final`, for the last time. */
int lane_samples_settle(struct pass *pass, struct lane *lane, int64_t until_ns, bool final);

/* The same for all threads, once no event can come before that time. */
int samples_settle(struct pass *pass, int64_t until_ns, bool final);

/* Off-CPU time of the lane's thread until that time. */
struct off_share lane_off_until(const struct pass *pass, struct lane *lane, int64_t time_ns);

/* The path of a range below another one; -ENOMEM. */
int64_t range_path_add(struct pass *pass, uint32_t parent, const struct event *begin);

/* The path of the lane's innermost open range, or 0; -ENOMEM. */
int64_t lane_path(struct pass *pass, struct lane *lane);

/* Hands out samples of forked processes once their forks are known; `all`: hands out all of
 * them. */
int heirs_finish(struct pass *pass, bool all);

/* Hands out one unchanged. */
int sample_emit(struct pass *pass, struct sample *sample);

/* The path without its innermost ranges of kind RANGE_PATH_PROBED. */
uint32_t sample_path_own(const struct stacks *stacks, uint32_t path);

/* The path with all ranges as RANGE_PATH_INHERITED. */
int64_t sample_path_inherited(struct stacks *stacks, uint32_t path);

#endif
