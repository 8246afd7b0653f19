/* SPDX-License-Identifier: MIT */
/* Events that fake_replay.c delivers or requests in addition to the recorded ones. */
#include "fake_parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MORE_THAN_ALL = 1025 };

void fake_call_event(const uint8_t *record)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER, .functionReturnValue = &result};
    memcpy(&data.correlationId, record + offsetof(CUpti_ActivityCudaEvent2, correlationId), 4);
    if (!fake.calls[CUPTI_DRIVER_TRACE_CBID_cuEventRecord])
        return;
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventRecord,
                  &data);
    data.callbackSite = CUPTI_API_EXIT;
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventRecord,
                  &data);
}

/* As if the program had called the runtime. */
void fake_make_runtime(uint8_t *record)
{
    const uint32_t words[] = {CUPTI_ACTIVITY_KIND_RUNTIME,
                              CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000};
    fake_rule(fake.calls_left_out > 0, "calls that do nothing are left out");
    memcpy(record, words, sizeof(words));
}

/* Imitates a version that may not be refused buffers: takes more than there can be, and keeps
 * them. */
void fake_overrun(void)
{
    uint8_t *buffer;
    size_t size, max_records;
    for (int i = 0; i < MORE_THAN_ALL; i++) {
        fake_request(&buffer, &size, &max_records);
        fake_rule(buffer && size > 0, "each request is met");
    }
}

/* A page to the device and one back, and a fault without an end. */
void fake_move_memory(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    uint64_t now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
    for (uint32_t counter = 1; counter <= 4; counter++) {
        CUpti_ActivityUnifiedMemoryCounter3 record = {
            .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
            .counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)counter,
            .value = 4096 * counter,
            .start = now,
            .end = counter < 3 ? now + 1000 : 0,
            .address = 0x7000};
        if (fake.kinds[record.kind])
            fake_deliver((const uint8_t *)&record, sizeof(record));
    }
    fake_complete_now();
}

/* Takes the last buffer without ever returning it. */
void fake_starve(void)
{
    uint8_t *buffer;
    size_t size, max_records;
    do
        fake_request(&buffer, &size, &max_records);
    while (buffer && size > 0);
}

void fake_lose(CUcontext context)
{
    static uint32_t launches;
    const char *words = getenv("FAKE_PC");
    bool unloads = words && strstr(words, "unloads"), gone = words && strstr(words, "gone");
    CUpti_ResourceData data = {.context = context};
    if ((!unloads && !gone) || __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED) != 20)
        return;
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_RESOURCE,
                  gone ? CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING
                       : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                  &data);
    fake_rule(fake_pc_is_empty(context, gone), "samples are taken before their code is gone");
}
