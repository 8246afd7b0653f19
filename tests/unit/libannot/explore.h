/* SPDX-License-Identifier: MIT */
/* Tries every interleaving of a few actors, up to a number of preemptions.
 *
 * Each actor is a coroutine that stops at every test point of the library, and wherever it calls
 * explore_stop itself. A schedule is the list of who goes on; all schedules are tried in order,
 * each from the start. After every step the oracle looks at the world as it would be if all died
 * now. One thread; one exploration at a time. */
#ifndef ANNOT_TEST_EXPLORE_H
#define ANNOT_TEST_EXPLORE_H

#include "control.h"

enum { EXPLORE_ACTORS_MAX = 4 };

struct explore_scene {
    int actor_count;
    void (*begin)(void);             /* puts the world as it is at first */
    void (*run)(int actor);          /* what an actor does, once */
    void (*stopped)(const char *at); /* the running actor came to a test point; or NULL */
    void (*check)(void);             /* the oracle, after every step */
    void (*finish)(void);            /* all actors are done */
};

/* Returns the number of schedules tried; stops at the first failure. */
uint64_t explore(const struct explore_scene *scene, uint32_t preemptions);

/* What went wrong, or NULL. */
extern const char *explore_failure;

/* Which actor is running. */
int explore_running(void);
/* A step of the running actor ends here. */
void explore_stop(const char *name);

/* A segment with fresh blocks and one thread record an actor; private, zeroed memory. */
struct segment *explore_segment(uint32_t block_count);
/* The control block of an actor, as one that has its thread record and no block. */
struct control *explore_control(int actor);

#endif
