/* SPDX-License-Identifier: MIT */
/* Option --memory, and the environment of a command for libannot-heap.so. */
#ifndef ANNOT_MEMORY_OPTIONS_H
#define ANNOT_MEMORY_OPTIONS_H

#include "child.h"
#include "collector.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct memory_values {
    bool on;          /* of MEMORY_OPTIONS */
    const char *list; /* of MEMORY_EXACT_OPTIONS; NULL: without --memory */
    bool exact;
};

/* For a table of options: samples only; or the choice. */
#define MEMORY_OPTIONS(offset)                                                                     \
    {                                                                                              \
        "memory", 0, OPTION_FLAG, (offset) + offsetof(struct memory_values, on), NULL,             \
            "sample allocations and frees, with their stacks and ranges", NULL                     \
    }
#define MEMORY_EXACT_OPTIONS(offset)                                                               \
    {"memory",     0,                                                                              \
     OPTION_PARTS, (offset) + offsetof(struct memory_values, list),                                \
     "[=exact]",   "sample allocations and frees, with their stacks and ranges",                   \
     NULL},                                                                                        \
    {                                                                                              \
        "memory=exact", 0, OPTION_FLAG, (offset) + offsetof(struct memory_values, exact), NULL,    \
            "count every allocation and free in the program, without eBPF", NULL                   \
    }

static inline bool memory_is_on(const struct memory_values *values)
{
    return values->on || values->list;
}

enum { MEMORY_VARIABLES_MAX = 2 };

struct memory_environment {
    char library[PATH_MAX], preload[4 * PATH_MAX], mode[PATH_MAX + 32];
    struct child_variable variables[MEMORY_VARIABLES_MAX];
};

/* 0, or `status` after a message: this annot has no libannot-heap.so. */
int memory_check(const struct memory_values *values, int status);

/* Sets the library to be watched, or that programs count. */
void memory_apply(const struct memory_values *values, struct memory_environment *environment,
                  struct collector_options *options);

/* 0, or `status` after a message: without eBPF memory is not sampled. */
int memory_begin(const struct memory_values *values, const struct collector *collector, int status);

/* Returns the number of variables. The library goes before those of `preload`, another LD_PRELOAD
 * for the command, or NULL: one of them may be an allocator. */
size_t memory_environment(const struct memory_values *values, const struct collector *collector,
                          const char *preload, struct memory_environment *environment);

#endif
