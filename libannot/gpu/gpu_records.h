/* SPDX-License-Identifier: MIT */
/* CUPTI's activity records, decoded. Bounds are checked: `next` and the buffer are not trusted.
 * Threads: any; no state. */
#ifndef ANNOT_GPU_RECORDS_H
#define ANNOT_GPU_RECORDS_H

#include "gpu_emit.h"
#include "gpu_library.h"

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of records without a span; the others are of enum gpu_kind. */
enum gpu_other {
    GPU_CONTEXT = GPU_KIND_COUNT, /* stream: its default one */
    GPU_DEVICE,
    GPU_RECORD_KINDS
};

/* A kernel's launch configuration, part of its label. Compared as bytes: no padding. */
struct gpu_shape {
    const char *name;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, shared_bytes;
    uint32_t shared_chosen; /* shared memory per multiprocessor by the driver; 0: unknown */
    uint32_t local_bytes;   /* per thread */
    uint32_t graph;         /* 0: none */
    uint32_t device;
    int32_t priority;
    const char *captured_in; /* for a graph's node; or NULL */
};

/* Limits of a multiprocessor, and of the device. */
struct gpu_limits {
    uint32_t major, minor; /* compute capability */
    uint32_t warps, blocks, registers, shared_bytes;
    uint32_t multiprocessors;
    uint64_t memory_bytes;
};

struct gpu_record {
    uint8_t kind;   /* enum gpu_kind or gpu_other */
    bool is_driver; /* of a call; else of the runtime */
    uint32_t sort;  /* CUPTI's number of the kind of copy, wait, overhead, memory operation, ...; of
                       the call; of the event */
    uint64_t begin_ns, end_ns;
    uint32_t device, context, stream, correlation;
    uint32_t graph;               /* 0: none */
    uint32_t source, destination; /* kinds of memory */
    uint32_t thread;              /* the system's number, or 0 */
    uint32_t result;              /* of a call */
    uint64_t bytes;               /* of a copy or set, of memory */
    uint64_t node;                /* the graph's node that this is; 0: not of a graph */
    uint64_t address, pool;       /* of memory */
    struct gpu_shape shape;       /* of a kernel; the name is CUPTI's, may be NULL */
    struct gpu_limits limits;     /* of a device */
    struct gpu_identity identity; /* of a device; unknown if the record is too short */
    bool hidden;                  /* of a device: the program may not use it */
};

/* Steps from record to record: cuptiActivityGetNextRecord, or a test's function. */
typedef CUptiResult (*gpu_next_record)(uint8_t *buffer, size_t size, CUpti_Activity **record);

/* Calls `take` for each record of a buffer, in order; reads no bytes beyond it. Returns the number
 * of records of unknown kind or too short for their kind, plus one if `next` fails before the
 * end. */
uint64_t gpu_records_read(gpu_next_record next, uint8_t *buffer, size_t size,
                          void (*take)(void *context, const struct gpu_record *record),
                          void *context);

#endif
