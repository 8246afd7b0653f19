/* SPDX-License-Identifier: MIT */
/* Memory of the programs that `annot top --memory` shows: live and allocated bytes by thread and
 * stack, from samples of blocks, and resident memory. Main thread only. */
#ifndef ANNOT_TOP_MEMORY_H
#define ANNOT_TOP_MEMORY_H

#include "sample.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

struct top_memory;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct top_memory *top_memory_create(const struct trace *trace);
void top_memory_destroy(struct top_memory *memory);

/* Takes a sample; others than those of memory are ignored. 0 or -ENOMEM. */
int top_memory_add(struct top_memory *memory, const struct sample *sample);

/* Clears allocated bytes; live bytes stay. */
void top_memory_reset(struct top_memory *memory);

/* true freezes the numbers for readers while samples still arrive; false resumes. 0 or -ENOMEM. */
int top_memory_hold(struct top_memory *memory, bool hold);

/* The bytes of one stack of a thread, since the reset. */
struct top_memory_use {
    uint32_t thread, stack;
    int64_t live, allocated;
};

/* Calls `take` for each; stops at the first nonzero result and returns it. */
int top_memory_each(const struct top_memory *memory,
                    int (*take)(void *context, const struct top_memory_use *use), void *context);

/* The innermost own function of a stack, as a label; 0: none. */
uint32_t top_memory_function(const struct trace *trace, uint32_t stack);

/* Resident bytes of a process, read now, or before the hold; 0: unknown. */
uint64_t top_memory_resident(struct top_memory *memory, uint32_t process);

#endif
