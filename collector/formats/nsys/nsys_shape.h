/* SPDX-License-Identifier: MIT */
/* Tables and numbers of Nsight Systems' SQLite schema, for exporter and importer. Schema:
 * docs.nvidia.com/nsight-systems, "Exporting". */
#ifndef ANNOT_NSYS_SHAPE_H
#define ANNOT_NSYS_SHAPE_H

#include <stdint.h>

/* A globalTid has the process in bits 24 to 47 and the thread below; a globalPid has thread 0. */
enum { NSYS_TID_BITS = 24, NSYS_TID_MASK = (1 << NSYS_TID_BITS) - 1 };

/* NVTX_EVENTS.eventType. */
enum nsys_event_type {
    NSYS_CATEGORY = 33, /* names a category */
    NSYS_MARK = 34,
    NSYS_PUSH_POP = 59,
    NSYS_START_END = 60,
    NSYS_DOMAIN = 75, /* names a domain */
};

/* eventClass of calls. */
enum nsys_event_class { NSYS_CLASS_RUNTIME = 0, NSYS_CLASS_DRIVER = 1, NSYS_CLASS_SYSTEM = 27 };

/* MEMCPY.copyKind: CUpti_ActivityMemcpyKind, then copies of unified memory. */
enum {
    NSYS_UNIFIED_HTOD = 11,
    NSYS_UNIFIED_DTOH = 12,
    NSYS_UNIFIED_DTOD = 13,
    NSYS_COPY_KINDS = 14
};

static const char *const nsys_copy_kinds[NSYS_COPY_KINDS] = {"",     "HtoD", "DtoH", "HtoA", "AtoH",
                                                             "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
                                                             "PtoP", "HtoD", "DtoH", "DtoD"};

/* SYNCHRONIZATION.syncType: CUpti_ActivitySynchronizationType, with the names of libannot-gpu. */
enum { NSYS_WAIT_KINDS = 5 };

static const char *const nsys_wait_kinds[NSYS_WAIT_KINDS] = {
    "wait", "wait for event", "stream waits for event", "wait for stream", "wait for context"};

/* CUDA_GPU_MEMORY_USAGE_EVENTS: memoryOperationType, and memKind with the names of libannot-gpu. */
enum { NSYS_TAKES = 0, NSYS_GIVES_BACK = 1, NSYS_MEMORY_KINDS = 7 };

static const char *const nsys_memory_kinds[NSYS_MEMORY_KINDS] = {
    "pageable", "pinned", "device", "array", "managed", "device static", "managed static"};

/* SCHED_EVENTS.threadState of a runnable thread. */
enum { NSYS_STATE_RUNNING = 1 };

/* Name of OSRT_API rows of a runnable thread without a CPU. Rows of waits are named by their
 * reasons, "[lock]". */
#define NSYS_RUNNABLE "[runnable]"

/* ---- Tables of exporter and importer --------------------------------------------------------- */

#define NSYS_STRINGS      "StringIds"
#define NSYS_THREAD_NAMES "ThreadNames"
#define NSYS_PROCESSES    "PROCESSES"
#define NSYS_START_TIME   "TARGET_INFO_SESSION_START_TIME"
#define NSYS_GPU          "TARGET_INFO_GPU"
#define NSYS_NVTX         "NVTX_EVENTS"
#define NSYS_OSRT         "OSRT_API"
#define NSYS_OSRT_CHAINS  "OSRT_CALLCHAINS"
#define NSYS_SAMPLES      "COMPOSITE_EVENTS"
#define NSYS_CHAINS       "SAMPLING_CALLCHAINS"
#define NSYS_EXPORT       "META_DATA_EXPORT"
#define NSYS_MEMORY       "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define NSYS_OVERHEAD     "PROFILER_OVERHEAD"
#define NSYS_SCHED        "SCHED_EVENTS"
#define NSYS_CALLS        "CUPTI_ACTIVITY_KIND_RUNTIME"
#define NSYS_KERNELS      "CUPTI_ACTIVITY_KIND_KERNEL"
#define NSYS_COPIES       "CUPTI_ACTIVITY_KIND_MEMCPY"
#define NSYS_SETS         "CUPTI_ACTIVITY_KIND_MEMSET"
#define NSYS_WAITS        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
#define NSYS_GRAPHS       "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

/* In META_DATA_EXPORT of databases by annot: samples count nanoseconds, and OSRT_API rows are
 * waits. */
#define NSYS_PRODUCT      "EXPORT_PRODUCT_NAME"
#define NSYS_PRODUCT_OURS "annot"
/* In databases by annot, a call of this name without duration is a launch without a recorded
 * call. */
#define NSYS_LAUNCH "launch"

#endif
