/* SPDX-License-Identifier: MIT */
/* The samples of a recording with their paths of ranges, in order of time, some at a time, as plain
 * data. Nothing here knows Python. Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_SAMPLE_ROWS_H
#define PYANNOT_READER_SAMPLE_ROWS_H

#include "sample_feed.h"
#include "store.h"
#include "vec.h"

struct sample_rows {
    VEC(struct sample) items;
    struct value_pool values; /* of these */
    struct sample_feed *feed;
    struct pass *pass;
};

/* `reader` is at its first event and its first sample and outlives the object; nothing else reads
 * from it. NULL: out of memory. destroy accepts NULL. */
struct sample_rows *sample_rows_create(struct store_reader *reader);
void sample_rows_destroy(struct sample_rows *rows);

/* The next ones in place of those before: 1, maybe with none, 0 at the end, -errno. */
int sample_rows_fill(struct sample_rows *rows);

#endif
