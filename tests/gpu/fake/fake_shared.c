/* SPDX-License-Identifier: MIT */
/* CUPTI's functions for one of several subscribers, as in CUDA 13.3 and later.
 *
 *     FAKE_CUPTI_CLOCKLESS   as in 13.3: such a subscriber cannot have a clock of its own
 *     FAKE_CUPTI_GRAPHS      1: the first subscriber wanted graphs as a whole */
#include "fake_parts.h"

#include <stdlib.h>
#include <time.h>

uint64_t fake_realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool fake_can_share(const CUpti_SubscriberParams *params)
{
    return getenv("FAKE_CUPTI_SHARES") && fake.version >= 130300 && params &&
           params->structSize == CUpti_SubscriberParams_STRUCT_SIZE &&
           params->allowMultipleSubscribers == 1;
}

bool fake_has_buffers(void)
{
    return fake.requested || fake.requested_v2;
}

void fake_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    CUpti_BufferCallbackRequestInfo info = {.structSize = sizeof(info)};
    if (fake.is_shared)
        fake.requested_v2(buffer, size, max_records, &info);
    else
        fake.requested(buffer, size, max_records);
}

void fake_complete(uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_BufferCallbackCompleteInfo info = {.structSize = sizeof(info)};
    if (fake.is_shared)
        fake.completed_v2(buffer, size, valid, &info);
    else
        fake.completed(NULL, 0, buffer, size, valid);
}

/* ---- The functions --------------------------------------------------------------------------- */

static void check(CUpti_SubscriberHandle subscriber)
{
    fake_rule(fake.is_shared && fake.callback && subscriber == (CUpti_SubscriberHandle)&fake,
              "the second generation's, of a subscriber");
}

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
                                              CUpti_BuffersCallbackRequestFunc_v2 requested,
                                              CUpti_BuffersCallbackCompleteFunc_v2 completed)
{
    check(subscriber);
    fake.requested_v2 = requested;
    fake.completed_v2 = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                   CUpti_ActivityConfig *config)
{
    check(subscriber);
    fake_rule(config == NULL && fake.requested_v2, "all fields, into buffers");
    return fake_enable(kind);
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                    CUpti_ActivityConfig *config)
{
    check(subscriber);
    (void)config;
    if ((uint32_t)kind < FAKE_KINDS)
        fake.kinds[kind] = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t *buffer,
                                          size_t size, CUpti_Activity **record)
{
    check(subscriber);
    return fake_next(buffer, size, record);
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
                                                 CUcontext context, uint32_t stream,
                                                 size_t *dropped)
{
    check(subscriber);
    (void)context;
    (void)stream;
    *dropped = __atomic_exchange_n(&fake.dropped, 0, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t *time)
{
    check(subscriber);
    *time = fake.clock ? fake.clock() : fake_realtime_ns();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId id,
                                             uint8_t enable)
{
    check(subscriber);
    fake.calls_left_out += !enable && id == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                         CUpti_ActivityAttribute attribute, size_t *size,
                                         void *value)
{
    check(subscriber);
    if (attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK && !getenv("FAKE_CUPTI_CLOCKLESS") &&
        *size == sizeof(fake.clock)) {
        fake_rule(!fake.was_enabled, "a clock before any kind");
        fake.clock = *(CUpti_TimestampCallbackFunc *)value;
        return CUPTI_SUCCESS;
    }
    if (attribute == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE && *size == sizeof(fake.thread_ids)) {
        fake.thread_ids = *(CUpti_ActivityThreadIdType *)value;
        return CUPTI_SUCCESS;
    }
    fake_rule(attribute != CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE,
              "who came first says how graphs are recorded");
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                         CUpti_ActivityAttribute attribute, size_t *size,
                                         void *value)
{
    const char *graphs = getenv("FAKE_CUPTI_GRAPHS");
    check(subscriber);
    if (attribute != CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE || *size < 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *(uint8_t *)value = graphs && *graphs == '1';
    return CUPTI_SUCCESS;
}
