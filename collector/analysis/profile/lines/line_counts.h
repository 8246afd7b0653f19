/* SPDX-License-Identifier: MIT */
/* Lines counted one by one: the number of runs and the duration of each, with all callees, and
 * without callees that are traced themselves. Samples do not contribute.
 *
 * The sum over the lines of a function is the time in it, its recursion counted once. Memory: 40
 * bytes a line that ran. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_COUNTS_H
#define ANNOT_LINE_COUNTS_H

#include "pass.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

struct line_count {
    uint32_t label; /* of the function */
    int32_t line;
    uint64_t hits, time_ns;
    uint64_t callees_ns; /* part of time_ns in functions with separately counted calls or lines */
};

/* A function, with its lines in sequence. */
struct line_count_function {
    uint32_t label;
    uint32_t begin, count;           /* of its lines */
    uint64_t hits, time_ns, self_ns; /* self: sum over its lines */
    bool is_own;
};

struct line_counts;

/* Returns true if the recording has counted lines. */
bool line_counts_any(const struct trace *trace);

/* `trace` outlives the object. NULL: out of memory. destroy accepts NULL. */
struct line_counts *line_counts_create(const struct trace *trace);
void line_counts_destroy(struct line_counts *counts);

/* The sink takes the samples of a pass; then finish: 0 or -ENOMEM. */
struct sink line_counts_sink(struct line_counts *counts);
int line_counts_finish(struct line_counts *counts);

/* Own functions first, the most self time first (the whole time, without counted callees); and
 * their lines in that order, by number. Owned by the object. */
uint32_t line_counts_functions(const struct line_counts *counts,
                               const struct line_count_function **ret_functions);
uint32_t line_counts_lines(const struct line_counts *counts, const struct line_count **ret_lines);
uint64_t line_counts_self_ns(const struct line_counts *counts); /* of all functions */
const struct trace *line_counts_trace(const struct line_counts *counts);

/* The extent of the text of a function with lines. */
struct line_extent {
    uint32_t source, first, last;
    bool is_known;    /* the recording has the text */
    bool is_function; /* spans several lines that belong to it alone; otherwise, as in a module,
                         other code is among them */
};

struct source_texts;
struct line_extent line_counts_extent(const struct line_counts *counts, struct source_texts *texts,
                                      const struct line_count_function *function);

/* Returns true if any line has time in callees that are traced themselves. */
bool line_counts_have_callees(const struct line_counts *counts);

/* The time of a line without callees that are traced themselves. */
static inline uint64_t line_count_self_ns(const struct line_count *line)
{
    return line->time_ns > line->callees_ns ? line->time_ns - line->callees_ns : 0;
}

#endif
