/* SPDX-License-Identifier: MIT */
/* Deferred events: see nvtx_payload.h. Whole ranges and marks are spans of a queue, one for each
 * scope of a domain; a mark has no length. A separate begin waits in a table for its end; an end
 * without one is reported.
 *
 * Counters of a deferred event are values of its span, because annot's counters take the time of
 * the call. */
#include "nvtx_deferred.h"

#include "nvtx_extension.h"
#include "nvtx_line.h"
#include "nvtx_times.h"

#include <annot/queues.h>
#include <annot_barrier.h>
#include <unistd.h>

/* Of queues, to distinguish them from CUDA streams. */
#define QUEUE_ID (UINT64_C(1) << 63)

/* Returns the queue of a thread's deferred events, which need not lie in its ranges. */
static annot_queue queue_of_thread(annot_domain domain)
{
    const struct annot_value thread = annot_value_int64(NULL, gettid());
    uint64_t id = QUEUE_ID | (nvtx_hash(domain, thread.value.uint64) >> 2);
    char name[64];
    struct nvtx_line line = {name, name, name + sizeof(name) - 1, 0};
    nvtx_line_put(&line, "deferred events of thread ", 26);
    nvtx_line_number(&line, &thread);
    *line.at = 0;
    return annot_queue_create(ANNOT_QUEUE_QUEUE, id, 0, name);
}

annot_queue nvtx_queue_of(annot_domain domain, uint64_t scope)
{
    const char *name = nvtx_scope_name(domain, scope);
    uint64_t id = QUEUE_ID | (nvtx_hash(scope, domain) >> 2);
    if (scope == NVTX_SCOPE_OF_THREAD || scope == NVTX_SCOPE_OF_CALLER)
        return queue_of_thread(domain);
    return annot_queue_create(ANNOT_QUEUE_QUEUE, id, 0, *name ? name : "deferred events");
}

/* ---- Halves of ranges ------------------------------------------------------------------------ */

enum { HALVES = 1024 };

/* The begin of a range, waiting for its end. */
struct half {
    uint64_t key;   /* 0: free; W: swapped */
    uint64_t order; /* the last one of a key is the innermost */
    struct nvtx_stamp begin;
    uint64_t range;
    annot_name name;
    annot_category category;
};

static struct half halves[HALVES];
static uint64_t half_order;

/* Pushed ranges are identified by scope, started ones by their id. */
static uint64_t key_of(const struct nvtx_decoding *decoding, uint64_t scope, int is_pushed)
{
    uint64_t key = nvtx_hash(nvtx_hash(scope, decoding->domain), is_pushed ? 0 : decoding->range);
    return key | 1;
}

static void keep_half(const struct half *half)
{
    for (uint32_t i = 0; i < HALVES; i++) {
        uint64_t none = 0;
        struct half *place = &halves[(half->key + i) % HALVES];
        if (!annot_cas_acq_rel(&place->key, &none, half->key & ~UINT64_C(1))) /* partner: itself */
            continue;
        place->order = annot_fetch_add_relaxed(&half_order, 1);
        place->begin = half->begin;
        place->range = half->range;
        place->name = half->name;
        place->category = half->category;
        annot_store_release(&place->key, half->key); /* partner: take_half */
        return;
    }
}

/* Returns 0 if there is no such begin. */
static int take_half(uint64_t key, struct half *ret)
{
    struct half *last = NULL;
    for (uint32_t i = 0; i < HALVES; i++) {
        struct half *place = &halves[(key + i) % HALVES];
        if (annot_load_acquire(&place->key) == key && (!last || place->order > last->order))
            last = place; /* partner: keep_half */
    }
    if (!last)
        return 0;
    *ret = *last;
    annot_store_release(&last->key, UINT64_C(0)); /* partner: keep_half */
    return 1;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* An event of any kind, once it is read. */
struct deferred {
    const struct nvtx_decoding *decoding;
    uint64_t scope;
    annot_name name;
    annot_category category;
};

static void emit(const struct deferred *event, const struct nvtx_stamp *begin,
                 const struct nvtx_stamp *end)
{
    const struct nvtx_decoding *decoding = event->decoding;
    struct nvtx_clock clock;
    struct annot_span span = {.name = event->name,
                              .queue = nvtx_queue_of(decoding->domain, event->scope),
                              .domain = decoding->domain,
                              .category = event->category,
                              .values = decoding->values,
                              .value_count = decoding->value_count};
    if (nvtx_time_clock(decoding->domain, begin->domain, event->scope, &clock)) {
        span.clock = clock.clock;
        span.begin = nvtx_time_of(&clock, begin->ticks);
        span.end = nvtx_time_of(&clock, end->ticks);
    } /* else it is counted as untimed */
    annot_emit_spans(&span, 1);
}

/* Returns the name, with the values of the begin. */
static annot_name label_of(const struct deferred *event)
{
    const struct nvtx_decoding *decoding = event->decoding;
    const char *text = nvtx_message_text(&decoding->message);
    if (decoding->value_count == 0)
        return event->name;
    return annot_queue_label(text ? text : "", decoding->values, decoding->value_count);
}

static void begin_half(const struct deferred *event, int is_pushed)
{
    const struct nvtx_decoding *decoding = event->decoding;
    const struct half half = {.key = key_of(decoding, event->scope, is_pushed),
                              .begin = decoding->begin,
                              .range = decoding->range,
                              .name = label_of(event),
                              .category = event->category};
    keep_half(&half);
}

static void end_half(struct deferred *event, int is_pushed)
{
    const struct nvtx_decoding *decoding = event->decoding;
    const struct nvtx_stamp *end = decoding->end.is_there ? &decoding->end : &decoding->begin;
    struct half half;
    if (!take_half(key_of(decoding, event->scope, is_pushed), &half)) {
        nvtx_emit(decoding->domain, NULL, "the end of a deferred range that did not begin");
        return;
    }
    event->name = half.name;
    if (!event->category)
        event->category = half.category;
    emit(event, &half.begin, end);
}

static void take_event(const struct nvtx_decoding *decoding, uint64_t scope)
{
    struct deferred event = {.decoding = decoding, .scope = scope};
    const struct nvtx_stamp *mark = decoding->mark.is_there ? &decoding->mark : &decoding->begin;
    event.name = decoding->message.name;
    if (!event.name)
        event.name = annot_name_intern(decoding->message.text ? decoding->message.text : "");
    if (decoding->category)
        event.category = nvtx_category_of(decoding->domain, decoding->category);
    switch (decoding->role) {
    case NVTX_SCHEMA_PUSH:
    case NVTX_SCHEMA_START:
        begin_half(&event, decoding->role == NVTX_SCHEMA_PUSH);
        return;
    case NVTX_SCHEMA_POP:
    case NVTX_SCHEMA_END:
        end_half(&event, decoding->role == NVTX_SCHEMA_POP);
        return;
    default:
        if (decoding->begin.is_there && decoding->end.is_there)
            emit(&event, &decoding->begin, &decoding->end);
        else if (mark->is_there)
            emit(&event, mark, mark);
        else
            nvtx_emit(decoding->domain, nvtx_message_text(&decoding->message),
                      "a deferred event without a time");
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void
submit_recorded(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    struct nvtx_decoding *decoding = nvtx_decoding_take(domain, blobs, count);
    if (!decoding) {
        nvtx_emit(domain, NULL, "a deferred event that there was no room for");
        return;
    }
    decoding->is_deferred = 1;
    nvtx_decode(decoding);
    take_event(decoding, decoding->scope);
    nvtx_decoding_give(decoding);
}

void nvtx_submit(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count)
{
    if (annot_enabled())
        submit_recorded(domain, blobs, count);
}

/* Offsets count from the start; the data begin after the program's reserved part. */
static size_t flexible_size(const struct nvtx_batch_said *batch)
{
    size_t size;
    return __builtin_add_overflow(batch->flexible_size, batch->flexible_offset, &size) ? 0 : size;
}

/* Submits one event of a batch. Returns its size in bytes; 0: unknown. */
static size_t submit_one(struct nvtx_decoding *decoding, const struct nvtx_batch_said *batch,
                         const struct nvtx_schema *schema, struct nvtx_bytes bytes)
{
    decoding->is_deferred = 1;
    decoding->role = schema->role;
    if (batch->flexible)
        decoding->flexible = (struct nvtx_bytes){batch->flexible, flexible_size(batch)};
    size_t size = nvtx_decode_schema(decoding, schema, bytes);
    nvtx_decode_end(decoding);
    take_event(decoding, decoding->scope ? decoding->scope : batch->scope);
    return size;
}

void nvtx_submit_batch(annot_domain domain, const struct nvtx_batch_said *batch)
{
    if (!annot_enabled() || !batch || !batch->events)
        return;
    struct nvtx_layout layout = nvtx_layout_of(domain, batch->schema);
    if (layout.class != NVTX_CLASS_SAID || !layout.type->type) {
        nvtx_emit(domain, NULL, "a batch of events whose schema is not known");
        return;
    }
    const struct nvtx_schema *schema = (const struct nvtx_schema *)layout.type;
    struct nvtx_bytes rest = {batch->events, batch->size};
    while (rest.size > 0) {
        struct nvtx_bytes one = rest;
        if (layout.size && one.size > layout.size)
            one.size = (size_t)layout.size;
        struct nvtx_decoding *decoding = nvtx_decoding_take(domain, NULL, 0);
        if (!decoding)
            break;
        size_t size = submit_one(decoding, batch, schema, one);
        nvtx_decoding_give(decoding);
        if (layout.size)
            size = one.size;
        if (size == 0)
            return;
        size = schema->type.type == NVTX_SCHEMA_DYNAMIC && layout.alignment > 1
                   ? (size + layout.alignment - 1) / layout.alignment * layout.alignment
                   : size;
        if (size >= rest.size)
            return;
        rest = (struct nvtx_bytes){rest.at + size, rest.size - size};
    }
}
