/* SPDX-License-Identifier: MIT */
/* The tables of `annot report` that come from samples: processes or threads, functions, waits; and
 * what it says about the sampling.
 *
 * Main thread only: prints. */
#ifndef ANNOT_REPORT_FUNCTIONS_H
#define ANNOT_REPORT_FUNCTIONS_H

#include "report_samples.h"
#include "stacks.h"
#include "table.h"

struct report_functions_options {
    const struct trace *trace;
    struct report_samples *samples;
    bool owners;    /* a table of processes, or of threads */
    bool by_thread; /* which */
    uint64_t limit; /* rows of that and of waits */
    uint64_t functions;
    unsigned width; /* 0 = unlimited */
    bool by_total;  /* functions by their total, else by their self time */
    bool wide;      /* names as long as they are */
    bool all;       /* all rows of all tables, each process and thread in its own */
    bool color;
};

/* All tables that have rows. 0 or -ENOMEM. */
int report_functions_print(const struct report_functions_options *options);

/* Of these the one of processes or threads (report_owners.c), and those of waits
 * (report_waits.c). */
int report_owners_print(const struct report_functions_options *options);
int report_waits_print(const struct report_functions_options *options);

/* The title, the table, and its end. 0 or -ENOMEM. */
int report_print_table(const struct report_functions_options *options, struct table *table,
                       const char *title);

/* A cell with what a function is called, and a mark behind it. */
void report_add_function(struct table *table, const struct trace *trace, const struct frame *frame,
                         const char *mark);

/* Rows of so few samples that their times say little have a mark, and the table a line about it. */
#define REPORT_FEW_MARK_TEXT "~"
#define REPORT_FEW_MARK      " " REPORT_FEW_MARK_TEXT
bool report_few_samples(uint64_t count);
void report_few_print(void);

/* "sampled ...": one line of the header, or two. Nothing if nobody wanted samples. */
void report_sampling_print(const struct trace *trace, const struct report_samples *samples);

/* What the header says of losses where no record was lost. Constant text. */
const char *report_lost_text(const struct trace *trace, const struct report_samples *samples);

/* Lines of the header, if any: processes that could not take part, remarkable calls. */
void report_missing_print(const struct trace *trace);

/* Why there is nothing at all, and what would show more. Constant text. */
const char *report_nothing_text(const struct trace *trace);

/* Losses and notes, behind the tables. */
void report_facts_print(const struct trace *trace, const struct report_samples *samples);

#endif
