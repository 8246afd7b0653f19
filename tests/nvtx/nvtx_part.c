/* SPDX-License-Identifier: MIT */
/* Every call of NVTX's core, in a separate image: this file is compiled into the program and into
 * several libraries, each with its own copy of the header's definitions. PART is the image's
 * letter. */
#include "nvtx_part.h"

#include "nvtx_ledger.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtOpenCL.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define TEXT2(x)    #x
#define TEXT(x)     TEXT2(x)
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define OWN         "image " TEXT(PART) /* domain of this image */
#define SHARED      "shared"            /* domain of all images */

static nvtxEventAttributes_t attributes_of(nvtxStringHandle_t registered, uint32_t category)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registered;
    attributes.category = category;
    return attributes;
}

static void texts(void)
{
    ledger("pushed", "", "pushed a", "");
    EXPECT(nvtxRangePushA("pushed a") == 0);
    ledger("pushed", "", "pushed w \xc3\xa9\xf0\x9f\x98\x80", "");
    EXPECT(nvtxRangePushW(L"pushed w \u00e9\U0001f600") == 1);
    ledger("mark", "", "mark a", "");
    nvtxMarkA("mark a");
    ledger("mark", "", "mark w", "");
    nvtxMarkW(L"mark w");
    EXPECT(nvtxRangePop() == 1);
    EXPECT(nvtxRangePop() == 0);
    ledger("started", "", "started a", "");
    nvtxRangeId_t a = nvtxRangeStartA("started a");
    ledger("started", "", "started w", "");
    nvtxRangeId_t w = nvtxRangeStartW(L"started w");
    EXPECT(a != 0 && w != 0 && a != w);
    nvtxRangeEnd(a);
    nvtxRangeEnd(w);
}

static void default_attributes(void)
{
    nvtxEventAttributes_t attributes = attributes_of(NULL, 5);
    nvtxNameCategoryA(5, "five");
    nvtxNameCategoryW(6, L"six");
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "attributes";
    ledger("pushed", "", "attributes", "five");
    EXPECT(nvtxRangePushEx(&attributes) == 0);
    attributes.category = 6;
    ledger("mark", "", "attributes", "six");
    nvtxMarkEx(&attributes);
    EXPECT(nvtxRangePop() == 0);
    attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    attributes.message.unicode = L"wide";
    attributes.category = 7; /* has no name */
    ledger("started", "", "wide", "7");
    nvtxRangeEnd(nvtxRangeStartEx(&attributes));
}

static void payloads(nvtxDomainHandle_t domain, nvtxEventAttributes_t attributes)
{
    for (int type = NVTX_PAYLOAD_UNKNOWN; type <= NVTX_PAYLOAD_TYPE_FLOAT; type++) {
        attributes.payloadType = type;
        attributes.payload.ullValue = UINT64_MAX - 1;
        if (type == NVTX_PAYLOAD_TYPE_DOUBLE)
            attributes.payload.dValue = 2.5;
        if (type == NVTX_PAYLOAD_TYPE_FLOAT)
            attributes.payload.fValue = 0.5f;
        attributes.colorType = type % 2 ? NVTX_COLOR_ARGB : NVTX_COLOR_UNKNOWN;
        attributes.color = 0xff102030;
        ledger("mark", SHARED, "registered", "named");
        nvtxDomainMarkEx(domain, &attributes);
    }
}

static void domains(void)
{
    nvtxDomainHandle_t shared = nvtxDomainCreateA(SHARED), own = nvtxDomainCreateW(L"" OWN);
    EXPECT(shared && own && shared != own && shared == nvtxDomainCreateW(L"" SHARED));
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(shared, "registered");
    nvtxStringHandle_t wide = nvtxDomainRegisterStringW(own, L"registered wide");
    EXPECT(name && wide && name == nvtxDomainRegisterStringW(shared, L"registered"));
    nvtxDomainNameCategoryA(shared, 1, "named");
    nvtxDomainNameCategoryW(own, 1, L"named here");
    nvtxEventAttributes_t of_shared = attributes_of(name, 1), of_own = attributes_of(wide, 1);
    nvtxEventAttributes_t plain = attributes_of(name, 0);
    ledger("pushed", SHARED, "registered", "named");
    EXPECT(nvtxDomainRangePushEx(shared, &of_shared) == 0);
    ledger("pushed", OWN, "registered wide", "named here");
    EXPECT(nvtxDomainRangePushEx(own, &of_own) == 0);
    ledger("pushed", SHARED, "registered", "");
    EXPECT(nvtxDomainRangePushEx(shared, &plain) == 1);
    EXPECT(nvtxDomainRangePop(shared) == 1);
    EXPECT(nvtxDomainRangePop(own) == 0);
    EXPECT(nvtxDomainRangePop(shared) == 0);
    ledger("started", OWN, "registered wide", "named here");
    nvtxRangeId_t range = nvtxDomainRangeStartEx(own, &of_own);
    nvtxDomainRangeEnd(own, range);
    payloads(shared, of_shared);
    nvtxDomainDestroy(own);
}

static void locks(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA(SHARED);
    nvtxSyncUserAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = sizeof(attributes);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "lock";
    nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, &attributes);
    EXPECT(lock != NULL);
    ledger("pushed", SHARED, "lock", "wait");
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireFailed(lock);
    ledger("pushed", SHARED, "lock", "wait");
    nvtxDomainSyncUserAcquireStart(lock);
    ledger("started", SHARED, "lock", "held");
    nvtxDomainSyncUserAcquireSuccess(lock);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}

static void names_of_objects(void)
{
    char *at = NULL;
    nvtxNameCuDeviceA(1, "cu device");
    nvtxNameCuDeviceW(2, L"cu device");
    nvtxNameCuContextA((CUcontext)(at + 16), "cu context");
    nvtxNameCuContextW((CUcontext)(at + 32), L"cu context");
    nvtxNameCuStreamA((CUstream)(at + 16), "cu stream");
    nvtxNameCuStreamW((CUstream)(at + 32), L"cu stream");
    nvtxNameCuEventA((CUevent)(at + 16), "cu event");
    nvtxNameCuEventW((CUevent)(at + 32), L"cu event");
    nvtxNameCudaDeviceA(1, "cuda device");
    nvtxNameCudaDeviceW(2, L"cuda device");
    nvtxNameCudaStreamA((cudaStream_t)(at + 16), "cuda stream");
    nvtxNameCudaStreamW((cudaStream_t)(at + 32), L"cuda stream");
    nvtxNameCudaEventA((cudaEvent_t)(at + 16), "cuda event");
    nvtxNameCudaEventW((cudaEvent_t)(at + 32), L"cuda event");
    nvtxNameClDeviceA((cl_device_id)(at + 16), "cl device");
    nvtxNameClDeviceW((cl_device_id)(at + 32), L"cl device");
    nvtxNameClContextA((cl_context)(at + 16), "cl context");
    nvtxNameClContextW((cl_context)(at + 32), L"cl context");
    nvtxNameClCommandQueueA((cl_command_queue)(at + 16), "cl queue");
    nvtxNameClCommandQueueW((cl_command_queue)(at + 32), L"cl queue");
    nvtxNameClMemObjectA((cl_mem)(at + 16), "cl memory");
    nvtxNameClMemObjectW((cl_mem)(at + 32), L"cl memory");
    nvtxNameClSamplerA((cl_sampler)(at + 16), "cl sampler");
    nvtxNameClSamplerW((cl_sampler)(at + 32), L"cl sampler");
    nvtxNameClProgramA((cl_program)(at + 16), "cl program");
    nvtxNameClProgramW((cl_program)(at + 32), L"cl program");
    nvtxNameClEventA((cl_event)(at + 16), "cl event");
    nvtxNameClEventW((cl_event)(at + 32), L"cl event");
}

static void resources(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA(SHARED);
    nvtxResourceAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    attributes.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
    attributes.identifier.pValue = &attributes;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "resource";
    nvtxResourceHandle_t resource = nvtxDomainResourceCreate(domain, &attributes);
    EXPECT(resource != NULL);
    nvtxDomainResourceDestroy(resource);
    attributes.identifierType = NVTX_RESOURCE_TYPE_CUDART_STREAM;
    attributes.identifier.ullValue = 48;
    attributes.message.ascii = "stream as a resource";
    EXPECT(nvtxDomainResourceCreate(domain, &attributes) != NULL);
}

void JOIN(part_, PART)(void)
{
    nvtxInitialize(NULL);
    texts();
    default_attributes();
    domains();
    locks();
    names_of_objects();
    resources();
}

unsigned long JOIN(part_start_, PART)(void)
{
    ledger("started", "", "across", "");
    return nvtxRangeStartA("across");
}

void JOIN(part_end_, PART)(unsigned long range)
{
    nvtxRangeEnd(range);
}

void *JOIN(part_domain_, PART)(void)
{
    return nvtxDomainCreateA(SHARED);
}

void JOIN(part_name_thread_, PART)(unsigned thread, const char *name)
{
    if (name)
        nvtxNameOsThreadA(thread, name);
    else
        nvtxNameOsThreadW(thread, L"named by w");
}
