/* SPDX-License-Identifier: MIT */
/* Options for tracing calls of Python. Main thread only. */
#ifndef ANNOT_TRACING_OPTIONS_H
#define ANNOT_TRACING_OPTIONS_H

#include "child.h"
#include "options.h"
#include "record_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_values;

struct tracing_values {
    const char
        *functions; /* NULL: not traced; a word, or several words, of which the first counts */
    const char *select;
    const char *lines; /* NULL: not traced */
    const char *library;
    uint64_t max_depth;
    int64_t least_ns; /* least duration of a call; 0: all */
    bool c_calls;
    bool arguments, results, exceptions, ranges;
    bool captured; /* the recording covers certain ranges only: --capture-range */
};

#define TRACING_MODES "adaptive|exact|aggregate"

/* Entries of an option table; `at` is the offset of the struct tracing_values, `modes` the words of
 * --trace-functions. */
#define TRACING_OPTIONS(at, modes)                                                                 \
    {"trace-functions",                                                                            \
     0,                                                                                            \
     OPTION_MODE,                                                                                  \
     (at) + offsetof(struct tracing_values, functions),                                            \
     modes,                                                                                        \
     "record every call of Python: all but tiny functions, all, or their counts and times alone",  \
     NULL},                                                                                        \
        {"trace-select",                                                                           \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         (at) + offsetof(struct tracing_values, select),                                           \
         "LIST",                                                                                   \
         "trace these files, modules and functions: src/*,pkg.mod,pkg.mod:Class.method; "          \
         "-NAME,... excludes",                                                                     \
         NULL},                                                                                    \
    {                                                                                              \
        "trace-lines", 0, OPTION_TEXT, (at) + offsetof(struct tracing_values, lines), "LIST",      \
            "count each line of these functions, modules and files, named as for --trace-select",  \
            NULL                                                                                   \
    }

/* The rarely used ones; `at` as above. */
#define TRACING_DETAIL_OPTIONS(at)                                                                 \
    {"trace-stdlib", 0,                                                                            \
     OPTION_CHOICE,  (at) + offsetof(struct tracing_values, library),                              \
     "all|box|off",  "calls of the standard library: all, only those from outside of it, or none", \
     "all"},                                                                                       \
        {"trace-depth", 0,                                                                         \
         OPTION_COUNT,  (at) + offsetof(struct tracing_values, max_depth),                         \
         "N",           "leave out calls inside of more than N others",                            \
         NULL},                                                                                    \
        {"min-duration",                                                                           \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         (at) + offsetof(struct tracing_values, least_ns),                                         \
         "TIME",                                                                                   \
         "with --trace-functions=exact, leave out calls shorter than that: saves space, hardly "   \
         "time",                                                                                   \
         NULL},                                                                                    \
        {"trace-ranges",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, ranges),                                           \
         NULL,                                                                                     \
         "with aggregate: count calls by the range that they are made in, too",                    \
         NULL},                                                                                    \
        {"trace-args", 0,                                                                          \
         OPTION_FLAG,  (at) + offsetof(struct tracing_values, arguments),                          \
         NULL,         "with each call, what its arguments were: 0.1 to 0.2 us each",              \
         NULL},                                                                                    \
        {"trace-return",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, results),                                          \
         NULL,                                                                                     \
         "with each call, what it returned",                                                       \
         NULL},                                                                                    \
        {"trace-exceptions",                                                                       \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct tracing_values, exceptions),                                       \
         NULL,                                                                                     \
         "a mark where a call raises an exception, and in each call which one left it",            \
         NULL},                                                                                    \
    {                                                                                              \
        "c-calls", 0, OPTION_FLAG, (at) + offsetof(struct tracing_values, c_calls), NULL,          \
            "with --trace-functions, also calls of functions that are not written in Python", NULL \
    }

/* 0, or a message was printed: returns `status`. */
int tracing_check(const struct tracing_values *values, const struct python_values *python,
                  int status);

/* Checks the options for a recording of a range (NULL: of everything); counts cannot be limited to
 * it. */
int tracing_check_capture(const struct tracing_values *values, const char *range, int status);

enum { RANGE_PATTERNS_SIZE = 2048 };

struct tracing_environment {
    struct child_variable variable;
    char text[8192];
};

/* The command's environment for tracing: 0 or 1 variable. `ranges`: patterns of Python functions to
 * trace in any case; may be empty. */
size_t tracing_environment(const struct tracing_values *values, const char *ranges,
                           struct tracing_environment *environment);

#endif
