/* SPDX-License-Identifier: MIT */
/* Facts of recordings: commands, machines, settings; differences between the sides; and outliers.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_FACTS_H
#define ANNOT_COMPARE_FACTS_H

#include "compare.h"
#include "table.h"

struct compare_run;
struct report;
struct trace;

void compare_take_facts(struct compare_run *run, const struct report *report,
                        const struct trace *trace);

/* A difference between recordings: `what` is "command", "machine", ... Constant text, or owned by
 * the object. */
struct compare_difference {
    const char *what, *a, *b;
};

enum { COMPARE_DIFFERENCES_MAX = 16 };

/* Finds differences between the sides, or within one. Returns their number. */
size_t compare_differences(const struct compare *compare,
                           struct compare_difference ret_differences[COMPARE_DIFFERENCES_MAX]);

/* Of the first recording of a side; NULL: unknown. */
const char *compare_command(const struct compare *compare, enum compare_side side);
const char *compare_path(const struct compare *compare, enum compare_side side);

/* Mean number of processors that other programs used meanwhile; NaN: unknown. */
double compare_others(const struct compare *compare, enum compare_side side);

/* Returns true if all recordings have the property. */
enum compare_property { COMPARE_SAMPLED, COMPARE_WAITS, COMPARE_WALL, COMPARE_IMPORTED };

bool compare_all(const struct compare *compare, enum compare_property property);

/* Returns the path of the first recording without any time, which cannot be compared, or NULL. */
const char *compare_nothing(const struct compare *compare);

/* Sets the description of a side whose recordings have none; copies the text. */
void compare_name_side(struct compare *compare, enum compare_side side, const char *command);

/* Measurements of whole runs far from those of the other runs of their side. */
struct compare_outlier {
    const char *path; /* NULL: not recorded */
    const char *name; /* "wall" */
    double value, median;
    size_t run; /* from 0 */
    enum compare_side side;
    uint8_t unit; /* enum column_type */
};

/* Writes at most `limit` outliers; returns their total number. */
size_t compare_find_outliers(const struct compare *compare, struct compare_outlier *ret_outliers,
                             size_t limit);

/* Make tables of the facts of a comparison (runs, tests), of differences and of outliers; owned by
 * the caller (table_fini). `outliers` outlives the table. */
void compare_facts_table(const struct compare *compare, struct table *ret_table);
void compare_differences_table(const struct compare *compare, struct table *ret_table);
void compare_outliers_table(const struct compare_outlier *outliers, size_t count,
                            struct table *ret_table);

#endif
