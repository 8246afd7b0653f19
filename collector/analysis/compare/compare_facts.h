/* SPDX-License-Identifier: MIT */
/* Facts of recordings: commands, machines, settings; differences between the sides; and outliers.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_COMPARE_FACTS_H
#define ANNOT_COMPARE_FACTS_H

#include "compare.h"
#include "compare_state.h"
#include "table.h"

struct compare;
struct compare_judgement;
struct report;
struct trace;

void compare_take_facts(struct compare_run *run, const struct report *report,
                        const struct trace *trace);

/* In what recordings differ: `what` is "command", "machine", ... Constant text, or of the object.
 */
struct compare_difference {
    const char *what, *a, *b;
};

enum { COMPARE_DIFFERENCES_MAX = 16 };

/* Between the sides, or within one of them. Returns how many. */
size_t compare_differences(const struct compare *compare,
                           struct compare_difference ret_differences[COMPARE_DIFFERENCES_MAX]);

/* Of the first recording of a side; NULL: not known. */
const char *compare_command(const struct compare *compare, enum compare_side side);
const char *compare_path(const struct compare *compare, enum compare_side side);

/* Processors that other programs used meanwhile, on average; NaN: not known. */
double compare_others(const struct compare *compare, enum compare_side side);

/* Is it so of all recordings? */
enum compare_property { COMPARE_SAMPLED, COMPARE_WAITS, COMPARE_WALL, COMPARE_IMPORTED };

bool compare_all(const struct compare *compare, enum compare_property property);

/* The path of the first recording without any time, which cannot be compared, or NULL. */
const char *compare_nothing(const struct compare *compare);

/* Sets the description of a side that its recordings lack; copies the text. */
void compare_name_side(struct compare *compare, enum compare_side side, const char *command);

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
void compare_differences_table(const struct compare *compare, struct table *ret_table);
void compare_outliers_table(const struct compare_outlier *outliers, size_t count,
                            struct table *ret_table);

/* A table of judgements, which outlive it; the caller's (table_fini). */
void compare_limits_table(const struct compare_judgement *judgements, size_t count,
                          struct table *ret_table);

#endif
