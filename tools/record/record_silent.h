/* SPDX-License-Identifier: MIT */
/* Part of `annot record`: finds processes with calls of NVTX or ITT that are not recorded. Loaders
 * report no errors, so the initial environment of a process is checked for annot's variables and
 * for the TLS space of its library. Main thread only. */
#ifndef ANNOT_RECORD_SILENT_H
#define ANNOT_RECORD_SILENT_H

#include "collector.h"
#include "record_inject.h"

struct silent_process;

enum { SILENT_SAID_MAX = 8 };

/* {0}: disabled. */
struct silent {
    const struct inject_environment *given; /* owned by the caller; NULL: disabled */
    struct silent_process *items;
    uint32_t count, capacity;
    uint32_t seen; /* processes of the trace already seen */
    int64_t next_ns;
    char *said[SILENT_SAID_MAX];
    uint32_t said_count;
};

/* `given`: the command's environment, with the variable of at least one loader; `pid` is the
 * command's. */
void silent_begin(struct silent *silent, const struct inject_environment *given, int32_t pid);

/* Inspects new processes once their initial libraries are loaded, and again at growing intervals.
 * Cost: a file of /proc for each; 0.1 s for a process that lacks a variable. */
void silent_step(struct silent *silent, const struct trace *trace, int64_t now_ns);

/* Adds a note for each process without events to the recording, before it is finished. */
void silent_end(struct silent *silent, struct collector *collector);

/* Prints these notes, once. */
void silent_report(struct silent *silent);

void silent_fini(struct silent *silent);

#endif
