/* SPDX-License-Identifier: MIT */
/* The driver's calls that launch work or wait for it, and the data recorded for them.
 *
 * Threads: those of the program run on_call, which takes no lock; the rest runs for the window, one
 * at a time. One call of 64 is timed, for the governor. */
#include "gpu_calls.h"

#include "gpu_governor.h"
#include "gpu_launches.h"
#include "gpu_library.h"
#include "gpu_pc.h"
#include "gpu_session.h"
#include "gpu_settings.h"
#include "gpu_streams.h"
#include "gpu_trigger.h"
#include "gpu_values.h"
#include "gpu_window.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DRIVER_CALLS = 2048, FOLLOWED_CALLS = 256, TIMED_ONE_OF = 64 };

/* Numbers of the driver's calls that are followed. */
static CUpti_CallbackId calls[FOLLOWED_CALLS];
static int call_count;
static bool launches[DRIVER_CALLS]; /* the others wait for the GPU */
static const CUpti_CallbackId profiler_start = CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
static const CUpti_CallbackId profiler_stop = CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;

/* ---- Callbacks on launching threads ---------------------------------------------------------- */

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

static void on_driver(CUpti_CallbackId id, const CUpti_CallbackData *call)
{
    if (call->callbackSite == CUPTI_API_ENTER) {
        if (gpu_wanted.pc && id < DRIVER_CALLS && launches[id])
            gpu_pc_met(call->context);
        gpu_launch_begins(call->correlationId, id < DRIVER_CALLS && launches[id]);
        gpu_stream_met(id, call);
    } else if (call->functionReturnValue && *(const CUresult *)call->functionReturnValue != 0) {
        gpu_launch_failed(call->correlationId);
    } else {
        gpu_launch_returned();
    }
}

static void on_driver_timed(CUpti_CallbackId id, const CUpti_CallbackData *call)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    on_driver(id, call);
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t ns = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
    gpu_governor_add((uint64_t)ns * TIMED_ONE_OF);
}

void CUPTIAPI gpu_calls_on(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)context;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && (id == profiler_start || id == profiler_stop)) {
        if ((call->callbackSite == CUPTI_API_EXIT) == (id == profiler_start))
            gpu_trigger_profiler(id == profiler_start);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
               id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
        gpu_stream_gone(((const CUpti_ResourceData *)data)->resourceHandle.stream);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
               id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
        gpu_pc_gone(((const CUpti_ResourceData *)data)->context);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
               id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) {
        gpu_pc_unloads(((const CUpti_ResourceData *)data)->context);
    } else if (!gpu_window_is_taking()) {
        gpu_launch_returned(); /* for a call that began while it was */
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        on_node(id, data);
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        if (call->correlationId % TIMED_ONE_OF == 0)
            on_driver_timed(id, call);
        else
            on_driver(id, call);
    }
}

/* ---- Choice of calls ------------------------------------------------------------------------- */

static bool begins_with_one(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

/* Launching calls are counted; of waiting and memory calls only the origin is stored. */
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

void gpu_calls_find(void)
{
    static const CUpti_CallbackId known[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
    bool is_launching;
    if (call_count > 0)
        return;
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

void gpu_calls_follow(bool on)
{
    for (int i = 0; i < call_count; i++)
        gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, calls[i], on);
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, on);
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, on);
    if (gpu_settings.nodes)
        gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, on);
    if (!gpu_wanted.pc)
        return;
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, on);
    gpu_session_follow(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, on);
}

void gpu_calls_follow_profiler(void)
{
    gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, profiler_start, true);
    gpu_session_follow(CUPTI_CB_DOMAIN_DRIVER_API, profiler_stop, true);
}

/* ---- Names of calls -------------------------------------------------------------------------- */

/* Calls of the CUDA runtime and driver: names for CUPTI's numbers.
 * Threads: that of gpu_thread.c; gpu_api_leave_out() that of the window. */

enum { NAMED_CALLS = 2048, NAME_SIZE = 128 };

static const char *exact_name(bool is_driver, uint32_t call)
{
    CUpti_CallbackDomain domain =
        is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const char *name = NULL;
    return cupti.get_callback_name(domain, call, &name) == CUPTI_SUCCESS ? name : NULL;
}

/* Without "_v2", "_v12000", "_ptsz", "_ptds" at the end: versions of one call. */
static void clean_name(const char *exact, char *name)
{
    snprintf(name, NAME_SIZE, "%s", exact);
    for (char *last = strrchr(name, '_'); last && last > name; last = strrchr(name, '_')) {
        bool is_stream = strcmp(last, "_ptsz") == 0 || strcmp(last, "_ptds") == 0;
        bool is_version =
            last[1] == 'v' && last[2] && strspn(last + 2, "0123456789") == strlen(last + 2);
        if (!is_stream && !is_version)
            return;
        *last = 0;
    }
}

static uint32_t make_name(bool is_driver, uint32_t call)
{
    struct gpu_values values = {0};
    const char *exact = exact_name(is_driver, call);
    char name[NAME_SIZE];
    if (!exact) {
        snprintf(name, sizeof(name), "%s call %u", is_driver ? "driver" : "runtime", call);
        return gpu_emit_name(name);
    }
    clean_name(exact, name);
    if (strcmp(name, exact) == 0)
        return gpu_emit_name(name);
    gpu_values_text(&values, GPU_KEY_FUNCTION, exact);
    return gpu_emit_label(name, &values);
}

uint32_t gpu_api_name(bool is_driver, uint32_t call)
{
    static uint32_t names[2][NAMED_CALLS];
    if (call >= NAMED_CALLS)
        return make_name(is_driver, call);
    if (names[is_driver][call] == 0)
        names[is_driver][call] = make_name(is_driver, call);
    return names[is_driver][call];
}

/* PyTorch calls these around each launch. */
static bool is_noise(const char *exact)
{
    static const char *const noise[] = {"cudaGetDevice",
                                        "cudaSetDevice",
                                        "cudaGetLastError",
                                        "cudaPeekAtLastError",
                                        "__cudaPushCallConfiguration",
                                        "__cudaPopCallConfiguration"};
    char name[NAME_SIZE];
    clean_name(exact, name);
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        if (strcmp(name, noise[i]) == 0)
            return true;
    return false;
}

void gpu_api_leave_out(void)
{
    for (uint32_t call = 1; call < NAMED_CALLS; call++) {
        const char *exact = exact_name(false, call);
        if (exact && is_noise(exact))
            gpu_session_leave_out(call);
    }
}
