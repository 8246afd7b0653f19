/* SPDX-License-Identifier: MIT */
/* Where threads waited, and for what: the function of the program that called what waits.
 *
 * That is the innermost Python function; of a stack without one the innermost native function that
 * is not of the C library. Memory: 4 bytes a stack and a frame of the recording, 40 a row.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_WAIT_PLACES_H
#define ANNOT_WAIT_PLACES_H

#include "sample.h"
#include "trace.h"

struct wait_place {
    uint32_t frame; /* one of the function's; 0 = no stack */
    uint8_t reason; /* enum wait_reason */
    uint64_t count;
    uint64_t blocked_ns; /* until it could run again */
    uint64_t max_ns;
    uint64_t unfinished; /* of count: still waiting at the end */
};

struct wait_places;

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct wait_places *wait_places_create(const struct trace *trace);
void wait_places_destroy(struct wait_places *places);

/* Stretches off the CPU that waited for something, in any order; others are nothing. 0 or -ENOMEM.
 */
int wait_places_add(struct wait_places *places, const struct sample *sample);

/* All of them, the longest first; ties by name and place. Nothing is added afterwards. Owned by the
 * object. Returns how many. sorted: the same again, as they are. */
uint32_t wait_places_sorted(const struct wait_places *places, const struct wait_place **ret_places);
uint32_t wait_places_sort(struct wait_places *places, const struct wait_place **ret_places);

#endif
