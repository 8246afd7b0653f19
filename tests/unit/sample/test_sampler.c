/* SPDX-License-Identifier: MIT */
/* The whole sampler on real programs: functions have correct shares, stacks are complete, also for
 * the shortest processes and the newest mappings. */
#include "sampler_scene.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The path of the target, next to this program. */
static char *target(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
    CHECK(length > 0);
    path[length] = 0;
    snprintf(strrchr(path, '/'), 32, "/sampler-target");
    return path;
}

static double percent(const struct session *session, const char *function)
{
    CHECK(session->samples.count > 0);
    return 100.0 * (double)session_count(session, function) / (double)session->samples.count;
}

static void check_near(double actual, double expected, double most)
{
    if (fabs(actual - expected) > most)
        test_fail(__FILE__, __LINE__, "%.1f is not %.1f +- %.1f", actual, expected, most);
}

TEST(functions_have_the_shares_they_take)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"shares", (char *)"2000", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    CHECK(session->samples.count > 1500 && session->samples.count < 2400);
    check_near(percent(session, "work_half"), 50, 3);
    check_near(percent(session, "work_third"), 30, 3);
    check_near(percent(session, "work_fifth"), 20, 3);
    if (session_complete(session) < 995)
        session_print(session, 10);
    CHECK(session_complete(session) >= 995);
    CHECK(percent(session, "_start") >= 99.5);
    CHECK(percent(session, "main") >= 98);
    session_close(session);
}

TEST(samples_of_a_thread_are_in_order_of_time)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"threads", (char *)"4", (char *)"300", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    int64_t last[64] = {0};
    size_t in_threads = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        CHECK(sample->thread < 64 && sample->time_ns >= last[sample->thread]);
        last[sample->thread] = sample->time_ns;
        in_threads += session_has(session, sample, "thread_main");
    }
    CHECK(in_threads > 1000);
    CHECK(trace_thread_count(session->trace) >= 4);
    CHECK(session_complete(session) >= 995);
    session_close(session);
}

static bool has_thread(const struct session *session, const char *label)
{
    char text[256];
    for (uint32_t i = 0; i < trace_thread_count(session->trace); i++) {
        trace_thread_label(session->trace, i, text, sizeof(text));
        if (strcmp(text, label) == 0)
            return true;
    }
    return false;
}

TEST(threads_are_called_as_the_kernel_calls_them)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"named", (char *)"3", (char *)"100", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    CHECK(has_thread(session, "first") && has_thread(session, "second"));
    CHECK(has_thread(session, "third"));
    session_close(session);
}

TEST(threads_that_outlive_the_recording_have_their_names)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"named", (char *)"3", (char *)"60000", NULL};
    struct session_child child = session_start(session, argv);
    session_go(&child);
    session_steps(session, 400);
    session_finish(session);
    CHECK_INT(kill(child.pid, SIGKILL), 0);
    CHECK_INT(waitpid(child.pid, NULL, 0), child.pid);
    CHECK(has_thread(session, "first") && has_thread(session, "second"));
    CHECK(has_thread(session, "third"));
    session_close(session);
}

/* Number of processes in the trace that have a CPU sample with the function. */
static size_t processes_with(const struct session *session, const char *function)
{
    size_t count = trace_process_count(session->trace), found = 0;
    bool *seen = calloc(count + 1, sizeof(*seen));
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        uint32_t process = trace_thread_get(session->trace, sample->thread)->process;
        if (sample->set == SAMPLE_SET_CPU && session_has(session, sample, function) &&
            !seen[process])
            found++, seen[process] = true;
    }
    free(seen);
    return found;
}

TEST_TIMEOUT(short_processes_are_all_seen_and_named, 120)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"many", (char *)"200", (char *)"5", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    size_t unnamed = session_count(session, "[not mapped]");
    fprintf(stderr, "  %zu samples, %zu unnamed, complete %u, processes %zu\n",
            session->samples.count, unnamed, session_complete(session),
            processes_with(session, "spin"));
    CHECK_INT(processes_with(session, "spin"), 200);
    CHECK(unnamed * 100 <= session->samples.count);
    /* During an exec the old stack is unmapped before the kernel reports it. */
    CHECK(session_complete(session) >= 975);
    session_close(session);
}

TEST(forked_children_without_exec_are_sampled)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"forks", (char *)"20", (char *)"20", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    CHECK_INT(processes_with(session, "spin"), 20);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

TEST(libraries_that_come_and_go_are_named)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char library[4096];
    snprintf(library, sizeof(library), "%s", target());
    snprintf(strrchr(library, '/'), 32, "/sampler-plugin.so");
    char *const argv[] = {target(), (char *)"load", library, (char *)"100", (char *)"5", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    CHECK(percent(session, "plugin_spin") > 90);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

/* Returns true for an impossible frame: all code of the program has names and is mapped. */
static bool has_nonsense(const struct session *session, const struct sample *sample)
{
    static uint32_t frames[600];
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t count = stacks_frames(stacks, sample->stack, frames, 600);
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = stacks_get_frame(stacks, frames[i]);
        const char *name = frame_function(session, frame);
        if (strcmp(name, "[not mapped]") == 0 || strncmp(name, "sampler-", 8) == 0)
            return true;
    }
    return false;
}

/* They are loaded at the same addresses, and the program learns of the change with a delay: stacks
 * walked with the wrong library's rows are cut where the mismatch is detected. */
TEST(a_library_in_the_place_of_another_shows_no_frames_that_were_not_there)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char libraries[2][4096];
    for (int i = 0; i < 2; i++) {
        snprintf(libraries[i], sizeof(libraries[i]), "%s", target());
        snprintf(strrchr(libraries[i], '/'), 32, "/sampler-plugin%s.so", i ? "2" : "");
    }
    char *const argv[] = {target(),      (char *)"turns", libraries[0], libraries[1],
                          (char *)"150", (char *)"6",     NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    size_t nonsense = 0, whole = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        nonsense += has_nonsense(session, sample);
        whole += session_has(session, sample, "plugin_spin") &&
                 session_has(session, sample, "main") && sample->native_end == STACK_COMPLETE;
    }
    uint64_t cut = session_fact(session, "stacks: cut, a library had taken the place of another");
    fprintf(stderr, "  %zu samples, %zu whole, %llu cut\n", session->samples.count, whole,
            (unsigned long long)cut);
    CHECK_INT(nonsense, 0);
    CHECK(percent(session, "plugin_spin") > 90);
    CHECK(whole * 10 > session->samples.count * 4);
    session_close(session);
}

TEST(running_programs_can_be_attached_to)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char *const argv[] = {target(), (char *)"forks", (char *)"2", (char *)"1500", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    usleep(200000);
    CHECK_INT(sampler_track(session->sampler, pid, SAMPLER_TRACK_ATTACH), 0);
    session_steps(session, 500);
    kill(pid, SIGKILL);
    CHECK(session_wait(session, pid) != 0);
    session_finish(session);
    CHECK_INT(processes_with(session, "spin"), 2);
    CHECK(session->samples.count > 100);
    CHECK(session_complete(session) >= 995);
    session_close(session);
}

static void copy_file(const char *from, const char *to)
{
    char command[12400];
    snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
    CHECK_INT(system(command), 0);
}

TEST(deleted_and_replaced_programs_keep_their_names)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char path[4200];
    snprintf(path, sizeof(path), "%s/program", test_directory());
    copy_file(target(), path);
    char *const argv[] = {path, (char *)"spin", (char *)"300", NULL};
    struct session_child child = session_start(session, argv);
    session_go(&child);
    session_steps(session, 100);
    CHECK_INT(unlink(path), 0);
    copy_file("/bin/true", path); /* another file of that name */
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(percent(session, "spin") > 85);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

TEST(programs_deleted_before_they_are_looked_at_are_named)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char path[4200];
    snprintf(path, sizeof(path), "%s/program", test_directory());
    copy_file(target(), path);
    char *const argv[] = {path, (char *)"spin", (char *)"600", NULL};
    struct session_child child = session_start(session, argv);
    session_go(&child);
    usleep(100000); /* without a step */
    CHECK_INT(unlink(path), 0);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(percent(session, "spin") > 85);
    CHECK(session_complete(session) >= 990);
    session_close(session);
}

/* Its files are accessible only through its mount namespace. */
TEST(programs_of_another_mount_namespace_are_named)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    char command[9000];
    const char *folder = test_directory();
    snprintf(command, sizeof(command),
             "mount -t tmpfs none '%s' && cp '%s' '%s/hidden' && exec '%s/hidden' spin 400", folder,
             target(), folder, folder);
    char *const argv[] = {(char *)"unshare",
                          (char *)"--mount",
                          (char *)"--pid",
                          (char *)"--fork",
                          (char *)"--propagation",
                          (char *)"private",
                          (char *)"sh",
                          (char *)"-c",
                          command,
                          NULL};
    if (session_run(session, argv) != 0)
        test_skip("no namespaces of one's own here");
    session_finish(session);
    CHECK(session_count(session, "spin") > 300);
    CHECK(session_complete(session) >= 980);
    session_close(session);
}

TEST(sleeping_is_told_with_its_length)
{
    struct sampler_options options = {.off_cpu = true};
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)"sleep", (char *)"0.3", NULL};
    CHECK_INT(session_run(session, argv), 0);
    session_finish(session);
    int64_t slept = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        CHECK(sample->end_ns >= sample->time_ns);
        if (sample->set == SAMPLE_SET_SHORT_WAITS) { /* its runtime at the end */
            CHECK_INT(sample_value(NULL, sample, VALUE_TYPE_BLOCKED), 0);
            continue;
        }
        CHECK_INT(sample->set, SAMPLE_SET_OFF_CPU);
        if (sample->reason == WAIT_SLEEP)
            slept += sample_value(NULL, sample, VALUE_TYPE_BLOCKED);
    }
    check_near((double)slept / 1e6, 300, 6);
    session_close(session);
}

TEST(a_process_that_is_gone_cannot_be_tracked)
{
    struct sampler_options options = {.frequency_hz = 99};
    struct session *session = session_open(&options);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    CHECK_INT(sampler_track(session->sampler, pid, 0), -ESRCH);
    session_finish(session);
    session_close(session);
}

/* ---- Pace ------------------------------------------------------------------------------------ */

/* CPU time of a program, and interruptions of its threads during it. */
struct burn {
    int milliseconds, threads;
    int64_t used_ns;
    long turns;
};

static void *burn_alone(void *context)
{
    const struct burn *burn = context;
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < burn->milliseconds);
    return NULL;
}

static int burn_in_threads(void *context)
{
    struct burn *burn = context;
    pthread_t threads[8];
    struct rusage usage;
    struct timespec now;
    for (int i = 0; i < burn->threads; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, burn_alone, burn), 0);
    for (int i = 0; i < burn->threads; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    getrusage(RUSAGE_SELF, &usage);
    burn->used_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    burn->turns = usage.ru_nivcsw + usage.ru_nvcsw;
    return 0;
}

static int64_t sampled_ns(const struct session *session, pid_t pid, size_t *ret_count)
{
    int64_t sum_ns = 0;
    *ret_count = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        const struct trace_thread *thread = trace_thread_get(session->trace, sample->thread);
        if (trace_process_get(session->trace, thread->process)->pid != pid)
            continue;
        sum_ns += sample->values[0];
        ++*ret_count;
    }
    return sum_ns;
}

/* Each turn on a processor begins and ends anywhere between two ticks. */
static void check_sampled(const struct session *session, const struct burn *burn, pid_t pid,
                          double period_ns)
{
    size_t count;
    double sum_ns = (double)sampled_ns(session, pid, &count), used_ns = (double)burn->used_ns;
    double error_ns = 4 * period_ns * sqrt((burn->threads + (double)burn->turns) / 6);
    if (fabs(sum_ns - used_ns) > error_ns + 0.03 * used_ns + period_ns)
        test_fail(__FILE__, __LINE__, "%d threads of %d ms: %.2f ms sampled, not %.2f +- %.2f",
                  burn->threads, burn->milliseconds, sum_ns / 1e6, used_ns / 1e6, error_ns / 1e6);
    CHECK(count > 0);
}

static pid_t run_burn(struct session *session, struct burn *burn)
{
    struct session_child child = session_fork(session, burn_in_threads, burn);
    session_go(&child);
    CHECK_INT(session_wait(session, child.pid), 0);
    return child.pid;
}

TEST_TIMEOUT(samples_weigh_their_time_before_and_after_it_slows_down, 120)
{
    static const struct burn wanted[] = {
        {200, 1, 0, 0}, {1500, 1, 0, 0}, {300, 4, 0, 0}, {900, 2, 0, 0}};

    enum { BURNS = sizeof(wanted) / sizeof(wanted[0]) };
    struct sampler_options options = {.frequency_hz = 99, .first_hz = 499};
    struct session *session = session_open(&options);
    struct burn *burns =
        mmap(NULL, sizeof(wanted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[BURNS];
    size_t count;
    CHECK(burns != MAP_FAILED);
    memcpy(burns, wanted, sizeof(wanted));
    for (int i = 0; i < BURNS; i++)
        pids[i] = run_burn(session, &burns[i]);
    session_finish(session);
    for (int i = 0; i < BURNS; i++)
        check_sampled(session, &burns[i], pids[i], i ? 1e9 / 99 : 1e9 / 499);
    (void)sampled_ns(session, pids[0], &count);
    CHECK(count > 70 && count < 140);
    CHECK(trace_sampling_get(session->trace)->slowed);
    CHECK_INT(trace_sampling_get(session->trace)->first_hz, 499);
    munmap(burns, sizeof(wanted));
    session_close(session);
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Returns the time of its end. */
static int64_t check_burn(struct session *session, int milliseconds)
{
    struct burn *burn =
        mmap(NULL, sizeof(*burn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(burn != MAP_FAILED);
    *burn = (struct burn){milliseconds, 1, 0, 0};
    pid_t pid = run_burn(session, burn);
    session_steps(session, 100);
    bool slowed = trace_sampling_get(session->trace)->slowed;
    check_sampled(session, burn, pid, slowed ? 1e9 / 99 : 1e9 / 499);
    munmap(burn, sizeof(*burn));
    return seconds_now();
}

/* A launcher that waits leaves the fast initial rate to the program that it starts. */
TEST_TIMEOUT(waiting_does_not_slow_it_down, 120)
{
    struct sampler_options options = {.frequency_hz = 99, .first_hz = 499};
    int64_t begin = seconds_now(), clock_limit = begin + 9;
    struct session *session = session_open(&options);
    session_steps(session, 1500);
    if (check_burn(session, 300) < clock_limit)
        CHECK(!trace_sampling_get(session->trace)->slowed);
    (void)check_burn(session, 1200);
    CHECK(trace_sampling_get(session->trace)->slowed);
    session_finish(session);
    session_close(session);
}
