/* SPDX-License-Identifier: MIT */
/* What GPUs did, streamed over a recording: kernels and other operations by name, by queue, and by
 * the ranges of the thread that launched them.
 *
 * GPU time is the time of kernels, copies, sets and graphs (enum queue_role): a sum, in which work
 * of several queues at once counts several times. Busy time is the time in which at least one of
 * them ran. Waits of a thread for the GPU are neither. A device is a process's own, since processes
 * number their devices themselves. A device that is idle is starved if nothing is launched that it
 * could do: from a launch on, and until that has ended, it is not, whatever else it waits for. Of
 * what is launched at an unknown time, or is a node of a graph, its begin counts as its launch.
 *
 * Memory: 200 bytes a name, up to GPU_ROWS_MAX, and a shape of a kernel's launch; 50 a place
 * from which one was launched, up to GPU_SOURCES_MAX; 200 a path of
 * ranges with launches, up to GPU_PATHS_MAX; 16 bytes a gap in the work of a queue or device, and
 * in what a device was asked for, up to GPU_GAPS_MAX of all together, beyond which short ones are
 * given up; about 6 a range of a process that has queues, and a sample
 * or wait of its threads, each up to GPU_STAYS_MAX_BYTES, beyond which
 * short ones are not looked at. 16 a wait for a GPU, up to GPU_SYNCS_MAX;
 * further ones are left out of synced_ns. What was left out is counted. Thread-safety: one thread
 * per object.
 */
#ifndef ANNOT_GPU_STATS_H
#define ANNOT_GPU_STATS_H

#include "histogram.h"
#include "own_time.h"
#include "pass.h"
#include "range_stats.h"
#include "trace.h"

#include <stdbool.h>

enum {
    GPU_ROWS_MAX = 1 << 16,
    GPU_SHAPES_MAX = 1 << 17,
    GPU_PATHS_MAX = 1 << 17,
    GPU_SOURCES_MAX = 1 << 17,
    GPU_GAPS_MAX = 1 << 22,
    GPU_STAYS_MAX_BYTES = 32 << 20,
    GPU_SYNCS_MAX = 1 << 20,
};

/* What is shorter is brief: kernels, and times in which a device is starved. */
enum { GPU_KERNEL_BRIEF_NS = 10000, GPU_STARVED_BRIEF_NS = 100000 };

/* Which way a copy went. */
enum gpu_way { GPU_WAY_TO_DEVICE, GPU_WAY_FROM_DEVICE, GPU_WAY_OTHER, GPU_WAYS };

struct gpu_moved {
    uint64_t bytes, time_ns;
};

/* RESTS: it stays open, but nothing is kept until it goes on. */
enum gpu_window {
    GPU_WINDOW_NONE,
    GPU_WINDOW_OPENS,
    GPU_WINDOW_SHUTS,
    GPU_WINDOW_RESTS,
    GPU_WINDOW_GOES_ON
};

/* What a kernel was launched as. */
struct gpu_shape {
    uint32_t row;         /* of its kernel, by the order of their coming */
    uint32_t grid, block; /* strings; 0: not known */
    uint64_t registers, shared_bytes;
    double occupancy; /* percent; NAN: not known */
    uint64_t count, total_ns;
    uint32_t next; /* of the same kernel: index + 1 */
};

/* Where most of its time was launched from: gpu_stats_find_sources. */
struct gpu_from {
    uint32_t what; /* range: row of range_stats, RANGE_NO_ROW of none; function: a label */
    uint64_t time_ns, count; /* of what was launched there; 0: not known */
};

/* All of one role and name. */
struct gpu_row {
    uint8_t role;       /* enum queue_role, or 0 of an unknown one */
    uint8_t edge;       /* enum gpu_window: what it was to the window of observation */
    uint8_t way;        /* of copies: enum gpu_way */
    bool pageable;      /* the name says so */
    bool ambiguous;     /* the short name of another kernel is the same */
    uint32_t name;      /* string; 0: those for which there was no room */
    uint32_t direction; /* string; 0: not known */
    uint64_t count, total_ns, min_ns, max_ns;
    uint64_t bytes; /* of copies and sets */
    struct histogram durations;
    uint32_t shapes;          /* index + 1 of the first */
    uint32_t shape_count;     /* that are told apart */
    struct gpu_from range;    /* the innermost one */
    struct gpu_from function; /* the innermost one of one's own, of launches whose stack is known */
    uint64_t stacks_ns;       /* the time of all these */
};

/* A queue, or a device: then of its queues together. */
struct gpu_queue {
    uint32_t lane;   /* ordinal */
    uint32_t device; /* 1 + the lane of the queue's device; 0: it is one, or not known */
    uint32_t process;
    bool is_device;
    uint64_t count, total_ns, busy_ns;
    uint64_t gap_count, longest_gap_ns;
    uint64_t life_ns;       /* of its process, as far as it was selected */
    uint64_t watched_ns;    /* of that it was recorded what its GPUs did */
    uint64_t starved_ns;    /* of that nothing was launched that had not ended: not of queues of a
                               device; of starved_ns: */
    uint64_t ends_ns;       /* before its first launch, and after its last end */
    uint64_t starved_count; /* how often, between these; of that: */
    uint64_t brief_count, brief_ns;
    int64_t first_ns, last_ns;
};

/* What was launched inside of the ranges of a row of range_stats. */
struct gpu_range {
    uint32_t row;
    uint64_t count;             /* kernels, copies, sets, graphs */
    uint64_t total_ns, self_ns; /* GPU time; self: launched in no range inside */
    struct histogram delays;    /* from launch to begin, where that is known */
    struct gpu_moved moved[GPU_WAYS];
    uint64_t stay_ns;         /* how long ranges were open while GPUs were watched; 0: none was */
    uint64_t idle_ns;         /* of that no queue of the process was busy */
    uint64_t idle_self_ns;    /* and no range inside was open */
    uint64_t starved_ns;      /* of idle_ns: nothing was launched that had not ended */
    uint64_t starved_self_ns; /* and no range inside was open */
    uint64_t call_count, call_ns; /* calls that launch, if those were recorded */
};

struct gpu_totals {
    uint64_t count, total_ns; /* of all; GPU time */
    struct gpu_range outside; /* launched in no range */
    struct gpu_range unknown; /* nobody knows where */
    struct gpu_range further; /* in ranges for which there was no room */
    uint64_t graph_count;     /* recorded as a whole */
    uint64_t node_count;      /* of graphs, one by one */
    uint64_t kernel_count, brief_kernel_count;
    struct gpu_moved pageable; /* by copies from or to memory that is not pinned */
    uint64_t pageable_count;
    uint64_t sync_count;              /* waits of threads for GPUs, as far as they are kept */
    uint64_t synced_count, synced_ns; /* after these, no device of the process had anything to do */
    uint64_t filled_ns;             /* gaps that were given up: idle times are too short by that */
    uint64_t short_count, short_ns; /* ranges that were not looked at */
};

struct gpu_stats;
struct gpu_stalls;

/* `trace` and `stats`, of that grouping, outlive it. NULL: out of memory. destroy accepts NULL. */
struct gpu_stats *gpu_stats_create(const struct trace *trace, struct range_stats *stats,
                                   enum range_grouping grouping);
void gpu_stats_destroy(struct gpu_stats *work);

/* What takes the items of a pass, in any order; and what is to be told of ranges (range_watch).
 * Then once, after range_stats_finish, finish; the times are those of the recording, as far as it
 * was selected. 0 or -ENOMEM. */
struct sink gpu_stats_sink(struct gpu_stats *work);
int gpu_stats_told(struct gpu_stats *work, uint32_t row, const struct item *span);
int gpu_stats_finish(struct gpu_stats *work, int64_t from_ns, int64_t to_ns);

/* Before the items come: so many durations of each row are kept one by one, an even number. */
void gpu_stats_keep(struct gpu_stats *work, uint32_t limit);

/* What the thread of each process that launched first did while its GPUs were starved, by the row
 * of own_time that its stack counts for. The longest time first. CPU time is that around samples.
 */
struct gpu_host_place {
    uint32_t row;
    int32_t line; /* where most of it went: line_ns; 0: not known */
    uint64_t cpu_ns, ready_ns, waiting_ns, line_ns;
};

/* After gpu_stats_find_sources. */
uint32_t gpu_stats_host_places(const struct gpu_stats *work,
                               const struct gpu_host_place **ret_places);

/* Once they came, in their order; as range_stats_durations. */
const struct range_duration *gpu_stats_durations(const struct gpu_stats *work,
                                                 const struct gpu_row *row, uint32_t *ret_count);

/* After it: where rows were launched from. `own` is finished; NULL: no stack is known. 0 or
 * -ENOMEM. */
int gpu_stats_find_sources(struct gpu_stats *work, const struct own_time *own);

/* Is there any? All below is valid after finish. */
bool gpu_stats_any(const struct gpu_stats *work);
const struct gpu_totals *gpu_stats_totals(const struct gpu_stats *work);

/* The longest time first. */
uint32_t gpu_stats_rows(const struct gpu_stats *work, const struct gpu_row *const **ret_rows);
uint64_t gpu_stats_quantile(const struct gpu_stats *work, const struct histogram *histogram,
                            double fraction);
/* The name of a row as there is room for it: that of a kernel is short, and longer if several
 * kernels of the recording are the same without that. At most size - 1 bytes and NUL. */
void gpu_stats_name(const struct gpu_stats *work, const struct gpu_row *row, char *buffer,
                    size_t size);
/* The shape that a kernel had most often; NULL: none is known. */
const struct gpu_shape *gpu_stats_shape(const struct gpu_stats *work, const struct gpu_row *row);

/* Each device before its queues, and those without one last. */
uint32_t gpu_stats_queues(const struct gpu_stats *work, const struct gpu_queue **ret_queues);

/* By their GPU time, then by their idle time. */
uint32_t gpu_stats_ranges(const struct gpu_stats *work, const struct gpu_range **ret_ranges);

/* What graphs did, node by node, by the ranges in which they were captured, a string each (0: in
 * none, or before the recording). The longest time first. */
uint32_t gpu_stats_captures(const struct gpu_stats *work, const struct gpu_from **ret_captures);

/* Why warps did not go on: gpu_stalls.h. */
const struct gpu_stalls *gpu_stats_stalls(const struct gpu_stats *work);

/* ---- Names of kernels: gpu_name.c ---- */

/* "at::native::reduce_kernel<…>" of "void at::native::reduce_kernel<512, 1, at::...>(float*)":
 * without result, arguments and what stands in angle brackets. At most size - 1 bytes and NUL. */
void gpu_short_name(const char *name, char *buffer, size_t size);

/* "at::native::vectorized_elementwise_kernel<4, AddFunctor<…>, Array<…>>": with the parameters of
 * the template, of which each is short. */
void gpu_longer_name(const char *name, char *buffer, size_t size);

#endif
