/* SPDX-License-Identifier: MIT */
/* A bare CUPTI client that stores the activity buffers unchanged, for tests without a GPU.
 *
 * Loaded by the driver through CUDA_INJECTION64_PATH. Settings are environment variables:
 *     KEEP_FILE    the output file; without it buffers are discarded
 *     KEEP_KINDS   kinds of activities, by number: "10,1,2,4" (default: those of a timeline)
 *     KEEP_MODE    "on" from the start (default), "signal": SIGUSR2 opens and shuts a window,
 *                  "finalize": as signal, and cuptiFinalize at each end; "calls": callbacks alone
 *     KEEP_CLOCK   "monotonic": by cuptiActivityRegisterTimestampCallback; else CUPTI's own
 *
 * The file is a sequence of parts {u32 type, u32 size, size bytes, to a multiple of 8}, all numbers
 * little endian. The struct declarations below describe it. One thread writes at a time (a lock).
 * This code is not meant for production. */
#define _GNU_SOURCE
#include <cupti.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum part {
    PART_VERSION = 1,
    PART_LAYOUT,
    PART_CLOCK,
    PART_CALL,
    PART_BUFFER,
    PART_SWITCH,
    PART_NAME
};

struct part_head {
    uint32_t type, size;
};

struct part_version {
    uint32_t cupti, driver, pid, reserved;
};

struct part_clock {
    uint64_t monotonic_ns, cupti_ns, realtime_ns;
};

struct part_call { /* a callback: a driver call begins or ends */
    uint64_t monotonic_ns;
    uint32_t domain, id, site, correlation_id, context_id, tid;
};

struct part_buffer { /* followed by valid_size bytes */
    uint64_t monotonic_ns, context, size, valid_size, dropped;
    uint32_t stream_id, tid;
};

struct part_switch { /* a window opens or shuts, and the time it took */
    uint64_t monotonic_ns, took_ns;
    uint32_t on, tid;
};

/* PART_NAME: u64, then a kernel's name: the target of a name pointer in the previous buffer. */

enum { BUFFER_SIZE = 1 << 20, NAMES_MAX = 64 };

static int file = -1;
static int is_on, finalizes, calls_only;
static CUpti_ActivityKind kinds[40];
static int kind_count;
static CUpti_SubscriberHandle subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t buffers, bytes, records_dropped;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t monotonic(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

static void put(enum part type, const void *first, size_t first_size, const void *rest, size_t size)
{
    static const char zeros[8];
    struct part_head head = {type, (uint32_t)(first_size + size)};
    if (file < 0)
        return;
    pthread_mutex_lock(&lock);
    if (write(file, &head, sizeof(head)) < 0 || write(file, first, first_size) < 0 ||
        write(file, rest, size) < 0 || write(file, zeros, -(first_size + size) & 7) < 0)
        perror("gpu_keep.c: write");
    pthread_mutex_unlock(&lock);
}

static void check(CUptiResult result, const char *what)
{
    const char *text = "?";
    if (result == CUPTI_SUCCESS)
        return;
    cuptiGetResultString(result, &text);
    fprintf(stderr, "gpu_keep.c: %s: %s (%d)\n", what, text, (int)result);
}

#define FIELD(type, name)                                                                          \
    fprintf(out, "%s %s %zu %zu\n", #type, #name, offsetof(type, name), sizeof(((type *)0)->name))

/* The offsets of the fields that a reader needs: "STRUCT FIELD OFFSET SIZE" a line. */
static void put_layout(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
#define KERNEL(name) FIELD(CUpti_ActivityKernel10, name)
    KERNEL(start), KERNEL(end), KERNEL(completed), KERNEL(deviceId), KERNEL(contextId);
    KERNEL(streamId), KERNEL(gridX), KERNEL(gridY), KERNEL(gridZ), KERNEL(blockX), KERNEL(blockY);
    KERNEL(blockZ), KERNEL(staticSharedMemory), KERNEL(dynamicSharedMemory), KERNEL(correlationId);
    KERNEL(registersPerThread), KERNEL(gridId), KERNEL(graphNodeId), KERNEL(graphId), KERNEL(name);
    FIELD(CUpti_ActivityMemcpy6, copyKind), FIELD(CUpti_ActivityMemcpy6, bytes);
    FIELD(CUpti_ActivityMemcpy6, start), FIELD(CUpti_ActivityMemcpy6, end);
    FIELD(CUpti_ActivityMemcpy6, contextId), FIELD(CUpti_ActivityMemcpy6, streamId);
    FIELD(CUpti_ActivityMemcpy6, correlationId), FIELD(CUpti_ActivityMemcpy6, graphNodeId);
    FIELD(CUpti_ActivityMemset4, bytes), FIELD(CUpti_ActivityMemset4, start);
    FIELD(CUpti_ActivityMemset4, end), FIELD(CUpti_ActivityMemset4, contextId);
    FIELD(CUpti_ActivityMemset4, streamId), FIELD(CUpti_ActivityMemset4, correlationId);
    FIELD(CUpti_ActivityAPI, cbid), FIELD(CUpti_ActivityAPI, start), FIELD(CUpti_ActivityAPI, end);
    FIELD(CUpti_ActivityAPI, processId), FIELD(CUpti_ActivityAPI, threadId);
    FIELD(CUpti_ActivityAPI, correlationId), FIELD(CUpti_ActivityAPI, returnValue);
    FIELD(CUpti_ActivitySynchronization2, type), FIELD(CUpti_ActivitySynchronization2, start);
    FIELD(CUpti_ActivitySynchronization2, end), FIELD(CUpti_ActivitySynchronization2, streamId);
    FIELD(CUpti_ActivitySynchronization2, contextId);
    FIELD(CUpti_ActivitySynchronization2, correlationId);
    FIELD(CUpti_ActivityGraphTrace2, correlationId), FIELD(CUpti_ActivityGraphTrace2, start);
    FIELD(CUpti_ActivityGraphTrace2, end), FIELD(CUpti_ActivityGraphTrace2, graphId);
    FIELD(CUpti_ActivityGraphTrace2, streamId), FIELD(CUpti_ActivityGraphTrace2, contextId);
    FIELD(CUpti_ActivityOverhead3, overheadKind), FIELD(CUpti_ActivityOverhead3, start);
    FIELD(CUpti_ActivityOverhead3, end);
    FIELD(CUpti_ActivityJit2, start), FIELD(CUpti_ActivityJit2, end);
    fclose(out);
    put(PART_LAYOUT, text, size, NULL, 0);
    free(text);
}

static void put_clock(void)
{
    struct part_clock now = {.monotonic_ns = monotonic()};
    cuptiGetTimestamp(&now.cupti_ns);
    now.realtime_ns = now_ns(CLOCK_REALTIME);
    now.monotonic_ns = (now.monotonic_ns + monotonic()) / 2;
    put(PART_CLOCK, &now, sizeof(now), NULL, 0);
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = calloc(1, BUFFER_SIZE);
    *size = *buffer ? BUFFER_SIZE : 0;
    *max_records = 0;
}

/* Writes each name once. */
static void put_name(const char *name)
{
    static const char *known[NAMES_MAX];
    static int count;
    uint64_t pointer = (uintptr_t)name;
    for (int i = 0; i < count; i++)
        if (known[i] == name)
            return;
    if (count < NAMES_MAX)
        known[count++] = name;
    put(PART_NAME, &pointer, sizeof(pointer), name, strlen(name));
}

static void put_names(uint8_t *buffer, size_t valid_size)
{
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            put_name(((CUpti_ActivityKernel10 *)record)->name);
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid_size)
{
    size_t dropped = 0;
    cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    struct part_buffer got = {monotonic(), (uintptr_t)context, size, valid_size, dropped,
                              stream,      (uint32_t)gettid()};
    put(PART_BUFFER, &got, sizeof(got), buffer, valid_size);
    if (file >= 0)
        put_names(buffer, valid_size);
    __atomic_add_fetch(&buffers, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&bytes, valid_size, __ATOMIC_RELAXED);
    __atomic_add_fetch(&records_dropped, dropped, __ATOMIC_RELAXED);
    free(buffer);
}

static void CUPTIAPI called(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data)
{
    const CUpti_CallbackData *told = data;
    (void)context;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return;
    struct part_call call = {
        monotonic(),       domain, id, told->callbackSite, told->correlationId, told->contextUid,
        (uint32_t)gettid()};
    put(PART_CALL, &call, sizeof(call), NULL, 0);
}

/* Only the launches: kernels and graphs, in the forms of this driver. */
static void enable_calls(void)
{
    static const CUpti_CallbackId ids[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]), "callback");
}

static void window_open(void)
{
    CUptiResult result = cuptiSubscribe(&subscriber, called, NULL);
    check(result, "cuptiSubscribe");
    if (result != CUPTI_SUCCESS)
        return;
    enable_calls();
    if (calls_only)
        return;
    check(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "thread ids");
    check(cuptiActivityRegisterCallbacks(requested, completed), "register");
    for (int i = 0; i < kind_count; i++)
        check(cuptiActivityEnable(kinds[i]), "enable");
}

static void window_shut(void)
{
    if (!calls_only) {
        check(cuptiActivityFlushAll(1), "flush");
        for (int i = 0; i < kind_count; i++)
            cuptiActivityDisable(kinds[i]);
    }
    check(cuptiUnsubscribe(subscriber), "unsubscribe");
    if (finalizes)
        check(cuptiFinalize(), "finalize");
}

static void switch_window(int signal)
{
    uint64_t begin = monotonic();
    (void)signal;
    is_on = !is_on;
    if (is_on)
        window_open();
    else
        window_shut();
    struct part_switch told = {begin, monotonic() - begin, (uint32_t)is_on, (uint32_t)gettid()};
    put(PART_SWITCH, &told, sizeof(told), NULL, 0);
    put_clock();
}

static void read_kinds(const char *text)
{
    char *end;
    for (; *text && kind_count < 40; text = *end ? end + 1 : end)
        kinds[kind_count++] = (CUpti_ActivityKind)strtol(text, &end, 10);
}

static void *flusher(void *unused)
{
    (void)unused;
    for (;;) {
        usleep(500000);
        if (is_on && !calls_only)
            cuptiActivityFlushAll(0);
        put_clock();
    }
    return NULL;
}

static void at_exit(void)
{
    if (is_on && !calls_only)
        cuptiActivityFlushAll(1);
    put_clock();
    fprintf(stderr, "{\"buffers\": %lu, \"bytes\": %lu, \"dropped\": %lu}\n",
            (unsigned long)buffers, (unsigned long)bytes, (unsigned long)records_dropped);
}

/* Called by the driver within cuInit. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    const char *path = getenv("KEEP_FILE"), *mode = getenv("KEEP_MODE");
    const char *wanted = getenv("KEEP_KINDS"), *clock = getenv("KEEP_CLOCK");
    struct part_version version = {.pid = (uint32_t)getpid()};
    pthread_t thread;
    read_kinds(wanted ? wanted : "1,2,4,8,9,10,17,22,36,37,38,49,51,52");
    if (path)
        file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    cuptiGetVersion(&version.cupti);
    cuDriverGetVersion((int *)&version.driver);
    put(PART_VERSION, &version, sizeof(version), NULL, 0);
    put_layout();
    if (clock && strcmp(clock, "monotonic") == 0)
        check(cuptiActivityRegisterTimestampCallback(monotonic), "clock");
    put_clock();
    finalizes = mode && strcmp(mode, "finalize") == 0;
    calls_only = mode && strcmp(mode, "calls") == 0;
    atexit(at_exit);
    if (finalizes || (mode && strcmp(mode, "signal") == 0))
        signal(SIGUSR2, switch_window);
    else
        switch_window(0);
    pthread_create(&thread, NULL, flusher, NULL);
    return 1;
}
