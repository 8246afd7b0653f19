/* SPDX-License-Identifier: MIT */
/* Extension MEM: a program's own allocators.
 *
 * A heap is a range of the process, in category "heap", from its registration on. Its regions are a
 * counter of bytes, "memory of HEAP", and each registration, resize or unregistration is a mark in
 * category "memory" with its address and size. Permissions are marks as well. Of regions, the last
 * 20,000 or so are known by their address; those of others end without a size in their mark.
 *
 * Handles of regions are their addresses, of heaps and permissions numbers. Threads: any. */
#include "nvtx.h"

#include "nvtx_extension.h"
#include "nvtx_line.h"
#include "nvtx_next.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <string.h>

enum { HEAPS = 1024, VALUES = 6 };

/* Sizes are stored up to here. */
#define SIZE_BITS 48
#define SIZE_MASK ((UINT64_C(1) << SIZE_BITS) - 1)

enum heap_state { HEAP_FREE = 0, HEAP_BUSY = 1, HEAP_USED = 2 };

struct heap {
    annot_name name;
    annot_name counter; /* 0: no region so far */
    annot_domain domain;
    uint32_t state;  /* enum heap_state; W: swapped, then stored */
    uint32_t resets; /* a region with an older count is no longer in the heap */
    uint64_t bytes;  /* of its regions; W: atomic */
    uint64_t range;  /* while it is registered */
};

/* 0 is the process's memory. */
static struct heap heaps[HEAPS];
static uint32_t permissions_count = 1;

/* ---- Marks ----------------------------------------------------------------------------------- */

/* A mark under construction. */
struct mark {
    annot_domain domain;
    const char *text;
    uint32_t count;
    struct annot_value values[VALUES];
};

static void add(struct mark *mark, struct annot_value value)
{
    if (mark->count < VALUES)
        mark->values[mark->count++] = value;
}

static void emit(const struct mark *mark)
{
    const struct annot_event event = {
        .text = mark->text,
        .domain = mark->domain,
        .category = annot_category_observed(mark->domain, "memory", ANNOT_OBSERVER_NVTX, 0),
        .values = mark->values,
        .value_count = mark->count};
    annot_mark_event(&event);
}

/* The digits are written to `text`. */
static void add_address(struct mark *mark, char text[19], uint64_t address)
{
    struct nvtx_line line = {text, text, text + 18, 0};
    nvtx_line_put(&line, "0x", 2);
    nvtx_line_hex(&line, address, 16);
    *line.at = 0;
    add(mark, annot_value_string("address", text));
}

static const char *text_of(annot_name name)
{
    const struct nvtx_message message = {name, ""};
    return nvtx_message_text(&message);
}

/* ---- Heaps ----------------------------------------------------------------------------------- */

static struct heap *heap_of(uintptr_t handle)
{
    uint64_t ours = nvtx_next_is_there() ? nvtx_map_get(NVTX_MAP_HEAP, handle) : 0;
    uint64_t number = ours ? ours : handle;
    if (number == 0)
        return &heaps[0];
    return number < HEAPS && annot_load_acquire(&heaps[number].state) == HEAP_USED
               ? &heaps[number]
               : NULL; /* partner: heap_register */
}

static void make_counter(struct heap *heap)
{
    char text[256];
    const char *name = heap == heaps ? "the process" : text_of(heap->name);
    struct nvtx_line line = {text, text, text + sizeof(text) - 1, 0};
    nvtx_line_put(&line, "memory of ", 10);
    for (; *name; name++)
        nvtx_line_put(&line, name, 1);
    *line.at = 0;
    annot_counter_unit(heap->domain, text, "bytes");
    annot_store_relaxed(&heap->counter, annot_name_intern(text));
}

static void change_bytes(struct heap *heap, uint64_t bytes)
{
    uint64_t sum = annot_fetch_add_relaxed(&heap->bytes, bytes) + bytes;
    if (!annot_load_relaxed(&heap->counter))
        make_counter(heap);
    struct annot_event event = {.name = annot_load_relaxed(&heap->counter),
                                .text = "memory",
                                .domain = heap->domain,
                                .payload_kind = ANNOT_PAYLOAD_INT64};
    event.payload.uint64 = sum;
    annot_counter_event(&event);
}

/* The process's heap is never free. */
static struct heap *take_heap(void)
{
    for (uint32_t i = 1; i < HEAPS; i++) {
        uint32_t state = HEAP_FREE;
        if (annot_cas_acq_rel(&heaps[i].state, &state, HEAP_BUSY)) /* partner: heap_unregister */
            return &heaps[i];
    }
    return NULL;
}

static uintptr_t heap_register(annot_domain domain, const struct nvtx_heap_given *given)
{
    struct annot_value values[3];
    if (!given || given->size < sizeof(*given))
        return UINTPTR_MAX;
    struct heap *heap = take_heap();
    if (!heap) {
        if (annot_enabled())
            nvtx_emit(domain, NULL, "more heaps than are kept");
        return UINTPTR_MAX;
    }
    nvtxMessageValue_t message = given->message;
    heap->domain = domain;
    if (given->message_type == NVTX_MESSAGE_TYPE_REGISTERED)
        message.registered = nvtx_string_known(message.registered);
    heap->name = nvtx_message_name((int32_t)given->message_type, message);
    size_t count = 0;
    const struct nvtx_memory_given *memory = given->range;
    values[count++] = annot_value_string("usage", given->usage == 1 ? "allocator" : "layout");
    if (given->type == NVTX_MEMORY_VIRTUAL && memory && given->range_size >= sizeof(*memory)) {
        values[count++] = annot_value_uint64("address", (uintptr_t)memory->address);
        values[count++] = annot_value_uint64("size", memory->size);
    }
    const struct annot_event event = {
        .name = heap->name,
        .text = "heap",
        .domain = domain,
        .category = annot_category_observed(domain, "heap", ANNOT_OBSERVER_NVTX, 0),
        .values = values,
        .value_count = count};
    heap->range = annot_start_event(&event);
    annot_store_release(&heap->state, HEAP_USED); /* partner: heap_of */
    return (uintptr_t)(heap - heaps);
}

/* Removes all of its regions. */
static void heap_empty(struct heap *heap)
{
    heap->resets++;
    uint64_t bytes = annot_load_relaxed(&heap->bytes);
    if (bytes)
        change_bytes(heap, 0 - bytes);
}

static void heap_unregister(struct heap *heap)
{
    if (!heap || heap == heaps)
        return;
    heap_empty(heap);
    annot_end(heap->range);
    heap->range = 0;
    annot_store_relaxed(&heap->counter, 0);
    annot_store_release(&heap->state, HEAP_FREE); /* partner: take_heap */
}

static void heap_reset(annot_domain domain, struct heap *heap)
{
    struct mark mark = {.domain = domain, .text = "heap reset"};
    if (!heap)
        return;
    heap_empty(heap);
    add(&mark, annot_value_string("heap", text_of(heap->name)));
    emit(&mark);
}

/* ---- Regions --------------------------------------------------------------------------------- */

/* Packs heap, reset count (three bits) and size into a value of the map. */
static uint64_t pack(const struct heap *heap, uint64_t size)
{
    uint64_t at = (uint64_t)(heap - heaps) + 1;
    return (at << 3 | (heap->resets & 7)) << SIZE_BITS | (size & SIZE_MASK);
}

/* Returns NULL for an unknown region. */
static struct heap *unpack(uint64_t packed, uint64_t *ret_size)
{
    uint64_t at = packed >> (SIZE_BITS + 3);
    *ret_size = packed & SIZE_MASK;
    if (at == 0 || at > HEAPS)
        return NULL;
    struct heap *heap = &heaps[at - 1];
    return (packed >> SIZE_BITS & 7) == (heap->resets & 7) ? heap : NULL;
}

/* A region, from an element of a batch. */
struct region {
    uint64_t address, size;
    int is_known; /* the size */
};

/* Elements have the given distance, which need not be aligned. */
static struct region region_of(uint32_t type, const void *element, size_t element_size)
{
    struct nvtx_memory_given memory;
    uintptr_t array[2];
    if (type == NVTX_MEMORY_VIRTUAL && element_size >= sizeof(memory)) {
        memcpy(&memory, element, sizeof(memory));
        return (struct region){(uintptr_t)memory.address, memory.size, 1};
    }
    /* Arrays of CUDA: two numbers, the second is their handle. */
    if (type < NVTX_MEMORY_CUDA_ARRAY || element_size < sizeof(array))
        return (struct region){0};
    memcpy(array, element, sizeof(array));
    return (struct region){array[1], 0, 0};
}

static void emit_region(annot_domain domain, const char *text, const struct region *region,
                        const struct heap *heap)
{
    char address[19];
    struct mark mark = {.domain = domain, .text = text};
    add_address(&mark, address, region->address);
    if (region->is_known)
        add(&mark, annot_value_uint64("size", region->size));
    if (heap && heap != heaps)
        add(&mark, annot_value_string("heap", text_of(heap->name)));
    emit(&mark);
}

static void regions_register(annot_domain domain, const struct nvtx_register_given *given,
                             int has_handles)
{
    struct heap *heap = heap_of(given->heap);
    const char *elements = given->elements;
    for (size_t i = 0; elements && i < given->count; i++) {
        struct region region =
            region_of(given->head.type, elements + i * given->element_size, given->element_size);
        if (given->handles && !has_handles)
            given->handles[i] = region.address;
        if (!heap || region.address == 0)
            continue;
        if (heap == heaps && !heap->domain)
            heap->domain = domain;
        nvtx_map_put(NVTX_MAP_REGION, region.address, pack(heap, region.size));
        if (given->handles && has_handles)
            nvtx_map_put(NVTX_MAP_REGION, given->handles[i], pack(heap, region.size));
        emit_region(domain, "region registered", &region, heap);
        if (region.is_known)
            change_bytes(heap, region.size & SIZE_MASK);
    }
}

static void regions_resize(annot_domain domain, const struct nvtx_resize_given *given)
{
    const char *elements = given->elements;
    for (size_t i = 0; elements && i < given->count; i++) {
        uint64_t before;
        struct region region =
            region_of(given->head.type, elements + i * given->element_size, given->element_size);
        struct heap *heap = unpack(nvtx_map_get(NVTX_MAP_REGION, region.address), &before);
        emit_region(domain, "region resized", &region, heap);
        if (!heap || !region.is_known)
            continue;
        nvtx_map_put(NVTX_MAP_REGION, region.address, pack(heap, region.size));
        change_bytes(heap, (region.size & SIZE_MASK) - before);
    }
}

static void regions_unregister(annot_domain domain, const struct nvtx_resize_given *given)
{
    const char *elements = given->elements;
    for (size_t i = 0; elements && given->element_size >= sizeof(uintptr_t) && i < given->count;
         i++) {
        struct region region = {.is_known = 0};
        uintptr_t reference;
        memcpy(&reference, elements + i * given->element_size, sizeof(reference));
        region.address = reference;
        struct heap *heap = unpack(nvtx_map_take(NVTX_MAP_REGION, reference), &region.size);
        region.is_known = heap && region.size;
        emit_region(domain, "region unregistered", &region, heap);
        if (region.is_known)
            change_bytes(heap, 0 - region.size);
    }
}

static void regions_name(annot_domain domain, const struct nvtx_names_given *given)
{
    const char *elements = given->elements;
    for (size_t i = 0;
         elements && given->element_size >= sizeof(struct nvtx_name_given) && i < given->count;
         i++) {
        struct nvtx_name_given named;
        memcpy(&named, elements + i * given->element_size, sizeof(named));
        char address[19];
        if (named.message_type == NVTX_MESSAGE_TYPE_REGISTERED)
            named.message.registered = nvtx_string_known(named.message.registered);
        struct nvtx_message message = nvtx_message_of((int32_t)named.message_type, named.message);
        struct mark mark = {.domain = domain, .text = "region named"};
        add_address(&mark, address, named.region);
        add(&mark, annot_value_string("name", nvtx_message_text(&message)));
        emit(&mark);
    }
}

/* ---- Permissions ----------------------------------------------------------------------------- */

static void permissions_assign(annot_domain domain, const struct nvtx_permissions_given *given)
{
    static const char *const access[] = {
        "none",   "read",         "write",         "read, write",
        "atomic", "read, atomic", "write, atomic", "read, write, atomic"};
    const char *elements = given->elements;
    for (size_t i = 0;
         elements && given->element_size >= sizeof(struct nvtx_assign_given) && i < given->count;
         i++) {
        struct nvtx_assign_given assigned;
        memcpy(&assigned, elements + i * given->element_size, sizeof(assigned));
        char address[19];
        struct mark mark = {.domain = domain, .text = "permissions assigned"};
        add_address(&mark, address, assigned.region);
        add(&mark, annot_value_string("access",
                                      assigned.flags & 8 ? "reset" : access[assigned.flags & 7]));
        add(&mark, annot_value_uint64("permissions", given->permissions));
        emit(&mark);
    }
}

static void emit_permissions(annot_domain domain, const char *text, uint64_t permissions,
                             const struct annot_value *value)
{
    struct mark mark = {.domain = domain, .text = text};
    add(&mark, annot_value_uint64("permissions", permissions));
    if (value)
        add(&mark, *value);
    emit(&mark);
}

/* ---- Slots ----------------------------------------------------------------------------------- */

enum slot {
    HEAP_REGISTER = 0,
    HEAP_UNREGISTER = 1,
    HEAP_RESET = 2,
    REGIONS_REGISTER = 3,
    REGIONS_RESIZE = 4,
    REGIONS_UNREGISTER = 5,
    REGIONS_NAME = 6,
    PERMISSIONS_ASSIGN = 7,
    PERMISSIONS_CREATE = 8,
    PERMISSIONS_DESTROY = 9,
    PERMISSIONS_RESET = 10,
    PERMISSIONS_BIND = 11,
    PERMISSIONS_UNBIND = 12,
    CUDA_PROCESS_PERMISSIONS = 13,
    CUDA_DEVICE_PERMISSIONS = 14,
    CUDA_PEER_ACCESS = 15,
    CUDA_INITIALIZED = 16,
};

#define NEXT(slot, type) NVTX_NEXT_EXTENSION(NVTX_EXTENSION_MEM, slot, type)

static uintptr_t call_heap_register(nvtxDomainHandle_t domain, const struct nvtx_heap_given *given)
{
    typedef uintptr_t call(nvtxDomainHandle_t, const struct nvtx_heap_given *);
    call *next = NEXT(HEAP_REGISTER, call *);
    uintptr_t theirs = next ? next(domain, given) : 0;
    uintptr_t ours = heap_register(nvtx_domain_known(domain), given);
    if (theirs)
        nvtx_map_put(NVTX_MAP_HEAP, theirs, ours);
    return theirs ? theirs : ours;
}

static void call_heap_unregister(nvtxDomainHandle_t domain, uintptr_t heap)
{
    typedef void call(nvtxDomainHandle_t, uintptr_t);
    call *next = NEXT(HEAP_UNREGISTER, call *);
    heap_unregister(heap_of(heap));
    if (next)
        next(domain, heap);
}

static void call_heap_reset(nvtxDomainHandle_t domain, uintptr_t heap)
{
    typedef void call(nvtxDomainHandle_t, uintptr_t);
    call *next = NEXT(HEAP_RESET, call *);
    if (next)
        next(domain, heap);
    heap_reset(nvtx_domain_known(domain), heap_of(heap));
}

/* The next tool's handles are used, if it provides any. */
static void call_regions_register(nvtxDomainHandle_t domain,
                                  const struct nvtx_register_given *given)
{
    typedef void call(nvtxDomainHandle_t, const struct nvtx_register_given *);
    call *next = NEXT(REGIONS_REGISTER, call *);
    if (next)
        next(domain, given);
    if (given && given->head.size >= sizeof(*given))
        regions_register(nvtx_domain_known(domain), given, next != NULL);
}

#define BATCH(function, slot, said_type, ours)                                                     \
    static void function(nvtxDomainHandle_t domain, const said_type *given)                        \
    {                                                                                              \
        typedef void call(nvtxDomainHandle_t, const said_type *);                                  \
        call *next = NEXT(slot, call *);                                                           \
        if (next)                                                                                  \
            next(domain, given);                                                                   \
        if (given && given->head.size >= sizeof(*given))                                           \
            ours(nvtx_domain_known(domain), given);                                                \
    }

BATCH(call_regions_resize, REGIONS_RESIZE, struct nvtx_resize_given, regions_resize)
BATCH(call_regions_unregister, REGIONS_UNREGISTER, struct nvtx_resize_given, regions_unregister)
BATCH(call_regions_name, REGIONS_NAME, struct nvtx_names_given, regions_name)
BATCH(call_assign, PERMISSIONS_ASSIGN, struct nvtx_permissions_given, permissions_assign)

static uintptr_t call_create(nvtxDomainHandle_t domain, int32_t flags)
{
    typedef uintptr_t call(nvtxDomainHandle_t, int32_t);
    call *next = NEXT(PERMISSIONS_CREATE, call *);
    uintptr_t theirs = next ? next(domain, flags) : 0;
    return theirs ? theirs : annot_fetch_add_relaxed(&permissions_count, 1);
}

#define PERMISSIONS(function, slot, text)                                                          \
    static void function(nvtxDomainHandle_t domain, uintptr_t permissions)                         \
    {                                                                                              \
        typedef void call(nvtxDomainHandle_t, uintptr_t);                                          \
        call *next = NEXT(slot, call *);                                                           \
        if (next)                                                                                  \
            next(domain, permissions);                                                             \
        if (annot_enabled())                                                                       \
            emit_permissions(nvtx_domain_known(domain), text, permissions, NULL);                  \
    }

PERMISSIONS(call_destroy, PERMISSIONS_DESTROY, "permissions destroyed")
PERMISSIONS(call_reset, PERMISSIONS_RESET, "permissions reset")

static const char *scope_of(uint32_t scope)
{
    return scope == 1 ? "thread" : scope == 2 ? "CUDA stream" : "unknown";
}

static void call_bind(nvtxDomainHandle_t domain, uintptr_t permissions, uint32_t scope,
                      uint32_t flags)
{
    typedef void call(nvtxDomainHandle_t, uintptr_t, uint32_t, uint32_t);
    call *next = NEXT(PERMISSIONS_BIND, call *);
    const struct annot_value value = annot_value_string("scope", scope_of(scope));
    if (next)
        next(domain, permissions, scope, flags);
    if (annot_enabled())
        emit_permissions(nvtx_domain_known(domain), "permissions bound", permissions, &value);
}

static void call_unbind(nvtxDomainHandle_t domain, uint32_t scope)
{
    typedef void call(nvtxDomainHandle_t, uint32_t);
    call *next = NEXT(PERMISSIONS_UNBIND, call *);
    struct mark mark = {.domain = nvtx_domain_known(domain), .text = "permissions unbound"};
    if (next)
        next(domain, scope);
    add(&mark, annot_value_string("scope", scope_of(scope)));
    if (annot_enabled())
        emit(&mark);
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

/* No object of PERMISSIONS_CREATE has these numbers. */
enum { PERMISSIONS_OF_PROCESS = 1 << 30, PERMISSIONS_OF_DEVICE = PERMISSIONS_OF_PROCESS + 1 };

static uintptr_t call_cuda_process(nvtxDomainHandle_t domain)
{
    typedef uintptr_t call(nvtxDomainHandle_t);
    call *next = NEXT(CUDA_PROCESS_PERMISSIONS, call *);
    uintptr_t theirs = next ? next(domain) : 0;
    return theirs ? theirs : PERMISSIONS_OF_PROCESS;
}

static uintptr_t call_cuda_device(nvtxDomainHandle_t domain, int device)
{
    typedef uintptr_t call(nvtxDomainHandle_t, int);
    call *next = NEXT(CUDA_DEVICE_PERMISSIONS, call *);
    uintptr_t theirs = next ? next(domain, device) : 0;
    return theirs ? theirs : PERMISSIONS_OF_DEVICE + (uintptr_t)(unsigned)device;
}

static void call_cuda_peer(nvtxDomainHandle_t domain, uintptr_t permissions, int peer,
                           uint32_t flags)
{
    typedef void call(nvtxDomainHandle_t, uintptr_t, int, uint32_t);
    call *next = NEXT(CUDA_PEER_ACCESS, call *);
    const struct annot_value value = annot_value_int64("device", peer);
    if (next)
        next(domain, permissions, peer, flags);
    if (annot_enabled())
        emit_permissions(nvtx_domain_known(domain), "peer access set", permissions, &value);
}

static void call_cuda_initialized(nvtxDomainHandle_t domain, const void *stream,
                                  uint8_t is_of_thread, const struct nvtx_resize_given *given)
{
    typedef void call(nvtxDomainHandle_t, const void *, uint8_t, const struct nvtx_resize_given *);
    call *next = NEXT(CUDA_INITIALIZED, call *);
    if (next)
        next(domain, stream, is_of_thread, given);
    if (!annot_enabled() || !given || given->head.size < sizeof(*given) || !given->elements)
        return;
    for (size_t i = 0; i < given->count; i++) {
        struct region region =
            region_of(given->head.type, (const char *)given->elements + i * given->element_size,
                      given->element_size);
        emit_region(nvtx_domain_known(domain), "region initialized", &region, NULL);
    }
}

static const intptr_t calls[] = {
    [HEAP_REGISTER] = (intptr_t)call_heap_register,
    [HEAP_UNREGISTER] = (intptr_t)call_heap_unregister,
    [HEAP_RESET] = (intptr_t)call_heap_reset,
    [REGIONS_REGISTER] = (intptr_t)call_regions_register,
    [REGIONS_RESIZE] = (intptr_t)call_regions_resize,
    [REGIONS_UNREGISTER] = (intptr_t)call_regions_unregister,
    [REGIONS_NAME] = (intptr_t)call_regions_name,
    [PERMISSIONS_ASSIGN] = (intptr_t)call_assign,
    [PERMISSIONS_CREATE] = (intptr_t)call_create,
    [PERMISSIONS_DESTROY] = (intptr_t)call_destroy,
    [PERMISSIONS_RESET] = (intptr_t)call_reset,
    [PERMISSIONS_BIND] = (intptr_t)call_bind,
    [PERMISSIONS_UNBIND] = (intptr_t)call_unbind,
    [CUDA_PROCESS_PERMISSIONS] = (intptr_t)call_cuda_process,
    [CUDA_DEVICE_PERMISSIONS] = (intptr_t)call_cuda_device,
    [CUDA_PEER_ACCESS] = (intptr_t)call_cuda_peer,
    [CUDA_INITIALIZED] = (intptr_t)call_cuda_initialized,
};

const struct nvtx_extension_calls nvtx_mem_calls = {NVTX_EXTENSION_MEM,
                                                    sizeof(calls) / sizeof(*calls), calls};
