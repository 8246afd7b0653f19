/* SPDX-License-Identifier: MIT */
/* Resident memory of each process when it had most of it, and at its end, with the parts of it that
 * are known: from the counters of OBSERVER_MEMORY.
 *
 * The peak is the first reading that no later one exceeds by 1 %. The end is a tenth of a second
 * before the process ended, so before an interpreter frees all, or the end of the recording. Live
 * bytes are estimates. Thread-safety: one thread per object. */
#ifndef ANNOT_PROCESS_MEMORY_H
#define ANNOT_PROCESS_MEMORY_H

#include "pass.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes at a time. */
struct process_memory_moment {
    int64_t time_ns;    /* of the end: 0: the process still ran */
    int64_t rss, files; /* resident; the part that maps files or is shared; -1: not known */
    int64_t live;       /* in live blocks, resident or not; -1: not known */
};

struct process_memory_row {
    uint32_t process; /* ordinal */
    struct process_memory_moment most, end;
};

struct process_memory;

/* `trace` outlives it. NULL: out of memory. destroy accepts NULL. */
struct process_memory *process_memory_create(const struct trace *trace);
void process_memory_destroy(struct process_memory *memory);

/* True if the recording has such counters. */
bool process_memory_any(const struct trace *trace);

/* Takes the counters of a pass; call finish once after the last. 0 or -ENOMEM. */
struct sink process_memory_sink(struct process_memory *memory);
int process_memory_finish(struct process_memory *memory);

/* The processes with a reading, most resident memory first. */
uint32_t process_memory_rows(const struct process_memory *memory,
                             const struct process_memory_row **ret_rows);

/* Resident bytes that are neither of files nor of live blocks: free memory of allocators, stacks,
 * mmap of the program, and what a forked process has from its parent. -1: not known, as live blocks
 * are not resident as a whole. */
int64_t process_memory_rest(const struct process_memory_moment *moment);

#endif
