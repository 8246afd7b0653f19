/* SPDX-License-Identifier: MIT */
/* What the files of a comparison share with each other only. */
#ifndef ANNOT_COMPARE_PARTS_H
#define ANNOT_COMPARE_PARTS_H

#include "compare.h"
#include "strtab.h"
#include "vec.h"

/* ---- Kinds of rows: compare_kinds.c ---- */

enum metric_flags {
    METRIC_TESTED = 1u << 0,      /* it has a row in the tables */
    METRIC_SUM = 1u << 1,         /* where a row is not there, it has 0 of it */
    METRIC_SAMPLED = 1u << 2,     /* time by samples: one recording tells how sure it is */
    METRIC_EACH = 1u << 3,        /* of durations one by one */
    METRIC_UNDISTURBED = 1u << 6, /* the same, without the time that they had no processor */
    METRIC_RELATIVE = 1u << 4,    /* that, as if all runs had been equally fast */
    METRIC_TOLD = 1u << 5,        /* by programs: whether it is there is no matter of chance */
};

struct compare_metric {
    const char *word;   /* "total" */
    const char *column; /* of the table; NULL: made of others */
    uint8_t unit;       /* enum column_type */
    uint8_t flags;
};

enum { METRICS_MAX = 16, KEYS_MAX = 3 };

struct compare_kind {
    const char *word;  /* "range" */
    const char *table; /* of the report, and of the comparison; NULL: no table of a report */
    const char *title, *label;
    const char *keys[KEYS_MAX + 1]; /* columns that tell rows of it apart; the first is its name */
    const char *place;              /* a column; NULL: none */
    struct compare_metric metrics[METRICS_MAX];
};

/* The first is that of whole runs: each row has one number, "value". */
extern const struct compare_kind compare_kinds[];
extern const size_t compare_kind_count;

/* NULL: there is none. The metric of a word: its index, or -1. */
const struct compare_kind *compare_kind_find(const char *word, size_t length);
int compare_metric_find(const struct compare_kind *kind, const char *word);

/* ---- Rows ---- */

struct compare_row {
    const char *name, *place; /* in texts */
    double *values;           /* [metric][run of A, then of B]; NaN: none */
    double *batches[COMPARE_SIDES];
    size_t batch_counts[COMPARE_SIDES]; /* one run a side: medians of consecutive durations */
    uint8_t unit;                       /* of a run's */
    bool bound; /* all of it runs on a CPU: it goes as fast as the machine */
    bool speed; /* and has nothing inside: it tells how fast that is */
};

struct compare_list {
    struct strtab keys; /* ordinal: that of the row */
    VEC(struct compare_row) rows;
    VEC(struct compare_result) results;
};

/* What recordings should have in common. */
enum { FACTS = 8, FACT_SIZE = 256 };

struct compare_run {
    const char *path;
    char facts[FACTS][FACT_SIZE];
    double period_ns; /* that a sample stands for; 0: none were taken */
};

struct compare {
    size_t counts[COMPARE_SIDES], added[COMPARE_SIDES];
    struct compare_run *runs; /* of A, then of B */
    struct strtab texts;
    struct compare_list *lists; /* by kind */
    struct table tables[COMPARE_TABLES_MAX];
    size_t table_count, references, tested;
    uint64_t limit;
};

/* Where a number of a row stands. */
static inline size_t compare_at(const struct compare *compare, unsigned metric, size_t run)
{
    return metric * (compare->counts[COMPARE_A] + compare->counts[COMPARE_B]) + run;
}

/* The row of a key, added if new; NULL: out of memory. */
struct compare_row *compare_row_of(struct compare *compare, size_t kind, const char *key,
                                   size_t length);
/* A copy that stays; NULL: out of memory. */
const char *compare_text(struct compare *compare, const char *text);

/* ---- Tests: compare_test.c ---- */

/* A number of a row. */
struct compare_cell {
    size_t kind;
    const struct compare_row *row;
    unsigned metric;
};

/* What the runs say about it, at a level; 0: no test, only what they have. 0 or -ENOMEM. */
int compare_measure(const struct compare *compare, const struct compare_cell *cell, double level,
                    struct compare_result *ret_result);

/* Of the runs that have it; where it adds up, those that don't have 0 of it. */
struct compare_values {
    double of[COMPARE_SIDES][COMPARE_RUNS_MAX];
    size_t counts[COMPARE_SIDES];
};

/* Returns how many there are. */
size_t compare_gather(const struct compare *compare, const struct compare_cell *cell,
                      struct compare_values *ret_values);

/* What programs call it, \"ns\". compare_tables.c */
const char *compare_unit_name(uint8_t unit);

/* Fills in METRIC_RELATIVE. 0 or -ENOMEM. compare_speed.c */
int compare_even_out(struct compare *compare);

#endif
