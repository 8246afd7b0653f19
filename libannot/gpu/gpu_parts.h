/* SPDX-License-Identifier: MIT */
/* The parts of libannot-gpu.so, which tells annot what GPUs of NVIDIA do, by CUPTI.
 *
 * The driver loads it at cuInit (CUDA_INJECTION64_PATH). It does nothing until ANNOT_GPU asks for a
 * window; in one, CUPTI fills buffers of ours, and a thread of ours turns what is in them into
 * spans. A launching thread pays for a callback: a few stores into a table, no lock, no memory.
 *
 * Whatever CUPTI writes is bounded by what is known here of its records, and counted when unknown.
 * Headers of CUPTI give types and places; the library's own version decides what is used of them.
 * Threads: said at each part. */
#ifndef ANNOT_GPU_PARTS_H
#define ANNOT_GPU_PARTS_H

#include "gpu_tell.h"

#include <cupti.h>
#include <limits.h>
#include <stdbool.h>

/* ---- CUPTI's functions (gpu_library.c) ---- */

/* NULL: this version has no such function. Constant once gpu_library_find() has returned 0. */
struct cupti {
    __typeof__(cuptiGetVersion) *get_version;
    __typeof__(cuptiGetResultString) *get_result_string;
    __typeof__(cuptiSubscribe) *subscribe;
    __typeof__(cuptiSubscribe_v2) *subscribe_v2;
    __typeof__(cuptiUnsubscribe) *unsubscribe;
    __typeof__(cuptiEnableCallback) *enable_callback;
    __typeof__(cuptiGetCallbackName) *get_callback_name;
    __typeof__(cuptiActivityEnable) *activity_enable;
    __typeof__(cuptiActivityDisable) *activity_disable;
    __typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
    __typeof__(cuptiActivityRegisterTimestampCallback) *register_clock;
    __typeof__(cuptiActivityFlushAll) *flush_all;
    __typeof__(cuptiActivityGetNextRecord) *get_next_record;
    __typeof__(cuptiActivityGetNumDroppedRecords) *get_dropped;
    __typeof__(cuptiSetThreadIdType) *set_thread_id_type;
    __typeof__(cuptiGetGraphNodeId) *get_graph_node_id;
    uint32_t version; /* CUPTI's own: 18 is CUDA 11.8's, 130000 is 13.0's */
    int driver;       /* 13000 is 13.0; 0: unknown */
    char path[PATH_MAX];
};

extern struct cupti cupti;

/* A GPU's name by its number; "" where the driver does not say. */
void gpu_library_device(uint32_t device, char *text, size_t size);

/* Finds the process's libcupti: the one that is mapped, else the one beside its libcudart, else by
 * its name in the loader's path; never a second. 0, or -errno with a line in `text`. */
int gpu_library_find(char *text, size_t size);

/* What failed and how, as a line. */
void gpu_library_say(char *text, size_t size, const char *what, CUptiResult result);

/* Which of the tools that use CUPTI is in this process, by its library; NULL: none that is known.
 */
const char *gpu_library_of_tool(void);

/* ---- What is known of versions (gpu_faults.c) ---- */

enum gpu_fault {
    GPU_FAULT_TOO_OLD = 1,      /* not used at all */
    GPU_FAULT_KEEP_BUFFERS = 2, /* a request for a buffer must not be refused */
    GPU_FAULT_NO_GRAPHS = 4,    /* no records of whole graphs */
};

/* Of this version: a set of enum gpu_fault. */
uint32_t gpu_faults(uint32_t version);
/* Why, for people; NULL: no such fault. */
const char *gpu_fault_text(enum gpu_fault fault);

/* ---- Records (gpu_records.c) ---- */

struct gpu_record {
    uint8_t kind;
    uint8_t sort; /* of a copy, a wait, an overhead: CUPTI's own number */
    uint64_t begin_ns, end_ns;
    uint32_t device, context, stream, correlation;
    uint64_t bytes;         /* of a copy or set */
    uint64_t node;          /* of a graph, that launched this; 0: none */
    uint32_t thread;        /* of an overhead: the system's number; else 0 */
    struct gpu_shape shape; /* of a kernel; the name is CUPTI's, may be NULL */
};

/* How a reader gets from record to record: cuptiActivityGetNextRecord, or a test's. */
typedef CUptiResult (*gpu_next_record)(uint8_t *buffer, size_t size, CUpti_Activity **record);

/* Hands out what is in a buffer, in its order. Whatever `next` answers, nothing beyond the buffer
 * is read. Returns how many records were of no known kind, or too short for theirs. */
uint64_t gpu_records_read(gpu_next_record next, uint8_t *buffer, size_t size,
                          void (*take)(void *context, const struct gpu_record *record),
                          void *context);

/* ---- Launches (gpu_launches.c) ---- */

/* Makes the table. 0 or -ENOMEM. Threads: that of the window. */
int gpu_launches_open(void);
/* A call begins that launches something or waits for it: on its thread. Cost: a time stamp and
 * three stores; and, if it launches, an atomic addition. */
void gpu_launch_begins(uint32_t correlation, bool launches);
/* It is over; it has failed; or it only added a node to a graph that is being captured. */
void gpu_launch_returned(void);
void gpu_launch_failed(uint32_t correlation);
void gpu_launch_captured(void);
/* Who called what has this number: 1, or 0: it is not known, or not any more. *ret_first: nothing
 * was asked for this call before. Threads: one. */
int gpu_launch_find(uint32_t correlation, struct gpu_origin *ret_origin, bool *ret_first);

/* A window begins: nothing is waited for that was launched before. */
void gpu_launches_begin(void);
/* The reader has the first activity of a launch that was counted. */
void gpu_launch_answered(void);
/* Some have none yet. Any thread. */
bool gpu_launches_pending(void);

/* ---- Nodes of graphs (gpu_nodes.c) ---- */

/* The calling thread makes a node; a node is made as a copy of another, in another graph. */
void gpu_node_captured(uint64_t id);
void gpu_node_cloned(uint64_t id, uint64_t original);
/* Where it was captured: 1, or 0: that is not known. */
int gpu_node_find(uint64_t id, struct gpu_origin *ret_origin);

/* ---- Buffers (gpu_buffers.c) ---- */

struct gpu_buffer {
    uint8_t *bytes;
    size_t valid; /* bytes */
    size_t dropped;
};

/* Makes the pool; once. 0 or -ENOMEM. */
int gpu_buffers_open(void);
/* CUPTI's callbacks: any thread, no lock. */
void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                   size_t valid);
/* Those that came back since the last call, the oldest first, until `take` has had all; then they
 * are free again. Threads: one. */
void gpu_buffers_drain(void (*take)(const struct gpu_buffer *buffer));
/* Counts what was lost where no buffer came back. */
void gpu_buffers_count_dropped(void);

/* ---- Spans of records (gpu_spans.c) ---- */

/* Tells annot what is in a buffer. Threads: one. */
void gpu_spans_tell(const struct gpu_buffer *buffer);

/* ---- Shapes of kernels (gpu_shapes.c) ---- */

/* Its name with all of it, as annot knows it. Threads: one. Cost: a hash and a comparison once it
 * is known. */
uint32_t gpu_shape_name(const struct gpu_shape *shape);

/* ---- The session (gpu_session.c) ---- */

/* Subscribes, and registers buffers and clock. 0, or -errno with a line in `text`. */
int gpu_session_open(CUpti_CallbackFunc on_call, char *text, size_t size);
void gpu_session_shut(void);
/* Of the calls that are to be told of. */
void gpu_session_follow(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
/* A kind that this GPU or version has not is left out. */
void gpu_session_enable(CUpti_ActivityKind kind, bool on);
/* Asks for buffers whose activities are complete; or, forced, for all. */
void gpu_session_flush(bool forced);

/* ---- What is recorded of it (gpu_kinds.c) ---- */

void gpu_kinds_enable(bool on);

/* ---- The window (gpu_window.c) ---- */

/* Subscribes and enables; nothing if that is done. 0, or -errno with a line in `text`.
 * Threads: any, one after the other. */
int gpu_window_open(char *text, size_t size);
/* Waits for what CUPTI has, for a fifth of a second at most; disables, unsubscribes. Threads: that
 * which drains the buffers. */
void gpu_window_shut(void);
/* Asks CUPTI for full buffers. */
void gpu_window_flush(void);

/* ---- The thread (gpu_thread.c) ---- */

/* Starts it, and the window if somebody records now. 0 or -errno. */
int gpu_thread_start(void);
/* Full buffers are there: wakes the thread. Any thread. */
void gpu_thread_wake(void);
/* The process ends: the window is shut by the thread, or not at all after two seconds. */
void gpu_thread_end(void);
/* In a forked child: there is no such thread, and CUPTI is not called any more. */
void gpu_thread_forget(void);

/* ---- Settings: ANNOT_GPU (gpu_inject.c) ---- */

struct gpu_settings {
    bool wanted;
    bool nodes;    /* of graphs, each kernel; else graphs as a whole */
    bool profiler; /* only between cudaProfilerStart and cudaProfilerStop */
};

extern struct gpu_settings gpu_settings;

#endif
