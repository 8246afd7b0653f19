/* SPDX-License-Identifier: MIT */
/* Scans of a pass: the common part of the tables of events and of samples. Thread-safety: one
 * thread per query. */
#ifndef ANNOT_QUERY_SCAN_H
#define ANNOT_QUERY_SCAN_H

#include "hash_map.h"
#include "pass.h"
#include "query.h"
#include "query_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass;
struct query_bounds;
struct query_cursor;
struct query_order;
struct query_place;
struct query_sort;
struct trace;

/* The common state of scans of events and samples. A step of the pass makes rows, which are
 * returned before the next step. With an order, all rows are sorted first, and made again one by
 * one. */
struct query_scan {
    struct query_cursor *cursor;
    struct query_place *place;
    const struct trace *trace;
    struct pass *pass;
    struct pass_selection selection;
    const struct pass_selection *chosen; /* by the command's options */
    bool has_process, has_thread;
    int64_t process, thread; /* from conditions */
    int64_t until_ns;        /* samples that begin later are not wanted */
    size_t at;               /* index of the current row */
    unsigned order_count;
    struct query_order order[ORDER_MAX];
    struct query_sort *sort; /* NULL: unsorted */
    bool sorted;
    const struct query_scan_rows *rows;
};

struct query_scan_rows {
    size_t (*count)(const struct query_scan *scan); /* rows made by the latest steps */
    void (*forget)(struct query_scan *scan);        /* drops these rows */
    /* Makes one row from a group and the sorted bytes. 0, -ENOMEM. */
    int (*make)(struct query_scan *scan, const struct wide_key *group, const void *row);
    /* Returns a cell that is the same for all rows of a group. */
    struct query_cell (*cell)(struct query_scan *scan, const struct wide_key *group,
                              unsigned column);
};

/* `scan` is the first member of the cursor's state, which is the sink's context. `row_size`: size
 * of the sorted bytes. 0 or -errno. */
int query_scan_begin(struct query_cursor *cursor, const struct query_bounds *bounds,
                     const struct query_scan_rows *rows, const struct sink *sink, size_t row_size);
int query_scan_next(struct query_cursor *cursor);
void query_scan_end(struct query_scan *scan);

/* Adds untrusted times, saturating. */
int64_t query_time_plus(int64_t a, int64_t b);

#endif
