/* SPDX-License-Identifier: MIT */
/* The thread that turns full buffers into spans, and opens and shuts the window with the recording.
 *
 * There is one only in a process that ANNOT_GPU asks for. All signals are blocked in it. It sleeps
 * on a word that CUPTI's callbacks change. */
#include "gpu_parts.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, TURN_NS = 1000000000, LOOK_NS = 100000000, END_NS = 2000000000 };

enum state { STATE_NONE, STATE_RUNS, STATE_ENDS, STATE_ENDED };

/* Of the thread; before it runs, of who starts it. */
static bool is_open, was_tried;

static uint32_t state;       /* enum state; a futex of who waits for the end */
static uint32_t wakes;       /* a futex: how often somebody woke the thread */
static uint32_t is_sleeping; /* the thread is about to wait, or does */

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

/* errno is the caller's: CUPTI calls this on threads of the program. */
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
    gpu_buffers_drain(gpu_spans_tell);
    if (load(&state) == STATE_RUNS)
        futex_wait(&wakes, before, LOOK_NS);
    __atomic_store_n(&is_sleeping, 0, __ATOMIC_SEQ_CST);
}

/* What a window itself costs, shown as CUPTI's own overhead. */
static void tell_switch(const char *text, int64_t begin_ns)
{
    const struct gpu_span span = {
        .name = gpu_tell_name(text),
        .kind = GPU_OVERHEAD,
        .begin_ns = (uint64_t)begin_ns,
        .end_ns = (uint64_t)now_ns(),
    };
    gpu_tell_span(&span);
}

/* Whom the window keeps from CUPTI, if he asks for it. */
static void tell_kept_out(void)
{
    char text[128];
    const char *tool = gpu_library_of_tool();
    if (!tool)
        return;
    snprintf(text, sizeof(text), "%s gets no kernels while annot records them", tool);
    gpu_tell_note(text);
}

/* One try a recording: who has CUPTI now shall not lose it to us a moment after he let it go. */
static void begin(void)
{
    char text[512] = "";
    int64_t begin_ns = now_ns();
    if (was_tried)
        return;
    was_tried = true;
    is_open = gpu_window_open(text, sizeof(text)) == 0;
    if (!is_open) {
        gpu_tell_note(text);
        return;
    }
    tell_switch("overhead: window opens", begin_ns);
    tell_kept_out();
}

static void finish(void)
{
    was_tried = false;
    if (!is_open)
        return;
    is_open = false;
    int64_t begin_ns = now_ns();
    gpu_window_shut();
    tell_switch("overhead: window shuts", begin_ns);
    gpu_buffers_drain(gpu_spans_tell);
    gpu_tell_counts();
}

/* The window follows the recording. That it is over is believed at the third look. */
static void follow(void)
{
    static int looks_off; /* in turn, that found nobody recording */
    bool is_on = gpu_tell_is_on() != 0;
    looks_off = is_on ? 0 : looks_off + 1;
    if (is_on)
        begin();
    else if (looks_off >= 3)
        finish();
}

static void *run(void *unused)
{
    int64_t flush_ns = now_ns() + TURN_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "annot-gpu");
    while (load(&state) == STATE_RUNS) {
        follow();
        sleep_until_woken();
        if (!is_open || now_ns() < flush_ns)
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
    if (gpu_tell_is_on()) /* the first launch may come before the thread runs */
        begin();
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
}
