/* SPDX-License-Identifier: MIT */
/* What `annot report` says of a recording: tables (table.h), made in one reading.
 *
 * Every printer shows these. Memory: that of the statistics, which is bounded (range_stats.h), and
 * 4 bytes a row for its place. Thread-safety: one thread per object. */
#ifndef ANNOT_REPORT_H
#define ANNOT_REPORT_H

#include "pass.h"
#include "range_stats.h"
#include "sample_stats.h"
#include "store.h"
#include "table.h"

struct report_options {
    const char *path;            /* of the recording, as it is called */
    const char *only;            /* what was chosen of it, for people; "": all */
    struct store_reader *reader; /* at its first event and first sample */
    const struct pass_selection *selection;
    enum range_grouping grouping;
    enum range_column sort;    /* of ranges; by the total: functions, too */
    const char *range;         /* functions and waits of ranges of that name or pattern; or NULL */
    uint64_t limit, functions; /* rows that people see; `functions` 0: no table of them */
    bool all;                  /* each process has a row of its own */
};

/* What the texts around the tables are made of. */
struct report_facts {
    const struct range_totals *totals;
    const struct sample_stats *samples; /* of all */
    struct sample_checks checks;
    uint64_t late_count;       /* samples that came too late to be given their ranges exactly */
    uint64_t event_count;      /* records */
    uint64_t lost[LOSS_COUNT]; /* by cause */
    uint64_t lost_count;       /* all of them */
    uint64_t unreadable_count; /* records that a damaged recording promises and no longer has */
    bool has_samples;
    bool off_cpu; /* it is known what threads waited for */
};

struct report;

enum { REPORT_TABLES_MAX = 20 };

/* What options point to outlives the report. 0 or -errno; destroy accepts NULL. */
int report_create(const struct report_options *options, struct report **ret_report);
void report_destroy(struct report *report);

/* In the order in which people see them. find: NULL if there is none of that name. */
unsigned report_table_count(const struct report *report);
const struct table *report_table(const struct report *report, unsigned index);
const struct table *report_find(const struct report *report, const char *name);

const struct report_facts *report_facts(const struct report *report);

/* Per cause the larger of what processes counted and what the gaps among the events say: in a
 * damaged recording only the gaps know, without final definitions as well. `gaps` has LOSS_COUNT
 * numbers; so has ret_lost. Returns the sum. */
uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost);

/* Records that the definitions promise and a damaged recording no longer has. `seen`: events read,
 * without gaps. 0 for a recording without damage. */
uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace,
                        uint64_t seen);

#endif
