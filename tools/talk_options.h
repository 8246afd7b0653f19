/* SPDX-License-Identifier: MIT */
/* The options of `record` and `attach` that say how much they say. Main thread only: prints. */
#ifndef ANNOT_TALK_OPTIONS_H
#define ANNOT_TALK_OPTIONS_H

#include "options.h"
#include "trace.h"

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

#endif
