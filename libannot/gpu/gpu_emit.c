/* SPDX-License-Identifier: MIT */
/* Implements gpu_emit.h by annot/queues.h.
 *
 * Each stream is a queue below its device; waits for a context have a separate queue, as does the
 * overhead of CUPTI. A kernel's label holds its shape, so that spans need no room for it. Launches
 * are counted in shared memory, which survives a kill. */
#include "gpu_devices.h"
#include "gpu_library.h"
#include "gpu_streams.h"
#include "gpu_values.h"

#include <annot/logs.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>
#include <annot/watch.h>
#include <stdio.h>
#include <string.h>

enum { QUEUES = 1024, QUEUE_TRIES = 8, STALLS_A_MARK = 16, RANGES = 256 };

/* Distinct from numbers of streams; and from those of contexts. */
#define WAITS    UINT32_C(0xfffffffe)
#define MEMORY   UINT32_C(0xfffffffd)
#define CALLS    UINT64_C(0xfffffffb)
#define OVERHEAD UINT64_MAX

static uint64_t orphans, unknown, outside;

void gpu_emit_here(struct gpu_origin *ret_origin)
{
    struct annot_origin here = annot_origin_here();
    *ret_origin = (struct gpu_origin){here.time, here.thread};
}

void gpu_emit_open(char *text, size_t size)
{
    struct annot_open_range open[RANGES];
    uint32_t count = annot_open_ranges(open, RANGES);
    char *at = text + size - 1;
    *at = 0;
    while (count-- > 0) {
        char name[GPU_NAME_SIZE];
        size_t length = annot_name_text(open[count].name, name, sizeof(name));
        bool inner = *at != 0;
        if (length == 0)
            continue;
        if (length >= sizeof(name) || length + inner > (size_t)(at - text))
            break;
        if (inner)
            *--at = '/';
        at -= length;
        memcpy(at, name, length);
    }
    memmove(text, at, strlen(at) + 1);
}

uint64_t gpu_emit_is_on(void)
{
    return annot_enabled() ? annot_recording() : 0;
}

_Static_assert((int)GPU_WISH_END == (int)ANNOT_QUEUE_END &&
                   (int)GPU_WISH_OFF == (int)ANNOT_QUEUE_OFF &&
                   (int)GPU_WISH_ON == (int)ANNOT_QUEUE_ON,
               "wishes are annot's");

uint32_t gpu_emit_wishes(void)
{
    return annot_queue_wishes();
}

int gpu_emit_watch(const char *name, const char *domain,
                   void (*on_range)(void *context, int begins, uint64_t time))
{
    return annot_watch_range(name, domain[0] ? domain : NULL, on_range, NULL);
}

void gpu_emit_count(enum gpu_count which, uint64_t by)
{
    switch (which) {
    case GPU_COUNT_LAUNCHED:
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, by);
        break;
    case GPU_COUNT_DROPPED:
        annot_queue_count(ANNOT_QUEUE_DROPPED, by);
        break;
    case GPU_COUNT_OPENED:
        annot_queue_count(ANNOT_QUEUE_OPENED, by);
        break;
    case GPU_COUNT_SHUT:
        annot_queue_count(ANNOT_QUEUE_SHUT, by);
        break;
    case GPU_COUNT_OUTSIDE:
        __atomic_add_fetch(&outside, by, __ATOMIC_RELAXED);
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
        {"call", ANNOT_QUEUE_API},
        {"jit", ANNOT_QUEUE_JIT},
        {"memory", ANNOT_QUEUE_MEMORY},
        {"event", ANNOT_QUEUE_EVENT},
        {"unified memory", ANNOT_QUEUE_MEMORY},
    };

    static annot_category categories[GPU_KIND_COUNT];
    if (kind >= GPU_KIND_COUNT)
        kind = 0;
    if (categories[kind] == 0)
        categories[kind] = annot_category_observed(domain_of_cupti(), kinds[kind].name,
                                                   ANNOT_OBSERVER_CUPTI, kinds[kind].role);
    return categories[kind];
}

/* ---- Names and values ------------------------------------------------------------------------ */

uint32_t gpu_emit_name(const char *text)
{
    return annot_name_intern(text);
}

/* Keys are interned once: a span costs no look-up of them. */
static struct annot_value value_of(const struct gpu_value *value)
{
    static annot_name keys[GPU_KEY_COUNT];
    if (keys[value->key] == 0)
        keys[value->key] = annot_name_intern(gpu_key_text(value->key));
    struct annot_value converted = {.key = gpu_key_text(value->key), .key_name = keys[value->key]};
    converted.kind = value->text         ? ANNOT_PAYLOAD_STRING
                     : value->real != 0  ? ANNOT_PAYLOAD_DOUBLE
                     : value->number < 0 ? ANNOT_PAYLOAD_INT64
                                         : ANNOT_PAYLOAD_UINT64;
    if (value->text)
        converted.value.string = value->text;
    else if (value->real != 0)
        converted.value.float64 = value->real;
    else
        converted.value.int64 = value->number;
    return converted;
}

static uint32_t take_values(const struct gpu_values *values,
                            struct annot_value ret_values[GPU_VALUES_MAX])
{
    uint32_t count = values ? values->count : 0;
    for (uint32_t i = 0; i < count; i++)
        ret_values[i] = value_of(&values->items[i]);
    return count;
}

uint32_t gpu_emit_label(const char *text, const struct gpu_values *values)
{
    struct annot_value converted[GPU_VALUES_MAX];
    uint32_t count = take_values(values, converted);
    return count ? annot_queue_label(text, converted, count) : annot_name_intern(text);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static struct known {
    uint64_t id;
    annot_queue queue; /* 0: empty */
    uint32_t device;
    uint64_t text; /* a hash of its name */
} queues[QUEUES];

static annot_queue device_queue(uint32_t device)
{
    char text[GPU_NAME_SIZE + 32];
    gpu_device_text(device, text, sizeof(text));
    return annot_queue_create(ANNOT_QUEUE_DEVICE, device, gpu_device_label(device), text);
}

static void write_name(uint64_t id, char *text, size_t size)
{
    uint32_t context = (uint32_t)(id >> 32), stream = (uint32_t)id;
    if (id == OVERHEAD)
        snprintf(text, size, "CUPTI");
    else if (context == CALLS)
        snprintf(text, size, "calls of thread %u", stream);
    else if (stream == WAITS)
        snprintf(text, size, "waits of context %u", context);
    else if (stream == MEMORY)
        snprintf(text, size, "memory");
    else
        gpu_stream_text(context, stream, text, size);
}

/* A wait does not have a device. */
static bool has_device(uint64_t id)
{
    return id != OVERHEAD && id >> 32 != CALLS && (uint32_t)id != WAITS;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Makes the queue, or renames it if its name has changed. */
static void make_queue(struct known *known)
{
    char text[GPU_NAME_SIZE];
    write_name(known->id, text, sizeof(text));
    uint64_t hash = hash_of(text);
    if (known->queue && known->text == hash)
        return;
    known->text = hash;
    known->queue =
        annot_queue_create(ANNOT_QUEUE_QUEUE, known->id,
                           has_device(known->id) ? device_queue(known->device) : 0, text);
}

static uint64_t id_of(const struct gpu_span *span)
{
    switch (span->kind) {
    case GPU_OVERHEAD:
        return OVERHEAD;
    case GPU_WAIT:
        return (uint64_t)span->context << 32 | WAITS;
    case GPU_CALL:
    case GPU_JIT:
        return CALLS << 32 | span->system_thread;
    case GPU_MEMORY:
    case GPU_UNIFIED: /* a device's */
        return (uint64_t)(UINT32_MAX - 16 - span->device % 64) << 32 | MEMORY;
    default:
        return (uint64_t)span->context << 32 | span->stream;
    }
}

static annot_queue queue_of(const struct gpu_span *span)
{
    bool is_call = span->kind == GPU_CALL || span->kind == GPU_JIT;
    if (is_call && span->origin.thread != 0)
        return ANNOT_QUEUE_OWN_LANE;
    struct known other = {.id = id_of(span), .device = span->device};
    uint32_t place = (uint32_t)((other.id * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
    for (uint32_t i = 0; i < QUEUE_TRIES; i++) {
        struct known *known = &queues[(place + i) % QUEUES];
        if (known->queue != 0 && known->id != other.id)
            continue;
        if (known->queue == 0) {
            *known = other;
            make_queue(known);
        }
        return known->queue;
    }
    make_queue(&other);
    return other.queue;
}

void gpu_emit_names(void)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        if (queues[i].queue != 0)
            make_queue(&queues[i]);
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static annot_span_clock cupti_clock(void)
{
    static annot_span_clock clock;
    if (clock == 0)
        clock = annot_clock_create("CUPTI");
    return clock;
}

static annot_span_clock clock_of(uint8_t clock)
{
    return clock == GPU_CLOCK_ANNOT   ? ANNOT_SPAN_CLOCK_OWN
           : clock == GPU_CLOCK_CUPTI ? cupti_clock()
                                      : ANNOT_SPAN_CLOCK_MONOTONIC;
}

void gpu_emit_anchor(uint64_t cupti_ns, uint64_t time, uint32_t error_ns)
{
    const struct annot_clock_anchor anchor = {cupti_ns, time, error_ns, 0};
    annot_clock_anchor(cupti_clock(), &anchor);
}

void gpu_emit_span(const struct gpu_span *span)
{
    struct annot_value values[GPU_VALUES_MAX];
    const struct annot_span emitted = {
        .name = span->name,
        .queue = queue_of(span),
        .begin = span->begin_ns,
        .end = span->end_ns,
        .clock = clock_of(span->clock),
        .origin = {.time = span->origin.time, .thread = span->origin.thread},
        .domain = domain_of_cupti(),
        .category = category_of(span->kind),
        .flags = span->answers ? ANNOT_SPAN_LAUNCHED : 0,
        .values = values,
        .value_count = take_values(span->values, values),
    };
    annot_emit_spans(&emitted, 1);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

void gpu_emit_note(const char *text)
{
    char line[640];
    struct annot_event event = {.domain = domain_of_cupti(), .category = category_of(0)};
    snprintf(line, sizeof(line), "GPU: %s", text);
    event.text = line;
    annot_mark_event(&event);
}

void gpu_emit_fact(const char *category, const char *text, const struct gpu_values *values)
{
    struct annot_value converted[GPU_VALUES_MAX];
    const struct annot_event event = {
        .text = text,
        .domain = domain_of_cupti(),
        .category = annot_category_observed(domain_of_cupti(), category, ANNOT_OBSERVER_CUPTI, 0),
        .values = converted,
        .value_count = take_values(values, converted),
    };
    annot_mark_event(&event);
}

static annot_category category_of_pc(uint16_t role)
{
    static annot_category places, all;
    annot_category *category = role == ANNOT_QUEUE_PC ? &places : &all;
    if (*category == 0)
        *category = annot_category_observed(
            domain_of_cupti(), role == ANNOT_QUEUE_PC ? "pc sampling" : "pc sampling sums",
            ANNOT_OBSERVER_CUPTI, role);
    return *category;
}

/* Emits as many marks as its stalls need. */
void gpu_emit_pc(const struct gpu_pc *pc)
{
    struct annot_value values[2 + STALLS_A_MARK];
    struct annot_event event = {.text = pc->function,
                                .domain = domain_of_cupti(),
                                .category = category_of_pc(ANNOT_QUEUE_PC),
                                .values = values};
    values[0] = annot_value_uint64(ANNOT_QUEUE_KEY_CUBIN, pc->cubin);
    values[1] = annot_value_uint64(ANNOT_QUEUE_KEY_PC, pc->offset);
    for (uint32_t at = 0; at < pc->count;) {
        event.value_count = 2;
        for (; at < pc->count && event.value_count < 2 + STALLS_A_MARK; at++)
            values[event.value_count++] =
                annot_value_uint64(pc->stalls[at].reason, pc->stalls[at].samples);
        annot_mark_event(&event);
    }
}

void gpu_emit_pc_sums(const struct gpu_pc_sums *sums)
{
    const struct annot_value values[] = {
        annot_value_uint64(ANNOT_QUEUE_KEY_SAMPLES, sums->samples),
        annot_value_uint64(ANNOT_QUEUE_KEY_DROPPED, sums->dropped),
        annot_value_uint64(ANNOT_QUEUE_KEY_OTHERS, sums->others),
        annot_value_uint64(ANNOT_QUEUE_KEY_FULL, sums->full),
    };
    const struct annot_event event = {
        .text = "samples of kernels",
        .domain = domain_of_cupti(),
        .category = category_of_pc(ANNOT_QUEUE_PC_SUMS),
        .values = values,
        .value_count = sizeof(values) / sizeof(values[0]),
    };
    annot_mark_event(&event);
}

/* Reports the cost of a window: opened or shut in so many ns, and on which thread. */
void gpu_emit_switch(const struct gpu_switch *window)
{
    bool opened = window->kind == GPU_SWITCH_OPENED;
    const char *by = window->by_program ? "the program's thread" : "annot's thread";
    const struct annot_value values[] = {
        annot_value_uint64(opened ? "opened in [ns]" : "shut in [ns]",
                           window->end_ns - window->begin_ns),
        opened ? annot_value_string("opened by", by)
               : annot_value_uint64("launches", window->launches),
        annot_value_string("CUPTI", window->cupti),
    };
    const struct annot_event event = {
        .domain = domain_of_cupti(),
        .category = category_of(GPU_OVERHEAD),
        .text = opened ? "GPU window opened" : "GPU window shut",
        .values = values,
        .value_count = 2 + (window->cupti[0] != '\0'),
    };
    annot_mark_event(&event);
}

void gpu_emit_counts(void)
{
    char line[160];
    if (orphans + unknown == 0)
        return;
    snprintf(line, sizeof(line), "%lu activities without a known launch, %lu records not read",
             (unsigned long)orphans, (unsigned long)unknown);
    gpu_emit_note(line);
    orphans = unknown = 0;
}
