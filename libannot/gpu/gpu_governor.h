/* SPDX-License-Identifier: MIT */
/* The budget of GPU recording: sums its cost and lowers the level of detail above the budget.
 *
 * Threads: any thread adds cost; the thread of gpu_thread.c owns the governor. */
#ifndef ANNOT_GPU_GOVERNOR_H
#define ANNOT_GPU_GOVERNOR_H

#include "gpu_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpu_level { GPU_LEVEL_OFF, GPU_LEVEL_GRAPHS, GPU_LEVEL_NODES };

struct gpu_governor {
    double budget; /* percent of the wall time; 0: no limit */
    enum gpu_level level, highest;
    double share;   /* percent, at the last check */
    uint64_t cost;  /* ns, at the last check */
    int looks_over; /* consecutive checks above the budget */
    int64_t looked_ns, raised_ns, held_ns,
        hold_ns; /* CLOCK_MONOTONIC; 0: never. No rise before held_ns */
};

/* Adds to the cost. Any thread. */
void gpu_governor_add(uint64_t ns);

/* Adds the time of a record of CUPTI's own overhead. */
void gpu_governor_note(const struct gpu_record *record);

/* The cost so far in ns, without CPU time of the thread of gpu_thread.c. */
uint64_t gpu_governor_cost(void);
void gpu_governor_begin(struct gpu_governor *governor, double budget, enum gpu_level highest);

/* Compares once a second; `cost`: so far, in ns. Returns true if the level changed. */
bool gpu_governor_look(struct gpu_governor *governor, int64_t now_ns, uint64_t cost);

/* Writes the reason for the last change of level. */
void gpu_governor_say(const struct gpu_governor *governor, char *text, size_t size);

#endif
