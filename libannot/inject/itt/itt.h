/* SPDX-License-Identifier: MIT */
/* The functions that annot gives to images of programs with ITT: tables by name, one per file; and
 * what these files share: memory, a lock, pauses, numbers.
 *
 * Programs call these functions by pointers that they test first: in any thread, in children after
 * a fork, outside of recordings (then they return after one load, except for names and values of
 * counters). Memory never comes from malloc, which a program may have annotated. */
#ifndef ANNOT_ITT_H
#define ANNOT_ITT_H

#include "itt_wire.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <stddef.h>

/* A table ends with NULL. */
struct itt_entry {
    const char *name; /* without "__itt_" */
    void *function;
};

extern const struct itt_entry itt_entries_control[], itt_entries_counters[], itt_entries_metadata[],
    itt_entries_names[], itt_entries_spans[], itt_entries_sync[], itt_entries_tasks[];

#define ITT_RARELY(condition) __builtin_expect(!!(condition), 0)

/* ---- Memory, in pages of the system and never freed, and one lock ---------------------------- */

/* Zeroed and aligned for any type; NULL: out of memory. */
void *itt_memory_take(size_t size);
char *itt_memory_copy(const char *text, size_t length_max);

/* One lock for rare work: names, counters, pauses. Returns 0 in a signal handler that interrupted
 * its holder: then skip the work. */
int itt_lock(void);
void itt_unlock(void);

/* Hold both locks across a fork. */
void itt_memory_before_fork(void);
void itt_memory_after_fork(int is_child);

/* ---- Pauses ---------------------------------------------------------------------------------- */

/* Between __itt_pause and __itt_resume. W: under the lock */
extern int itt_is_paused;

/* Records the pause as a range in a recording that began during it. */
void itt_emit_pause(void);

/* In a forked child: the pause continues, without a range in this process yet. */
void itt_pause_after_fork(void);

/* True during a recording, without a pause. */
static inline int itt_is_wanted(void)
{
    if (!ITT_RARELY(annot_enabled()))
        return 0;
    if (!ITT_RARELY(annot_load_relaxed(&itt_is_paused)))
        return 1;
    itt_emit_pause();
    return 0;
}

/* ---- Counters, and numbers of ITT's types ---------------------------------------------------- */

/* Registers the counters that an image created before it was initialised. */
void itt_counters_adopt(struct itt_counter_info *list);

/* Reads a number of an enum itt_type as a value without a key. Returns 0 for an unknown type or
 * NULL. */
int itt_number(int type, const void *at, struct annot_value *ret_value);

#endif
