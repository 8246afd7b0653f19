/* SPDX-License-Identifier: MIT */
/* Messages of commands that record: verbosity options, the live line of `annot attach` on
 * terminals, the summary at a recording's end, and the result of recovering a killed collector's
 * session. Main thread only. */
#ifndef ANNOT_TALK_H
#define ANNOT_TALK_H

#include "collector.h"
#include "collector_recover.h"
#include "options.h"
#include "trace.h"

#include <stdbool.h>

/* ---- Verbosity ------------------------------------------------------------------------------- */

struct talk_values {
    bool quiet, verbose;
};

/* Entries of an option table; `at` is the offset of the struct talk_values. */
#define TALK_OPTIONS(at)                                                                           \
    {"quiet",     'q',                                                                             \
     OPTION_FLAG, (at) + offsetof(struct talk_values, quiet),                                      \
     NULL,        "print only errors and losses",                                                  \
     NULL},                                                                                        \
    {                                                                                              \
        "verbose", 'v', OPTION_FLAG, (at) + offsetof(struct talk_values, verbose), NULL,           \
            "also print how threads are sampled and what is missing", NULL                         \
    }

/* Call first: applies --quiet to cmd_note. 0, or `status` after a printed message. */
int talk_begin(const struct talk_values *values, int status);

/* With --verbose, after creating the collector: prints the recording's path, and how threads are
 * sampled. */
void talk_report_start(const struct talk_values *values, const struct trace *trace,
                       const char *output);

/* With --verbose, at the end: prints the facts of the recording. */
void talk_report_facts(const struct talk_values *values, const struct trace *trace);

/* Prints one line if threads were not sampled with the best rung: the rung used, the reason, and
 * the remedy as a hint. Prints nothing if the best rung was used, or sampling was disabled. */
void sampling_note(const struct trace *trace);

/* ---- The live line, and the summary ---------------------------------------------------------- */

struct status_line {
    bool shown;
    int64_t begin_ns, next_ns;
};

void status_line_begin(struct status_line *line);

/* Prints the line, at most twice a second, while standard error is a terminal in cooked mode with
 * annot in its foreground, unless --quiet is given. */
void status_line_update(struct status_line *line, const struct collector *collector);
void status_line_clear(struct status_line *line);

struct status_summary {
    const struct collector *collector;
    const char *output;
    const char *also; /* file written next from the recording; NULL: unset */
    const char *hint; /* explains an empty recording; NULL: the usual reasons */
    bool verbose;     /* print complete lists */
    bool volumes;     /* `output` is the first of several volumes */
    bool incomplete;  /* writing failed, after a printed message */
};

/* Prints to standard error the use of time, the numbers of records and losses, and suggested
 * commands; with --quiet only the losses. Returns true if there are records. */
bool status_line_summary(const struct status_summary *summary);

/* ---- Recovered sessions ---------------------------------------------------------------------- */

void recover_note(const struct collector_recovered *what);

#endif
