/* SPDX-License-Identifier: MIT */
/* Time off the CPU of a program that waits for known causes and times: causes, lengths and
 * stacks. */
#include "clock_now.h"
#include "machine_time.h"
#include "sampler_scene.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 200, WAIT_US = WAIT_MS * 1000 };

/* Waits by the program's own clocks, in memory shared with the test. */
static struct thread_stretch *clocks; /* [WAIT_REASON_COUNT] */

/* Writes a byte after WAIT_US, from another thread. */
static void *write_later(void *context)
{
    usleep(WAIT_US);
    return (void *)(intptr_t)(write(*(int *)context, "", 1) == 1);
}

static int read_later(int read_fd, int write_fd, enum wait_reason reason)
{
    pthread_t writer;
    char byte;
    if (pthread_create(&writer, NULL, write_later, &write_fd) != 0)
        return 1;
    thread_stretch_begin(&clocks[reason]);
    bool is_read = read(read_fd, &byte, 1) == 1;
    thread_stretch_end(&clocks[reason]);
    pthread_join(writer, NULL);
    return !is_read;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held;

static void *hold_mutex(void *context)
{
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&is_held);
    usleep(WAIT_US);
    pthread_mutex_unlock(&mutex);
    return context;
}

static int wait_for_mutex(void)
{
    pthread_t holder;
    if (pthread_barrier_init(&is_held, NULL, 2) != 0 ||
        pthread_create(&holder, NULL, hold_mutex, NULL) != 0)
        return 1;
    pthread_barrier_wait(&is_held);
    thread_stretch_begin(&clocks[WAIT_LOCK]);
    pthread_mutex_lock(&mutex);
    thread_stretch_end(&clocks[WAIT_LOCK]);
    pthread_mutex_unlock(&mutex);
    return pthread_join(holder, NULL);
}

static int wait_for_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        usleep(WAIT_US);
        _exit(0);
    }
    thread_stretch_begin(&clocks[WAIT_CHILD]);
    bool is_gone = waitpid(child, NULL, 0) == child;
    thread_stretch_end(&clocks[WAIT_CHILD]);
    return !is_gone;
}

/* All waits are in the main thread. */
static int wait_for_all(void *context)
{
    int fds[2], sockets[2];
    struct timespec nap = {0, WAIT_US * 1000L};
    struct pollfd none = {.fd = -1};
    (void)context;
    if (pipe(fds) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 1;
    thread_stretch_begin(&clocks[WAIT_SLEEP]);
    nanosleep(&nap, NULL);
    thread_stretch_end(&clocks[WAIT_SLEEP]);
    thread_stretch_begin(&clocks[WAIT_POLL]);
    poll(&none, 1, WAIT_MS);
    thread_stretch_end(&clocks[WAIT_POLL]);
    return read_later(fds[0], fds[1], WAIT_PIPE) ||
           read_later(sockets[0], sockets[1], WAIT_SOCKET) || wait_for_mutex() || wait_for_child();
}

/* Milliseconds that the main thread waited for that reason, until it was runnable. */
static double waited_ms(const struct session *session, pid_t pid, enum wait_reason reason)
{
    int64_t ns = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (sample->set == SAMPLE_SET_OFF_CPU && sample->reason == reason &&
            trace_thread_get(session->trace, sample->thread)->tid == pid)
            ns += sample_value(NULL, sample, VALUE_TYPE_BLOCKED);
    }
    return (double)ns / 1e6;
}

/* Compares with the time during which, by the program's clocks, it neither ran nor was runnable. */
static void check_waited(const struct session *session, pid_t pid, enum wait_reason reason)
{
    const struct thread_stretch *own = &clocks[reason];
    double actual = waited_ms(session, pid, reason),
           expected = (double)(own->wall_ns - own->cpu_ns - own->delay_ns) / 1e6;
    fprintf(stderr, "  %s: %.1f ms, by its clocks %.1f (and %.1f for a CPU)\n",
            wait_reason_name(reason), actual, expected, (double)own->delay_ns / 1e6);
    CHECK(expected >= WAIT_MS * 0.25);
    /* The thread that holds the mutex waits for it as well, before it holds it and at its end. */
    double most = reason == WAIT_LOCK ? INFINITY : expected * 1.02 + 2;
    if (actual < expected * 0.98 - 2 || actual > most)
        test_fail(__FILE__, __LINE__, "%s: %.1f ms, not %.1f", wait_reason_name(reason), actual,
                  expected);
}

TEST(causes_of_waiting_have_their_times)
{
    clocks = mmap(NULL, WAIT_REASON_COUNT * sizeof(*clocks), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(clocks != MAP_FAILED);
    struct sampler_options options = {.off_cpu = true};
    struct session *session = session_open(&options);
    struct session_child child = session_fork(session, wait_for_all, NULL);
    session_go(&child);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    check_waited(session, child.pid, WAIT_POLL);
    check_waited(session, child.pid, WAIT_SOCKET);
    check_waited(session, child.pid, WAIT_CHILD);
    check_waited(session, child.pid, WAIT_SLEEP);
    check_waited(session, child.pid, WAIT_LOCK);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

static int sleep_long(void *context)
{
    (void)context;
    sleep(30);
    return 0;
}

TEST(stretches_that_do_not_end_are_told_at_the_end)
{
    struct sampler_options options = {.off_cpu = true};
    struct session *session = session_open(&options);
    struct session_child child = session_fork(session, sleep_long, NULL);
    session_go(&child);
    session_steps(session, 300);
    session_finish(session);
    size_t unfinished = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (!(sample->flags & SAMPLE_UNFINISHED))
            continue;
        unfinished++;
        CHECK_INT(sample->reason, WAIT_SLEEP);
        CHECK(sample->end_ns - sample->time_ns > 150 * 1000000);
        CHECK(session_has(session, sample, "sleep_long"));
    }
    CHECK_INT(unfinished, 1);
    kill(child.pid, SIGKILL);
    CHECK_INT(waitpid(child.pid, NULL, 0), child.pid);
    session_close(session);
}

/* ---- Waits that are too short to be recorded ---- */

enum { SHORT_NAPS = 5, SHORT_NAP_NS = 100000 };

/* Shared with the test. */
struct spinner {
    volatile int64_t naps_ns, spins_ns; /* start times; 0: not started */
    volatile int stops;
};

/* Runs with a priority that keeps others off its processor. */
static int nap_and_spin(void *context)
{
    struct spinner *spinner = context;
    const struct timespec nap = {0, SHORT_NAP_NS};
    const struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        return 77;
    usleep(20000); /* earlier waits are reported by now */
    spinner->naps_ns = clock_now_ns();
    for (int i = 0; i < SHORT_NAPS; i++)
        nanosleep(&nap, NULL);
    int64_t now_ns = clock_now_ns(), begin_ns = now_ns;
    spinner->spins_ns = begin_ns;
    while (!spinner->stops && now_ns - begin_ns < 3000000000)
        now_ns = clock_now_ns();
    return 0;
}

TEST(short_waits_of_a_thread_that_runs_at_the_end_are_where_they_were)
{
    struct spinner *spinner =
        mmap(NULL, sizeof(*spinner), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(spinner != MAP_FAILED);
    struct sampler_options options = {.off_cpu = true, .off_cpu_threshold_ns = 1000000};
    struct session *session = session_open(&options);
    struct session_child child = session_fork(session, nap_and_spin, spinner);
    int status;
    session_go(&child);
    session_steps(session, 400);
    session_finish(session);
    spinner->stops = 1;
    CHECK_INT(waitpid(child.pid, &status, 0), child.pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        test_skip("real-time priority needs rights");
    int64_t last_ns = 0, waited_ns = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        bool own = trace_thread_get(session->trace, sample->thread)->tid == child.pid;
        bool brief = sample->set == SAMPLE_SET_SHORT_WAITS;
        if (!own || sample->time_ns < spinner->naps_ns || sample->time_ns > spinner->spins_ns)
            continue;
        last_ns = brief && sample->end_ns > last_ns ? sample->end_ns : last_ns;
        waited_ns += sample_value(NULL, sample, VALUE_TYPE_BLOCKED);
        waited_ns += sample_value(NULL, sample, VALUE_TYPE_RUNNABLE);
    }
    fprintf(stderr, "  %.3f ms of waits, told until %.3f ms after the last one\n",
            (double)waited_ns / 1e6, (double)(last_ns - spinner->spins_ns) / 1e6);
    CHECK(waited_ns >= SHORT_NAPS * SHORT_NAP_NS);
    CHECK(last_ns - spinner->spins_ns < 10000000);
    session_close(session);
}

enum { NAPPERS = 60, NAP_NS = 2000000 };

static void *nap_for_ever(void *context)
{
    const struct timespec nap = {0, NAP_NS};
    for (;;)
        nanosleep(&nap, NULL);
    return context;
}

static int nap_together(void *context)
{
    pthread_t id;
    for (int i = 0; i < NAPPERS - 1; i++)
        if (pthread_create(&id, NULL, nap_for_ever, NULL) != 0)
            return 1;
    return nap_for_ever(context) != NULL;
}

/* Number of naps missing between the last one and the previous one, of all threads. */
static size_t missing_naps(const struct session *session)
{
    int64_t ends[4096] = {0};
    size_t missing = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        CHECK(sample->thread < 4096);
        if (ends[sample->thread] && sample->flags & SAMPLE_UNFINISHED &&
            sample->time_ns - ends[sample->thread] >= NAP_NS)
            missing++;
        ends[sample->thread] = sample->end_ns;
    }
    return missing;
}

TEST(no_stretch_is_lost_when_the_recording_ends)
{
    size_t missing = 0, untold = 0; /* the kernel does not report every switch */
    for (int round = 0; round < 5; round++) {
        struct sampler_options options = {.off_cpu = true};
        struct session *session = session_open(&options);
        struct session_child child = session_fork(session, nap_together, NULL);
        session_go(&child);
        session_steps(session, 300);
        session_finish(session);
        CHECK(session->samples.count > NAPPERS * 20);
        missing += missing_naps(session);
        untold += session_fact(session, "context switches: the return was not told");
        CHECK_INT(session_fact(session, "context switches: the ring was full"), 0);
        kill(child.pid, SIGKILL);
        CHECK_INT(waitpid(child.pid, NULL, 0), child.pid);
        session_close(session);
    }
    fprintf(stderr, "  %zu missing, %zu not told\n", missing, untold);
    CHECK(missing <= untold);
}
