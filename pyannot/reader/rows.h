/* SPDX-License-Identifier: MIT */
/* Finished things of a recording, some at a time, as plain data: what is behind the iterators.
 *
 * Ranges come when they end, everything else when it happened. Nothing here knows Python.
 * Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_ROWS_H
#define PYANNOT_READER_ROWS_H

#include "source.h"
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

/* A range around one: strings of its name and domain. */
struct row_name {
    uint32_t name, domain;
};

struct row {
    struct event event; /* of a range its begin */
    int64_t end_ns, self_ns;
    size_t names, values;             /* indices into struct rows */
    uint32_t name_count, value_count; /* no names, but `depth`: there was no room */
    uint32_t end_thread, flags;       /* enum slice_flags */
    uint32_t depth;
    enum row_range range; /* ROW_TRACK also of marks: the event's id is the track */
};

struct rows {
    VEC(struct row) items;
    VEC(struct row_name) names; /* outermost first */
    VEC(struct slice_value) values;
    enum row_kind wanted;
    struct source *source;
};

/* As source_create. 0 or -ENOMEM. fini accepts what init left. */
int rows_init(struct rows *rows, struct store_reader *reader, enum row_kind wanted);
void rows_fini(struct rows *rows);

/* The next ones in place of those before: 1, maybe with none (so that a caller can look around), 0
 * at the end, -errno. */
int rows_fill(struct rows *rows);

/* Nanoseconds of a slice that are not its children's. */
int64_t row_self_ns(const struct slice *slice);

#endif
