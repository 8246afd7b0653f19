/* SPDX-License-Identifier: MIT */
/* Replays a file that gpu_keep.c wrote on a machine with a GPU: launching calls at the original
 * pace, and the buffers after them, of the enabled kinds.
 *
 * Modes, separated by commas:
 *     late      everything comes at the forced flush     reordered  and the last record first
 *     split     a buffer for each record                 starved    all buffers are taken first
 *     dropped   every third record is lost and counted   zero       every third has no times
 *     early     every third begins a minute too soon     twice      each buffer comes back twice
 *     capture   launches without a record were captured  garbage    bytes of records are changed
 *     exit      a buffer after everything has ended      profiler   calls 11 to 30 are between
 *     overrun   more buffers are taken than there can be            cuProfilerStart and
 *     pause     recording pauses while ANNOT_GPU_TELL_SWITCH        cuProfilerStop
 *               is away: after call 20, for a second
 *     foreign   every third record is of a kind that CUPTI itself cannot step over
 *     behind    the last buffer comes back as its subscriber leaves
 *     runtime   calls of the driver are reported as calls of the runtime
 *     events    a call is reported before each event     unified    memory moves, at the end
 *     hidden    reports a device that the program may not use, with the number of one that it may
 *     ranges    the program always makes its calls, with or without a subscriber; the work launched
 *               by a followed call comes at the next flush
 *     keep      and not before a forced one */
#include "fake_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PART_CALL = 4,
    PART_BUFFER = 5,
    PART_NAME = 7,
    NAMES = 64,
    WAITING = 1 << 16,
    THREADS = 16,
    LAUNCHES = 1 << 16
};

/* How far the times of records are ahead of the replay. A window that shuts holds the replay up by
 * half a second and more if its records come late: FAKE_LAG_MS. */
#define LAG_NS INT64_C(600000000)

struct part_call {
    uint64_t monotonic_ns;
    uint32_t domain, id, site, correlation_id, context_id, tid;
};

struct part_buffer {
    uint64_t monotonic_ns, context, size, valid_size, dropped;
    uint32_t stream_id, tid;
};

static struct replay {
    const uint8_t *bytes;
    size_t size;
    const char *mode;
    int64_t delta_ns, lag_ns;
    bool was_called;
    uint64_t pointers[NAMES];
    char *names[NAMES];
    int name_count;
    uint8_t *buffer; /* being filled */
    size_t room, used;
    uint64_t records, offered, calls, nodes;

    struct {
        uint32_t recorded, own;
    } threads[THREADS];

    uint32_t thread_count;
    uint32_t streams[LAUNCHES];
    uint8_t *waiting[WAITING]; /* mode late: copies of records */
    uint32_t waiting_count;
} replay;

static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER; /* of mode ranges */

size_t fake_record_size(uint32_t kind)
{
    static const uint16_t sizes[FAKE_KINDS] = {
        [1] = 96,  [2] = 88,   [3] = 216,  [4] = 40,  [5] = 40,   [8] = 184,
        [9] = 32,  [10] = 216, [17] = 56,  [22] = 96, [25] = 104, [36] = 56,
        [37] = 24, [38] = 56,  [49] = 128, [51] = 56, [52] = 72};
    return kind < FAKE_KINDS ? sizes[kind] : 0;
}

static bool is_mode(const char *word)
{
    return replay.mode && strstr(replay.mode, word);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* The next part from *at on. 0: there are no more. */
static uint32_t next_part(size_t *at, const uint8_t **ret_bytes, uint32_t *ret_size)
{
    uint32_t head[2];
    if (*at + sizeof(head) > replay.size)
        return 0;
    memcpy(head, replay.bytes + *at, sizeof(head));
    *ret_bytes = replay.bytes + *at + sizeof(head);
    *ret_size = head[1];
    *at += sizeof(head) + (head[1] + 7) / 8 * 8;
    return *at <= replay.size ? head[0] : 0;
}

static void read_names(void)
{
    const uint8_t *bytes;
    uint32_t size, type;
    size_t at = 0;
    while ((type = next_part(&at, &bytes, &size)) != 0)
        if (type == PART_NAME && replay.name_count < NAMES) {
            memcpy(&replay.pointers[replay.name_count], bytes, 8);
            replay.names[replay.name_count++] = strndup((const char *)bytes + 8, size - 8);
        }
}

void fake_rename(void)
{
    for (int i = 0; i < replay.name_count; i++)
        if (replay.names[i][0])
            replay.names[i][strlen(replay.names[i]) - 1] = 'x';
}

static uint64_t first_call_ns(void)
{
    struct part_call call;
    struct part_buffer buffer;
    const uint8_t *bytes;
    uint32_t size, type;
    size_t at = 0;
    while ((type = next_part(&at, &bytes, &size)) != 0) {
        if (type == PART_CALL) {
            memcpy(&call, bytes, sizeof(call));
            return call.monotonic_ns;
        }
        if (type == PART_BUFFER) {
            memcpy(&buffer, bytes, sizeof(buffer));
            return buffer.monotonic_ns + (uint64_t)replay.lag_ns; /* all of it has ended by then */
        }
    }
    return now_ns();
}

/* ---- Records --------------------------------------------------------------------------------- */

static void move_time(uint8_t *record, size_t at)
{
    uint64_t time, behind_ns = fake.clock ? 0 : fake_realtime_ns() - now_ns();
    memcpy(&time, record + at, sizeof(time));
    if (time != 0)
        time += (uint64_t)replay.delta_ns + behind_ns;
    memcpy(record + at, &time, sizeof(time));
}

/* The offset of the begin time. The end time is the next word. */
static size_t times_of(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return offsetof(CUpti_ActivityKernel10, start);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return offsetof(CUpti_ActivityMemcpy6, start);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return offsetof(CUpti_ActivityMemset4, start);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return offsetof(CUpti_ActivityGraphTrace2, start);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return offsetof(CUpti_ActivitySynchronization2, start);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return offsetof(CUpti_ActivityOverhead3, start);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return offsetof(CUpti_ActivityAPI, start);
    case CUPTI_ACTIVITY_KIND_JIT:
        return offsetof(CUpti_ActivityJit2, start);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return offsetof(CUpti_ActivityMemory3, timestamp); /* followed by a 0 */
    default:
        return 0;
    }
}

static void name_kernel(uint8_t *record)
{
    uint64_t pointer;
    memcpy(&pointer, record + offsetof(CUpti_ActivityKernel10, name), sizeof(pointer));
    const char *name = NULL;
    for (int i = 0; i < replay.name_count; i++)
        if (replay.pointers[i] == pointer)
            name = replay.names[i];
    memcpy(record + offsetof(CUpti_ActivityKernel10, name), &name, sizeof(name));
}

/* Sets the thread that represents a recorded one, once it has made a call. */
static void name_thread(uint8_t *record, size_t at)
{
    uint32_t tid;
    memcpy(&tid, record + at, sizeof(tid));
    for (uint32_t i = 0; i < replay.thread_count; i++)
        if (replay.threads[i].recorded == tid)
            memcpy(record + at, &replay.threads[i].own, sizeof(tid));
}

static void meet_thread(uint32_t recorded)
{
    for (uint32_t i = 0; i < replay.thread_count; i++)
        if (replay.threads[i].recorded == recorded)
            return;
    if (replay.thread_count == THREADS)
        return;
    replay.threads[replay.thread_count].own = (uint32_t)gettid();
    replay.threads[replay.thread_count++].recorded = recorded;
}

/* Adapts times and names to this process, and applies the mode to every third record. */
static void prepare(uint8_t *record, uint32_t kind)
{
    size_t at = times_of(kind);
    bool third = replay.records++ % 3 == 2;
    if (at == 0)
        return;
    move_time(record, at);
    move_time(record, at + 8);
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        name_kernel(record);
    fake_place_work(record, kind);
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        name_thread(record, offsetof(CUpti_ActivityAPI, threadId));
    if (kind == CUPTI_ACTIVITY_KIND_JIT)
        name_thread(record, offsetof(CUpti_ActivityJit2, threadId));
    if (third && is_mode("zero"))
        memset(record + at, 0, 16);
    if (third && is_mode("early")) {
        uint64_t time;
        memcpy(&time, record + at, sizeof(time));
        time -= UINT64_C(60000000000);
        memcpy(record + at, &time, sizeof(time));
    }
    if (third && is_mode("garbage"))
        memset(record + 4, 0xa5, 8);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

void fake_complete_now(void)
{
    uint8_t *buffer = replay.buffer;
    replay.buffer = NULL;
    if (!buffer)
        return;
    fake_complete(buffer, replay.room, replay.used);
    if (is_mode("twice"))
        fake_complete(buffer, replay.room, replay.used);
}

void fake_deliver(const uint8_t *record, size_t size)
{
    size_t max_records = 0;
    if (replay.buffer && replay.used + size > replay.room)
        fake_complete_now();
    if (!replay.buffer) {
        fake_request(&replay.buffer, &replay.room, &max_records);
        replay.used = 0;
    }
    if (!replay.buffer) {
        __atomic_add_fetch(&fake.dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    memcpy(replay.buffer + replay.used, record, size);
    replay.used += size;
    if (is_mode("split"))
        fake_complete_now();
}

static void put_record(const uint8_t *record, size_t size, uint32_t kind)
{
    uint8_t copy[256];
    bool is_runtime = kind == CUPTI_ACTIVITY_KIND_DRIVER && is_mode("runtime");
    kind = is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : kind;
    if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT && is_mode("events") && fake.callback)
        fake_call_event(record);
    uint32_t recorded_as = fake_kernel_kind(kind);
    if (kind >= FAKE_KINDS || !fake.kinds[recorded_as])
        return;
    if (is_mode("dropped") && replay.offered++ % 3 == 2) {
        __atomic_add_fetch(&fake.dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    memcpy(copy, record, size);
    if (is_runtime)
        fake_make_runtime(copy);
    prepare(copy, kind);
    if (!is_runtime)
        memcpy(copy, &recorded_as, sizeof(recorded_as));
    if (is_mode("foreign") && replay.records % 3 == 0)
        memset(copy, 0x7f, sizeof(recorded_as));
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        fake_put_devices(copy, size, is_mode("hidden"));
    } else if (!is_mode("late") && !is_mode("reordered") && !is_mode("ranges")) {
        fake_deliver(copy, size);
    } else if (replay.waiting_count < WAITING) {
        uint8_t *waits = malloc(size);
        memcpy(waits, copy, size);
        replay.waiting[replay.waiting_count++] = waits;
    }
}

void fake_flush(bool forced)
{
    bool all = forced || (is_mode("ranges") && !is_mode("keep"));
    pthread_mutex_lock(&waiting_lock);
    for (uint32_t i = 0; all && i < replay.waiting_count; i++) {
        uint32_t at = is_mode("reordered") ? replay.waiting_count - 1 - i : i;
        fake_deliver(replay.waiting[at], fake_record_size(*(uint32_t *)replay.waiting[at]));
        free(replay.waiting[at]);
    }
    if (all) {
        replay.waiting_count = 0;
        fake_complete_now();
    }
    pthread_mutex_unlock(&waiting_lock);
}

/* Waits for the moment of a recorded time. */
static void wait_for(uint64_t recorded_ns)
{
    uint64_t due = recorded_ns + (uint64_t)(replay.delta_ns - replay.lag_ns), now = now_ns();
    if (due > now) {
        const struct timespec time = {(time_t)((due - now) / 1000000000),
                                      (long)((due - now) % 1000000000)};
        nanosleep(&time, NULL);
    }
}

static void put_buffer(const uint8_t *bytes, uint32_t size)
{
    struct part_buffer head;
    memcpy(&head, bytes, sizeof(head));
    wait_for(head.monotonic_ns);
    for (size_t at = sizeof(head); at + 4 <= size;) {
        uint32_t kind;
        memcpy(&kind, bytes + at, sizeof(kind));
        size_t step = fake_record_size(kind);
        if (step == 0 || at + step > size)
            return;
        put_record(bytes + at, step, kind);
        at += step;
    }
    if (!is_mode("behind"))
        fake_complete_now();
}

void fake_leave(void)
{
    if (is_mode("behind"))
        fake_complete_now();
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* For kernels and graphs: finds the number of the launch, and the stream, in a record. */
static bool find_launch(const uint8_t *record, uint32_t *ret_correlation, uint32_t *ret_stream)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    bool is_graph = kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    if (!is_graph && kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        return false;
    memcpy(ret_correlation,
           record + (is_graph ? offsetof(CUpti_ActivityGraphTrace2, correlationId)
                              : offsetof(CUpti_ActivityKernel10, correlationId)),
           sizeof(*ret_correlation));
    memcpy(ret_stream,
           record + (is_graph ? offsetof(CUpti_ActivityGraphTrace2, streamId)
                              : offsetof(CUpti_ActivityKernel10, streamId)),
           sizeof(*ret_stream));
    return true;
}

/* By the launch's number: 1 + the stream. */
static void read_streams(void)
{
    const uint8_t *bytes;
    uint32_t size, type, correlation, stream, kind;
    size_t where = 0;
    while ((type = next_part(&where, &bytes, &size)) != 0)
        for (size_t at = sizeof(struct part_buffer); type == PART_BUFFER && at + 4 <= size;) {
            if (find_launch(bytes + at, &correlation, &stream) && correlation < LAUNCHES)
                replay.streams[correlation] = stream + 1;
            memcpy(&kind, bytes + at, sizeof(kind));
            at += fake_record_size(kind) ? fake_record_size(kind) : size;
        }
}

/* The kernel or graph of a call. NULL: there is no record. */
static const uint8_t *find_record(uint32_t correlation, uint32_t *ret_kind)
{
    const uint8_t *bytes;
    uint32_t size, type, found, stream;
    size_t where = 0;
    while ((type = next_part(&where, &bytes, &size)) != 0)
        for (size_t at = sizeof(struct part_buffer); type == PART_BUFFER && at + 4 <= size;) {
            memcpy(ret_kind, bytes + at, sizeof(*ret_kind));
            if (find_launch(bytes + at, &found, &stream) && found == correlation)
                return bytes + at;
            at += fake_record_size(*ret_kind) ? fake_record_size(*ret_kind) : size;
        }
    return NULL;
}

/* The work launched by a followed call is on the GPU from then on. */
static void launch_now(uint32_t correlation)
{
    uint32_t kind;
    const uint8_t *record = find_record(correlation, &kind);
    pthread_mutex_lock(&waiting_lock);
    if (record)
        put_record(record, fake_record_size(kind), kind);
    pthread_mutex_unlock(&waiting_lock);
}

/* A node in graph number 1, and its copy in graph 2, which is the launched one. */
static void make_node(void)
{
    uint64_t id = UINT64_C(1) << 32 | replay.nodes, clone = UINT64_C(2) << 32 | replay.nodes++;
    CUpti_GraphData graph = {.node = (CUgraphNode)(uintptr_t)id};
    const CUpti_ResourceData data = {.resourceDescriptor = &graph};
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                  &data);
    graph = (CUpti_GraphData){.node = (CUgraphNode)(uintptr_t)clone,
                              .originalNode = (CUgraphNode)(uintptr_t)id};
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                  &data);
}

/* On the launching thread: begin, optionally a node of a graph, end. */
static void do_call(void *context)
{
    const struct part_call *call = context;
    CUresult result = CUDA_SUCCESS;
    uint32_t stream = replay.streams[call->correlation_id % LAUNCHES];
    bool is_known = stream != 0;
    cuLaunchKernel_params params = {
        .hStream =
            (CUstream)(uintptr_t)(is_known && stream - 1 != FAKE_DEFAULT_STREAM ? stream - 1 : 0)};
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER,
                               .correlationId = call->correlation_id,
                               .contextUid = call->context_id,
                               .context = (CUcontext)(uintptr_t)(1000 + call->context_id),
                               .functionParams = &params,
                               .functionReturnValue = &result};
    meet_thread(call->tid);
    CUpti_CallbackFunc callback = fake.callback;
    bool is_followed = callback && fake.calls[call->id];
    if (is_followed)
        callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, call->id, &data);
    if (is_mode("ranges")) /* not before the subscriber knows of the call */
        launch_now(call->correlation_id);
    if (!is_followed || !fake.callback) /* or it has left meanwhile */
        return;
    if (is_mode("capture") && !is_known)
        make_node();
    data.callbackSite = CUPTI_API_EXIT;
    callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, call->id, &data);
    fake_lose(data.context);
}

/* Called by the program, on any thread. */
static void call_profiler(CUpti_CallbackId id)
{
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER};
    if (!fake.calls[id])
        return;
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    data.callbackSite = CUPTI_API_EXIT;
    fake.callback(fake.userdata, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

/* Meanwhile another tool records, or no tool does. */
static void pause_recording(void)
{
    const char *path = getenv("ANNOT_GPU_TELL_SWITCH");
    const struct timespec away = {.tv_sec = 1}, back = {.tv_nsec = 400000000};
    if (!path)
        return;
    (void)unlink(path);
    nanosleep(&away, NULL);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    nanosleep(&back, NULL);
    replay.delta_ns += 1400000000;
}

static void count_call(void)
{
    if (is_mode("pause") && replay.calls++ == 20)
        pause_recording();
    if (!is_mode("profiler"))
        return;
    replay.calls++;
    if (replay.calls == 11)
        call_profiler(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
    if (replay.calls == 31)
        call_profiler(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
}

static void put_call(const uint8_t *bytes, void (*launch)(const struct fake_launch *launch))
{
    struct part_call call;
    memcpy(&call, bytes, sizeof(call));
    if (call.site == CUPTI_API_ENTER)
        count_call();
    if (call.site != CUPTI_API_ENTER || call.id >= FAKE_CALLS ||
        (!fake.calls[call.id] && !is_mode("ranges")))
        return;
    wait_for(call.monotonic_ns);
    const struct fake_launch told = {call.correlation_id, call.tid, do_call, &call};
    launch(&told);
    if (!replay.was_called) /* the first one starts threads, which takes time */
        replay.delta_ns = (int64_t)(now_ns() - call.monotonic_ns) + replay.lag_ns;
    replay.was_called = true;
}

/* ---- The whole replay ------------------------------------------------------------------------ */

static int map_file(const char *path)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &facts) != 0 || facts.st_size == 0)
        return -errno;
    void *memory = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return -errno;
    replay.bytes = memory;
    replay.size = (size_t)facts.st_size;
    return 0;
}

/* At the very end of the process. */
static void __attribute__((destructor)) at_exit(void)
{
    uint8_t *buffer = NULL;
    size_t size = 0, max_records = 0;
    if (!replay.bytes || !is_mode("exit") || !fake_has_buffers())
        return;
    fake_request(&buffer, &size, &max_records);
    if (buffer)
        fake_complete(buffer, size, 0);
}

extern fake_play_function fake_play __attribute__((visibility("default")));

int fake_play(const char *path, const char *mode, void (*launch)(const struct fake_launch *launch))
{
    const uint8_t *bytes;
    uint32_t size, type;
    size_t at = 0;
    int error = map_file(path);
    if (error != 0)
        return error;
    const char *lag_ms = getenv("FAKE_LAG_MS");
    replay.mode = mode;
    replay.lag_ns = lag_ms ? atoll(lag_ms) * 1000000 : LAG_NS;
    read_names();
    read_streams();
    replay.delta_ns = (int64_t)(now_ns() - first_call_ns()) + replay.lag_ns;
    if (is_mode("overrun") && fake_has_buffers())
        fake_overrun();
    if (is_mode("starved") && fake_has_buffers())
        fake_starve();
    while ((type = next_part(&at, &bytes, &size)) != 0) {
        if (type == PART_CALL)
            put_call(bytes, launch);
        else if (type == PART_BUFFER && fake_has_buffers() && !is_mode("ranges"))
            put_buffer(bytes, size);
    }
    if (is_mode("unified") && fake_has_buffers())
        fake_move_memory();
    return 0;
}
