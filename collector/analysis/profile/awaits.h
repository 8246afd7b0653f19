/* SPDX-License-Identifier: MIT */
/* Finds the places where asyncio tasks were suspended for 1 ms or longer, by the own coroutine that
 * awaited.
 *
 * pyannot marks the end of such a wait on the task's track (OBSERVER_ASYNCIO,
 * ASYNCIO_ROLE_AWAITED). Waits of different tasks overlap, so their sum is not a part of the wall
 * time. Memory: 64 bytes a place, up to AWAITS_MAX places; waits at further places are counted in
 * one row. Thread-safety: one thread per object. */
#ifndef ANNOT_AWAITS_H
#define ANNOT_AWAITS_H

#include "pass.h"
#include "trace.h"

enum { AWAITS_MAX = 1 << 14 };

struct await_place {
    uint32_t function, file, awaits; /* strings; 0: unknown, or the row of further places */
    int32_t line;
    uint64_t count, total_ns, max_ns;
};

struct awaits;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct awaits *awaits_create(const struct trace *trace);
void awaits_destroy(struct awaits *awaits);

/* The sink takes the items of a pass in any order; call finish once after the last. */
struct sink awaits_sink(struct awaits *awaits);
void awaits_finish(struct awaits *awaits);

/* Returns the number of places, longest total time first. The array is owned by the object. */
uint32_t awaits_places(const struct awaits *awaits, const struct await_place **ret_places);

/* Read the key-values of a mark: the duration of the wait (0: missing or implausible), and true if
 * the awaited operation is the work of other tasks of the program. */
uint64_t awaits_duration_ns(const struct trace *trace, const struct args *values);
bool awaits_is_inside(const struct trace *trace, const struct args *values);
bool awaits_names_inside(const char *awaits);

#endif
