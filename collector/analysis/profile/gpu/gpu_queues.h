/* SPDX-License-Identifier: MIT */
/* Busy times of queues, devices and processes. Thread-safety: as gpu_stats.h. */
#ifndef ANNOT_GPU_QUEUES_H
#define ANNOT_GPU_QUEUES_H

#include "gpu_busy.h"
#include "gpu_stats.h"
#include "vec.h"

struct queue_busy {
    struct gpu_queue queue;
    struct gpu_busy busy;
    struct gpu_busy
        launched; /* from each launch to its end; of devices, and of queues without one */
};

struct process_busy {
    uint32_t process;
    struct gpu_busy busy;     /* of all its queues, with an index */
    struct gpu_busy launched; /* from each launch to its end, of all its queues; not indexed */
    struct gpu_busy watched;  /* when its GPUs were watched, with an index */
    struct gpu_busy starved; /* part of `watched` without launched unfinished work, with an index */
};

/* Start (opens) or end of the watched time of a process's GPUs. */
struct gpu_edge {
    int64_t time_ns;
    uint32_t process;
    bool opens;
};

struct gpu_queues {
    VEC(struct queue_busy) lanes; /* by ordinal; unseen lanes have count 0 */
    VEC(struct gpu_queue) rows;
    VEC(struct process_busy) processes;
    VEC(struct gpu_edge) edges;
    VEC(struct gpu_edge) syncs; /* ends of waits of threads for a GPU */
    VEC(bool) has_queues;       /* by process */
    uint64_t added;             /* since gaps were last counted */
    uint64_t fill_ns;
};

/* 0 or -ENOMEM. */
int gpu_queues_init(struct gpu_queues *queues, const struct trace *trace);
void gpu_queues_fini(struct gpu_queues *queues);
/* Adds work of a queue that was launched at `launched_ns`. 0 or -ENOMEM. */
int gpu_queues_add(struct gpu_queues *queues, const struct trace *trace, const struct item *span,
                   int64_t launched_ns);
/* Makes the rows and processes; adds the closed gaps to `filled_ns`. `from_ns` to `to_ns`: the
 * recording within the selection. 0 or -ENOMEM. */
int gpu_queues_finish(struct gpu_queues *queues, const struct trace *trace, int64_t from_ns,
                      int64_t to_ns, uint64_t *filled_ns);
/* Adds the opening or shutting of a window of observation. 0 or -ENOMEM. */
int gpu_queues_window(struct gpu_queues *queues, const struct trace *trace, const struct item *span,
                      bool opens);
/* Adds a wait of a thread for a GPU. 0 or -ENOMEM. */
int gpu_queues_synced(struct gpu_queues *queues, const struct trace *trace,
                      const struct item *span);
/* After finish: sums the starved time after such waits, between the first and last work of a
 * process. */
void gpu_queues_count_synced(struct gpu_queues *queues, struct gpu_totals *totals);
/* NULL: the process has no queues. */
const struct process_busy *gpu_queues_of_process(const struct gpu_queues *queues, uint32_t process);

#endif
