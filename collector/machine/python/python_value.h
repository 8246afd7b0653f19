/* SPDX-License-Identifier: MIT */
/* Values of Python objects in another process, as Python would print them: local variables of a
 * frame, attributes of an instance. Only reads memory and runs no code: no __repr__, no property.
 *
 * Every read is bounded, for any content: 200 bytes of a text, 8 items of a container, 3 levels of
 * containers, and a million reads in all. The process runs on, so values of a running thread may be
 * from different instants. Supports CPython 3.9 to 3.14, from 3.13 on without a GIL as well.
 * Foreign bytes: bounded. Thread-safety: any thread, no state. */
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
    uint32_t head;       /* bytes at an object's start in addition to builds with a GIL */
    uint32_t reads_left; /* limits the reading of a process made slow to read */
};

/* false: objects of this interpreter are unknown. `offsets` outlives it. */
bool python_values_init(struct python_values *values, int32_t pid,
                        const struct python_offsets *offsets);

/* "[1, 2, 'three', …]"; "?" if unreadable. At most size - 1 bytes and NUL; returns the length. */
size_t python_value_show(struct python_values *values, uint64_t object, char *buffer, size_t size);

/* The instance's own attribute; 0 = absent. */
uint64_t python_value_attribute(struct python_values *values, uint64_t object, const char *name);

/* The text of a str, without quotes; "" if it is not a str. Returns the length. */
size_t python_value_text(struct python_values *values, uint64_t object, char *buffer, size_t size);

struct python_local {
    char name[64];
    uint64_t value;
};

/* The variables of a frame that have a value, arguments first. Returns the number written. */
uint32_t python_locals(struct python_values *values, uint64_t frame, uint64_t code,
                       struct python_local *ret_locals, uint32_t size);

#endif
