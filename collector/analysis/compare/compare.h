/* SPDX-License-Identifier: MIT */
/* Compares two sides of recordings: the differences, their size, and whether they exceed chance.
 *
 * Each recording becomes a report (profile/report.h), and its tables supply the numbers: a
 * comparison uses those of `annot report`. With several recordings a side, a recording is one
 * measurement. With one a side, ranges are compared by batches of their durations and functions by
 * their samples; this gives the uncertainty of the difference between these two runs, but not the
 * variation between runs. compare_stats.h has the tests. Memory: 8 bytes for each number of each
 * recording. Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_H
#define ANNOT_COMPARE_H

#include "store.h"
#include "strtab.h"
#include "table.h"
#include "vec.h"

#include <stdbool.h>

enum compare_side { COMPARE_A = 0, COMPARE_B = 1, COMPARE_SIDES = 2 };

/* Maximum of runs a side. */
enum { COMPARE_RUNS_MAX = 200 };

enum compare_verdict {
    COMPARE_UNSURE = 0, /* the difference may be due to chance */
    COMPARE_MORE,       /* B surely has more, for times: is slower */
    COMPARE_LESS,
    COMPARE_SAME,     /* the difference is surely small: below COMPARE_SAME_CHANGE */
    COMPARE_ONE_RUN,  /* its variation is unknown */
    COMPARE_UNTESTED, /* too small to matter */
    COMPARE_NEW,      /* absent in A */
    COMPARE_GONE,     /* absent in B */
};

enum compare_measured { COMPARE_OF_RUNS = 0, COMPARE_OF_SAMPLES, COMPARE_OF_DURATIONS };

struct compare_row;

/* The result for one number of a row. */
struct compare_result {
    const struct compare_row *row;
    const char *kind;                 /* "range" */
    const char *name;                 /* "load/parse"; untrusted */
    const char *place;                /* "io.py:16", or "" */
    const char *old_name, *old_place; /* of A, if different; NULL: the same */
    const char *metric;               /* "total" */
    uint8_t unit;                     /* enum column_type */
    uint8_t verdict;                  /* enum compare_verdict */
    bool own;                         /* of the user, not of a library or observer */
    uint8_t measured;                 /* enum compare_measured: the source of its interval */
    double a, b;                      /* medians of the sides; NaN: no values */
    double shift;                     /* B - A */
    double low, high;   /* interval of the shift, which is inside; NaN or infinite: unknown */
    double p, adjusted; /* NaN: not tested; adjusted: over all rows of all tables */
    uint32_t a_count, b_count; /* measurements */
    uint32_t a_some, b_some;   /* part of these: nonzero measurements */
};

struct compare;

/* NULL: out of memory. destroy accepts NULL. */
struct compare *compare_create(size_t a_runs, size_t b_runs);
void compare_destroy(struct compare *compare);

/* Reads the next recording of a side. The path is copied. 0 or -errno. */
int compare_add(struct compare *compare, enum compare_side side, struct store_reader *reader,
                const char *path);

/* A number of a run that recordings do not have: "memory", in bytes. compare_add_number: 0 or
 * -ENOMEM. */
struct compare_number {
    enum compare_side side;
    size_t run; /* of the side, from 0 */
    const char *name;
    enum column_type unit;
    double value;
};

int compare_add_number(struct compare *compare, const struct compare_number *number);

/* ---- Results --------------------------------------------------------------------------------- */

/* The results of one kind of rows, in the order of its table. All functions below are valid only
 * after finish. */
size_t compare_results(const struct compare *compare, const char *kind,
                       const struct compare_result **ret_results);
bool compare_is_single(const struct compare *compare); /* one run a side */
size_t compare_runs(const struct compare *compare, enum compare_side side);

/* Returns the number of ranges that served as references of the machine's speed; 0: too few. */
size_t compare_reference_count(const struct compare *compare);

/* ---- For the files of a comparison ----------------------------------------------------------- */

/* Returns the row of a key, or adds it; NULL: out of memory. */
struct compare_row *compare_row_of(struct compare *compare, size_t kind, const char *key,
                                   size_t length);

/* Returns a permanent copy, the same one for equal texts; NULL: out of memory. */
const char *compare_text(struct compare *compare, const char *text);
void compare_free_row(struct compare_row *row);

/* compare_match.c: merges rows that are the same item under different names. 0 or -ENOMEM. */
int compare_match(struct compare *compare);

#endif
