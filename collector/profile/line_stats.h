/* SPDX-License-Identifier: MIT */
/* Samples added up by lines of source: of functions, and of files.
 *
 * A sample counts for the line that the innermost Python frame of its stack is at, with what native
 * code does for that; without Python, for the innermost line that is known. Memory: 32 bytes for
 * each stack of the recording, 8 for each frame. Thread-safety: one thread per object. */
#ifndef ANNOT_LINE_STATS_H
#define ANNOT_LINE_STATS_H

#include "sample.h"
#include "sample_weight.h"
#include "trace.h"

struct line_sums {
    uint64_t self_ns, count;    /* of samples that count for the line */
    uint64_t total_ns;          /* the line was anywhere on the stack, counted once */
    uint64_t waiting_ns, waits; /* stretches off the CPU that count for it, until it could run */
};

/* A line of a function. */
struct line_row {
    uint32_t label;     /* 0: of no function */
    int32_t line;       /* 0: not known */
    uint32_t file_line; /* of the lines of files; 0: none */
    struct line_sums sums;
};

/* A line of a file, which several functions may share. */
struct file_line {
    uint32_t source;
    int32_t line;
    struct line_sums sums;
};

struct line_stats;

/* `trace` outlives the object and is complete. NULL: out of memory. destroy accepts NULL. */
struct line_stats *line_stats_create(const struct trace *trace, struct sample_weight weight);
void line_stats_destroy(struct line_stats *stats);

/* Samples in any order, then once finish: 0 or -ENOMEM. */
void line_stats_add(struct line_stats *stats, const struct sample *sample);
int line_stats_finish(struct line_stats *stats);

/* Of all samples. */
const struct line_sums *line_stats_totals(const struct line_stats *stats);

/* The lines of functions, the most time first; those of files, by file and line. Owned by the
 * object. */
uint32_t line_stats_rows(const struct line_stats *stats, const struct line_row **ret_rows);
uint32_t line_stats_files(const struct line_stats *stats, const struct file_line **ret_lines);

/* ---- Texts of sources ------------------------------------------------------------------------ */

/* Lines of the texts that the recording has. Each text is looked through once. */
struct source_texts;

struct source_texts *source_texts_create(const struct trace *trace);
void source_texts_destroy(struct source_texts *texts); /* accepts NULL */

/* How many lines a file has; 0: its text is not in the recording. */
uint32_t source_line_count(struct source_texts *texts, uint32_t source);
/* One of them, from 1, without its end: its length, and where it begins (no NUL behind it). */
size_t source_line(struct source_texts *texts, uint32_t source, uint32_t line,
                   const char **ret_text);

#endif
