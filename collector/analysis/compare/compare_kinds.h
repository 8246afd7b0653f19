/* SPDX-License-Identifier: MIT */
/* Kinds of rows: tables of a report that are compared, the columns that identify their rows, and
 * their numbers. Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_KINDS_H
#define ANNOT_COMPARE_KINDS_H

#include <stddef.h>
#include <stdint.h>

enum metric_flags {
    METRIC_TESTED = 1u << 0,      /* has a row in the tables */
    METRIC_SUM = 1u << 1,         /* missing rows count as 0 */
    METRIC_SAMPLED = 1u << 2,     /* time from samples: a single recording gives its uncertainty */
    METRIC_EACH = 1u << 3,        /* median of single durations */
    METRIC_UNDISTURBED = 1u << 6, /* the same, without time runnable but without a processor */
    METRIC_RELATIVE = 1u << 4,    /* METRIC_UNDISTURBED, scaled to equal speed of all runs */
    METRIC_REPORTED = 1u << 5,    /* reported by programs: its presence is not subject to chance */
    METRIC_BOTH = 1u << 7,        /* sum of the next two metrics: running and waiting */
    METRIC_ESTIMATE = 1u << 8,    /* the next metric is its standard deviation */
    METRIC_DEVIATION = 1u << 9,   /* of independent rows, squares add up */
};

/* How rows of one side only are matched with rows of the other. */
enum match { MATCH_NAMES = 0, MATCH_NUMBERED, MATCH_CODE };

struct compare_metric {
    const char *word;   /* "total" */
    const char *column; /* of the table; NULL: computed from others */
    uint8_t unit;       /* enum column_type */
    uint16_t flags;
};

enum { METRICS_MAX = 16, KEYS_MAX = 4 };

struct compare_kind {
    const char *word;   /* "range" */
    const char *table;  /* of the report; NULL: not from a report */
    const char *result; /* table of the comparison; NULL: `table` */
    const char *title, *label;
    const char *keys[KEYS_MAX + 1]; /* columns that identify its rows; the first is the name */
    const char *place;              /* a column, or NULL */
    const char *whole;              /* NULL, or the name of its only row: the sum of the table */
    uint8_t match;                  /* enum match */
    struct compare_metric metrics[METRICS_MAX];
};

/* The first is for whole runs: each row has one number, "value". */
extern const struct compare_kind compare_kinds[];

extern const size_t compare_kind_count;

/* NULL: unknown word. compare_metric_find: an index, or -1. */
const struct compare_kind *compare_kind_find(const char *word, size_t length);
int compare_metric_find(const struct compare_kind *kind, const char *word);

#endif
