/* SPDX-License-Identifier: MIT */
/* The contents of `annot report`: tables (table.h), made in one reading of the recording.
 *
 * Every printer shows these. Memory: that of the statistics, which is bounded (range_stats.h), and
 * 4 bytes a row for its place. Thread-safety: one thread per object. */
#ifndef ANNOT_REPORT_H
#define ANNOT_REPORT_H

#include "awaits.h"
#include "call_counts.h"
#include "gpu_stats.h"
#include "line_counts.h"
#include "line_stats.h"
#include "loop_blocks.h"
#include "own_tree.h"
#include "pass.h"
#include "pool_tasks.h"
#include "range_stats.h"
#include "report_samples.h"
#include "sample_weight.h"
#include "store.h"
#include "table.h"
#include "trace.h"
#include "wall.h"

/* ---- The report ------------------------------------------------------------------------------ */

struct report_options {
    const char *path;                 /* of the recording, as the user gave it */
    const char *only;                 /* the selection, for readers; "": all */
    struct store_reader *reader;      /* at its first event and first sample */
    const struct pass_source *source; /* read in its place, with samples; NULL: the reader itself */
    const struct pass_selection *selection;
    enum range_grouping grouping;
    enum range_column sort; /* column for ranges; by the total: functions, too */
    bool sorted;            /* explicitly requested: applies to all tables with such a column */
    struct sample_weight weight; /* of functions */
    const char *value;           /* its name; NULL: CPU time */
    const char *range;   /* name or pattern of ranges that limits functions and waits; or NULL */
    const char *callers; /* functions of that name or pattern, for callers; NULL: no such tables */
    uint64_t limit, functions; /* rows shown to readers; `functions` 0: no table of functions */
    bool all;                  /* each process has a separate row */
    bool lines;                /* makes the table "lines" and report_lines */
    /* Further sinks for the same reading, at most REPORT_SINKS_MAX. */
    const struct sink *sinks;
    unsigned sink_count;
    /* Called for each range and task that the tables count. */
    struct range_watch range_watch;
    struct task_watch task_watch;
    uint32_t durations; /* kept for each range, for report_durations; 0: disabled */
};

enum { REPORT_SINKS_MAX = 3 };

/* The data for texts around the tables. */
struct report_facts {
    const struct range_totals *totals;
    const struct range_stats *ranges;
    const struct sample_stats *samples; /* of all samples */
    struct own_time *own;               /* by own functions; NULL without samples */
    const struct own_tree *tree;        /* the same as a tree of calls */
    const struct awaits *awaits;        /* suspensions of asyncio tasks */
    const struct gpu_stats *gpu;        /* GPU work; NULL: no known work */
    const struct heap_stats *heap;      /* memory; NULL: not recorded */
    const struct calls *calls;          /* counted calls; NULL: not recorded */
    const struct wall *wall;            /* NULL if waits were not recorded */
    struct sample_checks checks;
    uint64_t others_ms;        /* processor time used by other programs */
    uint64_t stolen_ms;        /* processor time taken by the host of the virtual machine */
    uint64_t late_count;       /* samples too late for an exact match with ranges */
    uint64_t event_count;      /* records */
    uint64_t lost[LOSS_COUNT]; /* by cause */
    uint64_t lost_count;       /* all of them */
    uint64_t unreadable_count; /* records promised by the definitions of a damaged recording but
                                  missing */
    bool has_samples;
    bool holds_gil;  /* only samples of threads that held the GIL are selected */
    bool off_cpu;    /* waits were recorded */
    bool by_wall;    /* and threads worked one after the other, so that times of own functions, with
                        waits, are parts of the wall time */
    bool with_waits; /* or threads hardly used the CPU: tables use times with waits */
};

struct report;

enum { REPORT_TABLES_MAX = 48 };

/* The options' pointees outlive the report. 0 or -errno; destroy accepts NULL. */
int report_create(const struct report_options *options, struct report **ret_report);
void report_destroy(struct report *report);

/* Tables in display order. find: NULL if there is no table of that name. */
unsigned report_table_count(const struct report *report);
const struct table *report_table(const struct report *report, unsigned index);
const struct table *report_find(const struct report *report, const char *name);
const struct report_facts *report_facts(const struct report *report);

/* The data of the tables of ranges, of pools, and of event loops. */
const struct range_stats *report_ranges(const struct report *report);
const struct pools *report_pools(const struct report *report);
const struct loop_blocks *report_loops(const struct report *report);

/* Takes per cause the larger of the processes' counts and the sum of the gaps among the events: a
 * damaged recording, or one without final definitions, only has the gaps. `gaps` has LOSS_COUNT
 * numbers; so has ret_lost. Returns the sum. */
uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost);

/* Returns the number of records that the definitions promise and that a damaged recording lacks.
 * `seen`: events read, without gaps. 0 for a recording without damage. */
uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace,
                        uint64_t seen);

/* Counts unreadable parts of files, without missing volumes. */
uint32_t damaged_part_count(const struct store_reader *reader);

#endif
