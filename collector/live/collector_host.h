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

/* The size of its file in shared memory, which is sparse. Under a smaller RLIMIT_FSIZE the program
 * gets a smaller buffer, and below what it needs it is not recorded. */
uint64_t host_wants_file_bytes(void);
uint64_t host_needs_file_bytes(void);

/* The part that fills up in a busy program. */
uint64_t host_needs_memory_bytes(void);

/* ---- Facts ---- */

/* Name and kernel of this machine, for the session and as host 0, with its boot and its wall clock.
 * 0 or -ENOMEM. */
int host_describe(struct trace *trace);

/* Where the command was begun, to which paths are shown relative (NULL: here), and how many
 * processors it may use. */
void host_describe_place(struct trace *trace, const struct collector_options *options);

/* The same for a running program: `known`, of those before it, gains what its threads may use. */
void host_add_processors(struct trace *trace, cpu_set_t *known, int32_t pid);

/* One more instant at which the wall clock was read: between two of them its drift is known. */
int host_anchor(struct trace *trace);

/* What ran on each processor since the machine started; end: what did since `load` was read, on
 * `processors`, or if there are none on those that this thread may use, becomes facts. 0 or
 * -ENOMEM. */
struct host_load {
    bool known;
    uint64_t used_ms[CPU_SETSIZE], stolen_ms[CPU_SETSIZE];
};

void host_load(struct host_load *ret_load);
int host_load_end(struct trace *trace, const struct host_load *load, const cpu_set_t *processors);

#endif
