/* SPDX-License-Identifier: MIT */
/* Samples of a thread, which wait until its events have come so far, and the path of ranges of
 * each: read from the live stack, and checked against the events. Functions that return a path
 * return -ENOMEM as well. Thread-safety: one thread per pass. */
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
    PATH_AGREES = 1,  /* with what was open at the instant */
    PATH_AT_EDGE = 2, /* with what was open a moment before or after */
    PATH_UNSURE = 4,  /* events of the thread are missing before, or none follow */
};

/* Registers the forks of the trace. 0 or -ENOMEM. */
int samples_start(struct pass *pass);
void lane_samples_free(struct lane *lane);

/* A batch of them, unless no sample is to come that begins before that time, or too many wait: 1;
 * 0: none was needed, or there are no more. */
int samples_read_some(struct pass *pass, int64_t time_ns);

/* Whether more may wait. */
bool samples_room(const struct pass *pass);

/* The lane's path changes at that time, or, `final`, never again. */
int lane_samples_settle(struct pass *pass, struct lane *lane, int64_t until_ns, bool final);

/* No thread has an event before that time any more. */
int samples_settle(struct pass *pass, int64_t until_ns, bool final);

/* When its thread did not run, until that time. */
struct off_share lane_off_until(const struct pass *pass, struct lane *lane, int64_t time_ns);

/* The path of a range below another one; -ENOMEM. */
int64_t range_path_add(struct pass *pass, uint32_t parent, const struct event *begin);

/* The path of the lane's innermost open range, or 0; -ENOMEM. */
int64_t lane_path(struct pass *pass, struct lane *lane);

/* Those whose forks are known by now; `all`: no more will be. */
int heirs_finish(struct pass *pass, bool all);

/* Hands out one as it is. */
int sample_tell(struct pass *pass, struct sample *sample);

/* Without the innermost ranges that only an observer knows: RANGE_PATH_PROBED. */
uint32_t sample_path_own(const struct stacks *stacks, uint32_t path);

/* All of it RANGE_PATH_INHERITED. */
int64_t sample_path_inherited(struct stacks *stacks, uint32_t path);

#endif
