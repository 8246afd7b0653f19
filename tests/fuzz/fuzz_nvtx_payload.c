/* SPDX-License-Identifier: MIT */
/* Random calls of NVTX's extensions: wrong, recursive or overlapping layouts, payloads of another
 * size, arbitrary pointers, enums, scopes, times, counters, heaps. No crash, and no read past the
 * given sizes: every argument is exactly as long as it claims. */
#include "nvtx_extension.h"
#include "nvtx_input.h"
#include "nvtx_payload.h"
#include "nvtx_schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 4, ENTRIES = 12, BLOBS = 3, BLOB_SIZE = 96, HELD = 64 };

/* The allocations of an input, freed at its end. */
static void *held[HELD];
static unsigned held_count;

static void *hold(const void *bytes, size_t size)
{
    void *copy = held_count < HELD ? malloc(size) : NULL;
    if (copy) {
        memcpy(copy, bytes, size);
        held[held_count++] = copy;
    }
    return copy;
}

static void let_go(void)
{
    while (held_count)
        free(held[--held_count]);
}

/* Usually one of a few, so that ids match. */
static uint64_t take_id(struct nvtx_input *input)
{
    uint8_t which = (uint8_t)nvtx_take(input, 1);
    if (which < 8)
        return nvtx_take_handle(input);
    return which & 1 ? NVTX_ID_STATIC + which / 2 % IDS : which / 2 % NVTX_TYPE_COUNT;
}

static nvtxDomainHandle_t take_domain(struct nvtx_input *input)
{
    uint8_t which = (uint8_t)nvtx_take(input, 1);
    return (nvtxDomainHandle_t)(uintptr_t)(which < 4 ? nvtx_take_handle(input) : 0);
}

static uint64_t take_flags(struct nvtx_input *input)
{
    uint8_t flags = (uint8_t)nvtx_take(input, 1), more = (uint8_t)nvtx_take(input, 1);
    if (flags < 96)
        flags &= NVTX_ENTRY_ARRAYS;
    return flags | (uint64_t)(more & 7) << 8 | (uint64_t)(more >> 5) << 12;
}

static const struct nvtx_semantics *take_semantics(struct nvtx_input *input)
{
    struct nvtx_semantics_counter counter = {.header.size = sizeof(counter)};
    uint8_t shape = (uint8_t)nvtx_take(input, 1);
    if (shape < 160)
        return NULL;
    counter.header.id = shape % 8;
    counter.flags = take_id(input);
    counter.unit = nvtx_take_text(input);
    counter.scale = nvtx_take(input, 1);
    counter.divisor = nvtx_take(input, 1);
    if (shape & 8)
        counter.header.size = sizeof(struct nvtx_semantics_number);
    return hold(&counter, counter.header.size);
}

static uint64_t take_small(struct nvtx_input *input)
{
    uint8_t shape = (uint8_t)nvtx_take(input, 1);
    return shape < 240 ? shape % 24 : nvtx_take(input, 8);
}

static const struct nvtx_schema_given *take_schema(struct nvtx_input *input)
{
    struct nvtx_entry_given entries[ENTRIES] = {0};
    struct nvtx_schema_given schema = {0};
    size_t count = nvtx_take(input, 1) % (ENTRIES + 1);
    for (size_t i = 0; i < count; i++) {
        entries[i].flags = take_flags(input);
        entries[i].type = take_id(input);
        entries[i].name = nvtx_take_text(input);
        entries[i].detail = take_small(input);
        if (nvtx_take(input, 1) & 1)
            entries[i].offset = take_small(input);
        entries[i].semantics = take_semantics(input);
    }
    schema.fields = nvtx_take(input, 1) < 8 ? nvtx_take(input, 2) : 0x1fe;
    schema.name = nvtx_take_text(input);
    schema.type = nvtx_take(input, 1) % 6;
    schema.flags = nvtx_take(input, 1);
    schema.count = count;
    schema.entries = hold(entries, count * sizeof(entries[0]));
    schema.size = nvtx_take(input, 1) & 1 ? take_small(input) : 0;
    schema.alignment = nvtx_take(input, 1) & 1 ? take_small(input) : 0;
    if (nvtx_take(input, 1) & 1)
        schema.id = NVTX_ID_STATIC + nvtx_take(input, 1) % IDS;
    if (!schema.entries)
        return NULL;
    return hold(&schema, sizeof(schema));
}

static const struct nvtx_enum_given *take_enum(struct nvtx_input *input)
{
    struct nvtx_enum_value_given values[4];
    struct nvtx_enum_given given = {.fields = 0x3e, .values = values};
    given.count = nvtx_take(input, 1) % 5;
    given.size = nvtx_take(input, 1) % 10;
    given.id = nvtx_take(input, 1) & 1 ? NVTX_ID_STATIC + nvtx_take(input, 1) % IDS : 0;
    for (size_t i = 0; i < given.count; i++)
        values[i] = (struct nvtx_enum_value_given){nvtx_take_text(input), nvtx_take(input, 2),
                                                   (int8_t)nvtx_take(input, 1)};
    given.values = hold(values, given.count * sizeof(values[0]));
    return given.values ? hold(&given, sizeof(given)) : NULL;
}

/* ---- Payloads -------------------------------------------------------------------------------- */

/* Takes bytes, including addresses of valid memory. */
static const void *take_bytes(struct nvtx_input *input, size_t size)
{
    uint8_t bytes[BLOB_SIZE];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)nvtx_take(input, 1);
    for (size_t i = 0; held_count && i + 8 <= size; i += 8) {
        uint64_t address = (uintptr_t)held[bytes[i] % held_count] + bytes[i + 1] % 16;
        if (bytes[i + 2] % 4 == 0)
            memcpy(bytes + i, &address, sizeof(address));
    }
    return hold(bytes, size);
}

static const struct nvtx_blob_given *take_blobs(struct nvtx_input *input, size_t *ret_count)
{
    struct nvtx_blob_given blobs[BLOBS] = {0};
    size_t count = nvtx_take(input, 1) % (BLOBS + 1);
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        blobs[i].schema = take_id(input);
        blobs[i].size = nvtx_take(input, 1) % (BLOB_SIZE + 1);
        blobs[i].bytes = take_bytes(input, blobs[i].size);
        if (nvtx_take(input, 1) < 8)
            blobs[i].bytes = NULL;
        if (!blobs[i].bytes)
            blobs[i].size = 8;
        if (blobs[i].schema == NVTX_TYPE_CSTRING && nvtx_take(input, 1) & 1)
            blobs[i] =
                (struct nvtx_blob_given){NVTX_TYPE_CSTRING, SIZE_MAX, "a text of the program"};
    }
    const struct nvtx_blob_given *copy = count ? hold(blobs, count * sizeof(blobs[0])) : NULL;
    *ret_count = copy ? count : 0;
    return copy;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

#define CALL(extension, slot, ...) ((__VA_ARGS__)nvtx_##extension##_calls.calls[slot])

typedef uint64_t register_call(nvtxDomainHandle_t, const void *);
typedef int level_call(nvtxDomainHandle_t, const void *, size_t);
typedef void blobs_call(nvtxDomainHandle_t, const void *, size_t);

static void call_register(struct nvtx_input *input)
{
    nvtxDomainHandle_t domain = take_domain(input);
    struct nvtx_scope_given scope = {sizeof(scope), nvtx_take_text(input), take_id(input), 0};
    struct nvtx_time_given times = {.scope = take_id(input),
                                    .type = nvtx_take(input, 1) % 60,
                                    .resolution = (int64_t)nvtx_take(input, 4)};
    switch (nvtx_take(input, 1) % 8) {
    case 0:
        scope.size = nvtx_take(input, 1) % (sizeof(scope) + 1);
        if (scope.size < sizeof(scope.size))
            scope.size = sizeof(scope.size);
        nvtx_keep(CALL(payload, 12, register_call *)(domain, hold(&scope, scope.size)));
        return;
    case 1:
        times.id = nvtx_take(input, 1) & 1 ? NVTX_ID_STATIC + nvtx_take(input, 1) % IDS : 0;
        nvtx_keep(CALL(payload, 9, register_call *)(domain, hold(&times, sizeof(times))));
        return;
    case 2:
        nvtx_keep(CALL(payload, 1, register_call *)(domain, take_enum(input)));
        return;
    default:
        nvtx_keep(CALL(payload, 0, register_call *)(domain, take_schema(input)));
    }
}

/* Takes attributes with payloads. */
static void call_attributes(struct nvtx_input *input, nvtxDomainHandle_t domain,
                            const struct nvtx_blob_given *blobs, size_t count)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = sizeof(event)};
    event.payloadType = NVTX_PAYLOAD_IS_BLOBS;
    event.reserved0 = (int32_t)count;
    event.payload.ullValue = (uintptr_t)blobs;
    event.messageType = (int32_t)nvtx_take(input, 1) % 4;
    event.message = nvtx_take_message(input, event.messageType);
    if (nvtx_take(input, 1) % 16 == 0)
        event.size = (uint16_t)(nvtx_take(input, 1) % sizeof(event));
    nvtx_mark(domain, hold(&event, event.size < 4 ? 4 : event.size));
    assert(nvtx_push(domain, hold(&event, event.size < 4 ? 4 : event.size)) >= -2);
}

static void call_event(struct nvtx_input *input)
{
    typedef void end_call(nvtxDomainHandle_t, uint64_t, const void *, size_t);
    nvtxDomainHandle_t domain = take_domain(input);
    size_t count;
    const struct nvtx_blob_given *blobs = take_blobs(input, &count);
    unsigned slot = (unsigned)nvtx_take(input, 1) % 7;
    switch (slot) {
    case 0:
        CALL(payload, 2, blobs_call *)(domain, blobs, count);
        return;
    case 1:
        assert(CALL(payload, 3, level_call *)(domain, blobs, count) >= -2);
        return;
    case 2:
        assert(CALL(payload, 4, level_call *)(domain, blobs, count) >= -2);
        return;
    case 3:
        nvtx_keep(CALL(payload, 5, uint64_t(*)(nvtxDomainHandle_t, const void *, size_t))(
            domain, blobs, count));
        return;
    case 4:
        CALL(payload, 6, end_call *)(domain, nvtx_take_handle(input), blobs, count);
        return;
    case 5:
        CALL(payload, 16, blobs_call *)(domain, blobs, count);
        return;
    default:
        call_attributes(input, domain, blobs, count);
    }
}

static void call_batch(struct nvtx_input *input)
{
    struct nvtx_batch_given batch = {.schema = take_id(input),
                                     .size = nvtx_take(input, 1) % (BLOB_SIZE + 1),
                                     .scope = take_id(input),
                                     .flexible_size = nvtx_take(input, 1) % (BLOB_SIZE + 1)};
    batch.events = take_bytes(input, batch.size);
    batch.flexible = take_bytes(input, batch.flexible_size);
    if (batch.events && batch.flexible)
        CALL(payload, 17, void (*)(nvtxDomainHandle_t, const void *))
    (take_domain(input), hold(&batch, sizeof(batch)));
}

static int64_t some_time(void *data)
{
    (void)data;
    static int64_t now;
    return now += 1000;
}

static void call_times(struct nvtx_input *input)
{
    typedef void point_call(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t, int64_t);
    typedef void factor_call(nvtxDomainHandle_t, uint64_t, uint64_t, double, int64_t, int64_t);
    typedef void source_call(nvtxDomainHandle_t, uint64_t, uint64_t, int64_t(*)(void *), void *);
    nvtxDomainHandle_t domain = take_domain(input);
    uint64_t from = take_id(input), to = take_id(input);
    int64_t first = (int64_t)nvtx_take(input, 8), second = (int64_t)nvtx_take(input, 8);
    unsigned slot = (unsigned)nvtx_take(input, 1) % 3;
    if (slot == 0)
        CALL(payload, 13, point_call *)(domain, from, to, first, second);
    else if (slot == 1)
        CALL(payload, 15, factor_call *)(domain, from, to, (double)second, first, second);
    else
        CALL(payload, 11, source_call *)(domain, from, 0, some_time, NULL);
}

static void call_counter(struct nvtx_input *input)
{
    nvtxDomainHandle_t domain = take_domain(input);
    struct nvtx_counter_given given = {.size = sizeof(given),
                                       .schema = take_id(input),
                                       .name = nvtx_take_text(input),
                                       .scope = take_id(input),
                                       .semantics = take_semantics(input)};
    struct nvtx_samples_given batch = {.counter = take_id(input),
                                       .flags = nvtx_take(input, 1) << 32,
                                       .size = nvtx_take(input, 1) % (BLOB_SIZE + 1),
                                       .times_size = nvtx_take(input, 1) % (BLOB_SIZE + 1)};
    size_t size = nvtx_take(input, 1) % (BLOB_SIZE + 1);
    switch (nvtx_take(input, 1) % 6) {
    case 0:
        CALL(counters, 1, void (*)(nvtxDomainHandle_t, uint64_t, int64_t))
        (domain, batch.counter, (int64_t)nvtx_take(input, 8));
        return;
    case 1:
        CALL(counters, 2, void (*)(nvtxDomainHandle_t, uint64_t, double))
        (domain, batch.counter, (double)nvtx_take(input, 8));
        return;
    case 2:
        CALL(counters, 3, void (*)(nvtxDomainHandle_t, uint64_t, const void *, size_t))
        (domain, batch.counter, take_bytes(input, size), size);
        return;
    case 3:
        batch.samples = take_bytes(input, batch.size);
        batch.times = take_bytes(input, batch.times_size);
        CALL(counters, 5, void (*)(nvtxDomainHandle_t, const void *))
        (domain, hold(&batch, sizeof(batch)));
        return;
    default:
        given.id = nvtx_take(input, 1) & 1 ? NVTX_ID_STATIC + nvtx_take(input, 1) % IDS : 0;
        given.size = nvtx_take(input, 1) < 16 ? 8 + nvtx_take(input, 1) % 48 : sizeof(given);
        nvtx_keep(CALL(counters, 0, register_call *)(domain, hold(&given, given.size)));
    }
}

/* Takes a batch in one of four layouts, exactly as long as it claims. */
static const void *take_list(struct nvtx_input *input, unsigned slot,
                             const struct nvtx_register_given *batch)
{
    struct nvtx_permissions_given list = {.head = batch->head};
    size_t whole = slot == 7 ? sizeof(list) : sizeof(struct nvtx_resize_given) + (slot == 6) * 8;
    uintptr_t words[] = {batch->count, batch->element_size, (uintptr_t)batch->elements, 0};
    list.head.size = (uint16_t)whole;
    if (nvtx_take(input, 1) < 32)
        list.head.size =
            (uint16_t)(sizeof(list.head) + nvtx_take(input, 1) % (whole - sizeof(list.head)));
    if (slot == 7)
        list.permissions = batch->heap;
    memcpy((char *)&list + sizeof(list.head) + (slot == 7) * sizeof(uintptr_t), words,
           sizeof(words) - (slot != 7) * sizeof(uintptr_t));
    return hold(&list, list.head.size);
}

static void call_memory(struct nvtx_input *input)
{
    nvtxDomainHandle_t domain = take_domain(input);
    struct nvtx_register_given batch = {.head = {.size = sizeof(batch), .type = 1},
                                        .heap = nvtx_take_handle(input),
                                        .count = nvtx_take(input, 1) % 4,
                                        .element_size = nvtx_take(input, 1) % 24};
    struct nvtx_heap_given heap = {.size = sizeof(heap), .type = 1, .message_type = 1};
    unsigned slot = (unsigned)nvtx_take(input, 1) % 8;
    batch.elements = take_bytes(input, batch.count * batch.element_size);
    heap.message.ascii = nvtx_take_text(input);
    if (!batch.elements)
        return;
    if (slot == 0)
        nvtx_keep(CALL(mem, 0, register_call *)(domain, &heap));
    else if (slot <= 2)
        CALL(mem, slot, void (*)(nvtxDomainHandle_t, uint64_t))(domain, batch.heap);
    else if (slot == 3)
        CALL(mem, 3, void (*)(nvtxDomainHandle_t, const void *))(domain, &batch);
    else
        CALL(mem, slot, void (*)(nvtxDomainHandle_t, const void *))
    (domain, take_list(input, slot, &batch));
}

static void call_any(struct nvtx_input *input)
{
    switch (nvtx_take(input, 1) % 12) {
    case 0:
        call_batch(input);
        return;
    case 1:
        call_times(input);
        return;
    case 2:
        call_counter(input);
        return;
    case 3:
        call_memory(input);
        return;
    case 4:
    case 5:
    case 6:
    case 7:
        call_register(input);
        return;
    default:
        call_event(input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct nvtx_input input = {bytes, bytes + (size < 4096 ? size : 4096)};
    nvtx_input_begin();
    while (input.at < input.end) {
        call_any(&input);
        if (held_count > HELD / 2)
            let_go();
    }
    let_go();
    nvtx_registry_clear();
    nvtx_input_end();
    return 0;
}
