/* SPDX-License-Identifier: MIT */
/* CUPTI's records, read without trust.
 *
 * Since CUDA 12.0 a newer record of a kind only adds fields at its end. So one offset for each
 * field serves all versions, and the distance to the next record must cover all fields that are
 * read; fields later than 12.0 are read if the distance covers them, and else 0. Fields are copied:
 * a buffer in a test, or a wrong `next`, need not be aligned. */
#include "gpu_records.h"

#include <string.h>

struct place {
    uint16_t at;
    uint8_t size; /* 0: this kind has no such field */
    bool later;   /* not in CUDA 12.0 */
};

enum field {
    FIELD_BEGIN,
    FIELD_END,
    FIELD_DEVICE,
    FIELD_CONTEXT,
    FIELD_STREAM,
    FIELD_CORRELATION,
    FIELD_BYTES,
    FIELD_SORT,
    FIELD_NODE,
    FIELD_GRAPH,
    FIELD_SOURCE,      /* kinds of memory */
    FIELD_DESTINATION, /* the same; for an allocation or set, this one */
    FIELD_THREAD,
    FIELD_RESULT,
    FIELD_ADDRESS,
    FIELD_POOL,
    FIELD_COUNT
};

struct layout {
    uint32_t activity; /* CUPTI's kind */
    uint8_t kind;      /* enum gpu_kind, or enum gpu_other */
    struct place fields[FIELD_COUNT];
};

#define PLACE(type, field)                                                                         \
    {                                                                                              \
        offsetof(type, field), sizeof(((type *)0)->field)                                          \
    }
#define TIMES(type) [FIELD_BEGIN] = PLACE(type, start), [FIELD_END] = PLACE(type, end)
#define QUEUE(type)                                                                                \
    [FIELD_CONTEXT] = PLACE(type, contextId), [FIELD_STREAM] = PLACE(type, streamId),              \
    [FIELD_CORRELATION] = PLACE(type, correlationId)
#define DEVICE(type) [FIELD_DEVICE] = PLACE(type, deviceId)
#define NODE(type)   [FIELD_NODE] = PLACE(type, graphNodeId), [FIELD_GRAPH] = PLACE(type, graphId)
/* A field that is missing in headers of CUDA 12.0. */
#define LATER(place, bytes)                                                                        \
    {                                                                                              \
        .at = (place), .size = (bytes), .later = true                                              \
    }
#define AN_API(activity)                                                                           \
    {                                                                                              \
        activity, GPU_CALL,                                                                        \
        {                                                                                          \
            TIMES(API), [FIELD_SORT] = PLACE(API, cbid), [FIELD_THREAD] = PLACE(API, threadId),    \
                        [FIELD_CORRELATION] = PLACE(API, correlationId),                           \
                        [FIELD_RESULT] = PLACE(API, returnValue)                                   \
        }                                                                                          \
    }

#define COPY   CUpti_ActivityMemcpy5
#define COPY_2 CUpti_ActivityMemcpyPtoP3
#define SET    CUpti_ActivityMemset3
#define KERNEL CUpti_ActivityKernel9
#define API    CUpti_ActivityAPI
#define MEMORY CUpti_ActivityMemory3
#define JIT    CUpti_ActivityJit
#define UVM    CUpti_ActivityUnifiedMemoryCounter2
#define EVENT  CUpti_ActivityCudaEvent

static const struct layout layouts[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
     GPU_KERNEL,
     {TIMES(KERNEL), QUEUE(KERNEL), DEVICE(KERNEL), NODE(KERNEL)}},
    {CUPTI_ACTIVITY_KIND_KERNEL,
     GPU_KERNEL,
     {TIMES(KERNEL), QUEUE(KERNEL), DEVICE(KERNEL), NODE(KERNEL)}},
    {CUPTI_ACTIVITY_KIND_MEMCPY,
     GPU_COPY,
     {TIMES(COPY), QUEUE(COPY), DEVICE(COPY), [FIELD_BYTES] = PLACE(COPY, bytes),
      NODE(COPY), [FIELD_SORT] = PLACE(COPY, copyKind), [FIELD_SOURCE] = PLACE(COPY, srcKind),
      [FIELD_DESTINATION] = PLACE(COPY, dstKind)}},
    {CUPTI_ACTIVITY_KIND_MEMCPY2,
     GPU_COPY,
     {TIMES(COPY_2), QUEUE(COPY_2), DEVICE(COPY_2), [FIELD_BYTES] = PLACE(COPY_2, bytes),
      NODE(COPY_2), [FIELD_SORT] = PLACE(COPY_2, copyKind), [FIELD_SOURCE] = PLACE(COPY_2, srcKind),
      [FIELD_DESTINATION] = PLACE(COPY_2, dstKind)}},
    {CUPTI_ACTIVITY_KIND_MEMSET,
     GPU_SET,
     {TIMES(SET), QUEUE(SET), DEVICE(SET),
      NODE(SET), [FIELD_BYTES] = PLACE(SET, bytes), [FIELD_DESTINATION] = PLACE(SET, memoryKind)}},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
     GPU_GRAPH,
     {TIMES(CUpti_ActivityGraphTrace), QUEUE(CUpti_ActivityGraphTrace),
      DEVICE(CUpti_ActivityGraphTrace), [FIELD_GRAPH] = PLACE(CUpti_ActivityGraphTrace, graphId)}},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
     GPU_WAIT,
     {TIMES(CUpti_ActivitySynchronization), QUEUE(CUpti_ActivitySynchronization),
      [FIELD_SORT] = PLACE(CUpti_ActivitySynchronization, type)}},
    {CUPTI_ACTIVITY_KIND_OVERHEAD,
     GPU_OVERHEAD,
     {TIMES(CUpti_ActivityOverhead), [FIELD_SORT] = PLACE(CUpti_ActivityOverhead, overheadKind)}},
    AN_API(CUPTI_ACTIVITY_KIND_DRIVER),
    AN_API(CUPTI_ACTIVITY_KIND_RUNTIME),
    {CUPTI_ACTIVITY_KIND_MEMORY2,
     GPU_MEMORY,
     {QUEUE(MEMORY), DEVICE(MEMORY), [FIELD_BEGIN] = PLACE(MEMORY, timestamp),
      [FIELD_END] = PLACE(MEMORY, timestamp), [FIELD_SORT] = PLACE(MEMORY, memoryOperationType),
      [FIELD_DESTINATION] = PLACE(MEMORY, memoryKind), [FIELD_BYTES] = PLACE(MEMORY, bytes),
      [FIELD_ADDRESS] = PLACE(MEMORY, address),
      [FIELD_POOL] = PLACE(MEMORY, memoryPoolConfig.address)}},
    {CUPTI_ACTIVITY_KIND_JIT,
     GPU_JIT,
     {TIMES(JIT), DEVICE(JIT), [FIELD_SORT] = PLACE(JIT, jitOperationType),
      [FIELD_CORRELATION] = PLACE(JIT, correlationId), [FIELD_BYTES] = PLACE(JIT, cacheSize),
      [FIELD_THREAD] = LATER(68, 4)}},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT,
     GPU_EVENT,
     {QUEUE(EVENT), [FIELD_SORT] = PLACE(EVENT, eventId), [FIELD_DEVICE] = LATER(24, 4)}},
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
     GPU_UNIFIED,
     {TIMES(UVM), [FIELD_SORT] = PLACE(UVM, counterKind), [FIELD_BYTES] = PLACE(UVM, value),
      [FIELD_SOURCE] = PLACE(UVM, srcId), [FIELD_DEVICE] = PLACE(UVM, dstId),
      [FIELD_ADDRESS] = PLACE(UVM, address)}},
    /* Kinds without spans. */
    {CUPTI_ACTIVITY_KIND_CONTEXT,
     GPU_CONTEXT,
     {[FIELD_CONTEXT] = PLACE(CUpti_ActivityContext, contextId),
      [FIELD_DEVICE] = PLACE(CUpti_ActivityContext, deviceId),
      [FIELD_STREAM] = PLACE(CUpti_ActivityContext, nullStreamId)}},
    {CUPTI_ACTIVITY_KIND_DEVICE, GPU_DEVICE, {[FIELD_DEVICE] = PLACE(CUpti_ActivityDevice4, id)}},
};

static const struct layout *layout_of(uint32_t activity)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].activity == activity)
            return &layouts[i];
    return NULL;
}

_Static_assert(offsetof(KERNEL, graphId) > offsetof(KERNEL, name), "and so does its shape");

enum {
    DEVICE_BYTES = offsetof(CUpti_ActivityDevice4, id) + 4,
    CLUSTER_END = offsetof(KERNEL, clusterZ) + 4,
    PRIORITY_AT = 216, /* since CUDA 13.1 */
};

static size_t end_of(struct place place)
{
    return place.size > 0 ? (size_t)place.at + place.size : 0;
}

/* Returns the size that covers all required fields of this kind. */
static size_t bytes_needed(const struct layout *layout)
{
    size_t needed = layout->kind == GPU_DEVICE ? DEVICE_BYTES : 0;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (!layout->fields[i].later && needed < end_of(layout->fields[i]))
            needed = end_of(layout->fields[i]);
    return needed;
}

/* Little endian, as on every host of these GPUs. */
static uint64_t number_at(const uint8_t *bytes, struct place place)
{
    uint64_t number = 0;
    memcpy(&number, bytes + place.at, place.size);
    return number;
}

static uint32_t word_at(const uint8_t *bytes, size_t at)
{
    uint32_t word;
    memcpy(&word, bytes + at, sizeof(word));
    return word;
}

static void read_kernel(const uint8_t *bytes, size_t size, struct gpu_record *ret_record)
{
    struct gpu_shape *shape = &ret_record->shape;
    uint16_t registers;
    for (size_t i = 0; i < 3; i++) {
        shape->grid[i] = word_at(bytes, offsetof(KERNEL, gridX) + 4 * i);
        shape->block[i] = word_at(bytes, offsetof(KERNEL, blockX) + 4 * i);
    }
    memcpy(&registers, bytes + offsetof(KERNEL, registersPerThread), sizeof(registers));
    shape->registers = registers;
    shape->shared_bytes = word_at(bytes, offsetof(KERNEL, staticSharedMemory)) +
                          word_at(bytes, offsetof(KERNEL, dynamicSharedMemory));
    shape->shared_chosen = word_at(bytes, offsetof(KERNEL, sharedMemoryExecuted));
    shape->local_bytes = word_at(bytes, offsetof(KERNEL, localMemoryPerThread));
    shape->graph = ret_record->graph;
    shape->device = ret_record->device;
    for (size_t i = 0; i < 3 && size >= CLUSTER_END; i++)
        shape->cluster[i] = word_at(bytes, offsetof(KERNEL, clusterX) + 4 * i);
    if (size >= PRIORITY_AT + 4)
        shape->priority = (int32_t)word_at(bytes, PRIORITY_AT);
    memcpy(&shape->name, bytes + offsetof(KERNEL, name), sizeof(shape->name));
}

#define OF_DEVICE(field) word_at(bytes, offsetof(CUpti_ActivityDevice4, field))

static void read_device(const uint8_t *bytes, struct gpu_record *ret_record)
{
    ret_record->limits = (struct gpu_limits){
        .major = OF_DEVICE(computeCapabilityMajor),
        .minor = OF_DEVICE(computeCapabilityMinor),
        .multiprocessors = OF_DEVICE(numMultiprocessors),
        .warps = OF_DEVICE(maxWarpsPerMultiprocessor),
        .blocks = OF_DEVICE(maxBlocksPerMultiprocessor),
        .registers = OF_DEVICE(maxRegistersPerMultiprocessor),
        .shared_bytes = OF_DEVICE(maxSharedMemoryPerMultiprocessor),
    };
    memcpy(&ret_record->limits.memory_bytes,
           bytes + offsetof(CUpti_ActivityDevice4, globalMemorySize), 8);
}

/* The record of an instance has the UUID of the whole device as well. */
static void read_identity(const uint8_t *bytes, size_t size, struct gpu_record *ret_record)
{
    static const uint8_t zero[16];
    struct gpu_identity *identity = &ret_record->identity;
    if (size < sizeof(CUpti_ActivityDevice4))
        return;
    const uint8_t *whole = bytes + offsetof(CUpti_ActivityDevice4, uuid);
    const uint8_t *part = bytes + offsetof(CUpti_ActivityDevice4, migUuid);
    ret_record->hidden = bytes[offsetof(CUpti_ActivityDevice4, isCudaVisible)] == 0;
    identity->is_known = memcmp(whole, zero, sizeof(zero)) != 0;
    identity->is_instance = memcmp(part, zero, sizeof(zero)) != 0;
    memcpy(identity->uuid, identity->is_instance ? part : whole, sizeof(zero));
    memcpy(identity->card, whole, sizeof(zero));
}

static void read_thread(const uint8_t *bytes, struct gpu_record *ret_record)
{
    if (word_at(bytes, offsetof(CUpti_ActivityOverhead, objectKind)) ==
        CUPTI_ACTIVITY_OBJECT_THREAD)
        ret_record->thread = word_at(bytes, offsetof(CUpti_ActivityOverhead, objectId) +
                                                offsetof(CUpti_ActivityObjectKindId, pt.threadId));
}

static int read_record(const uint8_t *bytes, size_t size, struct gpu_record *ret_record)
{
    const struct layout *layout = size >= 4 ? layout_of(word_at(bytes, 0)) : NULL;
    if (!layout || bytes_needed(layout) > size)
        return 0;
    uint64_t fields[FIELD_COUNT];
    for (int i = 0; i < FIELD_COUNT; i++)
        fields[i] = end_of(layout->fields[i]) <= size ? number_at(bytes, layout->fields[i]) : 0;
    *ret_record = (struct gpu_record){
        .kind = layout->kind,
        .is_driver = layout->activity == CUPTI_ACTIVITY_KIND_DRIVER,
        .sort = (uint32_t)fields[FIELD_SORT],
        .begin_ns = fields[FIELD_BEGIN],
        .end_ns = fields[FIELD_END],
        .device = (uint32_t)fields[FIELD_DEVICE],
        .context = (uint32_t)fields[FIELD_CONTEXT],
        .stream = (uint32_t)fields[FIELD_STREAM],
        .correlation = (uint32_t)fields[FIELD_CORRELATION],
        .graph = (uint32_t)fields[FIELD_GRAPH],
        .source = (uint32_t)fields[FIELD_SOURCE],
        .destination = (uint32_t)fields[FIELD_DESTINATION],
        .thread = (uint32_t)fields[FIELD_THREAD],
        .result = (uint32_t)fields[FIELD_RESULT],
        .bytes = fields[FIELD_BYTES],
        .node = fields[FIELD_NODE],
        .address = fields[FIELD_ADDRESS],
        .pool = fields[FIELD_POOL],
    };
    if (layout->kind == GPU_KERNEL)
        read_kernel(bytes, size, ret_record);
    if (layout->kind == GPU_DEVICE) {
        read_device(bytes, ret_record);
        read_identity(bytes, size, ret_record);
    }
    if (layout->kind == GPU_OVERHEAD)
        read_thread(bytes, ret_record);
    return 1;
}

uint64_t gpu_records_read(gpu_next_record next, uint8_t *buffer, size_t size,
                          void (*take)(void *context, const struct gpu_record *record),
                          void *context)
{
    CUpti_Activity *last = NULL;
    struct gpu_record record;
    uint64_t unknown = 0;
    size_t at = 0; /* of the previous record, if there is one */
    bool more = true, any = false;
    while (more) {
        CUptiResult result = next(buffer, size, &last);
        more = result == CUPTI_SUCCESS;
        size_t now = more ? (size_t)((uintptr_t)last - (uintptr_t)buffer) : size;
        if (now > size || (any && now <= at) || (!any && more && now != 0))
            return unknown + 1; /* it leaves the buffer, or stays: the rest is unreadable */
        bool is_known = !any || read_record(buffer + at, now - at, &record);
        if (any && is_known)
            take(context, &record);
        if (!is_known || (!more && result != CUPTI_ERROR_MAX_LIMIT_REACHED))
            unknown++;
        any = more;
        at = now;
    }
    return unknown;
}
