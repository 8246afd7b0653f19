/* SPDX-License-Identifier: MIT */
/* Launches of kernels that a test's program makes up, from whatever line of it: the calls of CUPTI
 * around a launch, and a record of a kernel that takes exactly as long as was asked for. Threads:
 * any. */
#include "fake_parts.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { PENDING = 1 << 12, NAMES = 64, NAME_SIZE = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_ActivityKernel10 pending[PENDING];
static int pending_count;
static char names[NAMES][NAME_SIZE];
static uint32_t correlations = 1000000;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A copy that stays; the lock is held. */
static const char *keep_name(const char *name)
{
    for (int i = 0; i < NAMES; i++) {
        if (names[i][0] == 0)
            strncpy(names[i], name, NAME_SIZE - 1);
        if (strncmp(names[i], name, NAME_SIZE - 1) == 0)
            return names[i];
    }
    return "?";
}

static void deliver(void)
{
    uint8_t *buffer = NULL;
    size_t room = 0, used = 0, max_records = 0;
    for (int i = 0; i < pending_count && fake.requested; i++) {
        if (buffer && used + sizeof(pending[i]) > room) {
            fake.completed(NULL, 0, buffer, room, used);
            buffer = NULL;
        }
        if (!buffer) {
            used = 0;
            fake.requested(&buffer, &room, &max_records);
        }
        if (!buffer) {
            __atomic_add_fetch(&fake.dropped, 1, __ATOMIC_RELAXED);
            continue;
        }
        memcpy(buffer + used, &pending[i], sizeof(pending[i]));
        used += sizeof(pending[i]);
    }
    if (buffer)
        fake.completed(NULL, 0, buffer, room, used);
    pending_count = 0;
}

void fake_launches_flush(void)
{
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
}

static void call(uint32_t correlation, CUpti_ApiCallbackSite site)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data = {.callbackSite = site,
                               .correlationId = correlation,
                               .context = FAKE_CONTEXT,
                               .contextUid = 1,
                               .functionReturnValue = &result};
    if (fake.callback && fake.calls[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel])
        fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API,
                      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
}

__attribute__((visibility("default"))) fake_launch_function fake_launch;

int fake_launch(const char *name, uint64_t ns)
{
    uint32_t correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    call(correlation, CUPTI_API_ENTER);
    call(correlation, CUPTI_API_EXIT);
    CUpti_ActivityKind kind = fake_kernel_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (!fake.kinds[kind])
        return 0;
    pthread_mutex_lock(&lock);
    if (pending_count == PENDING)
        deliver();
    CUpti_ActivityKernel10 *kernel = &pending[pending_count++];
    *kernel = (CUpti_ActivityKernel10){.kind = kind,
                                       .correlationId = correlation,
                                       .contextId = 1,
                                       .streamId = 7,
                                       .gridX = 1,
                                       .gridY = 1,
                                       .gridZ = 1,
                                       .blockX = 32,
                                       .blockY = 1,
                                       .blockZ = 1,
                                       .name = keep_name(name)};
    kernel->start = now_ns();
    kernel->end = kernel->start + ns;
    pthread_mutex_unlock(&lock);
    return 1;
}
