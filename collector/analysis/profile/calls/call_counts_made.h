/* SPDX-License-Identifier: MIT */
/* Calls by place: a task, a range; and whole calls of coroutines. Thread-safety: as the calls. */
#ifndef ANNOT_CALL_COUNTS_MADE_H
#define ANNOT_CALL_COUNTS_MADE_H

#include "call_counts_parts.h"

/* As calls_function_of, for a range that is a place of calls; 0: limit reached, or not a range of
 * the program. -ENOMEM. */
int64_t calls_range_of(struct calls *calls, uint32_t group, const struct event *event);

/* Take spans of tracks that are whole calls of coroutines, and their waits. */
int calls_take_whole(struct calls *calls, const struct item *item);
void calls_sort_coroutines(struct calls *calls);

/* A place of calls. */
struct call_place_made {
    uint32_t task, range; /* as struct call_made */
};

/* The places, and the place of each path, as an index. 0 or -ENOMEM. */
struct call_places {
    VEC(struct call_place_made) items;
    uint32_t *of_path;
};

int call_places_find(struct calls *calls, struct call_places *places);
void call_places_fini(struct call_places *places);
/* Returns the index of a function's calls at a place, or adds it. -ENOMEM. */
int64_t calls_made_at(struct calls *calls, struct map64 *by_key, const struct call_places *places,
                      uint32_t path);
/* After functions are sorted; `place` maps old indices to new ones. */
void calls_sort_made(struct calls *calls, const uint32_t *place);

#endif
