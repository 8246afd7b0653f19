/* SPDX-License-Identifier: MIT */
/* Options for functions that become ranges. Main thread only. */
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

/* Lines of an option table; `at` is the offset of the struct range_values; of the first alone, of
 * its list. */
#define RANGE_OPTION(at)                                                                           \
    {                                                                                              \
        "range", 0, OPTION_LIST, (at), "FILE:FUNCTION",                                            \
            "make calls of a function ranges, in a program as it is; patterns find several; or "   \
            "FILE:PROVIDER:BEGIN..END: what lies between two static probes; "                      \
            "FILE:PROVIDER:PROBE: marks",                                                          \
            NULL                                                                                   \
    }

#define RANGE_OPTIONS(at)                                                                          \
    RANGE_OPTION((at) + offsetof(struct range_values, specs)),                                     \
    {                                                                                              \
        "range-budget", 0, OPTION_NUMBER, (at) + offsetof(struct range_values, budget), "PERCENT", \
            "switch off ranges that --range makes when they take more of a processor", "5"         \
    }

/* 0, or a message was printed: returns `status`. */
int range_check(const struct range_values *values, const struct sampling_values *sampling,
                int status);
void range_apply(const struct range_values *values, struct collector_options *options);

/* Probes the native functions, and says what they will cost. `argv`: what is to be run; NULL: it
 * runs already. 0, or a message was printed: CMD_FAILED. */
int range_begin(const struct range_values *values, struct collector *collector, char **argv);

/* The same in a session that is recorded by others, which waits for that. */
int range_ask(const struct option_list *specs, int32_t pid, uint64_t session);

/* Those of Python ("pkg.mod:Class.method"), as patterns for tracing_environment. */
void range_of_python(const struct option_list *specs, const char *command, struct text *patterns);

#endif
