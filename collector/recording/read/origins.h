/* SPDX-License-Identifier: MIT */
/* Launches of queued work: the ranges that the launching thread had open at the origin of a span,
 * and its stack. Thread-safety: one thread per pass. */
#ifndef ANNOT_ORIGINS_H
#define ANNOT_ORIGINS_H

#include "event.h"
#include "pass_state.h"
#include "sample.h"

#include <stdint.h>

struct lane;
struct lane_origins;
struct origins;
struct pass;

/* Makes pass->origins if the trace has queues, or is live. 0 or -ENOMEM. */
int origins_start(struct pass *pass);
void origins_destroy(struct origins *origins);
void lane_origins_free(struct lane *lane);

/* Notes the ranges of the lane, before they change. */
int origins_note(struct pass *pass, struct lane *lane);

/* The same in two parts, for many changes: finds the notes of a lane, NULL if it needs no notes;
 * adds its path from a time on. 0 or -ENOMEM. */
int origins_find(struct pass *pass, struct lane *lane, struct lane_origins **ret_own);
int origins_note_path(struct pass *pass, struct lane_origins *own, uint32_t path, int64_t since_ns);

/* Takes a sample of a launch. */
int origins_launch(struct pass *pass, const struct sample *sample);

/* Hands out a span once its origin is known. */
int origins_take(struct pass *pass, const struct event *event, const struct args *args);

/* Hands out waiting spans of the thread, which has advanced; of all threads, as far as settled. */
int origins_lane_passed(struct pass *pass, uint32_t thread);
int origins_settle(struct pass *pass);

#endif
