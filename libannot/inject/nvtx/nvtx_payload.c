/* SPDX-License-Identifier: MIT */
/* Events with payloads: see nvtx_payload.h. */
#include "nvtx_payload.h"

#include "inject_emit.h"
#include "nvtx_calls.h"
#include "nvtx_decode.h"
#include "nvtx_event.h"
#include "nvtx_extension.h"
#include "nvtx_line.h"
#include "nvtx_next.h"
#include "nvtx_schema.h"
#include "nvtx_thread.h"
#include "nvtx_times.h"

#include <annot/queues.h>
#include <annot_barrier.h>
#include <unistd.h>

/* The values of an event for which no buffer was left. */
static const struct annot_value nothing_shown = {
    .key = NVTX_KEY_LEFT_OUT, .kind = ANNOT_PAYLOAD_UINT64, .value = {.uint64 = 1}};

/* Decodes payloads into an event. Returns the buffer of its values, or NULL. */
static struct nvtx_decoding *read_event(struct annot_event *event,
                                        const struct nvtx_blob_given *blobs, size_t count)
{
    struct nvtx_decoding *decoding = nvtx_decoding_take(event->domain, blobs, count);
    if (decoding) {
        nvtx_decode(decoding);
        nvtx_decoding_apply(decoding, event);
    } else {
        event->values = &nothing_shown;
        event->value_count = 1;
    }
    return decoding;
}

/* ---- Attributes with payloads ---------------------------------------------------------------- */

/* The payload overrides the attributes. */
static struct nvtx_decoding *read_blobs(struct annot_event *event, annot_domain domain,
                                        const nvtxEventAttributes_t *attributes)
{
    const struct nvtx_blob_given *blobs =
        (const struct nvtx_blob_given *)(uintptr_t)attributes->payload.ullValue;
    nvtx_event_read(event, domain, attributes);
    return read_event(event, blobs, attributes->reserved0 > 0 ? (size_t)attributes->reserved0 : 0);
}

int nvtx_push_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    int level = nvtx_push_event(&event);
    nvtx_decoding_give(decoding);
    return level;
}

annot_range nvtx_start_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    annot_range range = annot_emit_start_event(&event);
    nvtx_decoding_give(decoding);
    return range;
}

void nvtx_mark_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    struct nvtx_decoding *decoding = read_blobs(&event, domain, attributes);
    inject_emit.mark_event(&event);
    nvtx_decoding_give(decoding);
}

/* ---- Payloads alone -------------------------------------------------------------------------- */

static __attribute__((noinline)) void
mark_recorded(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    inject_emit.mark_event(&event);
    nvtx_decoding_give(decoding);
}

/* Events with payloads as their only attributes. */
static void nvtx_mark_payload(annot_domain domain, const struct nvtx_blob_given *blobs,
                              size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        mark_recorded(domain, blobs, count);
}

static __attribute__((noinline)) int
push_recorded(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    int level = nvtx_push_event(&event);
    nvtx_decoding_give(decoding);
    return level;
}

static int nvtx_push_payload(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? push_recorded(domain, blobs, count)
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

static __attribute__((noinline)) nvtxRangeId_t
start_recorded(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    struct annot_event event = {.domain = domain, .text = ""};
    struct nvtx_decoding *decoding = read_event(&event, blobs, count);
    annot_range range = annot_emit_start_event(&event);
    nvtx_decoding_give(decoding);
    return range ? range : NVTX_RANGE_NONE;
}

static nvtxRangeId_t nvtx_start_payload(annot_domain domain, const struct nvtx_blob_given *blobs,
                                        size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? start_recorded(domain, blobs, count) : NVTX_RANGE_NONE;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A message of an end is a value of it, because the range already has its name. */
static struct nvtx_decoding *read_end(struct annot_event *event,
                                      const struct nvtx_blob_given *blobs, size_t count)
{
    struct nvtx_decoding *decoding = read_event(event, blobs, count);
    const char *message = decoding ? nvtx_message_text(&decoding->message) : NULL;
    if (message && decoding->value_count < NVTX_VALUES) {
        decoding->values[decoding->value_count] = annot_value_string("message", message);
        event->value_count = ++decoding->value_count;
    }
    return decoding;
}

static __attribute__((noinline)) int pop_recorded(annot_domain domain,
                                                  const struct nvtx_blob_given *blobs, size_t count)
{
    struct annot_event event = {.domain = domain};
    struct nvtx_decoding *decoding = read_end(&event, blobs, count);
    int level = nvtx_thread_pop(nvtx_thread_mine(), domain, event.values, event.value_count);
    nvtx_decoding_give(decoding);
    return level;
}

static int nvtx_pop_payload(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? pop_recorded(domain, blobs, count)
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

static __attribute__((noinline)) void end_recorded(annot_domain domain, nvtxRangeId_t range,
                                                   const struct nvtx_blob_given *blobs,
                                                   size_t count)
{
    struct annot_event event = {.domain = domain};
    struct nvtx_decoding *decoding = read_end(&event, blobs, count);
    annot_emit_end_values(range, event.values, event.value_count);
    nvtx_decoding_give(decoding);
}

static void nvtx_end_payload(annot_domain domain, nvtxRangeId_t range,
                             const struct nvtx_blob_given *blobs, size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()) && range > NVTX_RANGE_NONE)
        end_recorded(domain, range, blobs, count);
}

/* ---- Deferred events --------------------------------------------------------------------------
 */

/* Events with explicit times. Whole ranges and marks are spans of a queue, one for each scope of a
 * domain; a mark has no length. A separate begin waits in a table for its end; an end without one
 * is reported. Counters of a deferred event are values of its span, because annot's counters take
 * the time of the call. */

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

static annot_queue queue_of(annot_domain domain, uint64_t scope)
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
        uint64_t unused = 0;
        struct half *place = &halves[(half->key + i) % HALVES];
        if (!annot_cas_acq_rel(&place->key, &unused,
                               half->key & ~UINT64_C(1))) /* partner: itself */
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
                              .queue = queue_of(decoding->domain, event->scope),
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

/* ---- Submission
 * ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void
submit_recorded(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
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

static void submit_event(annot_domain domain, const struct nvtx_blob_given *blobs, size_t count)
{
    if (annot_enabled())
        submit_recorded(domain, blobs, count);
}

/* Offsets count from the start; the data begin after the program's reserved part. */
static size_t flexible_size(const struct nvtx_batch_given *batch)
{
    size_t size;
    return __builtin_add_overflow(batch->flexible_size, batch->flexible_offset, &size) ? 0 : size;
}

/* Submits one event of a batch. Returns its size in bytes; 0: unknown. */
static size_t submit_one(struct nvtx_decoding *decoding, const struct nvtx_batch_given *batch,
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

static void submit_events(annot_domain domain, const struct nvtx_batch_given *batch)
{
    if (!annot_enabled() || !batch || !batch->events)
        return;
    struct nvtx_layout layout = nvtx_layout_of(domain, batch->schema);
    if (layout.class != NVTX_CLASS_GIVEN || !layout.type->type) {
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

/* ---- Slots of extension PAYLOAD -------------------------------------------------------------- */

/* Each calls the next tool's and ours. The program gets the next tool's result. */

enum slot {
    SCHEMA_REGISTER = 0,
    ENUM_REGISTER = 1,
    MARK = 2,
    PUSH = 3,
    POP = 4,
    START = 5,
    END = 6,
    DOMAIN_IS_ENABLED = 7,
    TIMESTAMP_GET = 8,
    TIME_DOMAIN_REGISTER = 9,
    TIMER_SOURCE = 10,
    TIMER_SOURCE_WITH_DATA = 11,
    SCOPE_REGISTER = 12,
    TIME_SYNC_POINT = 13,
    TIME_SYNC_POINT_TABLE = 14,
    TIMESTAMP_CONVERSION_FACTOR = 15,
    EVENT_SUBMIT = 16,
    EVENT_BATCH_SUBMIT = 17,
};

#define NEXT(slot, type) NVTX_NEXT_EXTENSION(NVTX_EXTENSION_PAYLOAD, slot, type)

/* ---- Registration ---------------------------------------------------------------------------- */

#define REGISTERS(function, slot, said_type, ours)                                                 \
    static uint64_t function(nvtxDomainHandle_t domain, const said_type *given)                    \
    {                                                                                              \
        uint64_t (*next)(nvtxDomainHandle_t, const said_type *) =                                  \
            NEXT(slot, uint64_t(*)(nvtxDomainHandle_t, const said_type *));                        \
        uint64_t theirs = next ? next(domain, given) : 0;                                          \
        uint64_t id = ours(nvtx_domain_known(domain), given, theirs);                              \
        return theirs ? theirs : id;                                                               \
    }

REGISTERS(schema_register, SCHEMA_REGISTER, struct nvtx_schema_given, nvtx_schema_register)
REGISTERS(enum_register, ENUM_REGISTER, struct nvtx_enum_given, nvtx_enum_register)
REGISTERS(scope_register, SCOPE_REGISTER, struct nvtx_scope_given, nvtx_scope_register)
REGISTERS(time_register, TIME_DOMAIN_REGISTER, struct nvtx_time_given, nvtx_time_register)

/* ---- Events ---------------------------------------------------------------------------------- */

typedef int level_call(nvtxDomainHandle_t, const struct nvtx_blob_given *, size_t);
typedef void blobs_call(nvtxDomainHandle_t, const struct nvtx_blob_given *, size_t);

static void mark(nvtxDomainHandle_t domain, const struct nvtx_blob_given *blobs, size_t count)
{
    blobs_call *next = NEXT(MARK, blobs_call *);
    if (next)
        next(domain, blobs, count);
    nvtx_mark_payload(nvtx_domain_known(domain), blobs, count);
}

static int push(nvtxDomainHandle_t domain, const struct nvtx_blob_given *blobs, size_t count)
{
    level_call *next = NEXT(PUSH, level_call *);
    int theirs = next ? next(domain, blobs, count) : NVTX_NO_PUSH_POP_TRACKING;
    int ours = nvtx_push_payload(nvtx_domain_known(domain), blobs, count);
    return ours >= 0 ? ours : theirs;
}

static int pop(nvtxDomainHandle_t domain, const struct nvtx_blob_given *blobs, size_t count)
{
    level_call *next = NEXT(POP, level_call *);
    int ours = nvtx_pop_payload(nvtx_domain_known(domain), blobs, count);
    int theirs = next ? next(domain, blobs, count) : NVTX_NO_PUSH_POP_TRACKING;
    return ours >= 0 ? ours : theirs;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const struct nvtx_blob_given *blobs,
                           size_t count)
{
    typedef nvtxRangeId_t start_call(nvtxDomainHandle_t, const struct nvtx_blob_given *, size_t);
    start_call *next = NEXT(START, start_call *);
    nvtxRangeId_t theirs = next ? next(domain, blobs, count) : 0;
    nvtxRangeId_t ours = nvtx_start_payload(nvtx_domain_known(domain), blobs, count);
    if (theirs)
        nvtx_map_put(NVTX_MAP_RANGE, theirs, ours);
    return theirs ? theirs : ours;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t range, const struct nvtx_blob_given *blobs,
                size_t count)
{
    typedef void end_call(nvtxDomainHandle_t, nvtxRangeId_t, const struct nvtx_blob_given *,
                          size_t);
    end_call *next = NEXT(END, end_call *);
    uint64_t ours = nvtx_next_is_there() ? nvtx_map_take(NVTX_MAP_RANGE, range) : 0;
    nvtx_end_payload(nvtx_domain_known(domain), ours ? ours : range, blobs, count);
    if (next)
        next(domain, range, blobs, count);
}

static void submit(nvtxDomainHandle_t domain, const struct nvtx_blob_given *blobs, size_t count)
{
    blobs_call *next = NEXT(EVENT_SUBMIT, blobs_call *);
    if (next)
        next(domain, blobs, count);
    submit_event(nvtx_domain_known(domain), blobs, count);
}

static void submit_batch(nvtxDomainHandle_t domain, const struct nvtx_batch_given *batch)
{
    typedef void batch_call(nvtxDomainHandle_t, const struct nvtx_batch_given *);
    batch_call *next = NEXT(EVENT_BATCH_SUBMIT, batch_call *);
    if (next)
        next(domain, batch);
    submit_events(nvtx_domain_known(domain), batch);
}

/* Programs query once and then skip the domain's events for good. So this returns 0 only if a
 * filter drops the domain; without a recording, one may begin later. */
static uint8_t domain_is_enabled(nvtxDomainHandle_t domain)
{
    const struct annot_event event = {.domain = nvtx_domain_known(domain)};
    uint8_t (*next)(nvtxDomainHandle_t) = NEXT(DOMAIN_IS_ENABLED, uint8_t(*)(nvtxDomainHandle_t));
    if (!annot_enabled() || annot_emit_wants(&event))
        return 1;
    return next ? next(domain) : 0;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* Returns the next tool's timestamp, if it has one: then annot's conversion needs sync points. */
static int64_t timestamp_get(void)
{
    int64_t (*next)(void) = NEXT(TIMESTAMP_GET, int64_t(*)(void));
    return next ? next() : (int64_t)annot_queue_time();
}

static int64_t call_without_data(void *data)
{
    int64_t (*now)(void);
    now = (int64_t(*)(void))(uintptr_t)data;
    return now ? now() : 0;
}

static void timer_source(nvtxDomainHandle_t domain, uint64_t id, uint64_t flags,
                         int64_t (*now)(void))
{
    typedef void source_call(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t(*)(void));
    source_call *next = NEXT(TIMER_SOURCE, source_call *);
    if (next)
        next(domain, id, flags, now);
    nvtx_time_source(nvtx_domain_known(domain), id, now ? call_without_data : NULL,
                     (void *)(uintptr_t)now);
}

static void timer_source_with_data(nvtxDomainHandle_t domain, uint64_t id, uint64_t flags,
                                   int64_t (*now)(void *), void *data)
{
    typedef void source_call(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t(*)(void *), void *);
    source_call *next = NEXT(TIMER_SOURCE_WITH_DATA, source_call *);
    if (next)
        next(domain, id, flags, now, data);
    nvtx_time_source(nvtx_domain_known(domain), id, now, data);
}

static void time_sync_point(nvtxDomainHandle_t domain, uint64_t first, uint64_t second,
                            int64_t first_time, int64_t second_time)
{
    typedef void point_call(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t, int64_t);
    point_call *next = NEXT(TIME_SYNC_POINT, point_call *);
    const struct nvtx_sync_given at = {first_time, second_time};
    if (next)
        next(domain, first, second, first_time, second_time);
    nvtx_time_sync(nvtx_domain_known(domain), (const uint64_t[2]){first, second}, &at);
}

static void time_sync_table(nvtxDomainHandle_t domain, uint64_t from, uint64_t to,
                            const struct nvtx_sync_given *points, size_t count)
{
    typedef void table_call(nvtxDomainHandle_t, uint64_t, uint64_t, const struct nvtx_sync_given *,
                            size_t);
    table_call *next = NEXT(TIME_SYNC_POINT_TABLE, table_call *);
    annot_domain number = nvtx_domain_known(domain);
    if (next)
        next(domain, from, to, points, count);
    for (size_t i = 0; points && i < count; i++)
        nvtx_time_sync(number, (const uint64_t[2]){from, to}, &points[i]);
}

static void time_factor(nvtxDomainHandle_t domain, uint64_t from, uint64_t to, double slope,
                        int64_t from_time, int64_t to_time)
{
    typedef void factor_call(nvtxDomainHandle_t, uint64_t, uint64_t, double, int64_t, int64_t);
    factor_call *next = NEXT(TIMESTAMP_CONVERSION_FACTOR, factor_call *);
    const struct nvtx_sync_given at = {from_time, to_time};
    if (next)
        next(domain, from, to, slope, from_time, to_time);
    nvtx_time_factor(nvtx_domain_known(domain), (const uint64_t[2]){from, to}, slope, &at);
}

static const intptr_t calls[] = {
    [SCHEMA_REGISTER] = (intptr_t)schema_register,
    [ENUM_REGISTER] = (intptr_t)enum_register,
    [MARK] = (intptr_t)mark,
    [PUSH] = (intptr_t)push,
    [POP] = (intptr_t)pop,
    [START] = (intptr_t)start,
    [END] = (intptr_t)end,
    [DOMAIN_IS_ENABLED] = (intptr_t)domain_is_enabled,
    [TIMESTAMP_GET] = (intptr_t)timestamp_get,
    [TIME_DOMAIN_REGISTER] = (intptr_t)time_register,
    [TIMER_SOURCE] = (intptr_t)timer_source,
    [TIMER_SOURCE_WITH_DATA] = (intptr_t)timer_source_with_data,
    [SCOPE_REGISTER] = (intptr_t)scope_register,
    [TIME_SYNC_POINT] = (intptr_t)time_sync_point,
    [TIME_SYNC_POINT_TABLE] = (intptr_t)time_sync_table,
    [TIMESTAMP_CONVERSION_FACTOR] = (intptr_t)time_factor,
    [EVENT_SUBMIT] = (intptr_t)submit,
    [EVENT_BATCH_SUBMIT] = (intptr_t)submit_batch,
};

const struct nvtx_extension_calls nvtx_payload_calls = {NVTX_EXTENSION_PAYLOAD,
                                                        sizeof(calls) / sizeof(*calls), calls};
