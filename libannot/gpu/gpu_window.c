/* SPDX-License-Identifier: MIT */
/* A window of capture: CUPTI is subscribed to inside of it, and not at all outside.
 *
 * Threads: one lock; launching threads only meet the callback, which takes none. */
#include "gpu_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DRIVER_CALLS = 2048, FOLLOWED_CALLS = 256, SETTLE_TURNS = 20, SETTLE_NS = 10000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_subscribed, is_collecting;
/* Numbers of the driver's calls that are followed; of those that open and shut windows. */
static CUpti_CallbackId calls[FOLLOWED_CALLS];
static int call_count;
static bool launches[DRIVER_CALLS]; /* the others wait for the GPU */
static CUpti_CallbackId profiler_start = CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
static CUpti_CallbackId profiler_stop = CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;

/* ---- What the program calls (launching threads) ---------------------------------------------- */

static void collect(bool on, bool is_reader);

static void on_profiler(CUpti_CallbackId id)
{
    if (id != profiler_start && id != profiler_stop)
        return;
    pthread_mutex_lock(&lock);
    collect(id == profiler_start, false);
    pthread_mutex_unlock(&lock);
}

static void on_node(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    const CUpti_GraphData *graph = data->resourceDescriptor;
    uint64_t node = 0, original = 0;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
        gpu_launch_captured();
    if (!gpu_settings.nodes || !cupti.get_graph_node_id || !graph ||
        cupti.get_graph_node_id(graph->node, &node) != CUPTI_SUCCESS)
        return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
        gpu_node_captured(node);
    else if (cupti.get_graph_node_id(graph->originalNode, &original) == CUPTI_SUCCESS)
        gpu_node_cloned(node, original);
}

static void CUPTIAPI on_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)context;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
            gpu_stream_gone(((const CUpti_ResourceData *)data)->resourceHandle.stream);
        else
            on_node(id, data);
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return;
    if (__builtin_expect(id == profiler_start || id == profiler_stop, 0)) {
        if ((call->callbackSite == CUPTI_API_EXIT) == (id == profiler_start))
            on_profiler(id);
    } else if (call->callbackSite == CUPTI_API_ENTER) {
        gpu_launch_begins(call->correlationId, id < DRIVER_CALLS && launches[id]);
        gpu_stream_met(id, call);
    } else if (call->functionReturnValue && *(const CUresult *)call->functionReturnValue != 0) {
        gpu_launch_failed(call->correlationId);
    } else {
        gpu_launch_returned();
    }
}

/* ---- Which calls those are ------------------------------------------------------------------- */

static bool begins_with_one(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

/* Launching calls are counted, waiting ones and those of memory only noted. */
static bool is_followed(const char *name, bool *ret_launches)
{
    static const char *const launching[] = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset",
                                            NULL};
    static const char *const waiting[] = {
        "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventSynchronize", "cuCtxSynchronize",
        "cuMemAlloc",          "cuMemFree",         "cuEventRecord",      NULL};
    *ret_launches = begins_with_one(name, launching);
    return strncmp(name, "cuLaunchHostFunc", 16) != 0 &&
           (*ret_launches || begins_with_one(name, waiting));
}

static void add_call(CUpti_CallbackId id, bool is_launching)
{
    if (call_count == FOLLOWED_CALLS)
        return;
    calls[call_count++] = id;
    launches[id] = is_launching;
}

/* As this library numbers them; they may be more than the headers knew. */
static void find_calls(void)
{
    static const CUpti_CallbackId known[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
    bool is_launching;
    for (CUpti_CallbackId id = 1; id < DRIVER_CALLS; id++) {
        const char *name = NULL;
        if (cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS &&
            name && is_followed(name, &is_launching))
            add_call(id, is_launching);
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!launches[known[i]])
            add_call(known[i], true);
}

static void enable_calls(bool on)
{
    for (int i = 0; i < call_count; i++)
        gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, calls[i], on);
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, on);
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, on);
    if (gpu_settings.nodes)
        gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, on);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void begin_collecting(void)
{
    gpu_launches_begin();
    gpu_devices_begin();
    enable_calls(true);
    gpu_kinds_enable(true);
}

/* A forced flush takes a kernel that still runs without its end, and it never comes again; a plain
 * one returns what is complete. So what runs is waited for, not for long, and without a call that
 * the program would feel. */
static void settle(bool is_reader)
{
    for (int i = 0; i < SETTLE_TURNS && gpu_launches_pending(); i++) {
        const struct timespec turn = {.tv_nsec = i == 0 ? 0 : SETTLE_NS};
        (void)nanosleep(&turn, NULL);
        gpu_session_flush(false);
        if (is_reader)
            gpu_buffers_drain(gpu_spans_tell);
    }
}

/* Launches are counted no more before what they led to is taken. */
static void end_collecting(bool is_reader)
{
    enable_calls(false);
    settle(is_reader);
    gpu_session_flush(true);
    gpu_buffers_count_dropped();
    gpu_kinds_enable(false);
}

static void collect(bool on, bool is_reader)
{
    if (!is_subscribed || is_collecting == on)
        return;
    if (on)
        begin_collecting();
    else
        end_collecting(is_reader);
    is_collecting = on;
}

static void leave(void)
{
    gpu_session_shut();
    is_subscribed = false;
}

static int open_locked(char *text, size_t size)
{
    if (is_subscribed)
        return 0;
    if (gpu_buffers_open() != 0 || gpu_launches_open() != 0) {
        snprintf(text, size, "no memory for buffers");
        return -ENOMEM;
    }
    int error = gpu_session_open(on_call, text, size);
    if (error != 0)
        return error;
    is_subscribed = true;
    if (call_count == 0)
        find_calls();
    if (!gpu_settings.profiler) {
        collect(true, false);
        return 0;
    }
    gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, profiler_start, true);
    gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, profiler_stop, true);
    return 0;
}

int gpu_window_open(char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    int error = open_locked(text, size);
    pthread_mutex_unlock(&lock);
    return error;
}

void gpu_window_shut(void)
{
    pthread_mutex_lock(&lock);
    if (is_subscribed) {
        collect(false, true);
        leave();
    }
    pthread_mutex_unlock(&lock);
}

void gpu_window_flush(void)
{
    pthread_mutex_lock(&lock);
    if (is_collecting)
        gpu_session_flush(false);
    pthread_mutex_unlock(&lock);
}
