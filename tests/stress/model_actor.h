/* SPDX-License-Identifier: MIT */
/* One thread of a random program: its random numbers, its range stack as libannot should see it,
 * and the events it can emit. Threads: each object belongs to its thread. */
#ifndef ANNOT_MODEL_ACTOR_H
#define ANNOT_MODEL_ACTOR_H

#include "model_log.h"

#include <annot/annot.h>

enum { MODEL_DEPTH = 100, MODEL_TRACKS = 8, MODEL_SLOTS = 32, MODEL_NAMES = 64, MODEL_DOMAINS = 3 };

/* How an open range was recorded. */
enum model_level { MODEL_RECORDED = 0, MODEL_MASKED = 1, MODEL_INHERITED = 2 };

struct model_actor {
    struct model_writer writer;
    uint64_t random;
    uint64_t before;      /* of the current call, as in the log */
    uint8_t place, level; /* of the current event, as in the log */
    uint32_t depth, recorded;
    uint8_t levels[MODEL_DEPTH];
};

/* The filter of the recording: levels up to 5, without the domain "noise". */
#define MODEL_FILTER_LEVEL 5

/* Call once in each image, before threads start. */
void model_events_setup(void);

/* Adds a thread to the log and names the thread. */
void model_actor_begin(struct model_actor *actor, struct model_log *log, uint64_t seed);
/* Call in a forked child. Open ranges stay with the parent. */
void model_actor_forked(struct model_actor *actor, uint64_t seed);

uint32_t model_random(struct model_actor *actor, uint32_t limit);

/* Emits one event, or makes a call that has no effect. */
void model_emit(struct model_actor *actor);

#endif
