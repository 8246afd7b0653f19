/* SPDX-License-Identifier: MIT */
/* The functions that annot gives to images of programs with ITT: tables by name, one per file.
 *
 * Programs call these functions by pointers that they test first: in any thread, in children after
 * a fork, outside of recordings (then they return after one load, except for names and values of
 * counters). Memory never comes from malloc, which a program may have annotated. */
#ifndef ANNOT_ITT_ENTRY_H
#define ANNOT_ITT_ENTRY_H

/* A table ends with NULL. */
struct itt_entry {
    const char *name; /* without "__itt_" */
    void *function;
};

#define ITT_RARELY(condition) __builtin_expect(!!(condition), 0)

#endif
