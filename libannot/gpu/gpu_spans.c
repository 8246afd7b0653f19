/* SPDX-License-Identifier: MIT */
/* From CUPTI's records to spans with an origin.
 * Threads: that of gpu_thread.c alone. */
#include "gpu_parts.h"

/* CUPTI's numbers of copies, waits and overheads, in words. */
static const char *const copies[] = {"copy",
                                     "copy host to device",
                                     "copy device to host",
                                     "copy host to array",
                                     "copy array to host",
                                     "copy array to array",
                                     "copy array to device",
                                     "copy device to array",
                                     "copy device to device",
                                     "copy host to host",
                                     "copy between devices"};
static const char *const waits[] = {"wait", "wait for event", "stream waits for event",
                                    "wait for stream", "wait for context"};

static const char *overhead_text(uint32_t sort)
{
    switch (sort) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
        return "overhead: compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
        return "overhead: buffers";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
        return "overhead: instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
        return "overhead: resources";
    default:
        return "overhead";
    }
}

static const char *text_of(const struct gpu_record *record)
{
    switch (record->kind) {
    case GPU_COPY:
        return copies[record->sort < sizeof(copies) / sizeof(copies[0]) ? record->sort : 0];
    case GPU_SET:
        return "set";
    case GPU_GRAPH:
        return "graph";
    case GPU_WAIT:
        return waits[record->sort < sizeof(waits) / sizeof(waits[0]) ? record->sort : 0];
    default:
        return overhead_text(record->sort);
    }
}

/* The texts are few and constant: found by their address. */
static uint32_t constant_name(const char *text)
{
    enum { CONSTANTS = 32 };

    static const char *texts[CONSTANTS];
    static uint32_t ids[CONSTANTS];
    int i = 0;
    while (i < CONSTANTS && texts[i] && texts[i] != text)
        i++;
    if (i == CONSTANTS)
        return gpu_tell_name(text);
    if (!texts[i]) {
        ids[i] = gpu_tell_name(text);
        texts[i] = text;
    }
    return ids[i];
}

static uint32_t name_of(const struct gpu_record *record)
{
    return record->kind == GPU_KERNEL ? gpu_shape_name(&record->shape)
                                      : constant_name(text_of(record));
}

static bool is_launched(const struct gpu_record *record)
{
    return record->kind >= GPU_KERNEL && record->kind <= GPU_GRAPH;
}

static void tell(void *context, const struct gpu_record *record)
{
    struct gpu_span span = {
        .name = name_of(record),
        .kind = record->kind,
        .sort = record->sort,
        .device = record->device,
        .context = record->context,
        .stream = record->stream,
        .begin_ns = record->begin_ns,
        .end_ns = record->end_ns,
        .bytes = record->bytes,
    };
    bool first = false;
    (void)context;
    bool found = gpu_launch_find(record->correlation, &span.origin, &first);
    span.answers = is_launched(record) && found && first;
    if (span.answers)
        gpu_launch_answered();
    (void)gpu_node_find(record->node, &span.origin);
    if (is_launched(record) && !found)
        gpu_tell_count(GPU_COUNT_ORPHANS, 1);
    gpu_tell_span(&span);
}

void gpu_spans_tell(const struct gpu_buffer *buffer)
{
    uint64_t unknown =
        gpu_records_read(cupti.get_next_record, buffer->bytes, buffer->valid, tell, NULL);
    gpu_tell_count(GPU_COUNT_UNKNOWN, unknown);
    gpu_tell_count(GPU_COUNT_DROPPED, buffer->dropped);
}
