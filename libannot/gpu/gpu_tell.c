/* SPDX-License-Identifier: MIT */
/* What libannot-gpu tells, told to annot: gpu_tell.h by queues.h.
 *
 * Each stream is a queue below its device; what waits for a context has a queue of its own, as has
 * the overhead of CUPTI. A kernel's label holds its shape, so that a span has room for none of it.
 * Launches are counted where a kill does not take them away. */
#include "gpu_parts.h"

#include <annot/logs.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>
#include <stdio.h>
#include <string.h>

enum { QUEUES = 1024, QUEUE_TRIES = 8, TEXT_MAX = 256 };

/* Not numbers of streams. */
#define WAITS    UINT32_C(0xfffffffe)
#define OVERHEAD UINT64_MAX

static uint64_t orphans, unknown;

void gpu_tell_here(struct gpu_origin *ret_origin)
{
    struct annot_origin here = annot_origin_here();
    *ret_origin = (struct gpu_origin){here.time, here.thread};
}

int gpu_tell_is_on(void)
{
    return annot_enabled() && annot_recording() != 0;
}

void gpu_tell_count(enum gpu_count which, uint64_t by)
{
    switch (which) {
    case GPU_COUNT_LAUNCHED:
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, by);
        break;
    case GPU_COUNT_DROPPED:
        annot_queue_count(ANNOT_QUEUE_DROPPED, by);
        break;
    case GPU_COUNT_ORPHANS:
        __atomic_add_fetch(&orphans, by, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_add_fetch(&unknown, by, __ATOMIC_RELAXED);
    }
}

static annot_domain domain_of_cupti(void)
{
    static annot_domain domain;
    if (domain == 0)
        domain = annot_domain_observed("CUDA", ANNOT_OBSERVER_CUPTI, 0);
    return domain;
}

/* By enum gpu_kind. */
static annot_category category_of(uint8_t kind)
{
    static const struct {
        const char *name;
        uint16_t role;
    } kinds[GPU_KIND_COUNT] = {
        {"other", 0},
        {"kernel", ANNOT_QUEUE_KERNEL},
        {"copy", ANNOT_QUEUE_COPY},
        {"set", ANNOT_QUEUE_SET},
        {"graph", ANNOT_QUEUE_GRAPH},
        {"wait", ANNOT_QUEUE_SYNC},
        {"overhead", ANNOT_QUEUE_OVERHEAD},
    };

    static annot_category categories[GPU_KIND_COUNT];
    if (kind >= GPU_KIND_COUNT)
        kind = 0;
    if (categories[kind] == 0)
        categories[kind] = annot_category_observed(domain_of_cupti(), kinds[kind].name,
                                                   ANNOT_OBSERVER_CUPTI, kinds[kind].role);
    return categories[kind];
}

uint32_t gpu_tell_name(const char *text)
{
    return annot_name_intern(text);
}

static struct annot_value text_value(const char *key, const char *text)
{
    return (struct annot_value){
        .key = key, .kind = ANNOT_PAYLOAD_STRING, .value = {.string = text}};
}

static struct annot_value number_value(const char *key, uint64_t number)
{
    return (struct annot_value){
        .key = key, .kind = ANNOT_PAYLOAD_UINT64, .value = {.uint64 = number}};
}

uint32_t gpu_tell_kernel(const struct gpu_shape *shape)
{
    char grid[40], block[40];
    snprintf(grid, sizeof(grid), "%u,%u,%u", shape->grid[0], shape->grid[1], shape->grid[2]);
    snprintf(block, sizeof(block), "%u,%u,%u", shape->block[0], shape->block[1], shape->block[2]);
    const struct annot_value values[] = {
        text_value(ANNOT_QUEUE_KEY_GRID, grid),
        text_value(ANNOT_QUEUE_KEY_BLOCK, block),
        number_value(ANNOT_QUEUE_KEY_REGISTERS, shape->registers),
        number_value(ANNOT_QUEUE_KEY_SHARED, shape->shared_bytes),
    };
    return annot_queue_label(shape->name ? shape->name : "kernel", values,
                             sizeof(values) / sizeof(values[0]));
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static annot_queue device_queue(uint32_t device)
{
    char name[TEXT_MAX] = "", text[TEXT_MAX + 32];
    gpu_library_device(device, name, sizeof(name));
    snprintf(text, sizeof(text), "GPU %u%s%s", device, name[0] ? ": " : "", name);
    return annot_queue_create(ANNOT_QUEUE_DEVICE, device, 0, text);
}

static annot_queue make_queue(const struct gpu_span *span, uint64_t id)
{
    char text[TEXT_MAX];
    if (id == OVERHEAD)
        return annot_queue_create(ANNOT_QUEUE_QUEUE, id, 0, "CUPTI");
    if ((uint32_t)id == WAITS)
        snprintf(text, sizeof(text), "waits of context %u", span->context);
    else
        snprintf(text, sizeof(text), "stream %u of context %u", span->stream, span->context);
    /* A wait does not say for which device. */
    return annot_queue_create(ANNOT_QUEUE_QUEUE, id,
                              span->kind == GPU_WAIT ? 0 : device_queue(span->device), text);
}

static uint64_t id_of(const struct gpu_span *span)
{
    if (span->kind == GPU_OVERHEAD)
        return OVERHEAD;
    return (uint64_t)span->context << 32 | (span->kind == GPU_WAIT ? WAITS : span->stream);
}

static annot_queue queue_of(const struct gpu_span *span)
{
    static struct {
        uint64_t id;
        annot_queue queue; /* 0: empty */
    } queues[QUEUES];

    uint64_t id = id_of(span);
    uint32_t place = (uint32_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
    for (uint32_t i = 0; i < QUEUE_TRIES; i++) {
        uint32_t at = (place + i) % QUEUES;
        if (queues[at].queue != 0 && queues[at].id != id)
            continue;
        if (queues[at].queue == 0) {
            queues[at].id = id;
            queues[at].queue = make_queue(span, id);
        }
        return queues[at].queue;
    }
    return make_queue(span, id);
}

/* ---- Spans ----------------------------------------------------------------------------------- */

void gpu_tell_span(const struct gpu_span *span)
{
    bool has_bytes = span->kind == GPU_COPY || span->kind == GPU_SET;
    const struct annot_value bytes = number_value(ANNOT_QUEUE_KEY_BYTES, span->bytes);
    const struct annot_span told = {
        .name = span->name,
        .queue = queue_of(span),
        .begin = span->begin_ns,
        .end = span->end_ns,
        .clock = ANNOT_SPAN_CLOCK_MONOTONIC,
        .origin = {.time = span->origin.time, .thread = span->origin.thread},
        .domain = domain_of_cupti(),
        .category = category_of(span->kind),
        .flags = span->answers ? ANNOT_SPAN_LAUNCHED : 0,
        .values = &bytes,
        .value_count = has_bytes ? 1 : 0,
    };
    annot_emit_spans(&told, 1);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

void gpu_tell_note(const char *text)
{
    char line[640];
    struct annot_event event = {.domain = domain_of_cupti(), .category = category_of(0)};
    snprintf(line, sizeof(line), "GPU: %s", text);
    event.text = line;
    annot_mark_event(&event);
}

void gpu_tell_counts(void)
{
    char line[160];
    if (orphans + unknown == 0)
        return;
    snprintf(line, sizeof(line), "%lu activities without a known launch, %lu records not read",
             (unsigned long)orphans, (unsigned long)unknown);
    gpu_tell_note(line);
    orphans = unknown = 0;
}
