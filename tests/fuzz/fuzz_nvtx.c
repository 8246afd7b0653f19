/* SPDX-License-Identifier: MIT */
/* Random calls of NVTX, as a program without care makes them: handles that nobody gave, attributes
 * whose size is a lie, texts that are NULL, huge, or no UTF-8. No crash, no read beyond what the
 * size says, levels that fit. The input is a list of calls: id of the callback, then what it takes.
 */
#include "arena.h"
#include "nvtx_calls.h"
#include "test.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { TEXTS = 8, TEXT_SIZE = 3000, INPUTS_OF_A_SESSION = 64, HANDLES = 8 };

/* Of the arena: there are no tests here. */
void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}

struct input {
    const uint8_t *at, *end;
};

static uint64_t take(struct input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->at < input->end; i++)
        value |= (uint64_t)*input->at++ << 8 * i;
    return value;
}

/* What calls gave, for those that follow. */
static uint64_t handles[HANDLES];
static unsigned handle_count;

static void keep(uint64_t handle)
{
    handles[handle_count++ % HANDLES] = handle;
}

static uint64_t take_handle(struct input *input)
{
    uint8_t which = (uint8_t)take(input, 1);
    return which & 0x80 ? take(input, 8) : handles[which % HANDLES];
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static const char *take_text(struct input *input)
{
    static char huge[TEXT_SIZE], text[TEXTS][32];
    static unsigned next;
    unsigned kind = (unsigned)take(input, 1) % 4;
    char *at = text[next++ % TEXTS];
    memset(huge, 'h', sizeof(huge) - 1);
    if (kind == 0)
        return NULL;
    if (kind == 1)
        return huge + take(input, 2) % sizeof(huge);
    for (unsigned i = 0; i < 31; i++) /* mostly no UTF-8 */
        at[i] = (char)take(input, 1);
    at[31] = 0;
    return at;
}

static const wchar_t *take_wide(struct input *input)
{
    static wchar_t huge[TEXT_SIZE], text[32];
    unsigned kind = (unsigned)take(input, 1) % 4;
    wmemset(huge, L'\u00fc', TEXT_SIZE - 1);
    if (kind == 0)
        return NULL;
    if (kind == 1)
        return huge + take(input, 2) % TEXT_SIZE;
    for (unsigned i = 0; i < 31; i++)
        text[i] = (wchar_t)take(input, 4);
    text[31] = 0;
    return text;
}

static nvtxMessageValue_t take_message(struct input *input, int32_t type)
{
    nvtxMessageValue_t value;
    value.registered = (nvtxStringHandle_t)(uintptr_t)take_handle(input);
    if (type == NVTX_MESSAGE_TYPE_ASCII)
        value.ascii = take_text(input);
    if (type == NVTX_MESSAGE_TYPE_UNICODE)
        value.unicode = take_wide(input);
    return value;
}

/* ---- Attributes: as long as they say, so that a sanitizer sees who reads more -----------------
 */

static void *shortened(const void *whole, size_t size, uint16_t said)
{
    size_t length = said < size ? said : size;
    if (length < 4)
        length = 4; /* version and size */
    void *copy = malloc(length);
    if (copy)
        memcpy(copy, whole, length);
    return copy;
}

static void *take_attributes(struct input *input)
{
    nvtxEventAttributes_t whole = {0};
    uint8_t shape = (uint8_t)take(input, 1);
    if (shape % 16 == 0)
        return NULL;
    whole.version = (uint16_t)take(input, 1);
    whole.size = shape & 1 ? (uint16_t)take(input, 2) : sizeof(whole);
    whole.category = (uint32_t)take(input, 2);
    whole.colorType = (int32_t)take(input, 1) % 3;
    whole.color = (uint32_t)take(input, 4);
    whole.payloadType = (int32_t)take(input, 1) % 9 - 1;
    whole.reserved0 = (int32_t)take(input, 4);
    whole.payload.ullValue = take(input, 8);
    whole.messageType = (int32_t)take(input, 1) % 5;
    whole.message = take_message(input, whole.messageType);
    return shortened(&whole, sizeof(whole), whole.size);
}

static void *take_resource(struct input *input)
{
    nvtxResourceAttributes_t whole = {0};
    uint8_t shape = (uint8_t)take(input, 1);
    if (shape % 16 == 0)
        return NULL;
    whole.size = shape & 1 ? (uint16_t)take(input, 2) : sizeof(whole);
    whole.identifierType = (int32_t)take(input, 4);
    if (shape & 2)
        whole.identifierType = (int32_t)((take(input, 1) % 8) << 16 | take(input, 1) % 9);
    whole.identifier.ullValue = take(input, 8);
    whole.messageType = (int32_t)take(input, 1) % 5;
    whole.message = take_message(input, whole.messageType);
    return shortened(&whole, sizeof(whole), whole.size);
}

static void *take_lock(struct input *input)
{
    nvtxSyncUserAttributes_t whole = {0};
    uint8_t shape = (uint8_t)take(input, 1);
    if (shape % 16 == 0)
        return NULL;
    whole.size = shape & 1 ? (uint16_t)take(input, 2) : sizeof(whole);
    whole.messageType = (int32_t)take(input, 1) % 5;
    whole.message = take_message(input, whole.messageType);
    return shortened(&whole, sizeof(whole), whole.size);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

#define CORE(id, type)  ((type)nvtx_core_calls[NVTX_CBID_CORE_##id])
#define CORE2(id, type) ((type)nvtx_core2_calls[NVTX_CBID_CORE2_##id])
#define SYNC(id, type)  ((type)nvtx_sync_calls[NVTX_CBID_SYNC_##id])

static void call_core(struct input *input, void *attributes)
{
    switch (take(input, 1) % 10) {
    case 0:
        CORE(MarkA, nvtxMarkA_impl_fntype)(take_text(input));
        return;
    case 1:
        CORE(MarkW, nvtxMarkW_impl_fntype)(take_wide(input));
        return;
    case 2:
        assert(CORE(RangePushA, nvtxRangePushA_impl_fntype)(take_text(input)) >= -2);
        return;
    case 3:
        assert(CORE(RangePushW, nvtxRangePushW_impl_fntype)(take_wide(input)) >= -2);
        return;
    case 4:
        CORE(NameCategoryA, nvtxNameCategoryA_impl_fntype)
        ((uint32_t)take(input, 2), take_text(input));
        return;
    case 5:
        CORE(NameOsThreadA, nvtxNameOsThreadA_impl_fntype)
        ((uint32_t)take(input, 4), take_text(input));
        return;
    case 6:
        CORE(MarkEx, nvtxMarkEx_impl_fntype)(attributes);
        return;
    case 7:
        keep(CORE(RangeStartEx, nvtxRangeStartEx_impl_fntype)(attributes));
        return;
    case 8:
        CORE(RangeEnd, nvtxRangeEnd_impl_fntype)(take_handle(input));
        return;
    default:
        assert(CORE(RangePop, nvtxRangePop_impl_fntype)() >= -2);
    }
}

static void call_domain(struct input *input, void *attributes)
{
    nvtxDomainHandle_t domain = (nvtxDomainHandle_t)(uintptr_t)take_handle(input);
    switch (take(input, 1) % 7) {
    case 0:
        keep((uintptr_t)CORE2(DomainCreateA, nvtxDomainCreateA_impl_fntype)(take_text(input)));
        return;
    case 1:
        keep((uintptr_t)CORE2(DomainRegisterStringA,
                              nvtxDomainRegisterStringA_impl_fntype)(domain, take_text(input)));
        return;
    case 2:
        CORE2(DomainNameCategoryW, nvtxDomainNameCategoryW_impl_fntype)
        (domain, (uint32_t)take(input, 2), take_wide(input));
        return;
    case 3:
        CORE2(DomainMarkEx, nvtxDomainMarkEx_impl_fntype)(domain, attributes);
        return;
    case 4:
        keep(CORE2(DomainRangeStartEx, nvtxDomainRangeStartEx_impl_fntype)(domain, attributes));
        return;
    case 5:
        assert(CORE2(DomainRangePushEx, nvtxDomainRangePushEx_impl_fntype)(domain, attributes) >=
               -2);
        return;
    default:
        assert(CORE2(DomainRangePop, nvtxDomainRangePop_impl_fntype)(domain) >= -2);
    }
}

static void call_object(struct input *input, unsigned which)
{
    nvtxDomainHandle_t domain = (nvtxDomainHandle_t)(uintptr_t)take_handle(input);
    void *handle = (void *)(uintptr_t)take_handle(input), *what = NULL;
    if (which == 0) {
        what = take_resource(input);
        keep((uintptr_t)CORE2(DomainResourceCreate, nvtxDomainResourceCreate_impl_fntype)(domain,
                                                                                          what));
    } else if (which == 1) {
        CORE2(DomainResourceDestroy, nvtxDomainResourceDestroy_impl_fntype)(handle);
    } else if (which == 2) {
        what = take_lock(input);
        keep((uintptr_t)SYNC(DomainSyncUserCreate, nvtxDomainSyncUserCreate_fakeimpl_fntype)(domain,
                                                                                             what));
    } else {
        unsigned id = NVTX_CBID_SYNC_DomainSyncUserDestroy + which % 5;
        ((nvtxDomainSyncUserDestroy_fakeimpl_fntype)nvtx_sync_calls[id])(handle);
    }
    free(what);
}

static void call_any(struct input *input)
{
    uint8_t module = (uint8_t)take(input, 1);
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
    static unsigned inputs;
    struct input input = {bytes, bytes + (size < 4096 ? size : 4096)};
    if (inputs % INPUTS_OF_A_SESSION == 0)
        arena_begin(NULL);
    while (input.at < input.end)
        call_any(&input);
    if (++inputs % INPUTS_OF_A_SESSION == 0) {
        arena_end();
        arena_clean();
    }
    return 0;
}
