/* SPDX-License-Identifier: MIT */
/* Random calls of NVTX, as from a careless program: invalid handles, attributes with a wrong size,
 * texts that are NULL, huge, or not UTF-8. No crash, no read past the given size, consistent
 * levels. The input is a list of calls: id of the callback, then its arguments. */
#include "nvtx_input.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Attributes ------------------------------------------------------------------------------ */

enum { VERSION_AND_SIZE = 4 };

/* Takes the claimed size of attributes, and if there are any. */
static int take_shape(struct nvtx_input *input, uint16_t size, uint16_t *ret_said)
{
    uint8_t shape = (uint8_t)nvtx_take(input, 1);
    *ret_said = shape & 1 ? (uint16_t)nvtx_take(input, 2) : size;
    return shape % 16 ? shape : 0;
}

static void *take_attributes(struct nvtx_input *input)
{
    nvtxEventAttributes_t whole = {0};
    if (!take_shape(input, sizeof(whole), &whole.size))
        return NULL;
    whole.version = (uint16_t)nvtx_take(input, 1);
    whole.category = (uint32_t)nvtx_take(input, 2);
    whole.colorType = (int32_t)nvtx_take(input, 1) % 3;
    whole.color = (uint32_t)nvtx_take(input, 4);
    whole.payloadType = (int32_t)nvtx_take(input, 1) % 9 - 1;
    whole.reserved0 = (int32_t)nvtx_take(input, 4);
    whole.payload.ullValue = nvtx_take(input, 8);
    whole.messageType = (int32_t)nvtx_take(input, 1) % 5;
    whole.message = nvtx_take_message(input, whole.messageType);
    return nvtx_shortened(&whole, sizeof(whole), whole.size, VERSION_AND_SIZE);
}

static void *take_resource(struct nvtx_input *input)
{
    nvtxResourceAttributes_t whole = {0};
    int shape = take_shape(input, sizeof(whole), &whole.size);
    if (!shape)
        return NULL;
    whole.identifierType = (int32_t)nvtx_take(input, 4);
    if (shape & 2)
        whole.identifierType = (int32_t)((nvtx_take(input, 1) % 8) << 16 | nvtx_take(input, 1) % 9);
    whole.identifier.ullValue = nvtx_take(input, 8);
    whole.messageType = (int32_t)nvtx_take(input, 1) % 5;
    whole.message = nvtx_take_message(input, whole.messageType);
    return nvtx_shortened(&whole, sizeof(whole), whole.size, VERSION_AND_SIZE);
}

static void *take_lock(struct nvtx_input *input)
{
    nvtxSyncUserAttributes_t whole = {0};
    if (!take_shape(input, sizeof(whole), &whole.size))
        return NULL;
    whole.messageType = (int32_t)nvtx_take(input, 1) % 5;
    whole.message = nvtx_take_message(input, whole.messageType);
    return nvtx_shortened(&whole, sizeof(whole), whole.size, VERSION_AND_SIZE);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

#define CORE(id, type)  ((type)nvtx_core_calls[NVTX_CBID_CORE_##id])
#define CORE2(id, type) ((type)nvtx_core2_calls[NVTX_CBID_CORE2_##id])
#define SYNC(id, type)  ((type)nvtx_sync_calls[NVTX_CBID_SYNC_##id])

static void call_core(struct nvtx_input *input, void *attributes)
{
    switch (nvtx_take(input, 1) % 10) {
    case 0:
        CORE(MarkA, nvtxMarkA_impl_fntype)(nvtx_take_text(input));
        return;
    case 1:
        CORE(MarkW, nvtxMarkW_impl_fntype)(nvtx_take_wide(input));
        return;
    case 2:
        assert(CORE(RangePushA, nvtxRangePushA_impl_fntype)(nvtx_take_text(input)) >= -2);
        return;
    case 3:
        assert(CORE(RangePushW, nvtxRangePushW_impl_fntype)(nvtx_take_wide(input)) >= -2);
        return;
    case 4:
        CORE(NameCategoryA, nvtxNameCategoryA_impl_fntype)
        ((uint32_t)nvtx_take(input, 2), nvtx_take_text(input));
        return;
    case 5:
        CORE(NameOsThreadA, nvtxNameOsThreadA_impl_fntype)
        ((uint32_t)nvtx_take(input, 4), nvtx_take_text(input));
        return;
    case 6:
        CORE(MarkEx, nvtxMarkEx_impl_fntype)(attributes);
        return;
    case 7:
        nvtx_keep(CORE(RangeStartEx, nvtxRangeStartEx_impl_fntype)(attributes));
        return;
    case 8:
        CORE(RangeEnd, nvtxRangeEnd_impl_fntype)(nvtx_take_handle(input));
        return;
    default:
        assert(CORE(RangePop, nvtxRangePop_impl_fntype)() >= -2);
    }
}

static void call_domain(struct nvtx_input *input, void *attributes)
{
    nvtxDomainHandle_t domain = (nvtxDomainHandle_t)(uintptr_t)nvtx_take_handle(input);
    switch (nvtx_take(input, 1) % 7) {
    case 0:
        nvtx_keep(
            (uintptr_t)CORE2(DomainCreateA, nvtxDomainCreateA_impl_fntype)(nvtx_take_text(input)));
        return;
    case 1:
        nvtx_keep((uintptr_t)CORE2(DomainRegisterStringA, nvtxDomainRegisterStringA_impl_fntype)(
            domain, nvtx_take_text(input)));
        return;
    case 2:
        CORE2(DomainNameCategoryW, nvtxDomainNameCategoryW_impl_fntype)
        (domain, (uint32_t)nvtx_take(input, 2), nvtx_take_wide(input));
        return;
    case 3:
        CORE2(DomainMarkEx, nvtxDomainMarkEx_impl_fntype)(domain, attributes);
        return;
    case 4:
        nvtx_keep(
            CORE2(DomainRangeStartEx, nvtxDomainRangeStartEx_impl_fntype)(domain, attributes));
        return;
    case 5:
        assert(CORE2(DomainRangePushEx, nvtxDomainRangePushEx_impl_fntype)(domain, attributes) >=
               -2);
        return;
    default:
        assert(CORE2(DomainRangePop, nvtxDomainRangePop_impl_fntype)(domain) >= -2);
    }
}

static void call_object(struct nvtx_input *input, unsigned which)
{
    nvtxDomainHandle_t domain = (nvtxDomainHandle_t)(uintptr_t)nvtx_take_handle(input);
    void *handle = (void *)(uintptr_t)nvtx_take_handle(input), *what = NULL;
    if (which == 0) {
        what = take_resource(input);
        nvtx_keep((uintptr_t)CORE2(DomainResourceCreate,
                                   nvtxDomainResourceCreate_impl_fntype)(domain, what));
    } else if (which == 1) {
        CORE2(DomainResourceDestroy, nvtxDomainResourceDestroy_impl_fntype)(handle);
    } else if (which == 2) {
        what = take_lock(input);
        nvtx_keep((uintptr_t)SYNC(DomainSyncUserCreate,
                                  nvtxDomainSyncUserCreate_fakeimpl_fntype)(domain, what));
    } else {
        unsigned id = NVTX_CBID_SYNC_DomainSyncUserDestroy + which % 5;
        ((nvtxDomainSyncUserDestroy_fakeimpl_fntype)nvtx_sync_calls[id])(handle);
    }
    free(what);
}

static void call_any(struct nvtx_input *input)
{
    uint8_t module = (uint8_t)nvtx_take(input, 1);
    void *attributes = take_attributes(input);
    if (module % 3 == 0)
        call_core(input, attributes);
    else if (module % 3 == 1)
        call_domain(input, attributes);
    else
        call_object(input, module / 3u % 8);
    free(attributes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct nvtx_input input = {bytes, bytes + (size < 4096 ? size : 4096)};
    nvtx_input_begin();
    while (input.at < input.end)
        call_any(&input);
    nvtx_input_end();
    return 0;
}
