/* SPDX-License-Identifier: MIT */
/* Launches that a test program makes up, from any of its lines: the calls of CUPTI around a launch,
 * and a record of a kernel or copy of exactly the requested duration. Graphs are in fake_graphs.c.
 * Threads: any. */
#include "fake_parts.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { PENDING = 1 << 12, RECORD_MAX = 256, NAMES = 64, NAME_SIZE = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    uint8_t bytes[RECORD_MAX];
    size_t size;
} pending[PENDING];

static int pending_count;
static char names[NAMES][NAME_SIZE];
static uint32_t correlations = 1000000;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns a permanent copy. The lock is held. */
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
        if (buffer && used + pending[i].size > room) {
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
        memcpy(buffer + used, pending[i].bytes, pending[i].size);
        used += pending[i].size;
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

void fake_call(CUpti_CallbackId id, uint32_t correlation, CUpti_ApiCallbackSite site)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data = {.callbackSite = site,
                               .correlationId = correlation,
                               .context = FAKE_CONTEXT,
                               .contextUid = 1,
                               .functionReturnValue = &result};
    if (fake.callback && fake.calls[id])
        fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

uint32_t fake_call_around(CUpti_CallbackId id)
{
    uint32_t correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    fake_call(id, correlation, CUPTI_API_ENTER);
    fake_call(id, correlation, CUPTI_API_EXIT);
    return correlation;
}

static void pend(const void *record, size_t size)
{
    if (pending_count == PENDING)
        deliver();
    memcpy(pending[pending_count].bytes, record, size);
    pending[pending_count++].size = size;
}

static void pend_copy(const struct fake_work *work, uint64_t begin_ns)
{
    const CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                        .bytes = work->bytes,
                                        .start = begin_ns,
                                        .end = begin_ns + work->ns,
                                        .contextId = 1,
                                        .streamId = FAKE_DEFAULT_STREAM,
                                        .correlationId = work->correlation,
                                        .graphNodeId = work->node,
                                        .graphId = work->graph};
    pend(&copy, sizeof(copy));
}

static void pend_kernel(const struct fake_work *work, uint64_t begin_ns)
{
    const CUpti_ActivityKernel10 kernel = {
        .kind = fake_kernel_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
        .correlationId = work->correlation,
        .contextId = 1,
        .streamId = FAKE_DEFAULT_STREAM,
        .gridX = 1,
        .gridY = 1,
        .gridZ = 1,
        .blockX = 32,
        .blockY = 1,
        .blockZ = 1,
        .graphNodeId = work->node,
        .graphId = work->graph,
        .start = begin_ns,
        .end = begin_ns + work->ns,
        .name = keep_name(work->name)};
    pend(&kernel, sizeof(kernel));
}

static void pend_graph(const struct fake_work *work, uint64_t begin_ns)
{
    const CUpti_ActivityGraphTrace2 graph = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                             .correlationId = work->correlation,
                                             .start = begin_ns,
                                             .end = begin_ns + work->ns,
                                             .contextId = 1,
                                             .streamId = FAKE_DEFAULT_STREAM,
                                             .graphId = work->graph};
    pend(&graph, sizeof(graph));
}

void fake_run(const struct fake_work *work, size_t count)
{
    pthread_mutex_lock(&lock);
    uint64_t begin_ns = now_ns();
    for (size_t i = 0; i < count; begin_ns += work[i++].ns)
        if (work[i].bytes)
            pend_copy(&work[i], begin_ns);
        else if (work[i].name)
            pend_kernel(&work[i], begin_ns);
        else
            pend_graph(&work[i], begin_ns);
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) fake_launch_function fake_launch;
__attribute__((visibility("default"))) fake_copy_function fake_copy;

int fake_launch(const char *name, uint64_t ns)
{
    struct fake_work kernel = {.name = name, .ns = ns};
    kernel.correlation = fake_call_around(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    if (!fake.kinds[fake_kernel_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)])
        return 0;
    fake_run(&kernel, 1);
    return 1;
}

int fake_copy(uint64_t bytes, uint64_t ns)
{
    struct fake_work copy = {.bytes = bytes, .ns = ns};
    copy.correlation = fake_call_around(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz);
    if (!fake.kinds[CUPTI_ACTIVITY_KIND_MEMCPY])
        return 0;
    fake_run(&copy, 1);
    return 1;
}
