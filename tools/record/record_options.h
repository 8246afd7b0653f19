/* SPDX-License-Identifier: MIT */
/* Options of commands that record: policy, sampling, parts of Python, and the conversion of filter
 * options to the rules of a session (docs/wire-format.md, "Filters"). Main thread only. */
#ifndef ANNOT_RECORD_OPTIONS_H
#define ANNOT_RECORD_OPTIONS_H

#include "child.h"
#include "collector.h"
#include "options.h"
#include "trace.h"

#include <limits.h>

/* ---- Policy ---------------------------------------------------------------------------------- */

/* The policy of a word on the command line; NULL: the default. */
enum collector_policy policy_of(const char *word);

/* A row of an option table; `offset` is that of a const char *. */
#define POLICY_OPTION(offset)                                                                      \
    {                                                                                              \
        "policy", 0, OPTION_CHOICE, (offset), "drop|overwrite|wait",                               \
            "when a program's buffer is full: drop new records, overwrite the oldest (a flight "   \
            "recorder: annot snapshot), or let the program wait",                                  \
            "drop"                                                                                 \
    }

/* `offset` is that of a uint64_t. volume_check: 0, or `status` after a printed message. */
#define VOLUME_OPTION(offset)                                                                      \
    {                                                                                              \
        "volume-size", 0, OPTION_SIZE, (offset), "SIZE",                                           \
            "start another file (FILE.1.annot, FILE.2.annot, ...) when one has about SIZE", NULL   \
    }

int volume_check(uint64_t bytes, int status);

/* ---- Sampling -------------------------------------------------------------------------------- */

struct sampling_values {
    uint64_t frequency_hz;
    bool none;                /* --no-sample */
    bool off_cpu, no_off_cpu; /* all waits, no waits; neither: waits of at least threshold_ns */
    int64_t threshold_ns;
    uint64_t rate;
    const char *rung;
    bool no_source;
};

/* Entries of an option table; `at` is the offset of the struct sampling_values. */
#define SAMPLING_OPTIONS(at)                                                                       \
    {"rate",       'r',                                                                            \
     OPTION_COUNT, (at) + offsetof(struct sampling_values, frequency_hz),                          \
     "HZ",         "samples per second of each running thread",                                    \
     "99"},                                                                                        \
        {"off-cpu",   0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct sampling_values, off_cpu),                            \
         NULL,        "record every wait, however short",                                          \
         NULL},                                                                                    \
    {                                                                                              \
        "no-off-cpu", 0, OPTION_FLAG, (at) + offsetof(struct sampling_values, no_off_cpu), NULL,   \
            "record no waits", NULL                                                                \
    }

/* The rarely used ones; `at` as above. */
#define SAMPLING_DETAIL_OPTIONS(at)                                                                \
    {"off-cpu-threshold",                                                                          \
     0,                                                                                            \
     OPTION_TIME,                                                                                  \
     (at) + offsetof(struct sampling_values, threshold_ns),                                        \
     "TIME",                                                                                       \
     "record only waits of at least TIME",                                                         \
     "1ms"},                                                                                       \
        {"off-cpu-rate",                                                                           \
         0,                                                                                        \
         OPTION_COUNT,                                                                             \
         (at) + offsetof(struct sampling_values, rate),                                            \
         "N",                                                                                      \
         "record at most N waits per second",                                                      \
         "500000"},                                                                                \
        {"no-source", 0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct sampling_values, no_source),                          \
         NULL,        "keep no text of source files in the recording",                             \
         NULL},                                                                                    \
    {                                                                                              \
        "sampling", 0, OPTION_CHOICE, (at) + offsetof(struct sampling_values, rung),               \
            "bpf|remote|none",                                                                     \
            "the best way of sampling to try: with eBPF, from outside (remote), or none", "bpf"    \
    }

/* 0, or a message was printed: returns `status`. */
int sampling_check(const struct sampling_values *values, int status);

/* Sets the sampling fields of `options`, leaving the others. */
void sampling_apply(const struct sampling_values *values, struct collector_options *options);
enum sampling_rung sampling_rung_max(const char *word);

/* ---- Python ---------------------------------------------------------------------------------- */

struct python_values {
    const char *parts; /* NULL: $ANNOT_PYTHON, else the default */
    bool no_preload;
};

/* Entries of an option table; `at` is the offset of the struct python_values. */
#define PYTHON_OPTIONS(at)                                                                         \
    {"python",                                                                                     \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     (at) + offsetof(struct python_values, parts),                                                 \
     "LIST",                                                                                       \
     "observe these in Python: names,pools,asyncio,gc,imports,subprocess; -NAME,... excludes",     \
     NULL},                                                                                        \
    {                                                                                              \
        "no-preload", 0, OPTION_FLAG, (at) + offsetof(struct python_values, no_preload), NULL,     \
            "load nothing into programs; observe only Pythons with pyannot installed", NULL        \
    }

/* 0, or a message was printed: returns `status`. */
int python_check(const struct python_values *values, int status);

/* ---- Filters --------------------------------------------------------------------------------- */

enum { FILTER_TEXT_SIZE = 241 };

/* Entries of an option table; `at` is the offset of the struct option_list. */
#define FILTER_OPTIONS(at)                                                                         \
    {"enable",                                                                                     \
     0,                                                                                            \
     OPTION_LIST,                                                                                  \
     (at),                                                                                         \
     "NAME[:LEVEL],...",                                                                           \
     "record only events of these domains or domain/categories",                                   \
     NULL},                                                                                        \
        {"disable", 0, OPTION_LIST, (at), "NAME,...", "exclude events of these", NULL},            \
    {                                                                                              \
        "functions", 0, OPTION_LIST, (at), "NAME,-NAME,...",                                       \
            "record calls of these instrumented functions, not of -NAME", NULL                     \
    }

enum { CAPTURE_TEXT_SIZE = 252 };

/* `offset` is that of a const char *. */
#define CAPTURE_OPTION(offset)                                                                     \
    {                                                                                              \
        "capture-range", 0, OPTION_TEXT, (offset), "NAME[@DOMAIN]",                                \
            "record events of a process only while a range of this name is open in it", NULL       \
    }

/* Converts to the form of a session: "NAME" or "NAME\x1fDOMAIN". `word` NULL: "". 0, or `status`
 * after a printed message. */
int capture_parse(const char *word, int status, char text[CAPTURE_TEXT_SIZE]);

/* Adds the options, in their order, to the rules in `text`; a rule replaces an earlier one with the
 * same pattern. 0, or `status` after a printed message. */
int filter_options_add(const struct option_list *list, int status, char text[FILTER_TEXT_SIZE]);

/* Adds one rule, "+io:2" or "-io/disk", which applies as the last one. 0 or -E2BIG, with `text`
 * unchanged. */
int filter_text_add(char text[FILTER_TEXT_SIZE], const char *rule, size_t length);

#endif
