/* SPDX-License-Identifier: MIT */
/* A window of capture: CUPTI is subscribed to only inside of it (outside only for the calls of the
 * profiler, if they open windows).
 *
 * Any thread may open the window: also a thread of the program at the start of a range, so that its
 * first launch is in it. Such threads never shut it: the thread of gpu_thread.c waits for running
 * work, without the lock, and a window that is wanted again meanwhile just continues. Work under
 * the lock usually takes CUPTI a few milliseconds, but a forced flush of many late records may take
 * a second. A thread of the program that does not get the lock in fifty milliseconds leaves the
 * work to ours (it may be in a signal handler that interrupted the lock's holder). Until the holder
 * gives the lock back, no thread of the program waits again, however many ranges begin and end
 * meanwhile. Threads: any. Launching threads only read is_taking. */
#include "gpu_window.h"

#include "gpu_buffers.h"
#include "gpu_calls.h"
#include "gpu_devices.h"
#include "gpu_launches.h"
#include "gpu_memory.h"
#include "gpu_pc.h"
#include "gpu_records.h"
#include "gpu_session.h"
#include "gpu_settings.h"
#include "gpu_spans.h"
#include "gpu_thread.h"
#include "gpu_trigger.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SETTLE_TURNS = 20, SETTLE_NS = 10000000, PATIENCE_NS = 50000000, SWITCHES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_allowed, is_subscribed, is_collecting, has_failed;
static bool is_reported_taking; /* according to the switches so far */
static char failure[512];       /* not reported yet */
static uint32_t is_taking;      /* new launches are recorded. W: with the lock; atomic */
static uint32_t is_ending;      /* an open window is not wanted. The same */
static uint32_t is_held;        /* a thread of the program did not get the lock in time. Atomic */
static uint64_t launched;       /* by all windows before this one */
/* Begin and end of recording launches in this window. The same. */
static uint64_t taking_since, taking_until;

/* Windows that were opened and shut, not reported yet: a ring. */
static struct gpu_switch switches[SWITCHES];
static uint32_t switch_first, switch_count;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void set(uint32_t *word, bool value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static bool is_set(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

bool gpu_window_is_taking(void)
{
    return is_set(&is_taking);
}

static void note_switch(enum gpu_switch_kind kind, bool by_program, int64_t begin_ns)
{
    bool is_whole = kind == GPU_SWITCH_OPENED || kind == GPU_SWITCH_SHUT;
    uint64_t counted = is_whole ? gpu_launches_counted() : launched;
    if (switch_count == SWITCHES) {
        switch_first = (switch_first + 1) % SWITCHES;
        switch_count--;
    }
    switches[(switch_first + switch_count++) % SWITCHES] =
        (struct gpu_switch){(uint8_t)kind,      by_program,
                            (uint64_t)begin_ns, is_whole ? (uint64_t)now_ns() : (uint64_t)begin_ns,
                            counted - launched, ""};
    launched = counted;
    is_reported_taking = kind == GPU_SWITCH_OPENED || kind == GPU_SWITCH_GOES_ON;
}

/* Notes rest and resume of an open window: only while all is kept, it is known if the GPU was idle.
 * Without room for a resume and its end, it rests for readers. */
static void note_taking(bool on, int64_t time_ns)
{
    if (is_collecting && on != is_reported_taking && (!on || switch_count + 4 <= SWITCHES))
        note_switch(on ? GPU_SWITCH_GOES_ON : GPU_SWITCH_RESTS, false, time_ns);
}

bool gpu_window_take_switch(struct gpu_switch *ret_switch)
{
    pthread_mutex_lock(&lock);
    bool any = switch_count > 0;
    if (any) {
        *ret_switch = switches[switch_first];
        switch_first = (switch_first + 1) % SWITCHES;
        switch_count--;
    }
    pthread_mutex_unlock(&lock);
    return any;
}

/* ---- With the lock --------------------------------------------------------------------------- */

static int subscribe(char *text, size_t size)
{
    if (is_subscribed)
        return 0;
    if (gpu_buffers_open() != 0 || gpu_launches_open() != 0) {
        snprintf(text, size, "no memory for buffers");
        return -ENOMEM;
    }
    int error = gpu_session_open(gpu_calls_on, text, size);
    if (error != 0)
        return error;
    is_subscribed = true;
    gpu_calls_find();
    if (gpu_settings.plan.kind == GPU_PLAN_PROFILER)
        gpu_calls_follow_profiler();
    return 0;
}

static void leave(void)
{
    gpu_session_shut();
    is_subscribed = false;
}

/* One attempt per recording: CUPTI must not be taken from another tool right after its release. */
static bool try_subscribe(void)
{
    has_failed = has_failed || subscribe(failure, sizeof(failure)) != 0;
    return !has_failed;
}

static void open_window(bool by_program)
{
    int64_t begin_ns = now_ns();
    if (!try_subscribe())
        return;
    gpu_launches_begin();
    gpu_devices_begin();
    gpu_memory_begin();
    gpu_calls_follow(true);
    gpu_kinds_enable(true);
    is_collecting = true;
    __atomic_store_n(&taking_since, UINT64_MAX, __ATOMIC_RELAXED);
    gpu_emit_count(GPU_COUNT_OPENED, 1);
    note_switch(GPU_SWITCH_OPENED, by_program, begin_ns);
}

static void take(bool on)
{
    uint64_t now = (uint64_t)now_ns();
    note_taking(on, (int64_t)now);
    if (on && taking_since == UINT64_MAX)
        __atomic_store_n(&taking_since, now, __ATOMIC_RELAXED);
    if (on != is_set(&is_taking))
        __atomic_store_n(&taking_until, on ? UINT64_MAX : now, __ATOMIC_RELAXED);
    set(&is_taking, on);
}

static void follow(bool by_program)
{
    enum gpu_want wanted = is_allowed ? gpu_trigger_wanted() : GPU_WANT_NOTHING;
    if (wanted != GPU_WANT_NOTHING && !is_collecting)
        open_window(by_program);
    else if (is_collecting)
        gpu_kinds_look();
    take(is_collecting && wanted == GPU_WANT_ALL);
    set(&is_ending, is_collecting && wanted == GPU_WANT_NOTHING);
}

/* ---- Without --------------------------------------------------------------------------------- */

static bool take_lock(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    int64_t until_ns = now_ns() + PATIENCE_NS;
    while (pthread_mutex_trylock(&lock) != 0) {
        if (is_set(&is_held))
            return false;
        if (now_ns() >= until_ns) {
            set(&is_held, true);
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

static void give_lock(void)
{
    set(&is_held, false);
    pthread_mutex_unlock(&lock);
}

void gpu_window_follow(bool by_program)
{
    if (by_program && !take_lock()) {
        gpu_thread_wake();
        return;
    }
    if (!by_program)
        pthread_mutex_lock(&lock);
    follow(by_program);
    bool wake = by_program && (is_set(&is_ending) || switch_count > 0);
    give_lock();
    if (wake)
        gpu_thread_wake();
}

void gpu_window_allow(bool on)
{
    pthread_mutex_lock(&lock);
    is_allowed = on;
    if (on && gpu_settings.plan.kind == GPU_PLAN_PROFILER)
        (void)try_subscribe();
    give_lock();
}

void gpu_window_forgive(void)
{
    pthread_mutex_lock(&lock);
    has_failed = false;
    give_lock();
}

bool gpu_window_take_failure(char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    bool any = failure[0] != 0;
    snprintf(text, size, "%s", failure);
    failure[0] = 0;
    give_lock();
    return any;
}

/* A forced flush takes a running kernel without its end, which never comes later; a plain one
 * returns complete ones. So this waits for running work, briefly, and without a call that would
 * slow the program down. */
static void settle(void)
{
    for (int i = 0; i < SETTLE_TURNS && is_set(&is_ending) && gpu_launches_pending(); i++) {
        const struct timespec turn = {.tv_nsec = i == 0 ? 0 : SETTLE_NS};
        (void)nanosleep(&turn, NULL);
        gpu_session_flush(false);
        gpu_buffers_drain(gpu_spans_emit);
    }
}

/* Ends the window if it is still ending. Returns true if it did. */
static bool end_window(int64_t begin_ns)
{
    pthread_mutex_lock(&lock);
    bool ends = is_set(&is_ending);
    if (ends) {
        gpu_session_flush(true);
        gpu_pc_shut();
        gpu_buffers_count_dropped();
        gpu_kinds_enable(false);
        gpu_calls_follow(false);
        is_collecting = false;
        set(&is_ending, false);
        note_switch(GPU_SWITCH_SHUT, false, begin_ns);
    }
    if (is_subscribed && !is_collecting &&
        (gpu_settings.plan.kind != GPU_PLAN_PROFILER || !is_allowed))
        leave();
    give_lock();
    return ends;
}

void gpu_window_shut(void)
{
    int64_t begin_ns = now_ns();
    settle();
    if (!end_window(begin_ns))
        return;
    gpu_buffers_drain(gpu_spans_emit);
    gpu_emit_counts();
    gpu_emit_count(GPU_COUNT_SHUT, 1);
}

bool gpu_window_keeps(const struct gpu_record *record)
{
    uint64_t since = __atomic_load_n(&taking_since, __ATOMIC_RELAXED);
    uint64_t until = __atomic_load_n(&taking_until, __ATOMIC_RELAXED);
    bool is_called = record->kind == GPU_CALL || record->kind == GPU_JIT;
    if (record->kind == GPU_OVERHEAD || gpu_settings.plan.kind == GPU_PLAN_ALL ||
        (is_called && gpu_session_clock() == GPU_CLOCK_MONOTONIC && record->begin_ns >= since &&
         record->begin_ns < until))
        return true;
    gpu_emit_count(GPU_COUNT_OUTSIDE, 1);
    return false;
}

void gpu_window_flush(void)
{
    pthread_mutex_lock(&lock);
    if (is_collecting) {
        gpu_session_flush(false);
        gpu_pc_emit();
    }
    give_lock();
}

void gpu_window_forget(void)
{
    is_allowed = is_subscribed = is_collecting = false;
    is_taking = is_ending = is_held = switch_count = 0;
    pthread_mutex_init(&lock, NULL);
}
