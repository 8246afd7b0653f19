/* SPDX-License-Identifier: MIT */
/* Options that make functions ranges. Main thread only. */
#ifndef ANNOT_RANGE_OPTIONS_H
#define ANNOT_RANGE_OPTIONS_H

#include "collector.h"
#include "options.h"

#include <stddef.h>
#include <stdint.h>

struct collector;
struct sampling_values;
struct text;

struct range_values {
    struct option_list specs;
    double budget;
};

/* Entries of an option table; `at` is the offset of the struct range_values; for RANGE_OPTION
 * alone, that of its list. */
#define RANGE_OPTION(at)                                                                           \
    {                                                                                              \
        "probe", 0, OPTION_LIST, (at), "FILE:FUNCTION",                                            \
            "make calls of a function ranges, in a program as it is; patterns find several; or "   \
            "FILE:PROVIDER:BEGIN..END: what lies between two static probes; "                      \
            "FILE:PROVIDER:PROBE: marks",                                                          \
            NULL                                                                                   \
    }

#define RANGE_OPTIONS(at)                                                                          \
    RANGE_OPTION((at) + offsetof(struct range_values, specs)),                                     \
    {                                                                                              \
        "probe-budget", 0, OPTION_NUMBER, (at) + offsetof(struct range_values, budget), "PERCENT", \
            "switch off ranges that --probe makes when they take more of a processor", "5"         \
    }

/* 0, or a message was printed: returns `status`. */
int range_check_names(const struct option_list *specs, int status);
int range_check(const struct range_values *values, const struct sampling_values *sampling,
                int status);
void range_apply(const struct range_values *values, struct collector_options *options);

/* Probes the native functions, and prints their expected cost. `argv`: the command; NULL: the
 * program runs already. 0, or CMD_FAILED after a printed message. */
int range_begin(const struct range_values *values, struct collector *collector, char **argv);

/* Does the same in another collector's session, and waits for the result. */
int range_ask(const struct option_list *specs, int32_t pid, uint64_t session);

/* Appends the Python specifications ("pkg.mod:Class.method") as patterns for
 * tracing_environment. */
void range_of_python(const struct option_list *specs, const char *command, struct text *patterns);

#endif
