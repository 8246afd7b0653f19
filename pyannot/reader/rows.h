/* SPDX-License-Identifier: MIT */
/* Finished things and samples of a recording, some at a time, as plain data: what is behind the
 * iterators.
 *
 * Ranges come when they end, everything else when it happened; samples have their paths of ranges.
 * Nothing here knows Python. Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_ROWS_H
#define PYANNOT_READER_ROWS_H

#include "pass.h"
#include "store.h"
#include "vec.h"

enum row_kind {
    ROW_RANGE = 0, /* `range` says which */
    ROW_MARK,      /* on a thread, or a track */
    ROW_COUNTER,
    ROW_FLOW,
    ROW_LOSS,
    ROW_KIND_COUNT,
};

enum row_range { ROW_PUSHED = 0, ROW_OVERLAPPING, ROW_TRACK };

/* A range around one: string of its name, its scope. */
struct row_name {
    uint32_t name, scope;
};

struct row {
    struct event event; /* of a range its begin */
    int64_t end_ns, self_ns;
    size_t names, values;             /* indices into struct rows */
    uint32_t name_count, value_count; /* no names, but `depth`: there was no room */
    uint32_t end_thread, flags;       /* enum item_flags */
    uint32_t depth;
    uint64_t id;          /* of a range: annot_current() told it, or the program; 0: none */
    enum row_range range; /* ROW_TRACK also of marks: the event's id is the track */
};

struct rows {
    VEC(struct row) items;
    VEC(struct row_name) names; /* outermost first */
    VEC(struct arg) values;
    enum row_kind wanted;
    struct pass *pass;
};

/* `reader` is at its first event and outlives the rows; nothing else reads its events. 0 or
 * -ENOMEM. fini accepts what init left. */
int rows_init(struct rows *rows, struct store_reader *reader, enum row_kind wanted);
void rows_fini(struct rows *rows);

/* The next ones in place of those before: 1, maybe with none (so that a caller can look around), 0
 * at the end, -errno. */
int rows_fill(struct rows *rows);

/* Of a span: nanoseconds that are not its children's, which kind it is, and its id. */
int64_t row_self_ns(const struct item *span);
enum row_range row_range_of(const struct item *item);
uint64_t row_id(const struct item *item);

/* A pass in order of time over all events of the recording. NULL: out of memory. */
struct pass *row_pass(struct store_reader *reader,
                      int (*take)(void *context, const struct item *item), void *context);

/* ---- Samples --------------------------------------------------------------------------------- */

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
