/* SPDX-License-Identifier: MIT */
/* Tables and numbers of Nsight Systems' SQLite, as the exporter writes and the importer reads them.
 * Schema: docs.nvidia.com/nsight-systems, "Exporting". */
#ifndef ANNOT_NSYS_SHAPE_H
#define ANNOT_NSYS_SHAPE_H

#include <stdint.h>

/* A globalTid has the process in bits 24 to 47, the thread in those below; a globalPid is that of
 * thread 0. */
enum { NSYS_TID_BITS = 24, NSYS_TID_MASK = (1 << NSYS_TID_BITS) - 1 };

/* NVTX_EVENTS.eventType. */
enum nsys_event_type {
    NSYS_CATEGORY = 33, /* its name */
    NSYS_MARK = 34,
    NSYS_PUSH_POP = 59,
    NSYS_START_END = 60,
    NSYS_DOMAIN = 75, /* its name */
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

/* SYNCHRONIZATION.syncType: CUpti_ActivitySynchronizationType, as libannot-gpu calls them. */
enum { NSYS_WAIT_KINDS = 5 };

static const char *const nsys_wait_kinds[NSYS_WAIT_KINDS] = {
    "wait", "wait for event", "stream waits for event", "wait for stream", "wait for context"};

/* CUDA_GPU_MEMORY_USAGE_EVENTS: memoryOperationType, and memKind as libannot-gpu calls them. */
enum { NSYS_TAKES = 0, NSYS_GIVES_BACK = 1, NSYS_MEMORY_KINDS = 7 };

static const char *const nsys_memory_kinds[NSYS_MEMORY_KINDS] = {
    "pageable", "pinned", "device", "array", "managed", "device static", "managed static"};

/* SCHED_EVENTS.threadState of a thread that could have gone on. */
enum { NSYS_STATE_RUNNING = 1 };

/* The name of rows of OSRT_API in which a thread could have gone on, but had no processor; those of
 * waits are called like their reasons, "[lock]". */
#define NSYS_READY "[ready]"

/* ---- Tables that both sides know ------------------------------------------------------------- */

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

/* Of META_DATA_EXPORT, in databases of annot: samples count nanoseconds, and rows of OSRT_API are
 * waits. */
#define NSYS_PRODUCT      "EXPORT_PRODUCT_NAME"
#define NSYS_PRODUCT_OURS "annot"
/* And a call without a duration that is called so stands for a launch whose call is not known. */
#define NSYS_LAUNCH "launch"

#endif
