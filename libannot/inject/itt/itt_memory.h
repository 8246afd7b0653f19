/* SPDX-License-Identifier: MIT */
/* Memory for the ITT part, in pages of the system and never freed, and one lock. Threads: any. */
#ifndef ANNOT_ITT_MEMORY_H
#define ANNOT_ITT_MEMORY_H

#include <stddef.h>

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

#endif
