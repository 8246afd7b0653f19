/* SPDX-License-Identifier: MIT */
/* Where asyncio tasks were suspended for a millisecond or longer, by the own coroutine that
 * awaited.
 *
 * pyannot marks the end of such a wait on the task's track (OBSERVER_ASYNCIO,
 * ASYNCIO_ROLE_AWAITED). Waits of different tasks overlap: their sum is no part of the wall time.
 * Memory: 64 bytes a place, up to AWAITS_MAX; what is in further ones is counted together.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_AWAITS_H
#define ANNOT_AWAITS_H

#include "pass.h"
#include "trace.h"

enum { AWAITS_MAX = 1 << 14 };

struct await_place {
    uint32_t function, file, awaits; /* strings; 0: not known, or of further places */
    int32_t line;
    uint64_t count, total_ns, max_ns;
};

struct awaits;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct awaits *awaits_create(const struct trace *trace);
void awaits_destroy(struct awaits *awaits);

/* What takes the items of a pass, in any order; then once finish. */
struct sink awaits_sink(struct awaits *awaits);
void awaits_finish(struct awaits *awaits);

/* The longest time first. Owned by the object. Returns how many. */
uint32_t awaits_places(const struct awaits *awaits, const struct await_place **ret_places);

/* Of the key-values of a mark: how long (0: not told, or no such time can be); whether what was
 * awaited is what other tasks of the program do. */
uint64_t awaits_duration_ns(const struct trace *trace, const struct args *values);
bool awaits_is_inside(const struct trace *trace, const struct args *values);
bool awaits_names_inside(const char *awaits);

#endif
