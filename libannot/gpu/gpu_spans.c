/* SPDX-License-Identifier: MIT */
/* Converts CUPTI's records to spans with an origin. Threads: that of gpu_thread.c alone. */
#include "gpu_spans.h"

#include "gpu_buffers.h"
#include "gpu_calls.h"
#include "gpu_devices.h"
#include "gpu_governor.h"
#include "gpu_launches.h"
#include "gpu_memory.h"
#include "gpu_records.h"
#include "gpu_session.h"
#include "gpu_streams.h"
#include "gpu_values.h"
#include "gpu_window.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Names of kernels ------------------------------------------------------------------------ */

/* Names of kernels with their launch configurations, interned once each.
 *
 * A table of known ones, by the address of CUPTI's name and by grid, block, registers, memory,
 * graph, device and ranges of the capture: a kernel costs a hash and a comparison. CUPTI's names
 * live until a tool ends CUPTI: then another name may have the same address, so older entries are
 * ignored. A full table only costs time. */

enum { SHAPES = 4096, SHAPE_TRIES = 8 };

static struct known {
    struct gpu_shape shape;
    uint32_t id; /* 0: empty */
    uint32_t life;
    bool is_bare; /* the label lacks the shape */
} known[SHAPES];

static uint32_t life; /* number of ends of CUPTI; W: gpu_shapes_forget, release; R: find */

void gpu_shapes_forget(void)
{
    __atomic_add_fetch(&life, 1, __ATOMIC_RELEASE);
}

static uint32_t hash_of(const struct gpu_shape *shape)
{
    uint64_t words[sizeof(*shape) / sizeof(uint64_t)], hash = 0;
    memcpy(words, shape, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        hash = (hash ^ words[i] ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

_Static_assert(sizeof(struct gpu_shape) == 2 * sizeof(char *) + 64, "no padding to compare");

static bool is_same(const struct gpu_shape *one, const struct gpu_shape *other)
{
    return memcmp(one, other, sizeof(*one)) == 0;
}

/* The texts of its values, valid until the next call. */
struct texts {
    char grid[40], block[40], cluster[40];
};

static void add_three(struct gpu_values *values, enum gpu_key key, const uint32_t numbers[3],
                      char text[40])
{
    snprintf(text, 40, "%u,%u,%u", numbers[0], numbers[1], numbers[2]);
    gpu_values_text(values, key, text);
}

static void add_shape(const struct gpu_shape *shape, struct gpu_values *values, struct texts *texts)
{
    double occupancy = gpu_device_occupancy(shape->device, shape);
    add_three(values, GPU_KEY_GRID, shape->grid, texts->grid);
    add_three(values, GPU_KEY_BLOCK, shape->block, texts->block);
    if (shape->cluster[0] > 1 || shape->cluster[1] > 1 || shape->cluster[2] > 1)
        add_three(values, GPU_KEY_CLUSTER, shape->cluster, texts->cluster);
    gpu_values_number(values, GPU_KEY_REGISTERS, shape->registers);
    gpu_values_number(values, GPU_KEY_SHARED, shape->shared_bytes);
    if (shape->local_bytes)
        gpu_values_number(values, GPU_KEY_LOCAL, shape->local_bytes);
    if (occupancy > 0)
        gpu_values_real(values, GPU_KEY_OCCUPANCY, occupancy);
    if (shape->priority)
        gpu_values_number(values, GPU_KEY_PRIORITY, shape->priority);
    if (shape->graph)
        gpu_values_number(values, GPU_KEY_GRAPH, shape->graph);
    gpu_values_text(values, GPU_KEY_CAPTURED, shape->captured_in);
}

/* The label is only the name if the table of names has no room for more. */
static struct known make_known(const struct gpu_shape *shape, uint32_t now)
{
    struct gpu_values values = {0};
    struct texts texts;
    const char *name = shape->name ? shape->name : "kernel";
    add_shape(shape, &values, &texts);
    uint32_t id = gpu_emit_label(name, &values);
    return (struct known){*shape, id, now, id == gpu_emit_name(name)};
}

static struct known find_shape(const struct gpu_shape *shape)
{
    uint32_t place = hash_of(shape), now = __atomic_load_n(&life, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < SHAPE_TRIES; i++) {
        struct known *one = &known[(place + i) % SHAPES];
        bool is_empty = one->id == 0 || one->life != now;
        if (!is_empty && !is_same(&one->shape, shape))
            continue;
        if (is_empty)
            *one = make_known(shape, now);
        return *one;
    }
    return make_known(shape, now);
}

/* Returns the label of its name and shape. Without room for that, the shape is added to the span's
 * `values`, with texts that are valid until the next call. Threads: one. Cost: a hash and a
 * comparison for a known one. */
static uint32_t gpu_shape_name(const struct gpu_shape *shape, struct gpu_values *values)
{
    static struct texts texts;
    struct known found = find_shape(shape);
    if (found.is_bare)
        add_shape(shape, values, &texts);
    return found.id;
}

/* CUPTI's numbers of copies, waits, overheads and compilations, in words. */
static const struct {
    const char *name, *direction;
} copies[] = {{"copy", ""},
              {"copy host to device", "HtoD"},
              {"copy device to host", "DtoH"},
              {"copy host to array", "HtoD"},
              {"copy array to host", "DtoH"},
              {"copy array to array", "DtoD"},
              {"copy array to device", "DtoD"},
              {"copy device to array", "DtoD"},
              {"copy device to device", "DtoD"},
              {"copy host to host", "HtoH"},
              {"copy between devices", "PtoP"}};

static const char *const waits[] = {"wait", "wait for event", "stream waits for event",
                                    "wait for stream", "wait for context"};
static const char *const compilations[] = {"jit", "jit: load from cache", "jit: store in cache",
                                           "jit: compile"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* ---- Names of other records ------------------------------------------------------------------ */

/* Few, each made once: by kind of record, its numbers, and the ranges of the capture. */
static uint32_t *known_name(const struct gpu_record *record, const char *captured_in)
{
    enum { NAMES = 1024, TRIES = 8 };

    static struct {
        uint64_t key;
        const char *captured_in;
        uint32_t name;
    } names[NAMES];

    static uint32_t spare;

    uint64_t key = 1 + ((uint64_t)record->kind << 56 | (uint64_t)(record->sort & 0xff) << 48 |
                        (uint64_t)(record->source & 0xff) << 40 |
                        (uint64_t)(record->destination & 0xff) << 32 | record->graph);
    uint32_t place =
        (uint32_t)((key ^ (uintptr_t)captured_in) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (uint32_t i = 0; i < TRIES; i++) {
        __typeof__(names[0]) *one = &names[(place + i) % NAMES];
        if (one->key != 0 && (one->key != key || one->captured_in != captured_in))
            continue;
        one->key = key;
        one->captured_in = captured_in;
        return &one->name;
    }
    spare = 0;
    return &spare;
}

static uint32_t make_name(const struct gpu_record *record, const char *captured_in)
{
    struct gpu_values values = {0};
    uint32_t sort = record->sort;
    switch (record->kind) {
    case GPU_COPY:
        sort = sort < COUNT(copies) ? sort : 0;
        gpu_values_text(&values, GPU_KEY_DIRECTION, copies[sort].direction);
        gpu_values_text(&values, GPU_KEY_SOURCE, gpu_memory_kind(record->source));
        gpu_values_text(&values, GPU_KEY_DESTINATION, gpu_memory_kind(record->destination));
        break;
    case GPU_SET:
        gpu_values_text(&values, GPU_KEY_MEMORY, gpu_memory_kind(record->destination));
        break;
    case GPU_WAIT:
        return gpu_emit_name(waits[sort < COUNT(waits) ? sort : 0]);
    case GPU_JIT:
        return gpu_emit_name(compilations[sort < COUNT(compilations) ? sort : 0]);
    case GPU_OVERHEAD:
        return gpu_emit_name(overhead_text(sort));
    case GPU_EVENT:
        return gpu_emit_name("event");
    default:
        break;
    }
    if (record->graph)
        gpu_values_number(&values, GPU_KEY_GRAPH, record->graph);
    gpu_values_text(&values, GPU_KEY_CAPTURED, captured_in);
    return gpu_emit_label(record->kind == GPU_COPY  ? copies[sort].name
                          : record->kind == GPU_SET ? "set"
                                                    : "graph",
                          &values);
}

static uint32_t name_of(const struct gpu_record *record, struct gpu_values *values)
{
    const char *captured_in = gpu_node_ranges(record->node);
    if (record->kind == GPU_KERNEL) {
        struct gpu_shape shape = record->shape;
        shape.captured_in = captured_in;
        return gpu_shape_name(&shape, values);
    }
    if (record->kind == GPU_CALL)
        return gpu_api_name(record->is_driver, record->sort);
    if (record->kind == GPU_MEMORY || record->kind == GPU_UNIFIED)
        return gpu_memory_name(record, values);
    uint32_t *name = known_name(record, captured_in);
    if (*name == 0)
        *name = make_name(record, captured_in);
    return *name;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static bool is_launched(const struct gpu_record *record)
{
    return record->kind >= GPU_KERNEL && record->kind <= GPU_GRAPH;
}

/* Spans of calls have a correlation number that joins them with their work, which then has it
 * too. */
static bool has_calls(void)
{
    return gpu_wanted.runtime || gpu_wanted.driver;
}

static void add_values(const struct gpu_record *record, struct gpu_values *values)
{
    if (record->kind == GPU_COPY || record->kind == GPU_SET)
        gpu_values_number(values, GPU_KEY_BYTES, (int64_t)record->bytes);
    if (record->correlation && (has_calls() || record->kind == GPU_CALL))
        gpu_values_number(values, GPU_KEY_CORRELATION, record->correlation);
    if (record->kind == GPU_CALL && record->result)
        gpu_values_number(values, GPU_KEY_ERROR, record->result);
}

/* Sets the launching thread; or for a call, the caller. Returns true if it belongs to a window. */
static bool set_origin(const struct gpu_record *record, struct gpu_span *span)
{
    bool first = false;
    if (record->kind == GPU_CALL || record->kind == GPU_JIT) {
        (void)gpu_thread_find(record->thread, &span->origin);
        return gpu_window_keeps(record);
    }
    bool found = gpu_launch_find(record->correlation, &span->origin, &first);
    if (!found && !gpu_window_keeps(record))
        return false;
    span->answers = is_launched(record) && found && first;
    if (span->answers)
        gpu_launch_answered();
    if (is_launched(record) && !found)
        gpu_emit_count(GPU_COUNT_ORPHANS, 1);
    return true;
}

/* CUPTI has no time of an event in this clock: it is the time of the program's request. */
static bool set_event_time(struct gpu_span *span)
{
    span->begin_ns = span->end_ns = span->origin.time;
    span->clock = GPU_CLOCK_ANNOT;
    return span->origin.time != 0;
}

static void emit_span(const struct gpu_record *record)
{
    struct gpu_values values = {0};
    struct gpu_span span = {
        .name = name_of(record, &values),
        .kind = record->kind,
        .clock = gpu_session_clock(),
        .device = record->device,
        .context = record->context,
        .stream = record->stream,
        .begin_ns = record->begin_ns,
        .end_ns = record->end_ns,
        .system_thread = record->thread,
        .values = &values,
    };
    gpu_governor_note(record);
    add_values(record, &values);
    if (!set_origin(record, &span))
        return;
    if (record->kind == GPU_EVENT && !set_event_time(&span))
        return;
    if (record->kind == GPU_UNIFIED && span.end_ns < span.begin_ns)
        span.end_ns = span.begin_ns; /* some of these lack an end */
    if (is_launched(record))
        gpu_device_emit(record->device);
    gpu_emit_span(&span);
}

static void emit_record(void *context, const struct gpu_record *record)
{
    const uint32_t *own_thread = context;
    if (record->kind == GPU_CONTEXT)
        gpu_context_met(record->context, record->stream);
    else if (record->kind == GPU_DEVICE)
        gpu_device_met(record);
    else if (record->kind != GPU_CALL || record->thread != *own_thread)
        emit_span(record);
}

void gpu_spans_emit(const struct gpu_buffer *buffer)
{
    uint32_t own_thread = (uint32_t)syscall(SYS_gettid);
    gpu_session_anchor();
    uint64_t unknown =
        gpu_records_read(gpu_session_next, buffer->bytes, buffer->valid, emit_record, &own_thread);
    gpu_session_anchor();
    gpu_emit_count(GPU_COUNT_UNKNOWN, unknown);
    gpu_emit_count(GPU_COUNT_DROPPED, buffer->dropped);
    gpu_emit_names();
}
