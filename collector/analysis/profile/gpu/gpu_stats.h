/* SPDX-License-Identifier: MIT */
/* Statistics of GPU work, streamed over a recording: kernels and other operations by name, by
 * queue, and by the ranges of the thread that launched them.
 *
 * GPU time is the time of kernels, copies, sets and graphs (enum queue_role): a sum, in which
 * simultaneous work of several queues counts several times. Busy time is the time in which at least
 * one of them ran. Waits of a thread for the GPU are neither. A device belongs to one process,
 * since processes number their devices themselves. An idle device is starved if it has no launched
 * work that has not ended: from a launch until the end of that work it is not starved, whatever
 * else it waits for. For work of unknown launch time and for nodes of a graph, the start counts as
 * the launch.
 *
 * Memory: 200 bytes a name, up to GPU_ROWS_MAX, and a shape of a kernel's launch; 50 a place from
 * which one was launched, up to GPU_SOURCES_MAX; 200 a path of ranges with launches, up to
 * GPU_PATHS_MAX; 16 bytes a gap in the work of a queue or device, and in the launched times of a
 * device, up to GPU_GAPS_MAX of all together, beyond which short gaps are closed; about 6 a range
 * of a process that has queues, and a sample or wait of its threads, each up to
 * GPU_STAYS_MAX_BYTES, beyond which short ones are dropped; 16 a wait for a GPU, up to
 * GPU_SYNCS_MAX; further ones are left out of synced_ns. Everything left out is counted.
 * Thread-safety: one thread per object. */
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

/* Shorter kernels and shorter starved times are brief. */
enum { GPU_KERNEL_BRIEF_NS = 10000, GPU_STARVED_BRIEF_NS = 100000 };

/* Direction of a copy. */
enum gpu_way { GPU_WAY_TO_DEVICE, GPU_WAY_FROM_DEVICE, GPU_WAY_OTHER, GPU_WAYS };

struct gpu_moved {
    uint64_t bytes, time_ns;
};

/* RESTS: the window stays open, but records are dropped until GOES_ON. */
enum gpu_window {
    GPU_WINDOW_NONE,
    GPU_WINDOW_OPENS,
    GPU_WINDOW_SHUTS,
    GPU_WINDOW_RESTS,
    GPU_WINDOW_GOES_ON
};

/* Launch configuration of a kernel. */
struct gpu_shape {
    uint32_t row;         /* of its kernel, in order of arrival */
    uint32_t grid, block; /* strings; 0: unknown */
    uint64_t registers, shared_bytes;
    double occupancy; /* percent; NAN: unknown */
    uint64_t count, total_ns;
    uint32_t next; /* of the same kernel: index + 1 */
};

/* Where most of the time was launched from: gpu_stats_find_sources. */
struct gpu_from {
    uint32_t what; /* range: row of range_stats, RANGE_NO_ROW outside of any; function: a label */
    uint64_t time_ns, count; /* of the work launched there; 0: unknown */
};

/* All work of one role and name. */
struct gpu_row {
    uint8_t role;       /* enum queue_role; 0: unknown */
    uint8_t edge;       /* enum gpu_window: its effect on the window of observation */
    uint8_t way;        /* of copies: enum gpu_way */
    bool pageable;      /* by the name */
    bool ambiguous;     /* the short name of another kernel is the same */
    uint32_t name;      /* string; 0: names beyond the limit */
    uint32_t direction; /* string; 0: unknown */
    uint64_t count, total_ns, min_ns, max_ns;
    uint64_t bytes; /* of copies and sets */
    struct histogram durations;
    uint32_t shapes;          /* index + 1 of the first */
    uint32_t shape_count;     /* that are counted separately */
    struct gpu_from range;    /* the innermost range */
    struct gpu_from function; /* the innermost own function, of launches whose stack is known */
    uint64_t stacks_ns;       /* time of all launches with a stack */
};

/* A queue; or a device, as the sum of its queues. */
struct gpu_queue {
    uint32_t lane;   /* ordinal */
    uint32_t device; /* 1 + the lane of the queue's device; 0: it is a device, or unknown */
    uint32_t process;
    bool is_device;
    uint64_t count, total_ns, busy_ns;
    uint64_t gap_count, longest_gap_ns;
    uint64_t life_ns;    /* of its process, within the selection */
    uint64_t watched_ns; /* part of life_ns in which GPU work was recorded */
    uint64_t starved_ns; /* part of watched_ns without launched unfinished work; 0 for queues of a
                            device */
    uint64_t ends_ns;    /* part of starved_ns before its first launch and after its last end */
    uint64_t starved_count; /* starved intervals between these */
    uint64_t brief_count, brief_ns;
    int64_t first_ns, last_ns;
};

/* Work launched inside of the ranges of a row of range_stats. */
struct gpu_range {
    uint32_t row;
    uint64_t count;             /* kernels, copies, sets, graphs */
    uint64_t total_ns, self_ns; /* GPU time; self: launched outside of inner ranges */
    struct histogram delays;    /* from launch to start, where the launch is known */
    struct gpu_moved moved[GPU_WAYS];
    uint64_t stay_ns; /* time that ranges were open while GPUs were watched; 0: never watched */
    uint64_t idle_ns; /* part of stay_ns in which no queue of the process was busy */
    uint64_t idle_self_ns;        /* part of idle_ns outside of inner ranges */
    uint64_t starved_ns;          /* part of idle_ns without launched unfinished work */
    uint64_t starved_self_ns;     /* part of starved_ns outside of inner ranges */
    uint64_t call_count, call_ns; /* calls that launch, if recorded */
};

struct gpu_totals {
    uint64_t count, total_ns; /* of all work; GPU time */
    struct gpu_range outside; /* launched outside of ranges */
    struct gpu_range unknown; /* of unknown launch */
    struct gpu_range further; /* in ranges beyond the limit */
    uint64_t graph_count;     /* graphs recorded as a whole */
    uint64_t node_count;      /* nodes of graphs recorded one by one */
    uint64_t kernel_count, brief_kernel_count;
    struct gpu_moved pageable; /* copies from or to memory that is not pinned */
    uint64_t pageable_count;
    uint64_t sync_count;              /* waits of threads for GPUs, up to GPU_SYNCS_MAX */
    uint64_t synced_count, synced_ns; /* those that left all devices of the process starved */
    uint64_t filled_ns;               /* closed gaps: idle times are too short by that */
    uint64_t short_count, short_ns;   /* ranges dropped as too short */
};

struct gpu_stats;
struct gpu_stalls;

/* `trace` and `stats`, of that grouping, outlive it. NULL: out of memory. destroy accepts NULL. */
struct gpu_stats *gpu_stats_create(const struct trace *trace, struct range_stats *stats,
                                   enum range_grouping grouping);
void gpu_stats_destroy(struct gpu_stats *work);

/* The sink takes the items of a pass in any order; gpu_stats_ended takes the spans of ranges
 * (range_watch). Call finish once, after range_stats_finish, with the times of the recording within
 * the selection. 0 or -ENOMEM. */
struct sink gpu_stats_sink(struct gpu_stats *work);
int gpu_stats_ended(struct gpu_stats *work, uint32_t row, const struct item *span);
int gpu_stats_finish(struct gpu_stats *work, int64_t from_ns, int64_t to_ns);

/* Call before the first item: keeps up to `limit` durations of each row one by one, an even
 * number. */
void gpu_stats_keep(struct gpu_stats *work, uint32_t limit);

/* Time of each process's first launching thread while the GPUs of the process were starved, by the
 * row of own_time to which its stack belongs. The longest time first. CPU time is that around
 * samples. */
struct gpu_host_place {
    uint32_t row;
    int32_t line; /* with most of the time: line_ns; 0: unknown */
    uint64_t cpu_ns, runnable_ns, blocked_ns, line_ns;
};

/* Valid after gpu_stats_find_sources. */
uint32_t gpu_stats_host_places(const struct gpu_stats *work,
                               const struct gpu_host_place **ret_places);

/* Kept durations in order of arrival; as range_stats_durations. */
const struct range_duration *gpu_stats_durations(const struct gpu_stats *work,
                                                 const struct gpu_row *row, uint32_t *ret_count);

/* After finish: finds where rows were launched from. `own` is finished; NULL: no stacks. 0 or
 * -ENOMEM. */
int gpu_stats_find_sources(struct gpu_stats *work, const struct own_time *own);

/* True if there is any GPU work. All functions below are valid after finish. */
bool gpu_stats_any(const struct gpu_stats *work);
const struct gpu_totals *gpu_stats_totals(const struct gpu_stats *work);

/* The longest time first. */
uint32_t gpu_stats_rows(const struct gpu_stats *work, const struct gpu_row *const **ret_rows);
uint64_t gpu_stats_quantile(const struct gpu_stats *work, const struct histogram *histogram,
                            double fraction);
/* Writes the display name of a row: short for a kernel, and longer if the short names of several
 * kernels collide. At most size - 1 bytes and NUL. */
void gpu_stats_name(const struct gpu_stats *work, const struct gpu_row *row, char *buffer,
                    size_t size);
/* The most frequent shape of a kernel; NULL: unknown. */
const struct gpu_shape *gpu_stats_shape(const struct gpu_stats *work, const struct gpu_row *row);

/* Each device before its queues; queues without a device last. */
uint32_t gpu_stats_queues(const struct gpu_stats *work, const struct gpu_queue **ret_queues);

/* By GPU time, then by idle time. */
uint32_t gpu_stats_ranges(const struct gpu_stats *work, const struct gpu_range **ret_ranges);

/* Work of graphs, node by node, by the ranges in which they were captured, a string each (0:
 * outside of ranges, or before the recording). The longest time first. */
uint32_t gpu_stats_captures(const struct gpu_stats *work, const struct gpu_from **ret_captures);

/* Stall reasons of warps: gpu_stalls.h. */
const struct gpu_stalls *gpu_stats_stalls(const struct gpu_stats *work);

#endif
