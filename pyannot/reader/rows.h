/* SPDX-License-Identifier: MIT */
/* Finished rows and samples of a recording, some at a time, as plain data for the iterators.
 *
 * Ranges come in order of their end, other rows in order of time; samples have their paths of
 * ranges. Independent of Python. Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_ROWS_H
#define PYANNOT_READER_ROWS_H

#include "pass.h"
#include "store.h"
#include "vec.h"

enum row_kind {
    ROW_RANGE = 0, /* `range` is its kind */
    ROW_MARK,      /* on a thread, or a track */
    ROW_COUNTER,
    ROW_FLOW,
    ROW_LOSS,
    ROW_KIND_COUNT,
};

enum row_range { ROW_PUSHED = 0, ROW_OVERLAPPING, ROW_TRACK };

/* A range around the row's: string of its name, its scope. */
struct row_name {
    uint32_t name, scope;
};

struct row {
    struct event event; /* of a range its start */
    int64_t end_ns, self_ns;
    size_t names, values;             /* indices into struct rows */
    uint32_t name_count, value_count; /* without names although `depth` > 0: no room */
    uint32_t end_thread, flags;       /* enum item_flags */
    uint32_t depth;
    uint64_t id;          /* of a range: its annot_current(), or the program's id; 0: no id */
    enum row_range range; /* ROW_TRACK also for marks: the event's id is the track */
};

struct rows {
    VEC(struct row) items;
    VEC(struct row_name) names; /* outermost first */
    VEC(struct arg) values;
    enum row_kind wanted;
    struct pass *pass;
};

/* `reader` is at its first event and outlives the rows; only they read its events. 0 or -ENOMEM.
 * fini accepts every result of init. */
int rows_init(struct rows *rows, struct store_reader *reader, enum row_kind wanted);
void rows_fini(struct rows *rows);

/* Replaces the rows by the next ones: 1, maybe without rows (so that a caller can check for
 * signals), 0 at the end, -errno. */
int rows_fill(struct rows *rows);

/* For a span: nanoseconds outside of its children, its kind, and its id. */
int64_t row_self_ns(const struct item *span);
enum row_range row_range_of(const struct item *item);
uint64_t row_id(const struct item *item);

/* A pass in order of time over all events of the recording. NULL: out of memory. */
struct pass *row_pass(struct store_reader *reader,
                      int (*take)(void *context, const struct item *item), void *context);

/* ---- Samples --------------------------------------------------------------------------------- */

struct sample_rows {
    VEC(struct sample) items;
    struct value_pool values; /* of the items */
    struct sample_feed *feed;
    struct pass *pass;
};

/* `reader` is at its first event and its first sample and outlives the object, which alone reads
 * from it. NULL: out of memory. destroy accepts NULL. */
struct sample_rows *sample_rows_create(struct store_reader *reader);
void sample_rows_destroy(struct sample_rows *rows);

/* Replaces the samples by the next ones: 1, maybe without samples, 0 at the end, -errno. */
int sample_rows_fill(struct sample_rows *rows);

#endif
