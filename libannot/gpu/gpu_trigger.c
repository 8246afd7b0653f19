/* SPDX-License-Identifier: MIT */
/* Triggers of windows: ranges of the program, a signal, the profiler's calls, requests of the
 * recording.
 *
 * Ranges call back on their threads, right after they began, so launches in them are in the window.
 * The plan is changed under a lock that is held for some instructions. The wait for it is
 * unbounded, as its holder may be preempted: a missed end would leave its range open for ever. Only
 * a signal handler that interrupted its own thread with the lock gives up at once, and does not
 * count that range. The signal's handler increments a number and wakes the thread of gpu_thread.c,
 * which does the rest. */
#include "gpu_trigger.h"

#include "gpu_settings.h"
#include "gpu_thread.h"
#include "gpu_window.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static pthread_mutex_t plan_lock = PTHREAD_MUTEX_INITIALIZER;
/* The calling thread has the lock, or is about to. */
static __thread volatile sig_atomic_t has_plan __attribute__((tls_model("initial-exec")));
static uint64_t session;        /* the recording of the counted ranges */
static uint32_t wanted, wishes; /* by the plan; by the recording: atomic */
static uint32_t toggles, toggles_done;
static struct sigaction before;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool take_plan(void)
{
    if (has_plan)
        return false;
    has_plan = 1;
    pthread_mutex_lock(&plan_lock);
    return true;
}

static void give_plan(void)
{
    __atomic_store_n(&wanted, gpu_settings.plan.wanted, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&plan_lock);
    has_plan = 0;
}

/* Resets the plan for another recording. */
static void meet_session(void)
{
    uint64_t now = gpu_emit_is_on();
    if (now == session || now == 0)
        return;
    session = now;
    gpu_plan_reset(&gpu_settings.plan);
}

enum gpu_want gpu_trigger_wanted(void)
{
    uint32_t now = __atomic_load_n(&wishes, __ATOMIC_ACQUIRE);
    if (now & GPU_WISH_ON)
        return GPU_WANT_ALL;
    return (enum gpu_want)__atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
}

static void on_range(void *context, int begins, uint64_t time)
{
    (void)context;
    (void)time; /* in the processor's clock */
    if (!take_plan())
        return;
    enum gpu_want was = gpu_settings.plan.wanted;
    meet_session();
    gpu_plan_range(&gpu_settings.plan, begins, now_ns());
    bool changed = gpu_settings.plan.wanted != was;
    give_plan();
    if (changed)
        gpu_window_follow(true);
}

void gpu_trigger_profiler(bool begins)
{
    if (!take_plan())
        return;
    gpu_plan_profiler(&gpu_settings.plan, begins);
    give_plan();
    gpu_window_follow(true);
}

/* ---- The signal ------------------------------------------------------------------------------ */

static void on_signal(int number, siginfo_t *info, void *context)
{
    __atomic_add_fetch(&toggles, 1, __ATOMIC_RELEASE);
    gpu_thread_wake();
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
}

static int catch_signal(int number)
{
    if (sigaction(number, NULL, &before) != 0)
        return -errno;
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_mask = before.sa_mask};
    ours.sa_flags = SA_SIGINFO | SA_RESTART | (before.sa_flags & SA_ONSTACK);
    return sigaction(number, &ours, NULL) == 0 ? 0 : -errno;
}

/* ---- The thread of gpu_thread.c -------------------------------------------------------------- */

void gpu_trigger_look(uint32_t now)
{
    __atomic_store_n(&wishes, now, __ATOMIC_RELEASE);
    if (!take_plan())
        return;
    meet_session();
    while (toggles_done != __atomic_load_n(&toggles, __ATOMIC_ACQUIRE)) {
        gpu_plan_toggle(&gpu_settings.plan);
        toggles_done++;
    }
    give_plan();
}

int gpu_trigger_start(void)
{
    const struct gpu_plan *plan = &gpu_settings.plan;
    wanted = plan->wanted;
    if (plan->kind == GPU_PLAN_SIGNAL)
        return catch_signal(plan->signal);
    return plan->name[0] ? gpu_emit_watch(plan->name, plan->domain, on_range) : 0;
}

void gpu_trigger_forget(void)
{
    pthread_mutex_init(&plan_lock, NULL);
    has_plan = 0;
}
