/* SPDX-License-Identifier: MIT */
/* A libcupti for machines without a GPU: the functions that annot uses, with the rules that apply
 * on a machine with one. See fake_replay.c for the data it delivers.
 *
 *     FAKE_CUPTI_VERSION   the result of cuptiGetVersion (130000)
 *     FAKE_CUPTI_HOLDER    the name of another subscriber: cuptiSubscribe answers 39
 *     FAKE_CUPTI_SHARES    that one accepts others, through the functions of fake_shared.c
 *     FAKE_CUPTI_FORGETS   another tool calls cuptiFinalize while there is no subscriber: the clock
 *                          is forgotten, and kernel names are replaced in the same places
 *
 * A call that breaks a rule of CUPTI ends the program: a clock that is registered twice or after a
 * kind was enabled, a kind enabled without a subscriber, functions of both generations mixed. */
#include "fake_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake = {.version = 130000};

void fake_rule(int holds, const char *text)
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
            : result == CUPTI_ERROR_NOT_SUPPORTED ? "CUPTI_ERROR_NOT_SUPPORTED"
                                                  : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *userdata)
{
    if (fake.callback || getenv("FAKE_CUPTI_HOLDER"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake_subscribe(subscriber, callback, userdata);
    return CUPTI_SUCCESS;
}

void fake_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata)
{
    fake.callback = callback;
    fake.userdata = userdata;
    if (fake.windows++ > 0 && getenv("FAKE_CUPTI_FORGETS"))
        fake_rename();
    *subscriber = (CUpti_SubscriberHandle)&fake;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    const char *holder = getenv("FAKE_CUPTI_HOLDER");
    if (!holder && fake.callback)
        holder = "next_tool";
    if (!holder)
        return cuptiSubscribe(subscriber, callback, userdata);
    if (fake_can_share(params)) {
        fake_subscribe(subscriber, callback, userdata);
        fake.is_shared = true;
        return CUPTI_SUCCESS;
    }
    if (params && params->oldSubscriberName)
        snprintf(params->oldSubscriberName, params->oldSubscriberSize, "CUPTI for %s", holder);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    fake_rule(subscriber == (CUpti_SubscriberHandle)&fake && fake.callback,
              "unsubscribe what is there");
    fake_leave();
    fake.callback = NULL;
    memset(fake.calls, 0, sizeof(fake.calls));
    memset(fake.kinds, 0, sizeof(fake.kinds));
    if (getenv("FAKE_CUPTI_FORGETS")) {
        fake.clock = NULL;
        fake.was_enabled = false;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    fake_rule(subscriber == (CUpti_SubscriberHandle)&fake && fake.callback,
              "callbacks of a subscriber");
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < FAKE_CALLS)
        fake.calls[id] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    static const struct {
        CUpti_CallbackDomain domain;
        uint32_t id;
        const char *name;
    } calls[] = {
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
         "cuMemcpyHtoDAsync_v2_ptsz"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, "cuStreamCreate"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventRecord, "cuEventRecord"},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
         "cudaLaunchKernel_v7000"},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
         "cudaGetLastError_v3020"},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i].domain == domain && calls[i].id == id) {
            *name = calls[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

/* A stream's handle is its number here, except for the default stream. */
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    *id = (uintptr_t)stream > 2 ? (uint32_t)(uintptr_t)stream : FAKE_DEFAULT_STREAM;
    return CUPTI_SUCCESS;
}

/* A node's handle is its number here. */
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    fake_rule(!fake.is_shared, "the first generation's");
    fake_rule(fake.callback != NULL && fake.requested,
              "a kind is enabled by a subscriber with buffers");
    return fake_enable(kind);
}

CUptiResult fake_enable(CUpti_ActivityKind kind)
{
    fake_rule(kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER || fake.has_unified,
              "counters are configured first");
    if ((uint32_t)kind >= FAKE_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    fake.kinds[kind] = true;
    fake.was_enabled = true;
    return CUPTI_SUCCESS;
}

/* No records of the call. The kind has been enabled. */
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    fake_rule(!fake.is_shared, "the first generation's");
    fake_rule(enable || fake.kinds[CUPTI_ACTIVITY_KIND_RUNTIME],
              "calls are left out of all of them");
    fake.calls_left_out += !enable && id == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020;
    return CUPTI_SUCCESS;
}

/* There is one device, the first. */
CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *configs,
                                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (configs[i].deviceId != 0)
            return CUPTI_ERROR_INVALID_DEVICE;
    fake_rule(!fake.kinds[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER], "configured, then enabled");
    fake.has_unified = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *time)
{
    *time = fake.clock ? fake.clock() : fake_realtime_ns();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    fake_rule(!fake.is_shared, "the first generation's");
    fake_rule(fake.callback != NULL, "a kind is disabled by a subscriber");
    if ((uint32_t)kind < FAKE_KINDS)
        fake.kinds[kind] = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    fake_rule(!fake.is_shared, "the first generation's");
    fake.requested = requested;
    fake.completed = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    fake_rule(!fake.clock && !fake.was_enabled, "one clock, before any kind");
    fake.clock = clock;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    fake.thread_ids = type;
    return CUPTI_SUCCESS;
}

/* Completed buffers are returned without a flush here. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    fake_rule(!fake.is_shared || flag == 0, "a forced flush takes the records of others, too");
    fake_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    fake_launches_flush();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    fake_rule(!fake.is_shared, "the first generation's");
    *dropped = __atomic_exchange_n(&fake.dropped, 0, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    fake_rule(!fake.is_shared, "the first generation's");
    return fake_next(buffer, size, record);
}

uint32_t fake_kernel_kind(uint32_t kind)
{
    bool is_serial = fake.kinds[CUPTI_ACTIVITY_KIND_KERNEL];
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && is_serial ? CUPTI_ACTIVITY_KIND_KERNEL
                                                                      : kind;
}

CUptiResult fake_next(uint8_t *buffer, size_t size, CUpti_Activity **record)
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
