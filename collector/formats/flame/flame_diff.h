/* SPDX-License-Identifier: MIT */
/* A flame graph of two sides: one tree of the calls of both, as wide as the mean of both, with the
 * colours of what changed: blue-green where B has less, red-brown where it has more. Functions are
 * the same by name, file and module, so that lines may move. Memory: that of the trees.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_FLAME_DIFF_H
#define ANNOT_FLAME_DIFF_H

#include <stddef.h>

struct flame_diff;
struct out_stream;
struct store_reader;

/* NULL: out of memory. destroy accepts NULL. */
struct flame_diff *flame_diff_create(size_t a_runs, size_t b_runs);
void flame_diff_destroy(struct flame_diff *diff);

/* Reads a recording of side 0 or 1. 0 or -errno. */
int flame_diff_add(struct flame_diff *diff, unsigned side, struct store_reader *reader);

/* After all were added. -ENODATA: neither side has samples. */
int flame_diff_write(struct flame_diff *diff, const char *title, struct out_stream *out);

#endif
