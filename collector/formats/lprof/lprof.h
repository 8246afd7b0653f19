/* SPDX-License-Identifier: MIT */
/* Imports results of line_profiler (.lprof): only counts per line.
 *
 * The file is a pickle of the class LineStats, in a module that changed between versions. It has
 * `timings`, a dict {(file, first line, function): [(line, hits, time)]}, and `unit`, the seconds
 * per unit of time. Files are small, so they are read as a whole. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_LPROF_H
#define ANNOT_LPROF_H

#include <stdbool.h>
#include <stddef.h>

struct lprof;
struct trace;

enum { LPROF_SIZE_MAX = 16 << 20 };

/* A fault and its position: the offset after the faulty bytes, or 0 for a fault of the content. */
struct lprof_fault {
    const char *what; /* constant text */
    size_t at;
};

/* True if a file that begins with these bytes is probably an .lprof file. */
bool lprof_begins(const void *bytes, size_t size);

/* 0; -EBADMSG with the reason in `ret_fault`; -ENOMEM. destroy accepts NULL. */
int lprof_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
               struct lprof **ret_lprof);
void lprof_destroy(struct lprof *lprof);

/* The trace to be written. Callers may add facts of the session. Owned by the object. */
struct trace *lprof_trace(struct lprof *lprof);

/* Writes the recording, replacing an existing file. 0 or -errno. */
int lprof_write(const struct lprof *lprof, const char *path);

#endif
