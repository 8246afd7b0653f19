/* SPDX-License-Identifier: MIT */
/* Two sides of recordings compared: what differs, by how much, and whether that is more than
 * chance.
 *
 * Each recording becomes a report (profile/report.h), whose tables tell the numbers: those of a
 * comparison are those of `annot report`. With several recordings a side, a recording is one
 * measurement. With one a side, ranges are compared by batches of their durations and functions by
 * their samples, which says how sure the difference of these two runs is, and nothing about how
 * much runs differ from each other. compare_stats.h has the tests. Memory: 8 bytes for each number
 * of each recording. Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_H
#define ANNOT_COMPARE_H

#include "compare_screen.h"
#include "store.h"
#include "strtab.h"
#include "table.h"
#include "vec.h"

#include <stdbool.h>

enum compare_side { COMPARE_A = 0, COMPARE_B = 1, COMPARE_SIDES = 2 };

/* Of one side. */
enum { COMPARE_RUNS_MAX = 200 };

enum compare_verdict {
    COMPARE_UNSURE = 0, /* chance may have made the difference */
    COMPARE_MORE,       /* B has more of it, which for times is slower; surely */
    COMPARE_LESS,
    COMPARE_SAME,     /* it is surely small: below COMPARE_SAME_CHANGE */
    COMPARE_ONE_RUN,  /* nothing tells how much it varies */
    COMPARE_UNTESTED, /* too little of it to matter */
    COMPARE_NEW,      /* A has none of it */
    COMPARE_GONE,     /* B has none of it */
};

enum compare_measured { COMPARE_OF_RUNS = 0, COMPARE_OF_SAMPLES, COMPARE_OF_DURATIONS };
struct compare_row;

/* What was found about a row and one of its numbers. */
struct compare_result {
    const struct compare_row *row;
    const char *kind;                 /* "range" */
    const char *name;                 /* "load/parse"; foreign */
    const char *place;                /* "io.py:16", or "" */
    const char *old_name, *old_place; /* of A, where they are others; NULL: they are not */
    const char *metric;               /* "total" */
    uint8_t unit;                     /* enum column_type */
    uint8_t verdict;                  /* enum compare_verdict */
    bool own;                         /* of the user: neither a library's nor an observer's */
    uint8_t measured;                 /* enum compare_measured: what its interval goes by */
    double a, b;                      /* medians of the sides; NaN: none */
    double shift;                     /* B - A */
    double low, high;          /* of the shift, which is inside; NaN or infinite: not known */
    double p, adjusted;        /* NaN: no test; adjusted: for all rows of all tables */
    uint32_t a_count, b_count; /* measurements */
    uint32_t a_some, b_some;   /* of these, not 0 */
};

struct compare;

/* NULL: out of memory. destroy accepts NULL. */
struct compare *compare_create(size_t a_runs, size_t b_runs);
void compare_destroy(struct compare *compare);

/* The next recording of a side: reads all of it. The path is copied. 0 or -errno. */
int compare_add(struct compare *compare, enum compare_side side, struct store_reader *reader,
                const char *path);

/* A number of a run that no recording has: "memory", in bytes. 0 or -ENOMEM. */
struct compare_number {
    enum compare_side side;
    size_t run; /* of the side, from 0 */
    const char *name;
    enum column_type unit;
    double value;
};

int compare_add_number(struct compare *compare, const struct compare_number *number);

/* ---- What is compared ------------------------------------------------------------------------ */

/* The results of one kind of rows, in the order of its table; the rest after finish only. */
size_t compare_results(const struct compare *compare, const char *kind,
                       const struct compare_result **ret_results);
bool compare_is_single(const struct compare *compare); /* one run a side */
size_t compare_runs(const struct compare *compare, enum compare_side side);

/* How many ranges told how fast the machine was in each run; 0: none could. */
size_t compare_reference_count(const struct compare *compare);

/* ---- What explains the change ----
 *
 *
 * Rows that are no parts of each other, and so add up to a whole, as far as that is known. */

enum compare_basis {
    COMPARE_BY_NOTHING = 0, /* the sides have no rows in common */
    COMPARE_BY_WALL,        /* own functions: parts of the wall time */
    COMPARE_BY_THREADS,     /* of the time of all threads */
    COMPARE_BY_CPU,         /* of the CPU time */
    COMPARE_BY_CALLS,       /* functions, by calls that were counted */
    COMPARE_BY_BOTH,        /* by calls of one side, and samples of the other */
    COMPARE_BY_RANGES,
};

/* A row of the first screen. */
struct compare_part {
    struct compare_result result; /* its sides are NaN where it is not there */
    double a_count, b_count;      /* of ranges and calls; NaN: none */
    double a_each, b_each;        /* median of one; NaN: none */
    bool rough;                   /* the difference may be chance */
};

struct compare_parts {
    struct compare_part *items;
    size_t count, capacity;
};

struct compare_story {
    uint8_t basis;             /* enum compare_basis */
    struct compare_parts rows; /* all, in the order of what they add to the change */
    double a, b;               /* the whole */
    double a_ready, b_ready;   /* of it: ready, without a processor; NaN: not known */
    bool marked;               /* the last screen has a row that may be chance */
};

/* Tables for printers, in the order in which people see them, valid until the next call; `limit`:
 * rows that people see. `ret_tables` has room for COMPARE_TABLES_MAX. Their number, or -ENOMEM. */
enum { COMPARE_TABLES_MAX = 24 };

/* Texts for people: "+3.1 %", "+2.4 to +3.9 %" and "slower". A change follows from the numbers as
 * compare_number_text prints them. Return the buffer, or constant text. compare_text.c */
enum { COMPARE_TEXT_SIZE = 64 };

/* ---- Limits ----
 *
 *
 * "load > +5%", "function:parse self > 3ms", "wall > +2%", "memory > 100MiB": see annot-diff(1). */

enum { COMPARE_NAME_SIZE = 256, COMPARE_ERROR_SIZE = 256 };

struct compare_limit {
    const char *text; /* as it was given; outlives the limit */
    const char *kind; /* constant text; NULL: ranges, functions and runs */
    char name[COMPARE_NAME_SIZE];
    const char *metric; /* constant text; NULL: the kind's own */
    bool below;         /* "<": it must not be smaller */
    bool relative;      /* to A, as a part of it */
    bool difference;    /* to A, in its unit */
    uint8_t unit;       /* enum column_type of the value */
    double value;
};

enum compare_state { COMPARE_HOLDS, COMPARE_UNDECIDED, COMPARE_FAILS };

/* What a limit says of a row. `result` is at the level that the number of rows asks for. */
struct compare_judgement {
    const struct compare_limit *limit;
    const char *variant; /* of several, which; "": there are two sides */
    enum compare_state state;
    struct compare_result result;
    double low, high, value; /* of what the limit is about, in its unit */
};

/* ---- For the files of a comparison -------------------------------------------------------------
 */

struct compare_row;

/* The row of a key, added if new; NULL: out of memory. */
struct compare_row *compare_row_of(struct compare *compare, size_t kind, const char *key,
                                   size_t length);

/* A copy that stays, the same one of equal texts; NULL: out of memory. */
const char *compare_text(struct compare *compare, const char *text);
void compare_free_row(struct compare_row *row);

#endif
