/* SPDX-License-Identifier: MIT */
/* What `annot report` says of a recording: tables (table.h), made in one reading.
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
    const char *path;                 /* of the recording, as it is called */
    const char *only;                 /* what was chosen of it, for people; "": all */
    struct store_reader *reader;      /* at its first event and first sample */
    const struct pass_source *source; /* what is read in its place, with samples; NULL: it is */
    const struct pass_selection *selection;
    enum range_grouping grouping;
    enum range_column sort;      /* of ranges; by the total: functions, too */
    bool sorted;                 /* it was asked for: all tables that have such a column */
    struct sample_weight weight; /* of functions */
    const char *value;           /* its name; NULL: CPU time */
    const char *range;         /* functions and waits of ranges of that name or pattern; or NULL */
    const char *callers;       /* of functions of that name or pattern; NULL: no such tables */
    uint64_t limit, functions; /* rows that people see; `functions` 0: no table of them */
    bool all;                  /* each process has a row of its own */
    bool lines;                /* the table "lines" is there, and report_lines */
    /* Whoever else wants something of the one reading: at most REPORT_SINKS_MAX, read with it. */
    const struct sink *sinks;
    unsigned sink_count;
    /* Who wants each range and task that the tables count. */
    struct range_watch range_watch;
    struct task_watch task_watch;
    uint32_t durations; /* of each range, for report_durations; 0: none */
};

enum { REPORT_SINKS_MAX = 3 };

/* What the texts around the tables are made of. */
struct report_facts {
    const struct range_totals *totals;
    const struct range_stats *ranges;
    const struct sample_stats *samples; /* of all */
    struct own_time *own;               /* by own functions; NULL without samples */
    const struct own_tree *tree;        /* and as a tree of calls */
    const struct awaits *awaits;        /* where tasks of asyncio were suspended */
    const struct gpu_stats *gpu;        /* what GPUs did; NULL: nothing, as far as is known */
    const struct calls *calls;          /* that were counted; NULL: none */
    const struct wall *wall;            /* NULL if it is not known what threads waited for */
    struct sample_checks checks;
    uint64_t others_ms;        /* that other programs used of the processors, */
    uint64_t stolen_ms;        /* and the host of the virtual machine */
    uint64_t late_count;       /* samples that came too late to be given their ranges exactly */
    uint64_t event_count;      /* records */
    uint64_t lost[LOSS_COUNT]; /* by cause */
    uint64_t lost_count;       /* all of them */
    uint64_t unreadable_count; /* records that a damaged recording promises and no longer has */
    bool has_samples;
    bool holds_gil;  /* only samples of threads that held the GIL were asked for */
    bool off_cpu;    /* it is known what threads waited for */
    bool by_wall;    /* then: one thing was done after the other, so that times of own functions,
                        with waits, are parts of the wall time */
    bool with_waits; /* or threads hardly used the CPU: tables are of their time with waits */
};

struct report;

enum { REPORT_TABLES_MAX = 40 };

/* What options point to outlives the report. 0 or -errno; destroy accepts NULL. */
int report_create(const struct report_options *options, struct report **ret_report);
void report_destroy(struct report *report);

/* In the order in which people see them. find: NULL if there is none of that name. */
unsigned report_table_count(const struct report *report);
const struct table *report_table(const struct report *report, unsigned index);
const struct table *report_find(const struct report *report, const char *name);
const struct report_facts *report_facts(const struct report *report);

/* What the tables of ranges, of pools, and of event loops are made of. */
const struct range_stats *report_ranges(const struct report *report);
const struct pools *report_pools(const struct report *report);
const struct loop_blocks *report_loops(const struct report *report);

/* Per cause the larger of what processes counted and what the gaps among the events say: in a
 * damaged recording only the gaps know, without final definitions as well. `gaps` has LOSS_COUNT
 * numbers; so has ret_lost. Returns the sum. */
uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost);

/* Records that the definitions promise and a damaged recording no longer has. `seen`: events read,
 * without gaps. 0 for a recording without damage. */
uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace,
                        uint64_t seen);

/* Parts of files that cannot be read; volumes that are missing are none. */
uint32_t damaged_part_count(const struct store_reader *reader);

#endif
