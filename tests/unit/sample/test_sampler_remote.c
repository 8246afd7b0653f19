/* SPDX-License-Identifier: MIT */
/* The rung of remote reads on programs of each interpreter: functions have names, lines and correct
 * shares; the sum of all samples is the CPU time counted by the kernel, also for a forked child and
 * for more runnable threads than CPUs. */
#include "interpreters.h"
#include "sampler_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const char script[] =
    "import os, time, threading, zlib\n"          /* 1 */
    "def burn(end):\n"                            /* 2 */
    "    n = 0\n"                                 /* 3 */
    "    while time.thread_time() < end:\n"       /* 4 */
    "        n += sum(i for i in range(200))\n"   /* 5 */
    "def half(ms):\n"                             /* 6 */
    "    burn(time.thread_time() + ms * .0005)\n" /* 7 */
    "def third(ms):\n"                            /* 8 */
    "    burn(time.thread_time() + ms * .0003)\n" /* 9 */
    "def fifth(ms):\n"                            /* 10 */
    "    burn(time.thread_time() + ms * .0002)\n" /* 11 */
    "def work(ms):\n"                             /* 12 */
    "    for i in range(10):\n"                   /* 13 */
    "        half(ms / 10)\n"                     /* 14 */
    "        third(ms / 10)\n"                    /* 15 */
    "        fifth(ms / 10)\n"                    /* 16 */
    "def child(ms):\n"                            /* 17 */
    "    work(ms)\n"                              /* 18 */
    "    os._exit(0)\n"                           /* 19 */
    "pid = os.fork()\n"                           /* 20 */
    "if pid == 0: child(600)\n"                   /* 21 */
    "for i in range(3):\n"                        /* 22 */
    "    threading.Thread(target=time.sleep, args=(.5,)).start()\n"
    "threads = [threading.Thread(target=work, args=(400,)) for i in 'ab']\n"
    "[thread.start() for thread in threads]\n" /* 25 */
    "[thread.join() for thread in threads]\n"
    "os.waitpid(pid, 0)\n";

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static uint64_t weight_of(const struct session *session, const char *function)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (!function || session_has(session, sample, function))
            sum += sample_cpu_ns(NULL, sample);
    }
    return sum;
}

static bool has_share(const struct session *session, const char *function, double expected)
{
    double share =
        100.0 * (double)weight_of(session, function) / (double)weight_of(session, "burn");
    bool right = share > expected - 12 && share < expected + 12; /* for a few hundred samples */
    if (!right)
        printf("  %s: %.1f %%, not %.0f\n", function, share, expected);
    return right;
}

static bool adds_up(const struct session *session, uint64_t used)
{
    uint64_t told = weight_of(session, NULL), child = weight_of(session, "child");
    return session->samples.count > 100 && told <= used + used / 50 && told >= used - used / 8 &&
           child > 400000000 && child < 700000000 && has_share(session, "half", 50) &&
           has_share(session, "third", 30) && has_share(session, "fifth", 20);
}

/* Each sample's line is within its function. */
static void check_lines(const struct session *session)
{
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t frames[64];
    for (size_t i = 0; i < session->samples.count; i++) {
        uint32_t count = stacks_frames(stacks, session->samples.items[i].stack, frames, 64);
        CHECK(count > 0);
        for (uint32_t k = 0; k < count; k++) {
            const struct frame *frame = stacks_get_frame(stacks, frames[k]);
            CHECK_INT(frame->kind, FRAME_PYTHON);
            if (strcmp(frame_function(session, frame), "burn") == 0)
                CHECK(frame->line >= 2 && frame->line <= 5);
        }
    }
}

/* Returns true if all approximate checks passed; exact checks fail the test. */
static bool run_one(const struct interpreter *interpreter, const char *path)
{
    struct sampler_options options = {
        .frequency_hz = 99, .first_hz = 499, .rung_max = SAMPLING_REMOTE};
    struct session *session = session_open(&options);
    char *const argv[] = {(char *)interpreter->command, (char *)path, NULL};
    uint64_t before = children_cpu_ns();
    CHECK_INT(trace_sampling_get(session->trace)->rung, SAMPLING_REMOTE);
    CHECK_INT(session_run(session, argv), 0);
    uint64_t used = children_cpu_ns() - before;
    session_finish(session);
    uint64_t told = weight_of(session, NULL);
    printf("  %s: %zu samples, %.1f %% of the CPU time, %llu torn\n", interpreter->text,
           session->samples.count, 100.0 * (double)told / (double)used,
           (unsigned long long)session_fact(session,
                                            "stacks thrown away: moved while they were read"));
    bool right = adds_up(session, used);
    check_lines(session);
    session_close(session);
    return right;
}

static const struct trace_process *find_process(const struct session *session, const char *label)
{
    char text[256];
    for (uint32_t i = 0; i < trace_process_count(session->trace); i++) {
        trace_process_label(session->trace, i, text, sizeof(text));
        if (strcmp(text, label) == 0)
            return trace_process_get(session->trace, i);
    }
    test_fail(__FILE__, __LINE__, "no process is called %s", label);
    return NULL;
}

TEST(programs_that_a_shell_starts_have_their_names_and_ends)
{
    static struct interpreter found[INTERPRETERS_MAX];
    struct sampler_options options = {.frequency_hz = 199, .rung_max = SAMPLING_REMOTE};
    char command[8192];
    if (!interpreters_find(found))
        test_skip("no CPython 3.9 or later here");
    struct session *session = session_open(&options);
    snprintf(command, sizeof(command), "%s -c 'sum(range(20000000))'; exit 3", found[0].command);
    char *const argv[] = {(char *)"sh", (char *)"-c", command, NULL};
    CHECK_INT(session_run(session, argv), 3 << 8);
    session_finish(session);
    const char *name = strrchr(found[0].command, '/');
    snprintf(command, sizeof(command), "%s -c", name ? name + 1 : found[0].command);
    const struct trace_process *python = find_process(session, command);
    CHECK(python->end == PROCESS_EXITED ||
          python->end == PROCESS_VANISHED); /* before Linux 6.15 only the shell gets the status */
    CHECK(python->end_ns > python->start_ns && python->parent >= 0);
    session_close(session);
}

TEST_TIMEOUT(remote_reads_add_up_to_the_cpu_time, 240)
{
    static struct interpreter found[INTERPRETERS_MAX];
    char path[4200];
    size_t count = interpreters_find(found);
    if (!count)
        test_skip("no CPython 3.9 or later here");
    snprintf(path, sizeof(path), "%s/script.py", test_directory());
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(script, file) >= 0 && fclose(file) == 0);
    for (size_t i = 0; i < count; i++) {
        /* A remote reader needs a CPU in time, which a busy machine may not provide. */
        bool right = false;
        for (int attempt = 0; attempt < 3 && !right; attempt++)
            right = run_one(&found[i], path);
        CHECK(right);
    }
}
