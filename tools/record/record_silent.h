/* SPDX-License-Identifier: MIT */
/* Part of `annot record`: processes with calls of NVTX or ITT that nobody listens to. Loaders are
 * silent, so the environment that a process began with is looked at: whether annot's variables are
 * in it, and the room for its library. Main thread only. */
#ifndef ANNOT_RECORD_SILENT_H
#define ANNOT_RECORD_SILENT_H

#include "collector.h"
#include "record_inject.h"

struct silent_process;

enum { SILENT_SAID_MAX = 8 };

/* {0}: nothing is looked at. */
struct silent {
    const struct inject_environment *given; /* the caller's; NULL: nothing */
    struct silent_process *items;
    uint32_t count, capacity;
    uint32_t seen; /* processes of the trace */
    int64_t next_ns;
    char *said[SILENT_SAID_MAX];
    uint32_t said_count;
};

/* `given`: what the command got, one of its variables a loader's; `pid` is the command's. */
void silent_begin(struct silent *silent, const struct inject_environment *given, int32_t pid);

/* Looks at new processes when they have loaded what they begin with, and again now and then. Cost:
 * a file of /proc for each; 0.1 s for one that lacks a variable. */
void silent_step(struct silent *silent, const struct trace *trace, int64_t now_ns);

/* Notes in the recording, which is not finished yet, of whom nothing came. */
void silent_end(struct silent *silent, struct collector *collector);

/* Prints these, once. */
void silent_tell(struct silent *silent);

void silent_fini(struct silent *silent);

#endif
