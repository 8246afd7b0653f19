/* SPDX-License-Identifier: MIT */
/* Results of line_profiler (.lprof) as recordings: lines that were counted, nothing else.
 *
 * The file is a pickle of the class LineStats, whose module changed with versions, with `timings`,
 * a dict {(file, first line, function): [(line, hits, time)]}, and `unit`, the seconds of a time.
 * It is small, so it is read as a whole. Thread-safety: one thread per object. */
#ifndef ANNOT_LPROF_H
#define ANNOT_LPROF_H

#include <stdbool.h>
#include <stddef.h>

struct lprof;
struct trace;

enum { LPROF_SIZE_MAX = 16 << 20 };

/* What is wrong, and behind which byte; 0: with what it holds. */
struct lprof_fault {
    const char *what; /* constant text */
    size_t at;
};

/* Whether a file that begins so is probably one. */
bool lprof_begins(const void *bytes, size_t size);

/* 0; -EBADMSG: `ret_fault` says why; -ENOMEM. destroy accepts NULL. */
int lprof_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
               struct lprof **ret_lprof);
void lprof_destroy(struct lprof *lprof);

/* What is to be written: who knows more of the session adds that. Owned by the object. */
struct trace *lprof_trace(struct lprof *lprof);

/* Writes the recording, over what is there. 0 or -errno. */
int lprof_write(const struct lprof *lprof, const char *path);

#endif
