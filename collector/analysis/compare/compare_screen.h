/* SPDX-License-Identifier: MIT */
/* The first screen of a comparison: the change of the whole, and the rows that explain it.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_SCREEN_H
#define ANNOT_COMPARE_SCREEN_H

#include "compare.h"
#include "table.h"

/* ---- Explanation of the change ----------------------------------------------------------------
 *
 * Rows that do not overlap, so that they sum up to a whole, as far as known. */

enum compare_basis {
    COMPARE_BY_NOTHING = 0, /* the sides have no rows in common */
    COMPARE_BY_WALL,        /* own functions: parts of the wall time */
    COMPARE_BY_THREADS,     /* of the time of all threads */
    COMPARE_BY_CPU,         /* of the CPU time */
    COMPARE_BY_CALLS,       /* functions, by calls that were counted */
    COMPARE_BY_BOTH,        /* by calls of one side and samples of the other */
    COMPARE_BY_RANGES,
};

/* A row of the first screen. */
struct compare_part {
    struct compare_result result; /* sides without the row are NaN */
    double a_count, b_count;      /* of ranges and calls; NaN: unknown */
    double a_each, b_each;        /* median of one; NaN: unknown */
    bool rough;                   /* the difference may be due to chance */
};

struct compare_parts {
    struct compare_part *items;
    size_t count, capacity;
};

struct compare_story {
    uint8_t basis;                 /* enum compare_basis */
    struct compare_parts rows;     /* all, ordered by their contribution to the change */
    double a, b;                   /* the whole */
    double a_runnable, b_runnable; /* part of the whole without a processor; NaN: unknown */
    bool marked;                   /* the last screen has a row marked as possible chance */
};

/* After the tests of all rows. 0 or -ENOMEM. */
int compare_find_story(struct compare *compare);
const struct compare_story *compare_story(const struct compare *compare);

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Tables of the first screen, valid until the next call; `limit`: rows of each, 0: as many as fit.
 * `ret_tables` has room for COMPARE_TABLES_MAX (compare_tables.h). Returns their number, or
 * -ENOMEM. */
int compare_screen(struct compare *compare, uint64_t limit, const struct table **ret_tables);

#endif
