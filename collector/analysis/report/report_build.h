/* SPDX-License-Identifier: MIT */
/* A report under construction: the data that the one reading of a recording gathers, the parts that
 * gather it, and the tables. Functions return 0 or -ENOMEM. Thread-safety: one thread per report.
 */
#ifndef ANNOT_REPORT_BUILD_H
#define ANNOT_REPORT_BUILD_H

#include "report.h"
#include "report_samples.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

struct pass;
struct trace;

struct report {
    struct report_options options;
    const struct trace *trace;
    struct range_stats *stats;
    struct report_samples samples;
    struct pool_tasks *tasks;
    struct loop_blocks *loops;
    struct awaits *awaits;
    struct gpu_stats *gpu;
    struct calls *calls;                   /* NULL: not recorded */
    struct line_counts *line_counts;       /* NULL: not recorded */
    struct heap_stats *heap;               /* NULL: not recorded */
    struct process_memory *process_memory; /* NULL: not recorded */
    struct source_texts *texts;
    struct report_facts facts;
    struct table tables[REPORT_TABLES_MAX];
    unsigned table_count;
    char *nothing; /* text of a note; or NULL */
};

/* A statistic with its tables. Members may be NULL. Ranges and samples are read before those of the
 * parts, which use them. */
struct report_part {
    int (*create)(struct report *report);             /* before reading */
    struct sink (*sink)(const struct report *report); /* without `take`: nothing to read */
    int (*finish)(struct report *report);             /* after reading */
    int (*add_tables)(struct report *report);
    void (*destroy)(struct report *report); /* also of a report that could not be made */
};

enum { REPORT_PARTS_MAX = 24 };

/* In the order of the tables; NULL is the end. */
extern const struct report_part *const report_parts[REPORT_PARTS_MAX];

typedef void table_fill(const struct table *table, uint64_t index, struct table_row *row);

/* Adds a table with the report as its context; readers see all its rows if it has a title. */
struct table *report_add_table(struct report *report, const char *name, table_fill *fill);

/* "hottest functions inside ranges named load". */
int report_title(const struct report *report, struct table *table, const char *title);

/* The same, independent of the chosen range. */
int report_plain_title(struct table *table, const char *title);

/* Returns true if another process has the same label, or if there are too many processes to
 * compare. */
bool report_has_namesake(const struct trace *trace, uint32_t process);

#endif
