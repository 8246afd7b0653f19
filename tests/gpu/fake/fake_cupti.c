/* SPDX-License-Identifier: MIT */
/* A libcupti for machines without a GPU: the functions that annot uses, with the rules that hold on
 * a machine with one. fake_replay.c says what there is to deliver.
 *
 * FAKE_CUPTI_VERSION   what cuptiGetVersion says (130000)
 * FAKE_CUPTI_HOLDER    the name of another subscriber: cuptiSubscribe answers 39
 *
 * A call that breaks a rule of CUPTI's ends the program: a clock that is registered twice or after
 * a kind was enabled, a kind enabled without a subscriber. */
#include "fake_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake = {.version = 130000};

static void rule(int holds, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "fake_cupti.c: rule broken: %s\n", text);
    abort();
}

__attribute__((constructor)) static void read_settings(void)
{
    const char *version = getenv("FAKE_CUPTI_VERSION");
    if (version)
        fake.version = (uint32_t)atoi(version);
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = fake.version;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *userdata)
{
    if (fake.callback || getenv("FAKE_CUPTI_HOLDER"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake.callback = callback;
    fake.userdata = userdata;
    fake.windows++;
    *subscriber = (CUpti_SubscriberHandle)&fake;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    const char *holder = getenv("FAKE_CUPTI_HOLDER");
    if (!holder && fake.callback)
        holder = "next_tool";
    if (!holder)
        return cuptiSubscribe(subscriber, callback, userdata);
    if (params && params->oldSubscriberName)
        snprintf(params->oldSubscriberName, params->oldSubscriberSize, "CUPTI for %s", holder);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    rule(subscriber == (CUpti_SubscriberHandle)&fake && fake.callback, "unsubscribe what is there");
    fake.callback = NULL;
    memset(fake.calls, 0, sizeof(fake.calls));
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    rule(subscriber == (CUpti_SubscriberHandle)&fake && fake.callback, "callbacks of a subscriber");
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < FAKE_CALLS)
        fake.calls[id] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return CUPTI_ERROR_INVALID_PARAMETER;
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        *name = "cuLaunchKernel";
        return CUPTI_SUCCESS;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        *name = "cuLaunchKernelEx";
        return CUPTI_SUCCESS;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        *name = "cuGraphLaunch";
        return CUPTI_SUCCESS;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc:
        *name = "cuMemAlloc";
        return CUPTI_SUCCESS;
    default:
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
}

/* A node's handle is its number here. */
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    rule(fake.callback != NULL && fake.requested, "a kind is enabled by a subscriber with buffers");
    if ((uint32_t)kind >= FAKE_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    fake.kinds[kind] = true;
    fake.was_enabled = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    rule(fake.callback != NULL, "a kind is disabled by a subscriber");
    if ((uint32_t)kind < FAKE_KINDS)
        fake.kinds[kind] = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    fake.requested = requested;
    fake.completed = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    rule(!fake.clock && !fake.was_enabled, "one clock, before any kind");
    fake.clock = clock;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    fake.thread_ids = type;
    return CUPTI_SUCCESS;
}

/* What is complete comes back by itself here. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    fake_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    fake_launches_flush();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = __atomic_exchange_n(&fake.dropped, 0, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    size_t at = 0;
    if (*record) {
        at = (size_t)((uint8_t *)*record - buffer);
        size_t step = fake_record_size(*(uint32_t *)*record);
        if (step == 0)
            return CUPTI_ERROR_INVALID_KIND;
        at += step;
    }
    if (at + 4 > size)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(buffer + at);
    return CUPTI_SUCCESS;
}
