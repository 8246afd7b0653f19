/* SPDX-License-Identifier: MIT */
/* Events of any domain, and the callbacks by module of NVTX. CORE is the default domain. */
#include "nvtx_calls.h"

#include "inject_emit.h"
#include "inject_objects.h"
#include "nvtx_event.h"
#include "nvtx_payload.h"
#include "nvtx_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Outside of recordings, a callback should be a load, a test and a return, without a taken branch:
 * code that needs a frame is in a separate function. */
#define APART_CALL static __attribute__((noinline))

/* Such short functions fit one cache line: across two they take a cycle more. */
#define PAIR_CALL __attribute__((aligned(64)))

/* ---- Any domain ------------------------------------------------------------------------------ */

__attribute__((noinline)) int nvtx_push_event(const struct annot_event *event)
{
    struct nvtx_thread *thread = nvtx_thread_mine();
    if (!thread) {
        inject_emit.push_event(event);
        return NVTX_NO_PUSH_POP_TRACKING;
    }
    if (__builtin_expect(thread->lanes[event->domain].is_apart, 0))
        return nvtx_thread_push(thread, event->domain, NVTX_OPEN_APART,
                                annot_emit_start_event(event));
    inject_emit.push_event(event);
    return nvtx_thread_push(thread, event->domain, NVTX_OPEN_NESTED, 0);
}

/* Either `name` or `text`. */
APART_CALL int push_in(annot_domain domain, annot_name name, const char *text)
{
    struct nvtx_thread *thread = nvtx_thread_mine();
    if (__builtin_expect(thread && !thread->lanes[domain].is_apart, 1)) {
        inject_emit.push_in(domain, name, text);
        return nvtx_thread_push(thread, domain, NVTX_OPEN_NESTED, 0);
    }
    const struct annot_event event = {.name = name, .text = text, .domain = domain};
    return nvtx_push_event(&event);
}

APART_CALL int push_attributes(annot_domain domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    if (nvtx_has_blobs(attributes))
        return nvtx_push_blobs(domain, attributes);
    nvtx_event_read(&event, domain, attributes);
    return nvtx_push_event(&event);
}

APART_CALL int push_recorded(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    annot_domain number = nvtx_domain_of(domain);
    annot_name name = nvtx_plain_name(attributes);
    if (__builtin_expect(name != 0, 1))
        return push_in(number, name, NULL);
    return push_attributes(number, attributes);
}

PAIR_CALL int nvtx_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? push_recorded(domain, attributes)
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

APART_CALL int pop_recorded(nvtxDomainHandle_t domain)
{
    annot_domain number = nvtx_domain_of(domain);
    struct nvtx_thread *thread = nvtx_thread_mine();
    if (__builtin_expect(!thread || !nvtx_thread_is_plain(thread, number), 0))
        return nvtx_thread_pop(thread, number, NULL, 0);
    inject_emit.pop();
    return nvtx_thread_pop_plain(thread, number);
}

PAIR_CALL int nvtx_pop(nvtxDomainHandle_t domain)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? pop_recorded(domain) : NVTX_NO_PUSH_POP_TRACKING;
}

APART_CALL nvtxRangeId_t start_recorded(nvtxDomainHandle_t domain,
                                        const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    annot_range range;
    if (nvtx_has_blobs(attributes)) {
        range = nvtx_start_blobs(nvtx_domain_of(domain), attributes);
    } else {
        nvtx_event_read(&event, nvtx_domain_of(domain), attributes);
        range = annot_emit_start_event(&event);
    }
    return range ? range : NVTX_RANGE_NONE;
}

nvtxRangeId_t nvtx_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? start_recorded(domain, attributes) : NVTX_RANGE_NONE;
}

void nvtx_end(nvtxRangeId_t range)
{
    if (ANNOT_UNLIKELY(annot_enabled()) && range > NVTX_RANGE_NONE)
        annot_emit_end(range);
}

APART_CALL void mark_recorded(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct annot_event event;
    annot_domain number = nvtx_domain_of(domain);
    annot_name name = nvtx_plain_name(attributes);
    if (name) {
        inject_emit.mark_in(number, name, NULL);
        return;
    }
    if (nvtx_has_blobs(attributes)) {
        nvtx_mark_blobs(number, attributes);
        return;
    }
    nvtx_event_read(&event, number, attributes);
    inject_emit.mark_event(&event);
}

void nvtx_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        mark_recorded(domain, attributes);
}

/* ---- The default domain: texts --------------------------------------------------------------- */

static void read_text(struct annot_event *event, struct nvtx_numbered *read, const char *message)
{
    const char *numbers = nvtx_numbers_of(message);
    *event = (struct annot_event){.text = message, .domain = nvtx_domain_of(NULL)};
    if (!numbers || !nvtx_numbered_read(read, message, numbers))
        return;
    event->text = read->text;
    event->values = read->values;
    event->value_count = read->count;
}

APART_CALL int push_numbered(const char *message)
{
    struct annot_event event;
    struct nvtx_numbered read;
    read_text(&event, &read, message);
    return nvtx_push_event(&event);
}

APART_CALL int push_text(const char *message)
{
    if (__builtin_expect(nvtx_numbers_of(message) != NULL, 0))
        return push_numbered(message);
    return push_in(nvtx_domain_of(NULL), 0, message);
}

PAIR_CALL static int push_a(const char *message)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? push_text(message) : NVTX_NO_PUSH_POP_TRACKING;
}

static int push_w(const wchar_t *message)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? push_text(nvtx_thread_text(message))
                                           : NVTX_NO_PUSH_POP_TRACKING;
}

PAIR_CALL static int push_ex(const nvtxEventAttributes_t *attributes)
{
    return nvtx_push(NULL, attributes);
}

PAIR_CALL static int pop(void)
{
    return nvtx_pop(NULL);
}

APART_CALL nvtxRangeId_t start_text(const char *message)
{
    struct annot_event event;
    struct nvtx_numbered read;
    read_text(&event, &read, message);
    annot_range range = annot_emit_start_event(&event);
    return range ? range : NVTX_RANGE_NONE;
}

static nvtxRangeId_t start_a(const char *message)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? start_text(message) : NVTX_RANGE_NONE;
}

static nvtxRangeId_t start_w(const wchar_t *message)
{
    return ANNOT_UNLIKELY(annot_enabled()) ? start_text(nvtx_thread_text(message))
                                           : NVTX_RANGE_NONE;
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *attributes)
{
    return nvtx_start(NULL, attributes);
}

APART_CALL void mark_text(const char *message)
{
    struct annot_event event;
    struct nvtx_numbered read;
    if (__builtin_expect(!nvtx_numbers_of(message), 1)) {
        inject_emit.mark_in(nvtx_domain_of(NULL), 0, message);
        return;
    }
    read_text(&event, &read, message);
    inject_emit.mark_event(&event);
}

static void mark_a(const char *message)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        mark_text(message);
}

static void mark_w(const wchar_t *message)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        mark_text(nvtx_thread_text(message));
}

static void mark_ex(const nvtxEventAttributes_t *attributes)
{
    nvtx_mark(NULL, attributes);
}

/* ---- Names: module CORE ---------------------------------------------------------------------- */

static void name_category_a(uint32_t category, const char *name)
{
    nvtx_category_name(nvtx_domain_of(NULL), category, name);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
    name_category_a(category, nvtx_thread_text(name));
}

/* Some programs pass the result of pthread_self(), cut. */
static void nvtx_name_thread(uint32_t thread, const char *name)
{
    int error = errno;
    if (thread == (uint32_t)gettid() || thread == (uint32_t)(uintptr_t)pthread_self())
        annot_name_thread(name);
    else if (syscall(SYS_tgkill, getpid(), (int)thread, 0) == 0)
        annot_name_thread_of((int)thread, name);
    errno = error;
}

static void name_thread_w(uint32_t thread, const wchar_t *name)
{
    nvtx_name_thread(thread, nvtx_thread_text(name));
}

const NvtxFunctionPointer nvtx_core_calls[NVTX_CBID_CORE_SIZE] = {
    [NVTX_CBID_CORE_MarkEx] = NVTX_CALL(mark_ex),
    [NVTX_CBID_CORE_MarkA] = NVTX_CALL(mark_a),
    [NVTX_CBID_CORE_MarkW] = NVTX_CALL(mark_w),
    [NVTX_CBID_CORE_RangeStartEx] = NVTX_CALL(start_ex),
    [NVTX_CBID_CORE_RangeStartA] = NVTX_CALL(start_a),
    [NVTX_CBID_CORE_RangeStartW] = NVTX_CALL(start_w),
    [NVTX_CBID_CORE_RangeEnd] = NVTX_CALL(nvtx_end),
    [NVTX_CBID_CORE_RangePushEx] = NVTX_CALL(push_ex),
    [NVTX_CBID_CORE_RangePushA] = NVTX_CALL(push_a),
    [NVTX_CBID_CORE_RangePushW] = NVTX_CALL(push_w),
    [NVTX_CBID_CORE_RangePop] = NVTX_CALL(pop),
    [NVTX_CBID_CORE_NameCategoryA] = NVTX_CALL(name_category_a),
    [NVTX_CBID_CORE_NameCategoryW] = NVTX_CALL(name_category_w),
    [NVTX_CBID_CORE_NameOsThreadA] = NVTX_CALL(nvtx_name_thread),
    [NVTX_CBID_CORE_NameOsThreadW] = NVTX_CALL(name_thread_w),
};

/* ---- Domains: module CORE2 ------------------------------------------------------------------- */

static nvtxDomainHandle_t domain_create_a(const char *name)
{
    return nvtx_domain_handle(nvtx_domain_make(name));
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name)
{
    return domain_create_a(nvtx_thread_text(name));
}

/* No effect: other images may use the domain of that name, and its open ranges continue. */
static void domain_destroy(nvtxDomainHandle_t domain)
{
    (void)domain;
}

static void initialize(const void *reserved)
{
    (void)reserved;
}

static void end_of_domain(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    (void)domain;
    nvtx_end(range);
}

static void name_domain_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    nvtx_category_name(nvtx_domain_of(domain), category, name);
}

static void name_domain_category_w(nvtxDomainHandle_t domain, uint32_t category,
                                   const wchar_t *name)
{
    name_domain_category_a(domain, category, nvtx_thread_text(name));
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return nvtx_string_make(text);
}

static nvtxStringHandle_t register_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
    return register_a(domain, nvtx_thread_text(text));
}

/* ---- Resources: module CORE2 ----------------------------------------------------------------- */

/* A resource without a stored name. */
#define RESOURCE_NONE ((nvtxResourceHandle_t)UINTPTR_MAX)

/* Maps a resource type to the object kind that the naming calls of CUDA and OpenCL use. */
static uint32_t object_of(uint32_t type)
{
    static const struct {
        uint16_t class, first, object, count;
    } classes[] = {
        {4, 1, INJECT_CU_DEVICE, 4},   /* NVTX_RESOURCE_CLASS_CUDA */
        {5, 0, INJECT_CUDA_DEVICE, 3}, /* ..._CUDART */
        {6, 1, INJECT_CL_DEVICE, 7},   /* ..._OPENCL */
    };

    uint32_t index = type & 0xffff;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (type >> 16 == classes[i].class && index - classes[i].first < classes[i].count)
            return classes[i].object + index - classes[i].first;
    return INJECT_OBJECT_RESOURCE + type;
}

static void name_resource(const nvtxResourceAttributes_t *what, uint32_t *ret_place)
{
    struct nvtx_message message = nvtx_message_of(what->messageType, what->message);
    const char *name = nvtx_message_text(&message);
    uint32_t type = (uint32_t)what->identifierType;
    uint64_t value = what->identifier.ullValue;
    if (type == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE ||
        (type == NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX && value == (uintptr_t)pthread_self()))
        nvtx_name_thread((uint32_t)value, name);
    *ret_place = inject_object_name(object_of(type), value, name);
}

static nvtxResourceHandle_t resource_create(nvtxDomainHandle_t domain,
                                            nvtxResourceAttributes_t *attributes)
{
    nvtxResourceAttributes_t whole = {0};
    uint32_t place = 0;
    (void)domain;
    if (attributes) {
        size_t size = attributes->size < sizeof(whole) ? attributes->size : sizeof(whole);
        memcpy(&whole, attributes, size);
        if (size < sizeof(whole)) /* the message is the last member */
            whole.messageType = NVTX_MESSAGE_UNKNOWN;
        name_resource(&whole, &place);
    }
    return place ? (nvtxResourceHandle_t)(uintptr_t)place : RESOURCE_NONE;
}

static void resource_destroy(nvtxResourceHandle_t resource)
{
    uintptr_t place = (uintptr_t)resource;
    if (place <= UINT32_MAX)
        inject_object_forget((uint32_t)place);
}

const NvtxFunctionPointer nvtx_core2_calls[NVTX_CBID_CORE2_SIZE] = {
    [NVTX_CBID_CORE2_DomainMarkEx] = NVTX_CALL(nvtx_mark),
    [NVTX_CBID_CORE2_DomainRangeStartEx] = NVTX_CALL(nvtx_start),
    [NVTX_CBID_CORE2_DomainRangeEnd] = NVTX_CALL(end_of_domain),
    [NVTX_CBID_CORE2_DomainRangePushEx] = NVTX_CALL(nvtx_push),
    [NVTX_CBID_CORE2_DomainRangePop] = NVTX_CALL(nvtx_pop),
    [NVTX_CBID_CORE2_DomainResourceCreate] = NVTX_CALL(resource_create),
    [NVTX_CBID_CORE2_DomainResourceDestroy] = NVTX_CALL(resource_destroy),
    [NVTX_CBID_CORE2_DomainNameCategoryA] = NVTX_CALL(name_domain_category_a),
    [NVTX_CBID_CORE2_DomainNameCategoryW] = NVTX_CALL(name_domain_category_w),
    [NVTX_CBID_CORE2_DomainRegisterStringA] = NVTX_CALL(register_a),
    [NVTX_CBID_CORE2_DomainRegisterStringW] = NVTX_CALL(register_w),
    [NVTX_CBID_CORE2_DomainCreateA] = NVTX_CALL(domain_create_a),
    [NVTX_CBID_CORE2_DomainCreateW] = NVTX_CALL(domain_create_w),
    [NVTX_CBID_CORE2_DomainDestroy] = NVTX_CALL(domain_destroy),
    [NVTX_CBID_CORE2_Initialize] = NVTX_CALL(initialize),
};

/* ---- Names of objects: modules CUDA, CUDART and OPENCL --------------------------------------- */

/* Names of devices, contexts, streams, events and other objects, stored by the object's handle or
 * number (inject_objects.h). */

/* An int is a device's number. */
#define VALUE_OF(value)                                                                            \
    (sizeof(value) == sizeof(int) ? (uint32_t)(uintptr_t)(value) : (uintptr_t)(value))

#define NAME_CALLS(module, call, type, object)                                                     \
    static void name_##call##A(type value, const char *name)                                       \
    {                                                                                              \
        inject_object_name(object, VALUE_OF(value), name);                                         \
    }                                                                                              \
    static void name_##call##W(type value, const wchar_t *name)                                    \
    {                                                                                              \
        inject_object_name(object, VALUE_OF(value), nvtx_thread_text(name));                       \
    }
#define NAME_ROWS(module, call, type, object) NVTX_NAME_ROWS(name, module, call)

NVTX_CUDA_NAMES(NAME_CALLS)
NVTX_CUDART_NAMES(NAME_CALLS)
NVTX_OPENCL_NAMES(NAME_CALLS)

const NvtxFunctionPointer nvtx_cuda_calls[NVTX_CBID_CUDA_SIZE] = {NVTX_CUDA_NAMES(NAME_ROWS)};
const NvtxFunctionPointer nvtx_cudart_calls[NVTX_CBID_CUDART_SIZE] = {NVTX_CUDART_NAMES(NAME_ROWS)};
const NvtxFunctionPointer nvtx_opencl_calls[NVTX_CBID_OPENCL_SIZE] = {NVTX_OPENCL_NAMES(NAME_ROWS)};
