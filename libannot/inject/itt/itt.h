/* SPDX-License-Identifier: MIT */
/* The functions that annot gives to images of programs with ITT: tables by name, one per file.
 *
 * Programs call these functions by pointers that they test first: in any thread, in children after
 * a fork, outside of recordings (then they return after one load, except for names and values of
 * counters). Memory never comes from malloc, which a program may have annotated. */
#ifndef ANNOT_ITT_H
#define ANNOT_ITT_H

/* A table ends with NULL. */
struct itt_entry {
    const char *name; /* without "__itt_" */
    void *function;
};

extern const struct itt_entry itt_entries_control[], itt_entries_counters[], itt_entries_metadata[],
    itt_entries_names[], itt_entries_spans[], itt_entries_sync[], itt_entries_tasks[];

#define ITT_RARELY(condition) __builtin_expect(!!(condition), 0)

#endif
