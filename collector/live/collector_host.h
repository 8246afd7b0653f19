/* SPDX-License-Identifier: MIT */
/* Facts of this machine for a recording, and the needs of a recorded program.
 * Thread-safety: as the trace. */
#ifndef ANNOT_COLLECTOR_HOST_H
#define ANNOT_COLLECTOR_HOST_H

#include "collector.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct trace;

/* ---- Needs of a program at its defaults, in bytes ---- */

/* The size of its sparse file in shared memory. Under a smaller RLIMIT_FSIZE the program gets a
 * smaller buffer; below the needed size it is not recorded. */
uint64_t host_wants_file_bytes(void);
uint64_t host_needs_file_bytes(void);

/* The part that fills up in a busy program. */
uint64_t host_needs_memory_bytes(void);

/* ---- Facts ---- */

/* Adds name and kernel of this machine, for the session and as host 0, with its boot and its wall
 * clock. 0 or -ENOMEM. */
int host_describe(struct trace *trace);

/* Adds the folder where the command was started, the base of relative paths (NULL: our own), and
 * the number of processors it may use. */
void host_describe_place(struct trace *trace, const struct collector_options *options);

/* Likewise for a running program: adds the processors of its threads to `known`, those of earlier
 * programs. */
void host_add_processors(struct trace *trace, cpu_set_t *known, int32_t pid);

/* Adds another reading of the wall clock: two of them give its drift. */
int host_anchor(struct trace *trace);

/* host_load reads the time used on each processor since boot. host_load_end records the time used
 * since `load` was read as facts: on `processors`, or if that is empty on those that this thread
 * may use. 0 or -ENOMEM. */
struct host_load {
    bool known;
    uint64_t used_ms[CPU_SETSIZE], stolen_ms[CPU_SETSIZE];
};

void host_load(struct host_load *ret_load);
int host_load_end(struct trace *trace, const struct host_load *load, const cpu_set_t *processors);

#endif
