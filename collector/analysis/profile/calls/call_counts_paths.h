/* SPDX-License-Identifier: MIT */
/* Functions and paths of calls, and sums of calls at them. Thread-safety: as the calls. */
#ifndef ANNOT_CALL_COUNTS_PATHS_H
#define ANNOT_CALL_COUNTS_PATHS_H

#include "call_counts_parts.h"

/* Returns the group in which items of a thread count. */
uint32_t calls_group_of(const struct calls *calls, uint32_t thread);

/* Returns 1 + the index of a function of a group, or adds it. -ENOMEM. */
int64_t calls_function_of(struct calls *calls, uint32_t group, uint32_t label, uint32_t name);

/* Returns the path of a function below another path; 0: limit reached. -ENOMEM. */
int64_t calls_path_of(struct calls *calls, uint32_t parent, uint32_t function);

/* calls_add adds calls at a path; with path 0, to the function alone. */
struct call_count {
    uint32_t parent, path, function;
    uint64_t calls, own_ns, off_ns;
};

void calls_add(struct calls *calls, const struct call_count *count);

#endif
