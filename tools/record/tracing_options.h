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
    const char *functions; /* the parts of --trace-functions; NULL: calls are not traced */
    const char *select;
    const char *lines; /* NULL: not traced */
    uint64_t max_depth;
    int64_t least_ns;                /* least duration of a call; 0: all */
    bool exact, adaptive, aggregate; /* at most one; adaptive if none */
    bool off;                        /* annot set, annot attach: stop tracing */
    bool no_library, library_entry, c_calls;
    bool arguments, results, exceptions, ranges;
    bool captured; /* the recording covers certain ranges only: --capture-range */
};

/* Entries of an option table; `at` is the offset of the struct tracing_values. */
#define TRACING_OPTIONS(at)                                                                        \
    {"trace-functions",                                                                            \
     0,                                                                                            \
     OPTION_PARTS,                                                                                 \
     (at) + offsetof(struct tracing_values, functions),                                            \
     "[=LIST]",                                                                                    \
     "record calls of Python functions: exact (all), adaptive (the default: leaves out tiny "      \
     "functions) or aggregate (counts and times only); LIST: see Python tracing details",          \
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

#define TRACING_FLAG(at, part, field, help)                                                        \
    {                                                                                              \
        "trace-functions=" part, 0, OPTION_FLAG, (at) + offsetof(struct tracing_values, field),    \
            NULL, help, NULL                                                                       \
    }

/* The rarely used ones; `at` as above. */
#define TRACING_DETAIL_OPTIONS(at)                                                                 \
    TRACING_FLAG(at, "exact", exact, "record every call"),                                         \
        TRACING_FLAG(at, "adaptive", adaptive, "record all calls but those of tiny functions"),    \
        TRACING_FLAG(at, "aggregate", aggregate, "record only counts and times of calls"),         \
        TRACING_FLAG(at, "args", arguments, "record arguments: 0.1 to 0.2 us a call"),             \
        TRACING_FLAG(at, "return", results, "record return values"),                               \
        TRACING_FLAG(at, "exceptions", exceptions,                                                 \
                     "record a mark where a call raises an exception, and the exception that "     \
                     "ends a call"),                                                               \
        TRACING_FLAG(at, "c-calls", c_calls, "also record calls of functions written in C"),       \
        TRACING_FLAG(at, "-stdlib", no_library, "record no calls of the standard library"),        \
        TRACING_FLAG(at, "stdlib-entry", library_entry,                                            \
                     "of the standard library, record only calls from outside it"),                \
        {"trace-functions=depth",                                                                  \
         0,                                                                                        \
         OPTION_COUNT,                                                                             \
         (at) + offsetof(struct tracing_values, max_depth),                                        \
         "N",                                                                                      \
         "leave out calls nested in more than N others",                                           \
         NULL},                                                                                    \
        {"trace-functions=min",                                                                    \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         (at) + offsetof(struct tracing_values, least_ns),                                         \
         "TIME",                                                                                   \
         "with exact: leave out calls shorter than TIME, which saves space but hardly any time",   \
         NULL},                                                                                    \
        TRACING_FLAG(at, "ranges", ranges,                                                         \
                     "with aggregate: count the calls of each range "                              \
                     "separately")

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
