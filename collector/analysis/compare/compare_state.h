/* SPDX-License-Identifier: MIT */
/* The state of a comparison: its recordings, and its rows by kind. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_COMPARE_STATE_H
#define ANNOT_COMPARE_STATE_H

#include "compare.h"
#include "compare_kinds.h"
#include "strtab.h"
#include "vec.h"

struct compare_row {
    const char *name, *place;         /* in texts; of both sides: B's */
    const char *old_name, *old_place; /* A's, if they are others; NULL: they are not */
    const char *file, *tail;          /* its source, "": none; what else tells it apart */
    int32_t line[COMPARE_SIDES];      /* of the file, where it begins; 0: not known */
    bool own;                         /* of the user: neither a library's nor an observer's */
    bool merged;                      /* into another row: it goes */
    size_t first_result;              /* of the list */
    double *values;                   /* [metric][run of A, then of B]; NaN: none */
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
    FACT_VERSION,
    FACTS,
};

enum { FACT_SIZE = 256 };

struct compare_run {
    const char *path; /* NULL: it was not recorded */
    char facts[FACTS][FACT_SIZE];
    double period_ns;   /* sample_stats_weight_ns() */
    double others;      /* processors that other programs used; NaN: not known */
    bool sampled;       /* it has CPU time by samples */
    bool waits;         /* it is known what threads waited for */
    bool by_wall;       /* times of its own functions, with waits, are parts of the wall time */
    uint32_t processes; /* that it has */
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

/* Where a number of a row stands. */
static inline size_t compare_at(const struct compare *compare, unsigned metric, size_t run)
{
    return metric * (compare->counts[COMPARE_A] + compare->counts[COMPARE_B]) + run;
}

#endif
