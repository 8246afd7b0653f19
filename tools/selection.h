/* SPDX-License-Identifier: MIT */
/* The options that choose a part of a recording, the same for all commands that read one: threads
 * of a process, a stretch of time, ranges of a name. Main thread only. */
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

/* Lines of an option table; `at` is the offset of the struct selection_values. */
#define SELECTION_PROCESS(at)                                                                      \
    {"process",   'p',                                                                             \
     OPTION_TEXT, (at) + offsetof(struct selection_values, process),                               \
     "PID|TEXT",  "only processes with this number, or with TEXT in their label",                  \
     NULL},                                                                                        \
    {                                                                                              \
        "pid", 0, OPTION_TEXT, (at) + offsetof(struct selection_values, process), "PID|TEXT",      \
            "the same as --process", NULL                                                          \
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
    struct pass_selection chosen; /* by these */
    VEC(uint8_t) threads;         /* 0 not looked at, 1 wanted, 2 not */
};

/* Before the recording is opened: are the times well-formed? CMD_OK, or the message is out. */
int selection_check(const struct selection_values *values);

/* Once it is open and nothing was read of it: has it such a range, and does it last until `from`?
 * CMD_OK, or the message is out. Cost: a pass over the events where there is no such range. */
int selection_check_recording(const struct selection_values *values, struct store_reader *reader,
                              const char *path);

/* `trace` and the values outlive it. CMD_OK, or the message is out: no thread of the recording,
 * which is called `path`, is meant (path NULL: threads may come later). */
int selection_init(struct selection *selection, const struct selection_values *values,
                   const struct trace *trace, const char *path);
void selection_fini(struct selection *selection);

/* "alloc:bytes": the value of samples of that name. CMD_OK, or the message is out, with the names
 * that there are: CMD_FAILED. */
int selection_weight(const char *name, const struct trace *trace, const char *path,
                     struct sample_weight *ret_weight);

/* Of a recording without events and samples of CPU time, as importers make them of wall-clock time
 * and of memory, the name of the first value that its samples have. False: it is no such recording.
 * Cost: where there are no events, a pass over the
 * samples. */
enum { SELECTION_VALUE_SIZE = 256 };

bool selection_other_value(struct store_reader *reader, char name[SELECTION_VALUE_SIZE]);

/* Does it take all? */
bool selection_is_all(const struct selection *selection);

/* "from 2s to 3s, of thread main": what was chosen, for people. "" if all was. Returns the length.
 */
size_t selection_describe(const struct selection_values *values, char *buffer, size_t size);

#endif
