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

#include "store.h"
#include "table.h"

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

/* A change below the first is never called more or less; within the second it is the same. */
#define COMPARE_LEAST_CHANGE 0.005
#define COMPARE_SAME_CHANGE  0.01

/* What was found about a row and one of its numbers. */
struct compare_result {
    const char *kind;          /* "range" */
    const char *name;          /* "load/parse"; foreign */
    const char *place;         /* "io.py:16", or "" */
    const char *metric;        /* "total" */
    uint8_t unit;              /* enum column_type */
    uint8_t verdict;           /* enum compare_verdict */
    double a, b;               /* medians of the sides; NaN: none */
    double shift;              /* B - A */
    double low, high;          /* of the shift; NaN or infinite: not known */
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

/* What recordings must have in common to be compared: `what` is "command", "machine", ... */
typedef void compare_unlike(void *context, const char *what, const char *first, const char *other,
                            const char *path);

/* Tells each difference of a recording from the first one, once for each text. `commands`: of side
 * A and side B may differ. Returns how many. */
unsigned compare_check_alike(const struct compare *compare, bool commands, compare_unlike *tell,
                             void *context);

/* After all were added. 0 or -ENOMEM. */
int compare_finish(struct compare *compare);

/* The results of one kind of rows, in the order of its table; the rest after finish only. */
size_t compare_results(const struct compare *compare, const char *kind,
                       const struct compare_result **ret_results);
bool compare_is_single(const struct compare *compare); /* one run a side */
size_t compare_runs(const struct compare *compare, enum compare_side side);
/* Rows that were tested, and of how many rows so few runs could be sure. */
size_t compare_tested(const struct compare *compare, size_t *ret_possible);
/* How many ranges told how fast the machine was in each run; 0: none could. */
size_t compare_reference_count(const struct compare *compare);

/* Measurements of whole runs that lie far from those of the other runs of their side. */
struct compare_outlier {
    const char *path; /* NULL: it was not recorded */
    const char *name; /* "wall" */
    double value, median;
    size_t run; /* from 0 */
    enum compare_side side;
    uint8_t unit; /* enum column_type */
};

/* Writes at most `limit` of them; returns how many there are. */
size_t compare_find_outliers(const struct compare *compare, struct compare_outlier *ret_outliers,
                             size_t limit);

/* A table of what is behind the others (runs, tests), one of outliers; the caller's (table_fini).
 * `outliers` outlives the table. */
void compare_facts_table(const struct compare *compare, struct table *ret_table);
void compare_outliers_table(const struct compare_outlier *outliers, size_t count,
                            struct table *ret_table);

/* A table of one side: of each number of runs and ranges the mean with its interval, the median,
 * the least and the most. The caller's (table_fini). 0 or -ENOMEM. */
int compare_side_table(const struct compare *compare, enum compare_side side, uint64_t limit,
                       struct table *ret_table);

/* "471 ms +- 12.1 ms, median 465 ms, least 452 ms" of a number of whole runs; "": it has none. */
size_t compare_run_text(const struct compare *compare, enum compare_side side, const char *name,
                        char *buffer, size_t size);

/* Tables for printers, in the order in which people see them, valid until the next call; `limit`:
 * rows that people see. `ret_tables` has room for COMPARE_TABLES_MAX. Their number, or -ENOMEM. */
enum { COMPARE_TABLES_MAX = 16 };

int compare_tables(struct compare *compare, uint64_t limit, const struct table **ret_tables);

/* Texts for people: "+3.1 %", "+2.4 to +3.9 %" and "slower". Return the buffer, or constant text.
 */
enum { COMPARE_TEXT_SIZE = 64 };

const char *compare_change_text(const struct compare_result *result, char *buffer);
const char *compare_interval_text(const struct compare_result *result, char *buffer);
const char *compare_number_text(const struct compare_result *result, double value, char *buffer);
const char *compare_verdict_text(const struct compare_result *result);

/* ---- Limits: compare_limit.c ------------------------------------------------------------------
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

/* `text` is foreign. 0, or -EINVAL with a line that says what is wrong. */
int compare_limit_parse(const char *text, struct compare_limit *ret_limit,
                        char error[COMPARE_ERROR_SIZE]);

enum compare_state { COMPARE_HOLDS, COMPARE_UNDECIDED, COMPARE_FAILS };

/* What a limit says of a row. `result` is at the level that the number of rows asks for. */
struct compare_judgement {
    const struct compare_limit *limit;
    enum compare_state state;
    struct compare_result result;
    double low, high, value; /* of what the limit is about, in its unit */
};

/* "fails", "undecided", "holds" */
const char *compare_state_text(enum compare_state state);
/* A table of judgements, which outlive it; the caller's (table_fini). */
void compare_limits_table(const struct compare_judgement *judgements, size_t count,
                          struct table *ret_table);

/* Of all rows that the limit names: how many, or -ENOMEM. 0: there are none of that name, or none
 * with such a number. Owned by the caller (free). */
int64_t compare_judge(const struct compare *compare, const struct compare_limit *limit,
                      struct compare_judgement **ret_judgements);

#endif
