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
    const char *waits;        /* the parts of --off-cpu; NULL: waits of at least threshold_ns */
    bool all_waits, no_waits; /* --off-cpu=all, =none */
    int64_t threshold_ns;
    uint64_t waits_hz;
    const char *rung;
    bool no_source;
};

/* Entries of an option table; `at` is the offset of the struct sampling_values. */
#define RATE_OPTION(at)                                                                            \
    {                                                                                              \
        "rate", 'r', OPTION_COUNT, (at) + offsetof(struct sampling_values, frequency_hz), "HZ",    \
            "samples per second of each running thread", "99"                                      \
    }

#define OFF_CPU_OPTION(at)                                                                         \
    {                                                                                              \
        "off-cpu", 0, OPTION_PARTS, (at) + offsetof(struct sampling_values, waits), "[=LIST]",     \
            "record every wait, however short; --off-cpu=none records no waits; by default, "      \
            "waits of 1ms and more are recorded",                                                  \
            NULL                                                                                   \
    }

#define SAMPLING_OPTION(at)                                                                        \
    {                                                                                              \
        "sampling", 0, OPTION_CHOICE, (at) + offsetof(struct sampling_values, rung),               \
            "bpf|remote|none",                                                                     \
            "the best way of sampling to try: eBPF, reading memory from outside (remote), or "     \
            "none "                                                                                \
            "(annotations only)",                                                                  \
            "bpf"                                                                                  \
    }

#define SOURCE_OPTION(at)                                                                          \
    {                                                                                              \
        "no-source", 0, OPTION_FLAG, (at) + offsetof(struct sampling_values, no_source), NULL,     \
            "keep no text of source files in the recording", NULL                                  \
    }

/* The rarely used parts of --off-cpu; `at` as above. */
#define OFF_CPU_DETAIL_OPTIONS(at)                                                                 \
    {"off-cpu=all", 0,                                                                             \
     OPTION_FLAG,   (at) + offsetof(struct sampling_values, all_waits),                            \
     NULL,          "record every wait, however short: the same as --off-cpu",                     \
     NULL},                                                                                        \
        {"off-cpu=none",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         (at) + offsetof(struct sampling_values, no_waits),                                        \
         NULL,                                                                                     \
         "record no waits",                                                                        \
         NULL},                                                                                    \
        {"off-cpu=min", 0,                                                                         \
         OPTION_TIME,   (at) + offsetof(struct sampling_values, threshold_ns),                     \
         "TIME",        "record only waits of at least TIME",                                      \
         "1ms"},                                                                                   \
    {                                                                                              \
        "off-cpu=rate", 0, OPTION_COUNT, (at) + offsetof(struct sampling_values, waits_hz), "N",   \
            "record at most N waits per second", "500000"                                          \
    }

/* 0, or a message was printed: returns `status`. */
int sampling_check(const struct sampling_values *values, int status);

/* Returns true if threads are not sampled: --sampling none. */
bool is_unsampled(const struct sampling_values *values);

/* Sets the sampling fields of `options`, leaving the others. The sampler of a recording without
 * samples may still record ranges with eBPF. */
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
