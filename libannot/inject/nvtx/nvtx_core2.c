/* SPDX-License-Identifier: MIT */
/* The callbacks of module CORE2: domains and what belongs to one. */
#include "inject_objects.h"
#include "nvtx_calls.h"
#include "nvtx_event.h"

#include <pthread.h>
#include <string.h>

static nvtxDomainHandle_t domain_create_a(const char *name)
{
    return nvtx_domain_handle(nvtx_domain_make(name));
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name)
{
    return domain_create_a(nvtx_thread_text(name));
}

/* Other images may use the domain of that name, and what is open in it goes on. */
static void domain_destroy(nvtxDomainHandle_t domain)
{
    (void)domain;
}

static void initialize(const void *reserved)
{
    (void)reserved;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    (void)domain;
    nvtx_end(range);
}

static void name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    nvtx_category_name(nvtx_domain_of(domain), category, name);
}

static void name_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
    name_category_a(domain, category, nvtx_thread_text(name));
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

/* ---- Resources ------------------------------------------------------------------------------- */

/* A resource whose name is not kept. */
#define RESOURCE_NONE ((nvtxResourceHandle_t)UINTPTR_MAX)

/* Of what a program calls a resource, what the naming calls of CUDA and OpenCL name as well. */
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
        if (size < sizeof(whole)) /* the message is the last thing of it */
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
    [NVTX_CBID_CORE2_DomainRangeEnd] = NVTX_CALL(end),
    [NVTX_CBID_CORE2_DomainRangePushEx] = NVTX_CALL(nvtx_push),
    [NVTX_CBID_CORE2_DomainRangePop] = NVTX_CALL(nvtx_pop),
    [NVTX_CBID_CORE2_DomainResourceCreate] = NVTX_CALL(resource_create),
    [NVTX_CBID_CORE2_DomainResourceDestroy] = NVTX_CALL(resource_destroy),
    [NVTX_CBID_CORE2_DomainNameCategoryA] = NVTX_CALL(name_category_a),
    [NVTX_CBID_CORE2_DomainNameCategoryW] = NVTX_CALL(name_category_w),
    [NVTX_CBID_CORE2_DomainRegisterStringA] = NVTX_CALL(register_a),
    [NVTX_CBID_CORE2_DomainRegisterStringW] = NVTX_CALL(register_w),
    [NVTX_CBID_CORE2_DomainCreateA] = NVTX_CALL(domain_create_a),
    [NVTX_CBID_CORE2_DomainCreateW] = NVTX_CALL(domain_create_w),
    [NVTX_CBID_CORE2_DomainDestroy] = NVTX_CALL(domain_destroy),
    [NVTX_CBID_CORE2_Initialize] = NVTX_CALL(initialize),
};
