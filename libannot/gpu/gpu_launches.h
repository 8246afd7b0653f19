/* SPDX-License-Identifier: MIT */
/* Origins of GPU work: launching threads and times by CUPTI's correlation ids, threads by the
 * system's numbers, and ranges in which nodes of graphs were captured. All tables are bounded.
 *
 * Threads: those of the program write, without a lock except for nodes; one thread reads. */
#ifndef ANNOT_GPU_LAUNCHES_H
#define ANNOT_GPU_LAUNCHES_H

#include "gpu_emit.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Launches ---- */

/* Makes the table. 0 or -ENOMEM. Threads: one, with the window's lock. */
int gpu_launches_open(void);

/* Begins a launching or waiting call on the calling thread. Cost: a time stamp and three stores; if
 * it launches, also an atomic addition, a decrement and, for one of many, a probe's call. */
void gpu_launch_begins(uint32_t correlation, bool launches);

/* The call returned; failed; or only added a node to a graph that is being captured. */
void gpu_launch_returned(void);
void gpu_launch_failed(uint32_t correlation);
void gpu_launch_captured(void);

/* Finds the caller's thread and time by correlation id. Returns 1, or 0 if it is unknown or
 * overwritten. *ret_first: first request for this call. Threads: one. */
int gpu_launch_find(uint32_t correlation, struct gpu_origin *ret_origin, bool *ret_first);

/* A window begins: launches before it count as answered. */
void gpu_launches_begin(void);

/* The reader has the first activity of a counted launch. */
void gpu_launch_answered(void);

/* True while counted launches have no activity yet. Any thread. */
bool gpu_launches_pending(void);

/* Launches counted so far. Any thread. */
uint64_t gpu_launches_counted(void);

/* ---- Nodes of graphs ---- */

/* Records that the calling thread adds a node to a graph, or copies one to another graph. */
void gpu_node_captured(uint64_t id);
void gpu_node_cloned(uint64_t id, uint64_t original);

/* Returns the ranges open when the node was captured, as gpu_emit_open() writes them; equal texts
 * share one address, which stays valid. NULL: unknown, or no range. */
const char *gpu_node_ranges(uint64_t id);

/* ---- Threads of the program ---- */

/* A window begins: entries made before are ignored from here on. */
void gpu_threads_begin(void);

/* Enters the calling thread with annot's number and the time. Any thread. */
void gpu_thread_met(const struct gpu_origin *here);

/* Finds a thread by the system's number. Returns 1, or 0 if unknown. Threads: one. */
int gpu_thread_find(uint32_t system, struct gpu_origin *ret_origin);

#endif
