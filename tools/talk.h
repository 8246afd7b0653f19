/* SPDX-License-Identifier: MIT */
/* What commands that record say: options for how much, the one live line of `annot attach`, on a
 * terminal only, the summary at a recording's end, and what became of the session of a killed
 * collector. Main thread only. */
#ifndef ANNOT_TALK_H
#define ANNOT_TALK_H

#include "collector.h"
#include "collector_recover.h"
#include "options.h"
#include "trace.h"

#include <stdbool.h>

/* ---- How much is said ------------------------------------------------------------------------ */

struct talk_values {
    bool quiet, verbose;
};

/* Lines of an option table; `at` is the offset of the struct talk_values. */
#define TALK_OPTIONS(at)                                                                           \
    {"quiet",     'q',                                                                             \
     OPTION_FLAG, (at) + offsetof(struct talk_values, quiet),                                      \
     NULL,        "print only errors and losses",                                                  \
     NULL},                                                                                        \
    {                                                                                              \
        "verbose", 'v', OPTION_FLAG, (at) + offsetof(struct talk_values, verbose), NULL,           \
            "also print how threads are sampled and what is missing", NULL                         \
    }

/* Before anything else: from here on cmd_note is silent if that is wanted. 0, or a message was
 * printed: returns `status`. */
int talk_begin(const struct talk_values *values, int status);

/* With --verbose, once the collector is there: the recording, and how threads are sampled. */
void talk_tell_start(const struct talk_values *values, const struct trace *trace,
                     const char *output);

/* With --verbose, at the end: what the recording says about itself. */
void talk_tell_facts(const struct talk_values *values, const struct trace *trace);

/* One line if threads were not sampled in the best way: what was done instead, why, and the remedy
 * as a hint. Nothing if it was, or was not wanted. */
void sampling_note(const struct trace *trace);

/* ---- The live line, and the summary ---------------------------------------------------------- */

struct status_line {
    bool shown;
    int64_t begin_ns, next_ns;
};

void status_line_begin(struct status_line *line);

/* Shows it, at most twice a second, while standard error is a terminal, we are its foreground, no
 * program has taken its keys over, and the user does not want quiet. */
void status_line_update(struct status_line *line, const struct collector *collector);
void status_line_clear(struct status_line *line);

struct status_summary {
    const struct collector *collector;
    const char *output;
    const char *also; /* what is written of it next; NULL = nothing */
    const char *hint; /* why there is nothing, if there is nothing; NULL: what is likely */
    bool verbose;     /* lists are whole */
    bool volumes;     /* the output is the first of them */
    bool incomplete;  /* not all could be written; the message is out */
};

/* On standard error: what took the time, what was recorded and what was lost, what to type next. Of
 * this only the losses if the user wants quiet. Whether anything was recorded. */
bool status_line_summary(const struct status_summary *summary);

/* ---- Recovered sessions ---------------------------------------------------------------------- */

void recover_note(const struct collector_recovered *what);

#endif
