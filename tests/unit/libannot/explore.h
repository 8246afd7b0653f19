/* SPDX-License-Identifier: MIT */
/* Tries every interleaving of a few actors, up to a number of preemptions.
 *
 * Each actor is a coroutine that stops at every test point of the library, and wherever it calls
 * explore_stop itself. A schedule is a sequence of actors; all schedules are tried in order, each
 * from the start. After every step the oracle checks the state as if all actors died at that point.
 * One thread; one exploration at a time. */
#ifndef ANNOT_TEST_EXPLORE_H
#define ANNOT_TEST_EXPLORE_H

#include "control.h"

enum { EXPLORE_ACTORS_MAX = 4 };

struct explore_scene {
    int actor_count;
    void (*begin)(void);             /* sets up the initial state */
    void (*run)(int actor);          /* runs an actor, once */
    void (*stopped)(const char *at); /* the running actor reached a test point; or NULL */
    void (*check)(void);             /* the oracle, after every step */
    void (*finish)(void);            /* all actors are done */
};

/* Returns the number of schedules tried; stops at the first failure. */
uint64_t explore(const struct explore_scene *scene, uint32_t preemptions);

/* Description of the failure, or NULL. */
extern const char *explore_failure;

/* Index of the running actor. */
int explore_running(void);
/* Ends a step of the running actor. */
void explore_stop(const char *name);

/* A segment with fresh blocks and one thread record an actor; private, zeroed memory. */
struct segment *explore_segment(uint32_t block_count);
/* The control block of an actor with a thread record and without a block. */
struct control *explore_control(int actor);

#endif
