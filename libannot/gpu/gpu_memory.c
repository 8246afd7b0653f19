/* SPDX-License-Identifier: MIT */
/* Memory of devices: allocations, frees and migrations. Threads: that of gpu_thread.c. */
#include "gpu_memory.h"

#include "gpu_records.h"
#include "gpu_values.h"

#include <string.h>

enum { DEVICES = 64, KINDS = 8 };

/* By device and kind: bytes allocated in the window `held_in`, and not freed. Frees between two
 * windows are not recorded. */
static uint64_t held[DEVICES][KINDS];
static uint32_t held_in;
static uint32_t window; /* W: gpu_memory_begin; R: hold, atomic: a number alone */

void gpu_memory_begin(void)
{
    __atomic_add_fetch(&window, 1, __ATOMIC_RELAXED);
}

const char *gpu_memory_kind(uint32_t kind)
{
    static const char *const kinds[KINDS] = {
        "", "pageable", "pinned", "device", "array", "managed", "device static", "managed static"};
    return kind < KINDS ? kinds[kind] : "";
}

/* Memory from before the window is freed without an allocation. */
static uint64_t hold(const struct gpu_record *record, bool takes)
{
    uint32_t now = __atomic_load_n(&window, __ATOMIC_RELAXED);
    if (held_in != now)
        memset(held, 0, sizeof(held));
    held_in = now;
    uint64_t *bytes = &held[record->device % DEVICES][record->destination % KINDS];
    if (takes)
        *bytes += record->bytes;
    else
        *bytes -= record->bytes < *bytes ? record->bytes : *bytes;
    return *bytes;
}

static uint32_t name_operation(const struct gpu_record *record, struct gpu_values *values)
{
    bool takes = record->sort == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    struct gpu_values kind = {0};
    gpu_values_text(&kind, GPU_KEY_MEMORY, gpu_memory_kind(record->destination));
    gpu_values_number(values, GPU_KEY_BYTES, (int64_t)record->bytes);
    gpu_values_number(values, GPU_KEY_HELD, (int64_t)hold(record, takes));
    gpu_values_number(values, GPU_KEY_ADDRESS, (int64_t)record->address);
    if (record->pool)
        gpu_values_number(values, GPU_KEY_POOL, (int64_t)record->pool);
    return gpu_emit_label(takes ? "take memory" : "give memory back", &kind);
}

static bool is_bytes(uint32_t counter)
{
    return counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD ||
           counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH ||
           counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD;
}

static uint32_t name_unified(const struct gpu_record *record, struct gpu_values *values)
{
    static const struct {
        const char *name, *direction;
    } counters[] = {{"unified memory", ""},
                    {"unified memory to device", "HtoD"},
                    {"unified memory to host", "DtoH"},
                    {"page fault of the host", ""},
                    {"page faults of the device", ""},
                    {"unified memory thrashes", ""},
                    {"unified memory is throttled", ""},
                    {"unified memory mapped remotely", ""},
                    {"unified memory between devices", "PtoP"}};

    struct gpu_values of_name = {0};
    bool is_known = record->sort < sizeof(counters) / sizeof(counters[0]);
    if (is_bytes(record->sort))
        gpu_values_number(values, GPU_KEY_BYTES, (int64_t)record->bytes);
    gpu_values_number(values, GPU_KEY_ADDRESS, (int64_t)record->address);
    gpu_values_text(&of_name, GPU_KEY_DIRECTION, counters[is_known ? record->sort : 0].direction);
    return gpu_emit_label(counters[is_known ? record->sort : 0].name, &of_name);
}

uint32_t gpu_memory_name(const struct gpu_record *record, struct gpu_values *values)
{
    return record->kind == GPU_MEMORY ? name_operation(record, values)
                                      : name_unified(record, values);
}
