/* SPDX-License-Identifier: MIT */
/* CUPTI's records, read without trust.
 *
 * Since CUDA 12.0 a newer record of a kind begins as the one before it and has more at its end. So
 * one place for each field serves all versions, and the distance to the next record must cover all
 * that is read. Fields are copied: a buffer in a test, or a wrong `next`, need not be aligned. */
#include "gpu_parts.h"

#include <string.h>

struct place {
    uint16_t at, size; /* size 0: this kind has no such field */
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
    FIELD_COUNT
};

struct layout {
    uint32_t activity; /* CUPTI's kind */
    enum gpu_kind kind;
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
#define NODE(type)   [FIELD_NODE] = PLACE(type, graphNodeId)

#define COPY   CUpti_ActivityMemcpy5
#define COPY_2 CUpti_ActivityMemcpyPtoP3
#define SET    CUpti_ActivityMemset3
#define KERNEL CUpti_ActivityKernel9

static const struct layout layouts[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
     GPU_KERNEL,
     {TIMES(KERNEL), QUEUE(KERNEL), DEVICE(KERNEL), NODE(KERNEL)}},
    {CUPTI_ACTIVITY_KIND_MEMCPY,
     GPU_COPY,
     {TIMES(COPY), QUEUE(COPY), DEVICE(COPY), [FIELD_BYTES] = PLACE(COPY, bytes),
      NODE(COPY), [FIELD_SORT] = PLACE(COPY, copyKind)}},
    {CUPTI_ACTIVITY_KIND_MEMCPY2,
     GPU_COPY,
     {TIMES(COPY_2), QUEUE(COPY_2), DEVICE(COPY_2), [FIELD_BYTES] = PLACE(COPY_2, bytes),
      [FIELD_SORT] = PLACE(COPY_2, copyKind)}},
    {CUPTI_ACTIVITY_KIND_MEMSET,
     GPU_SET,
     {TIMES(SET), QUEUE(SET), DEVICE(SET), NODE(SET), [FIELD_BYTES] = PLACE(SET, bytes)}},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
     GPU_GRAPH,
     {TIMES(CUpti_ActivityGraphTrace), QUEUE(CUpti_ActivityGraphTrace),
      DEVICE(CUpti_ActivityGraphTrace)}},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
     GPU_WAIT,
     {TIMES(CUpti_ActivitySynchronization), QUEUE(CUpti_ActivitySynchronization),
      [FIELD_SORT] = PLACE(CUpti_ActivitySynchronization, type)}},
    {CUPTI_ACTIVITY_KIND_OVERHEAD,
     GPU_OVERHEAD,
     {TIMES(CUpti_ActivityOverhead), [FIELD_SORT] = PLACE(CUpti_ActivityOverhead, overheadKind)}},
};

static const struct layout *layout_of(uint32_t activity)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].activity == activity)
            return &layouts[i];
    return NULL;
}

_Static_assert(offsetof(KERNEL, graphNodeId) > offsetof(KERNEL, name), "and so does its shape");

/* All that is read of a record lies before this. */
static size_t bytes_needed(const struct layout *layout)
{
    size_t needed = 0;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (layout->fields[i].size > 0 && needed < layout->fields[i].at + layout->fields[i].size)
            needed = layout->fields[i].at + layout->fields[i].size;
    return needed;
}

/* Little endian, as every host of these GPUs is. */
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

static void read_kernel(const uint8_t *bytes, struct gpu_record *ret_record)
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
    memcpy(&shape->name, bytes + offsetof(KERNEL, name), sizeof(shape->name));
}

static int read_record(const uint8_t *bytes, size_t size, struct gpu_record *ret_record)
{
    const struct layout *layout = size >= 4 ? layout_of(word_at(bytes, 0)) : NULL;
    if (!layout || bytes_needed(layout) > size)
        return 0;
    const struct place *fields = layout->fields;
    *ret_record = (struct gpu_record){
        .kind = (uint8_t)layout->kind,
        .sort = (uint8_t)number_at(bytes, fields[FIELD_SORT]),
        .begin_ns = number_at(bytes, fields[FIELD_BEGIN]),
        .end_ns = number_at(bytes, fields[FIELD_END]),
        .device = (uint32_t)number_at(bytes, fields[FIELD_DEVICE]),
        .context = (uint32_t)number_at(bytes, fields[FIELD_CONTEXT]),
        .stream = (uint32_t)number_at(bytes, fields[FIELD_STREAM]),
        .correlation = (uint32_t)number_at(bytes, fields[FIELD_CORRELATION]),
        .bytes = number_at(bytes, fields[FIELD_BYTES]),
        .node = number_at(bytes, fields[FIELD_NODE]),
    };
    if (layout->kind == GPU_KERNEL)
        read_kernel(bytes, ret_record);
    if (layout->kind == GPU_OVERHEAD &&
        word_at(bytes, offsetof(CUpti_ActivityOverhead, objectKind)) ==
            CUPTI_ACTIVITY_OBJECT_THREAD)
        ret_record->thread = word_at(bytes, offsetof(CUpti_ActivityOverhead, objectId) +
                                                offsetof(CUpti_ActivityObjectKindId, pt.threadId));
    return 1;
}

uint64_t gpu_records_read(gpu_next_record next, uint8_t *buffer, size_t size,
                          void (*take)(void *context, const struct gpu_record *record),
                          void *context)
{
    CUpti_Activity *last = NULL;
    struct gpu_record record;
    uint64_t unknown = 0;
    size_t at = 0; /* of the record before, if there is one */
    bool more = true, any = false;
    while (more) {
        more = next(buffer, size, &last) == CUPTI_SUCCESS;
        size_t now = more ? (size_t)((uintptr_t)last - (uintptr_t)buffer) : size;
        if (now > size || (any && now <= at) || (!any && more && now != 0))
            return unknown + 1; /* it leaves the buffer, or stays: nothing behind is known */
        if (any && read_record(buffer + at, now - at, &record))
            take(context, &record);
        else if (any)
            unknown++;
        any = more;
        at = now;
    }
    return unknown;
}
