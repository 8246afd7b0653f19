/* SPDX-License-Identifier: MIT */
/* Samples carry the open ranges of their thread, from a live record with libannot's layout: deep
 * stacks, names that arrive late or never, and ranges inherited by a forked child. */
#include "annot_wire.h"
#include "machine_time.h"
#include "sampler_scene.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_MS = 300 };

static _Thread_local struct annot_thread *volatile live_word;
static struct annot_thread live_record;
static volatile uint64_t sink_word;

static int64_t tls_offset(void)
{
    uint64_t thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    return (int64_t)((uint64_t)(uintptr_t)&live_word - thread_pointer);
}

static int64_t now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void spin(void)
{
    for (int64_t end = now_ms(CLOCK_THREAD_CPUTIME_ID) + SPIN_MS;
         now_ms(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 20000; i++)
            sink_word++;
}

/* Ranges 1 .. depth are open, 1 the outermost. */
static void open_ranges(uint32_t depth)
{
    live_record.pid = getpid();
    live_record.tid = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < depth; i++)
        live_record.live[i % ANNOT_LIVE_DEPTH] = (struct annot_open){.name = 1 + i, .instance = 1};
    live_record.depth = depth;
    live_word = &live_record;
}

static int spin_in_ranges(void *context)
{
    open_ranges(*(uint32_t *)context);
    spin();
    return 0;
}

/* The child and its child have no events; the parent continues with another range. */
static int fork_in_ranges(void *context)
{
    open_ranges(*(uint32_t *)context);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        spin();
        if (grandchild > 0)
            waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    live_record.depth = 1;
    spin();
    waitpid(child, NULL, 0);
    return 0;
}

static volatile int *gate; /* in memory shared with the test, which opens it */

/* A child that starts to work when the gate opens. */
static int fork_and_wait(void *context)
{
    open_ranges(*(uint32_t *)context);
    pid_t child = fork();
    if (child == 0) {
        while (!*gate)
            usleep(1000);
        spin();
        _exit(0);
    }
    live_record.depth = 0;
    waitpid(child, NULL, 0);
    return 0;
}

static int64_t taken_at_first_ns;

/* Expected samples of a spin: 8 of 10 of its CPU time minus the time that the machine took from the
 * CPUs since the test began, when a sample's timer could not fire; at least half. */
static size_t enough(void)
{
    int64_t least = SPIN_MS * 8 / 10 - (machine_taken_ns() - taken_at_first_ns) / 1000000;
    return least > SPIN_MS / 2 ? (size_t)least : SPIN_MS / 2;
}

/* `until_ns`: names are known up to this time. */
static struct session *run(int (*work)(void *), uint32_t depth, int64_t until_ns)
{
    struct sampler_options options = {.frequency_hz = 999};
    taken_at_first_ns = machine_taken_ns();
    struct session *session = session_open(&options);
    struct session_child child = session_fork(session, work, &depth);
    session_serve(session, child.pid, tls_offset(), "r");
    CHECK_INT(lives_note_search(session->lives, until_ns, NULL, 0), 0);
    CHECK_INT(sampler_step(session->sampler), 0);
    session_go(&child);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    return session;
}

/* Counts CPU samples with exactly that path, known or unknown. */
static size_t count_path(const struct session *session, const char *path, bool known)
{
    size_t count = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        count += !!(sample->flags & SAMPLE_PATH_KNOWN) == known &&
                 strcmp(session_path(session, sample), path) == 0;
    }
    return count;
}

TEST(samples_have_the_path_outermost_first)
{
    struct session *session = run(spin_in_ranges, 3, INT64_MAX);
    CHECK(count_path(session, "r1/r2/r3", true) >= enough());
    CHECK_INT(count_path(session, "r1/r2/r3", false), 0);
    session_close(session);
}

TEST(deep_paths_say_that_they_are_cut)
{
    struct session *session = run(spin_in_ranges, 40, INT64_MAX);
    size_t cut = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        const char *path = session_path(session, sample);
        if (!path[0])
            continue;
        CHECK(strncmp(path, "r9/r10/", 7) == 0);
        CHECK_STR(strrchr(path, '/'), "/r40");
        CHECK(sample->flags & SAMPLE_PATH_CUT);
        cut++;
    }
    CHECK(cut >= enough());
    session_close(session);
}

TEST(names_that_come_late_are_waited_for)
{
    taken_at_first_ns = machine_taken_ns();
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    uint32_t depth = 2;
    struct session_child child = session_fork(session, spin_in_ranges, &depth);
    session_serve(session, child.pid, tls_offset(), "r");
    CHECK_INT(sampler_step(session->sampler), 0);
    session_go(&child);
    session_steps(session, 120);
    size_t early = session->samples.count;
    CHECK_INT(lives_note_search(session->lives, INT64_MAX, NULL, 0), 0);
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(early < 30); /* samples before the first range was opened */
    CHECK(count_path(session, "r1/r2", true) >= enough());
    int64_t last = 0;
    for (size_t i = 0; i < session->samples.count; i++) {
        CHECK(session->samples.items[i].time_ns >= last);
        last = session->samples.items[i].time_ns;
    }
    session_close(session);
}

TEST(names_that_never_come_cost_the_path_only)
{
    struct session *session = run(spin_in_ranges, 2, 0);
    CHECK(session->samples.count >= enough());
    size_t before = count_path(session, "", true); /* before the first range was opened */
    CHECK(before < 30);
    CHECK_INT(count_path(session, "", false), session->samples.count - before);
    CHECK(session_fact(session, "ranges of samples: the name did not arrive") >= enough());
    session_close(session);
}

TEST(forked_children_have_the_ranges_of_their_fork)
{
    struct session *session = run(fork_in_ranges, 4, INT64_MAX);
    /* Child and grandchild spin in r1 .. r4; the parent has left all but the outermost. */
    CHECK(count_path(session, "r1/r2/r3/r4", true) >= 2 * enough());
    CHECK(count_path(session, "r1", true) >= enough());
    session_close(session);
}

/* Returns true if a process is known to have inherited the innermost of `depth` ranges. */
static bool has_inherited(const struct session *session, uint32_t depth)
{
    char name[16];
    const struct stacks *stacks = trace_stacks_get(session->trace);
    snprintf(name, sizeof(name), "r%u", depth);
    for (uint32_t i = 1; i < stacks_path_count(stacks); i++) {
        const struct range_path *path = stacks_get_path(stacks, i);
        if (path->kind == RANGE_PATH_INHERITED &&
            strcmp(trace_string(session->trace, path->name)->bytes, name) == 0)
            return true;
    }
    return false;
}

/* If the parent has executed another program or ended, the names are lost, so they are looked up at
 * the fork. */
TEST(names_of_inherited_ranges_are_asked_for_at_the_fork)
{
    struct sampler_options options = {.frequency_hz = 999};
    uint32_t depth = 4;
    gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(gate != MAP_FAILED);
    taken_at_first_ns = machine_taken_ns();
    struct session *session = session_open(&options);
    struct session_child child = session_fork(session, fork_and_wait, &depth);
    struct image *image = session_serve(session, child.pid, tls_offset(), "r");
    CHECK_INT(lives_note_search(session->lives, INT64_MAX, NULL, 0), 0);
    CHECK_INT(sampler_step(session->sampler), 0);
    session_go(&child);
    for (int i = 0; i < 1000 && !has_inherited(session, depth); i++)
        session_steps(session, 10);
    image_forget_names(image);
    *gate = 1;
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(count_path(session, "r1/r2/r3/r4", true) >= enough());
    CHECK_INT(session_fact(session, "ranges of samples: the name did not arrive"), 0);
    session_close(session);
}

/* Also if the kernel's record of its exec was lost. */
TEST(another_program_of_a_process_has_names_of_its_own)
{
    struct sampler_options options = {.frequency_hz = 999};
    struct session *session = session_open(&options);
    uint32_t depth = 1;
    struct session_child child = session_fork(session, spin_in_ranges, &depth);
    session_serve(session, child.pid, tls_offset(), "r");
    CHECK_INT(lives_note_search(session->lives, INT64_MAX, NULL, 0), 0);
    CHECK_INT(sampler_step(session->sampler), 0);
    session_go(&child);
    for (int i = 0; i < 1000 && session->samples.count < SPIN_MS / 4; i++)
        session_steps(session, 5);
    int64_t since_ms = now_ms(CLOCK_MONOTONIC);
    session_serve(session, child.pid, tls_offset(), "s");
    CHECK_INT(session_wait(session, child.pid), 0);
    session_finish(session);
    CHECK(count_path(session, "r1", true) > SPIN_MS / 30); /* other programs run concurrently */
    CHECK(count_path(session, "s1", true) > SPIN_MS / 30);
    for (size_t i = 0; i < session->samples.count; i++) {
        const struct sample *sample = &session->samples.items[i];
        if (sample->time_ns / 1000000 > since_ms && (sample->flags & SAMPLE_PATH_KNOWN))
            CHECK_STR(session_path(session, sample), "s1");
    }
    session_close(session);
}
