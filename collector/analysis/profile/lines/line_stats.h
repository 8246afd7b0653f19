/* SPDX-License-Identifier: MIT */
/* Sums of samples by lines of source: of functions, and of files.
 *
 * A sample counts for the line of the innermost Python frame of its stack, which includes native
 * code called there; without Python, for the innermost known line. Separately, CPU time and waits
 * count for the line of the innermost own function (own_time.h), which includes the libraries
 * called there; without own code, for the line above. Memory: 48 bytes for each stack of the
 * recording, 8 for each frame. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_STATS_H
#define ANNOT_LINE_STATS_H

#include "own_time.h"
#include "sample.h"
#include "sample_weight.h"
#include "trace.h"

struct line_sums {
    uint64_t self_ns, count;    /* of samples that count for the line */
    uint64_t total_ns;          /* the line was anywhere on the stack; recursion counts once */
    uint64_t blocked_ns, waits; /* its stretches off the CPU, until the thread was runnable */
    uint64_t runnable_ns;       /* and after that */
};

/* A line of a function. */
struct line_row {
    uint32_t label;     /* 0: outside of functions */
    int32_t line;       /* 0: unknown */
    uint32_t file_line; /* index of the file's line; 0: unknown file */
    bool is_own;        /* part of `own` is in own code; otherwise all of it is in others' */
    struct line_sums sums;
    struct own_times own;
};

/* A line of a file, which several functions may share. */
struct file_line {
    uint32_t source;
    int32_t line;
    struct line_sums sums;
    struct own_times own;
};

struct line_stats;

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct line_stats *line_stats_create(const struct trace *trace, struct sample_weight weight);
void line_stats_destroy(struct line_stats *stats);

/* Add samples in any order, then call finish once: 0 or -ENOMEM. `own` is finished, and made of the
 * same samples. */
void line_stats_add(struct line_stats *stats, const struct sample *sample);
int line_stats_finish(struct line_stats *stats, const struct own_time *own, bool with_waits);

/* Sums over all samples; over those that end at a stack. */
const struct line_sums *line_stats_totals(const struct line_stats *stats);
const struct line_sums *line_stats_stack(const struct line_stats *stats, uint32_t stack);

/* The time for comparing rows: CPU time, or with waits. */
static inline uint64_t line_time_ns(const struct own_times *times, bool with_waits)
{
    return times->cpu_ns + (with_waits ? times->runnable_ns + times->blocked_ns : 0);
}

/* The lines of functions: own ones, then the others, the most time first (of a value other than CPU
 * time: the largest value first); those of files, by file and line. Owned by the object. */
uint32_t line_stats_rows(const struct line_stats *stats, const struct line_row **ret_rows);
uint32_t line_stats_files(const struct line_stats *stats, const struct file_line **ret_lines);

/* Returns the line of a file to which `own` of samples with that stack belongs; false: unknown. */
bool line_stats_own_line(const struct line_stats *stats, uint32_t stack, uint32_t *ret_source,
                         int32_t *ret_line);

/* ---- Texts of sources ------------------------------------------------------------------------ */

/* Lines of the sources' texts in the recording. Each text is split once. */
struct source_texts;

struct source_texts *source_texts_create(const struct trace *trace);
void source_texts_destroy(struct source_texts *texts); /* accepts NULL */

/* Returns the number of lines of a file; 0: its text is not in the recording. */
uint32_t source_line_count(struct source_texts *texts, uint32_t source);
/* Returns the length of a line, counted from 1, without its line end, and its start (no NUL after
 * it). */
size_t source_line(struct source_texts *texts, uint32_t source, uint32_t line,
                   const char **ret_text);

#endif
