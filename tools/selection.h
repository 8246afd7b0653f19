/* SPDX-License-Identifier: MIT */
/* The options that select a part of a recording, common to all commands that read one: threads of a
 * process, a span of time, ranges of a name. Main thread only. */
#ifndef ANNOT_SELECTION_H
#define ANNOT_SELECTION_H

#include "options.h"
#include "pass.h"
#include "sample_weight.h"
#include "store.h"
#include "vec.h"

struct selection_values {
    const char *process, *thread, *range;
    const char *from, *to; /* as options_parse_time */
    bool gil;
};

/* Entries of an option table; `at` is the offset of the struct selection_values. */
#define SELECTION_PROCESS(at)                                                                      \
    {                                                                                              \
        "process", 'p', OPTION_TEXT, (at) + offsetof(struct selection_values, process),            \
            "PID|TEXT", "only processes with this number, or with TEXT in their label", NULL       \
    }
#define SELECTION_RANGE(at)                                                                        \
    {                                                                                              \
        "range", 'r', OPTION_TEXT, (at) + offsetof(struct selection_values, range), "NAME",        \
            "only what happened inside ranges of this name; *, ? and [] as in a shell", NULL       \
    }
#define SELECTION_GIL(at)                                                                          \
    {                                                                                              \
        "gil", 0, OPTION_FLAG, (at) + offsetof(struct selection_values, gil), NULL,                \
            "only samples of threads that held Python's global interpreter lock", NULL             \
    }
#define SELECTION_THREAD(at)                                                                       \
    {                                                                                              \
        "thread", 't', OPTION_TEXT, (at) + offsetof(struct selection_values, thread), "TID|TEXT",  \
            "only threads with this number, or with TEXT in their name", NULL                      \
    }
#define SELECTION_TIMES(at)                                                                        \
    {"from",      0,                                                                               \
     OPTION_TEXT, (at) + offsetof(struct selection_values, from),                                  \
     "TIME",      "only from this time on: 12.5s or 300ms after the recording began",              \
     NULL},                                                                                        \
    {                                                                                              \
        "to", 0, OPTION_TEXT, (at) + offsetof(struct selection_values, to), "TIME",                \
            "only up to this time", NULL                                                           \
    }

struct selection {
    const struct selection_values *values;
    const struct trace *trace;
    struct pass_selection chosen; /* by these values */
    VEC(uint8_t) threads;         /* 0 unknown, 1 selected, 2 excluded */
};

/* Checks the syntax of times before the recording is opened. CMD_OK, or the exit status after a
 * printed message. */
int selection_check(const struct selection_values *values);

/* Call after opening, before reading: checks that the range exists, and that the recording lasts
 * until `from`; sets the trace's heap window. CMD_OK, or the exit status after a printed message.
 * Cost: a pass over the events if the range does not exist. */
int selection_check_recording(const struct selection_values *values, struct store_reader *reader,
                              const char *path);

/* `trace` and the values must outlive the selection. CMD_OK, or the exit status after a printed
 * message if no thread of the recording `path` is selected (path NULL: threads may appear
 * later). */
int selection_init(struct selection *selection, const struct selection_values *values,
                   const struct trace *trace, const char *path);
void selection_fini(struct selection *selection);

/* Finds the value of samples named "alloc:bytes". CMD_OK, or CMD_FAILED after a message with the
 * existing names. Cost of "heap:peak": a pass over the samples, after which the reader is rewound.
 */
int selection_weight(const char *name, const struct selection *selection,
                     struct store_reader *reader, const char *path,
                     struct sample_weight *ret_weight);

/* For a recording without events and samples of CPU time, as importers make from wall-clock time
 * and memory, returns the name of the first value of its samples. False for other recordings. Cost:
 * without events, a pass over the samples. */
enum { SELECTION_VALUE_SIZE = 256 };

bool selection_other_value(struct store_reader *reader, char name[SELECTION_VALUE_SIZE]);

/* Returns true if everything is selected. */
bool selection_is_all(const struct selection *selection);

/* "from 2s to 3s, of thread main": describes the selection; "" if everything is selected. Returns
 * the length. */
size_t selection_describe(const struct selection_values *values, char *buffer, size_t size);

#endif
