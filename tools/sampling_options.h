/* SPDX-License-Identifier: MIT */
/* The options of `record` and `attach` that say how threads are sampled.
 * Thread-safety: none needed, no globals. */
#ifndef ANNOT_SAMPLING_OPTIONS_H
#define ANNOT_SAMPLING_OPTIONS_H

#include "collector.h"
#include "options.h"
#include "trace.h"

struct sampling_values {
    uint64_t frequency_hz;
    bool none; /* --no-sample */
    bool off_cpu;
    int64_t threshold_ns;
    uint64_t rate;
    const char *rung;
};

/* Lines of an option table; `at` is the offset of the struct sampling_values. */
#define SAMPLING_OPTIONS(at)                                                                       \
    {"sample",     0,                                                                              \
     OPTION_COUNT, (at) + offsetof(struct sampling_values, frequency_hz),                          \
     "HZ",         "samples per second of each running thread",                                    \
     "99"},                                                                                        \
        {"off-cpu",   0,                                                                           \
         OPTION_FLAG, (at) + offsetof(struct sampling_values, off_cpu),                            \
         NULL,        "record why and how long threads are blocked",                               \
         NULL},                                                                                    \
        {"off-cpu-threshold",                                                                      \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         (at) + offsetof(struct sampling_values, threshold_ns),                                    \
         "TIME",                                                                                   \
         "only count shorter stretches off the CPU",                                               \
         "10us"},                                                                                  \
        {"off-cpu-rate",                                                                           \
         0,                                                                                        \
         OPTION_COUNT,                                                                             \
         (at) + offsetof(struct sampling_values, rate),                                            \
         "N",                                                                                      \
         "record at most N stretches per second",                                                  \
         "500000"},                                                                                \
    {                                                                                              \
        "rung", 0, OPTION_CHOICE, (at) + offsetof(struct sampling_values, rung),                   \
            "bpf|remote|none", "best way of sampling to try", "bpf"                                \
    }

/* 0, or a message was printed: returns `status`. */
int sampling_check(const struct sampling_values *values, int status);

/* Into what the collector is asked for; `options` has the rest already. */
void sampling_apply(const struct sampling_values *values, struct collector_options *options);

enum sampling_rung sampling_rung_max(const char *word);

/* One line if threads were not sampled in the best way: what was done instead, why, and the remedy
 * as a hint. Nothing if it was, or was not wanted. */
void sampling_note(const struct trace *trace);

#endif
