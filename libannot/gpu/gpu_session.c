/* SPDX-License-Identifier: MIT */
/* The subscription to CUPTI: alone; or, if another tool has it and allows sharing, beside that one,
 * by separate functions (CUDA 13.3 and later).
 *
 * Alone is tried first, because it was tested on GPUs. The clock is registered once per process:
 * CUPTI rejects a second time; only if it was lost, because another tool called cuptiFinalize, it
 * is registered again. annot never calls that: it made a window 10 ms longer, restarted the numbers
 * of calls, and launches after a window were as fast without it (tests/gpu/README.md).
 *
 * A shared session avoids effects on the other tool: a forced flush would take its buffers, too,
 * and the first tool decides if graphs are recorded as a whole.
 * Threads: that of the window, one at a time; functions for readers are marked below. */
#include "gpu_session.h"

#include "gpu_buffers.h"
#include "gpu_calls.h"
#include "gpu_faults.h"
#include "gpu_library.h"
#include "gpu_pc.h"
#include "gpu_settings.h"
#include "gpu_spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Attributes of subscribers; older headers lack them. */
enum {
    ATTRIBUTE_GRAPHS = 20,
    ATTRIBUTE_THREAD_IDS = 21,
    ATTRIBUTE_CLOCK = 22,
};

/* A clock that is off by more is another tool's. */
#define CLOCK_OFF_NS UINT64_C(1000000000)

static struct session {
    CUpti_SubscriberHandle subscriber;
    bool is_shared;        /* with another tool */
    bool has_cupti_clock;  /* its times are CUPTI's own */
    bool has_whole_graphs; /* if shared */
} session;

static uint64_t CUPTIAPI clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- Alone ----------------------------------------------------------------------------------- */

/* True if CUPTI reads our clock. */
static bool reads_clock(void)
{
    uint64_t time = 0, now = clock_ns();
    return cupti.get_timestamp && cupti.get_timestamp(&time) == CUPTI_SUCCESS &&
           time >= now - CLOCK_OFF_NS && time <= now + CLOCK_OFF_NS;
}

/* Versions that do not allow this check are assumed to read it. */
static CUptiResult register_clock(void)
{
    static bool is_registered, is_seen;
    if (is_registered && (!is_seen || reads_clock()))
        return CUPTI_SUCCESS;
    if (is_registered)
        gpu_shapes_forget();
    bool before = reads_clock();
    CUptiResult result = cupti.register_clock(clock_ns);
    is_registered = is_registered || result == CUPTI_SUCCESS;
    is_seen = is_registered && !before && reads_clock();
    return result;
}

/* Before activities are enabled. */
static int prepare_alone(char *text, size_t size)
{
    CUptiResult result = register_clock();
    if (result == CUPTI_SUCCESS)
        result = cupti.register_callbacks(gpu_buffer_requested, gpu_buffer_completed);
    if (result == CUPTI_SUCCESS)
        result = cupti.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (result == CUPTI_SUCCESS)
        return 0;
    gpu_library_say(text, size, "CUPTI", result);
    return -EIO;
}

/* ---- Beside another tool --------------------------------------------------------------------- */

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max_records, void *unused)
{
    (void)unused;
    gpu_buffer_requested(buffer, size, max_records);
}

static void CUPTIAPI completed(uint8_t *buffer, size_t size, size_t valid, void *unused)
{
    (void)unused;
    gpu_buffer_completed(NULL, 0, buffer, size, valid);
}

static bool can_share(void)
{
    return cupti.version >= CUPTI_SHARES && cupti.subscribe_v2 && cupti.activity_enable_v2 &&
           cupti.activity_disable_v2 && cupti.register_callbacks_v2 && cupti.get_next_record_v2 &&
           cupti.get_dropped_v2 && cupti.get_timestamp_v2 && cupti.set_attribute_v2 &&
           cupti.get_attribute_v2 && !getenv("ANNOT_GPU_ALONE");
}

static void leave(void)
{
    (void)cupti.unsubscribe(session.subscriber);
    session.subscriber = NULL;
}

/* Reports the name that the first subscriber gave, in newer versions; else a mapped tool's. */
static int join(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
    CUpti_SubscriberHandle subscriber = NULL;
    bool shares = can_share();
    struct gpu_subscriber_params params = {
        .struct_size = cupti.version >= CUPTI_SHARES
                           ? sizeof(params)
                           : offsetof(struct gpu_subscriber_params, shares),
        .name = "annot",
        .old_name = name,
        .old_size = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN,
        .shares = shares,
    };
    if (cupti.subscribe_v2 &&
        cupti.subscribe_v2(&subscriber, on_call, NULL, &params) == CUPTI_SUCCESS && subscriber) {
        session = (struct session){.subscriber = subscriber, .is_shared = true};
        if (shares)
            return 0;
        leave();
    }
    const char *tool = gpu_library_of_tool();
    snprintf(text, size, "another tool uses CUPTI: %s", name[0] ? name : tool ? tool : "unknown");
    return -EBUSY;
}

/* Without support in this version, times are converted, and calls have no threads. */
static int prepare_shared(char *text, size_t size)
{
    CUpti_TimestampCallbackFunc clock = clock_ns;
    uint32_t ids = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    size_t clock_size = sizeof(clock), ids_size = sizeof(ids), graphs_size = 1;
    uint8_t graphs = 0;
    CUpti_SubscriberHandle subscriber = session.subscriber;
    CUptiResult result = cupti.register_callbacks_v2(subscriber, requested, completed);
    if (result != CUPTI_SUCCESS) {
        gpu_library_say(text, size, "CUPTI", result);
        return -EIO;
    }
    session.has_cupti_clock =
        cupti.set_attribute_v2(subscriber, ATTRIBUTE_CLOCK, &clock_size, &clock) != CUPTI_SUCCESS;
    (void)cupti.set_attribute_v2(subscriber, ATTRIBUTE_THREAD_IDS, &ids_size, &ids);
    session.has_whole_graphs = cupti.get_attribute_v2(subscriber, ATTRIBUTE_GRAPHS, &graphs_size,
                                                      &graphs) == CUPTI_SUCCESS &&
                               graphs == 1;
    return 0;
}

/* ---- Either ---------------------------------------------------------------------------------- */

static int subscribe(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    session = (struct session){0};
    CUptiResult result = cupti.subscribe(&session.subscriber, on_call, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return join(on_call, text, size);
    if (result == CUPTI_SUCCESS)
        return 0;
    gpu_library_say(text, size, "cuptiSubscribe", result);
    return -EIO;
}

int gpu_session_open(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    int error = subscribe(on_call, text, size);
    if (error != 0)
        return error;
    error = session.is_shared ? prepare_shared(text, size) : prepare_alone(text, size);
    if (error != 0)
        leave();
    return error;
}

/* Only a sharing subscriber itself can read its buffers, so they are drained first. */
void gpu_session_shut(void)
{
    if (session.is_shared)
        gpu_buffers_drain(gpu_spans_emit);
    leave();
}

bool gpu_session_is_shared(void)
{
    return session.is_shared;
}

void gpu_session_follow(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on)
{
    (void)cupti.enable_callback(on, session.subscriber, domain, id);
}

/* A kind that this GPU or version lacks is skipped. */
static void gpu_session_enable(CUpti_ActivityKind kind, bool on)
{
    if (!session.is_shared)
        (void)(on ? cupti.activity_enable(kind) : cupti.activity_disable(kind));
    else if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && !session.has_whole_graphs)
        return;
    else
        (void)(on ? cupti.activity_enable_v2(session.subscriber, kind, NULL)
                  : cupti.activity_disable_v2(session.subscriber, kind, NULL));
}

void gpu_session_leave_out(CUpti_CallbackId runtime_call)
{
    if (session.is_shared && cupti.enable_runtime_api_v2)
        (void)cupti.enable_runtime_api_v2(session.subscriber, runtime_call, 0);
    else if (!session.is_shared && cupti.enable_runtime_api)
        (void)cupti.enable_runtime_api(runtime_call, 0);
}

void gpu_session_flush(bool forced)
{
    bool all = forced && !session.is_shared;
    (void)cupti.flush_all(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* ---- For readers ----------------------------------------------------------------------------- */

size_t gpu_session_dropped(void)
{
    size_t dropped = 0;
    if (session.is_shared && !session.subscriber)
        return 0;
    CUptiResult result = session.is_shared
                             ? cupti.get_dropped_v2(session.subscriber, NULL, 0, &dropped)
                             : cupti.get_dropped(NULL, 0, &dropped);
    return result == CUPTI_SUCCESS ? dropped : 0;
}

/* Once it is shut, later buffers of a sharing subscriber cannot be read. */
CUptiResult gpu_session_next(uint8_t *buffer, size_t size, CUpti_Activity **record)
{
    if (session.is_shared && !session.subscriber)
        return CUPTI_ERROR_NOT_INITIALIZED;
    return session.is_shared ? cupti.get_next_record_v2(session.subscriber, buffer, size, record)
                             : cupti.get_next_record(buffer, size, record);
}

uint8_t gpu_session_clock(void)
{
    return session.has_cupti_clock ? GPU_CLOCK_CUPTI : GPU_CLOCK_MONOTONIC;
}

void gpu_session_anchor(void)
{
    struct gpu_origin before, after;
    uint64_t raw = 0;
    if (!session.has_cupti_clock)
        return;
    uint64_t begin_ns = clock_ns();
    gpu_emit_here(&before);
    bool is_read = cupti.get_timestamp_v2(session.subscriber, &raw) == CUPTI_SUCCESS;
    gpu_emit_here(&after);
    if (is_read && before.time && after.time)
        gpu_emit_anchor(raw, before.time + (after.time - before.time) / 2,
                        (uint32_t)((clock_ns() - begin_ns) / 2));
}

/* ---- Kinds of activities --------------------------------------------------------------------- */

/* The kinds of activities of a window.
 *
 * Each activity of a kind has a cost, and calls cost most: there are as many as launches or more
 * (tests/gpu/README.md). ANNOT_GPU_KINDS, words separated by commas:
 *   runtime   calls of the CUDA runtime; also without this variable
 *   driver    calls of the driver, those of the runtime among them
 *   events    events of streams
 *   unified   memory that migrated on access
 *   pc, pc=N  samples of the program counter (gpu_pc.c), one in 2^N cycles; N is 5 to 31
 * While the program counter is sampled, kernels run one after the other: CUPTI does not record
 * overlapping kernels and sample at the same time. Threads: that of the window, one at a time. */

struct gpu_wanted gpu_wanted;

static bool is_serial; /* for the open window */

/* Returns 0 for a missing or invalid period. */
static uint32_t read_period(const char *words)
{
    const char *word = strstr(words, "pc=");
    unsigned long period = word ? strtoul(word + strlen("pc="), NULL, 10) : 0;
    return period >= GPU_PC_PERIOD_MIN && period <= GPU_PC_PERIOD_MAX ? (uint32_t)period : 0;
}

void gpu_kinds_read(void)
{
    const char *words = getenv("ANNOT_GPU_KINDS");
    words = words ? words : "runtime";
    gpu_wanted = (struct gpu_wanted){
        .runtime = gpu_has_word(words, "runtime"),
        .driver = gpu_has_word(words, "driver"),
        .events = gpu_has_word(words, "events"),
        .unified = gpu_has_word(words, "unified"),
        .pc = gpu_has_word(words, "pc") || read_period(words) != 0,
        .pc_period = read_period(words),
    };
}

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,  CUPTI_ACTIVITY_KIND_CONTEXT,         CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,          CUPTI_ACTIVITY_KIND_MEMORY2,
    CUPTI_ACTIVITY_KIND_JIT,     CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD};

/* Without it, a graph is recorded by its kernels. */
static bool has_whole_graphs(void)
{
    return !gpu_settings.nodes && !(gpu_faults(cupti.version) & GPU_FAULT_NO_GRAPHS);
}

/* Each device counts separately; one without unified memory returns an error. */
static void configure_unified(void)
{
    enum { DEVICES = 16, COUNTERS = 3 };

    static const CUpti_ActivityUnifiedMemoryCounterKind counters[COUNTERS] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT};
    for (uint32_t device = 0; device < DEVICES; device++) {
        CUpti_ActivityUnifiedMemoryCounterConfig configs[COUNTERS];
        for (uint32_t i = 0; i < COUNTERS; i++)
            configs[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
                CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, counters[i],
                device, 1};
        if (cupti.configure_unified(configs, COUNTERS) != CUPTI_SUCCESS)
            return;
    }
}

static void enable_optional(bool on)
{
    if (gpu_wanted.runtime)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_RUNTIME, on);
    if (gpu_wanted.runtime && on)
        gpu_api_leave_out();
    if (gpu_wanted.driver)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_DRIVER, on);
    if (gpu_wanted.events)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT, on);
    if (gpu_wanted.unified && cupti.configure_unified) {
        if (on)
            configure_unified();
        gpu_session_enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, on);
    }
}

static void enable_kernels(bool on)
{
    gpu_session_enable(
        is_serial ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on);
}

void gpu_kinds_look(void)
{
    if (!is_serial || gpu_pc_possible())
        return;
    enable_kernels(false);
    is_serial = false;
    enable_kernels(true);
}

void gpu_kinds_enable(bool on)
{
    if (on)
        is_serial = gpu_pc_possible();
    enable_kernels(on);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        gpu_session_enable(kinds[i], on);
    enable_optional(on);
    if (has_whole_graphs() || !on)
        gpu_session_enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
}
