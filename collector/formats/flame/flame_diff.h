/* SPDX-License-Identifier: MIT */
/* A differential flame graph: one tree with the calls of both sides, as wide as the mean of both.
 * Boxes are blue-green where B has less and red-brown where it has more. Functions match by name,
 * file and module, so lines may move. Memory: that of the trees. Thread-safety: one thread per
 * object. */
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

/* Call after all recordings were added. 0 or -errno; -ENODATA if neither side has samples. */
int flame_diff_write(struct flame_diff *diff, const char *title, struct out_stream *out);

#endif
