/* SPDX-License-Identifier: MIT */
/* Values of Python objects in another process, as Python would print them: local variables of a
 * frame, attributes of an instance. Memory is read and nothing is run: no __repr__, no property.
 *
 * Every read is bounded, whatever lies there: 200 bytes of a text, 8 items of a container, 3 levels
 * of containers, and a million reads in all. The process runs on, so what is told of a thread that
 * runs may never have been so at one time. Known are CPython 3.9 to 3.14, from 3.13 on without a
 * GIL as well. Foreign bytes: bounded. Thread-safety: none needed, no state. */
#ifndef ANNOT_PYTHON_VALUE_H
#define ANNOT_PYTHON_VALUE_H

#include "python_offsets.h"

#include <stdbool.h>
#include <stddef.h>

struct value_layout;

struct python_values {
    int32_t pid;
    const struct python_offsets *offsets;
    const struct value_layout *layout;
    uint32_t head;       /* what objects have more at their begin than those of builds with a GIL */
    uint32_t reads_left; /* a process that is made to be slow to read is not read to the end */
};

/* false: objects of such an interpreter are not known. `offsets` outlives it. */
bool python_values_init(struct python_values *values, int32_t pid,
                        const struct python_offsets *offsets);

/* "[1, 2, 'three', …]"; "?" if it cannot be read. At most size - 1 bytes and NUL; the length. */
size_t python_value_show(struct python_values *values, uint64_t object, char *buffer, size_t size);

/* The attribute that an instance itself has; 0 = none. */
uint64_t python_value_attribute(struct python_values *values, uint64_t object, const char *name);

/* The text of a str, without quotes; "" if it is none. The length. */
size_t python_value_text(struct python_values *values, uint64_t object, char *buffer, size_t size);

struct python_local {
    char name[64];
    uint64_t value;
};

/* The variables of a frame that have a value, arguments first. How many were written. */
uint32_t python_locals(struct python_values *values, uint64_t frame, uint64_t code,
                       struct python_local *ret_locals, uint32_t size);

#endif
