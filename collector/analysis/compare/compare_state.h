/* SPDX-License-Identifier: MIT */
/* The state of a comparison: its recordings, and its rows by kind. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_COMPARE_STATE_H
#define ANNOT_COMPARE_STATE_H

#include "compare.h"
#include "compare_kinds.h"
#include "compare_screen.h"
#include "compare_tables.h"
#include "strtab.h"
#include "vec.h"

struct compare_row {
    const char *name, *place;         /* in texts; of B if both sides have the row */
    const char *old_name, *old_place; /* A's, if different; NULL: the same */
    const char *file, *tail;          /* its source, "": unknown; the rest of its identity */
    size_t placed;                    /* 1 + the run that `place` is of */
    int32_t line[COMPARE_SIDES];      /* first line in the file; 0: unknown */
    bool own;                         /* of the user, not of a library or observer */
    bool merged;                      /* into another row; to be removed */
    size_t first_result;              /* index in the list */
    double *values;                   /* [metric][run of A, then of B]; NaN: missing */
    double *batches[COMPARE_SIDES];
    size_t batch_counts[COMPARE_SIDES]; /* one run a side: medians of consecutive durations */
    uint8_t unit;                       /* of a run's value */
    bool bound;                         /* runs on a CPU only: scales with the machine's speed */
    bool speed;                         /* and contains no other ranges: measures that speed */
};

struct compare_list {
    struct strtab keys; /* ordinal: index of the row */
    VEC(struct compare_row) rows;
    VEC(struct compare_result) results;
};

/* Facts of a recording: its command, machine and settings. */
enum fact {
    FACT_COMMAND = 0,
    FACT_MACHINE,
    FACT_PROCESSORS,
    FACT_INTERPRETER,
    FACT_WAY,
    FACT_RATE,
    FACT_WAITS,
    FACT_CALLS,
    FACT_MEMORY,
    FACT_VERSION,
    FACTS,
};

enum { FACT_SIZE = 256 };

struct compare_run {
    const char *path; /* NULL: not recorded */
    char facts[FACTS][FACT_SIZE];
    double period_ns;   /* sample_stats_weight_ns() */
    double others;      /* processors used by other programs; NaN: unknown */
    bool sampled;       /* has CPU time from samples */
    bool waits;         /* waits were recorded */
    bool by_wall;       /* times of own functions, with waits, are parts of the wall time */
    uint32_t processes; /* number of processes */
};

struct compare {
    size_t counts[COMPARE_SIDES], added[COMPARE_SIDES];
    struct compare_run *runs; /* of A, then of B */
    struct strtab texts;
    struct compare_list *lists; /* by kind */
    struct table tables[COMPARE_TABLES_MAX], screen[COMPARE_TABLES_MAX];
    size_t table_count, screen_count, references, tested;
    uint64_t limit;
    struct compare_story story;
};

/* Returns the index of a number in a row's values. */
static inline size_t compare_at(const struct compare *compare, unsigned metric, size_t run)
{
    return metric * (compare->counts[COMPARE_A] + compare->counts[COMPARE_B]) + run;
}

#endif
