/* SPDX-License-Identifier: MIT */
/* The thread that turns full buffers into spans, and opens and shuts the window with the recording.
 *
 * It exists only in a process with ANNOT_GPU. All signals are blocked in it. It sleeps on a word
 * that CUPTI's callbacks change. */
#include "gpu_thread.h"

#include "gpu_buffers.h"
#include "gpu_faults.h"
#include "gpu_governor.h"
#include "gpu_library.h"
#include "gpu_pc.h"
#include "gpu_session.h"
#include "gpu_settings.h"
#include "gpu_spans.h"
#include "gpu_streams.h"
#include "gpu_trigger.h"
#include "gpu_window.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The stack has room for the initialization of libcupti. */
enum { STACK_BYTES = 1 << 20, TURN_NS = 1000000000, LOOK_NS = 100000000, END_NS = 2000000000 };

enum state { STATE_NONE, STATE_RUNS, STATE_ENDS, STATE_ENDED };

/* Owned by the thread; before it runs, by the starting thread. */
static bool is_open;     /* a recording */
static uint64_t session; /* the last one */
static struct gpu_governor governor;

static uint32_t state;       /* enum state; a futex for the end */
static uint32_t wakes;       /* a futex: number of wake-ups */
static uint32_t is_sleeping; /* the thread is waiting, or about to */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void futex_wait(uint32_t *word, uint32_t value, long ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
}

static void futex_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static uint32_t load(uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* Preserves errno: CUPTI calls this on threads of the program. */
void gpu_thread_wake(void)
{
    int before = errno;
    __atomic_add_fetch(&wakes, 1, __ATOMIC_SEQ_CST);
    if (load(&is_sleeping))
        futex_wake(&wakes);
    errno = before;
}

static void sleep_until_woken(void)
{
    uint32_t before = load(&wakes);
    __atomic_store_n(&is_sleeping, 1, __ATOMIC_SEQ_CST);
    gpu_buffers_drain(gpu_spans_emit);
    if (load(&state) == STATE_RUNS)
        futex_wait(&wakes, before, LOOK_NS);
    __atomic_store_n(&is_sleeping, 0, __ATOMIC_SEQ_CST);
}

/* ---- Windows ----------------------------------------------------------------------------------
 */

/* Reports a tool that the window may keep from using CUPTI. */
static void emit_kept_out(void)
{
    char text[128];
    const char *tool = gpu_library_of_tool();
    if (!tool || gpu_session_is_shared())
        return;
    snprintf(text, sizeof(text), "%s gets no kernels while annot records them", tool);
    gpu_emit_note(text);
}

/* Emits the cost of a window itself, shown as CUPTI's own overhead. */
static void emit_switches(void)
{
    static const char *const names[] = {[GPU_SWITCH_SHUT] = "overhead: window shuts",
                                        [GPU_SWITCH_OPENED] = "overhead: window opens",
                                        [GPU_SWITCH_RESTS] = "overhead: window rests",
                                        [GPU_SWITCH_GOES_ON] = "overhead: window goes on"};
    static uint64_t reported_session;
    struct gpu_switch one;
    while (gpu_window_take_switch(&one)) {
        const struct gpu_span span = {
            .name = gpu_emit_name(names[one.kind]),
            .kind = GPU_OVERHEAD,
            .begin_ns = one.begin_ns,
            .end_ns = one.end_ns,
        };
        gpu_emit_span(&span);
        if (one.kind != GPU_SWITCH_OPENED && one.kind != GPU_SWITCH_SHUT)
            continue;
        char version[32];
        one.cupti = gpu_fault_version(cupti.version, version);
        gpu_emit_switch(&one);
        bool opened = one.kind == GPU_SWITCH_OPENED;
        if (opened && reported_session != session)
            emit_kept_out();
        if (opened)
            reported_session = session;
        if (one.by_program)
            gpu_governor_add(one.end_ns - one.begin_ns);
    }
}

static void emit_failure(void)
{
    char text[512];
    if (gpu_window_take_failure(text, sizeof(text)))
        gpu_emit_note(text);
}

/* Shuts the window even if it is wanted. */
static void shut(void)
{
    gpu_window_allow(false);
    gpu_window_follow(false);
    gpu_window_shut();
}

/* Begins a session. Details that the last one's budget excluded are recorded again. */
static void meet_session(uint64_t now)
{
    for (int i = 0; i < GPU_COMPLAINTS && gpu_settings.complaints[i]; i++)
        gpu_emit_note(gpu_settings.complaints[i]);
    if (gpu_settings.nodes != gpu_settings.nodes_requested)
        shut();
    gpu_settings.nodes = gpu_settings.nodes_requested;
    gpu_window_forgive();
    gpu_governor_begin(&governor, gpu_settings.budget,
                       gpu_settings.nodes ? GPU_LEVEL_NODES : GPU_LEVEL_GRAPHS);
    session = now;
    is_open = false;
}

/* True if the process is recorded. A missing recording is accepted at the third check in turn; the
 * end of one stays until another one begins. */
static bool is_recorded(uint64_t now, uint32_t wishes)
{
    static uint64_t ended;
    static int looks_off;
    looks_off = now ? 0 : looks_off + 1;
    if (now && now != session)
        meet_session(now);
    if (wishes & GPU_WISH_END)
        ended = session;
    if (looks_off >= 3)
        is_open = false;
    else if (now)
        is_open = true;
    return is_open && ended != session;
}

/* Reports a missing library to each recording, once. */
static bool has_library(void)
{
    static uint64_t looked;
    char text[512];
    if (cupti.is_found || looked == session)
        return cupti.is_found;
    looked = session;
    if (gpu_library_find(text, sizeof(text)) != 0)
        gpu_emit_note(text);
    return cupti.is_found;
}

static void govern(void)
{
    char text[256];
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    uint64_t own_ns = (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
    if (!gpu_governor_look(&governor, now_ns(), gpu_governor_cost() + own_ns))
        return;
    gpu_governor_say(&governor, text, sizeof(text));
    gpu_emit_note(text);
    shut(); /* it opens again, with other kinds */
    gpu_settings.nodes = governor.level == GPU_LEVEL_NODES;
}

/* Checks everything that a window depends on. */
static void look(void)
{
    uint64_t now = gpu_emit_is_on();
    uint32_t wishes = gpu_emit_wishes();
    if (gpu_emit_is_on() != now)
        wishes = 0; /* of another recording */
    bool is_on = is_recorded(now, wishes) && has_library();
    if (is_on)
        govern();
    gpu_trigger_look(wishes);
    gpu_window_allow(is_on && !(wishes & GPU_WISH_OFF) && governor.level != GPU_LEVEL_OFF);
    gpu_window_follow(false);
    gpu_window_shut();
    emit_switches();
    emit_failure();
}

static void finish(void)
{
    shut();
    emit_switches();
}

static void *run(void *unused)
{
    int64_t flush_ns = now_ns() + TURN_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "annot-gpu");
    while (load(&state) == STATE_RUNS) {
        look();
        sleep_until_woken();
        if (now_ns() < flush_ns)
            continue;
        gpu_window_flush();
        flush_ns = now_ns() + TURN_NS;
    }
    finish();
    __atomic_store_n(&state, STATE_ENDED, __ATOMIC_SEQ_CST);
    futex_wake(&state);
    return NULL;
}

int gpu_thread_start(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (load(&state) != STATE_NONE)
        return 0;
    if (gpu_emit_is_on()) /* the first launch may come before the thread runs */
        look();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    state = STATE_RUNS;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        state = STATE_NONE;
        finish();
    }
    return -error;
}

void gpu_thread_end(void)
{
    uint32_t runs = STATE_RUNS;
    int64_t until_ns = now_ns() + END_NS;
    if (!__atomic_compare_exchange_n(&state, &runs, STATE_ENDS, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return;
    gpu_thread_wake();
    while (load(&state) == STATE_ENDS && now_ns() < until_ns)
        futex_wait(&state, STATE_ENDS, until_ns - now_ns() + 1);
}

void gpu_thread_forget(void)
{
    state = STATE_NONE;
    is_sleeping = 0;
    gpu_window_forget();
    gpu_trigger_forget();
    gpu_pc_forget();
    gpu_streams_forget();
}
