/* SPDX-License-Identifier: MIT */
/* Libraries that a command loads when needed, so that other commands start faster and a wheel runs
 * on machines without them. Main thread only. */
#ifndef ANNOT_LIBRARY_H
#define ANNOT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* a pointer to a function, set by library_load */
};

/* Loads the first of `files` (ends with NULL) that the dynamic linker finds, and never unloads it.
 * Returns false if all files are missing or the library lacks one of the functions. */
bool library_load(const char *const *files, const struct library_function *functions, size_t count);

#endif
