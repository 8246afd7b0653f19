/* SPDX-License-Identifier: MIT */
/* Stretches off CPU by the real BPF program: compares their times with the thread's own clock, and
 * checks the facts about the cause. */
#include "bpf_scene.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_NS = 60000000, ROUNDS = 5 };

static struct bpf_program_options options = {.frequency_hz = 99, .off_cpu = true, .uid = -1};

/* Measured by the child: the interval, and the time in it during which it did not run. */
struct waits {
    uint64_t begin_ns, end_ns, off_ns;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Runs `wait` ROUNDS times concurrently with a process that calls `wake` after each pause; sums the
 * time. */
struct pair {
    int ends[2];
    uint32_t *futex;
};

static void wake_later(const struct pair *pair, bool futex)
{
    for (int i = 0; i < ROUNDS; i++) {
        sleep_ns(WAIT_NS);
        if (futex)
            syscall(SYS_futex, pair->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
        else if (write(pair->ends[1], "", 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void measure(struct waits *waits, void (*wait)(const struct pair *), const struct pair *pair)
{
    uint64_t ran_ns = cpu_ns();

    waits->begin_ns = scene_now_ns();
    for (int i = 0; i < ROUNDS; i++)
        wait(pair);
    waits->end_ns = scene_now_ns();
    waits->off_ns = waits->end_ns - waits->begin_ns - (cpu_ns() - ran_ns);
}

static void wait_sleep(const struct pair *pair)
{
    (void)pair;
    sleep_ns(WAIT_NS);
}

static void wait_read(const struct pair *pair)
{
    char byte;

    if (read(pair->ends[0], &byte, 1) != 1)
        _exit(1);
}

static void wait_poll(const struct pair *pair)
{
    struct pollfd fd = {.fd = pair->ends[0], .events = POLLIN};

    syscall(SYS_poll, &fd, 1, -1);
    wait_read(pair);
}

static void wait_futex(const struct pair *pair)
{
    syscall(SYS_futex, pair->futex, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void wait_child(const struct pair *pair)
{
    pid_t pid = fork();

    (void)pair;
    if (pid == 0) {
        sleep_ns(WAIT_NS);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

struct scenario {
    struct waits *waits;
    void (*wait)(const struct pair *);
    bool socket, beside, futex;
    const struct pair *pair;
};

static int run_scenario(void *context)
{
    const struct scenario *scenario = context;
    struct pair pair = *scenario->pair;
    pid_t waker = 0;

    if (scenario->beside)
        waker = fork();
    if (scenario->beside && waker == 0)
        wake_later(&pair, scenario->futex);
    measure(scenario->waits, scenario->wait, &pair);
    return 0;
}

/* The stretches of the child in the interval, and the last one long enough to be one of its
 * waits. */
struct seen_waits {
    size_t long_count;
    size_t bare_count; /* without a kernel stack */
    uint64_t off_ns, blocked_ns;
    struct sampler_switch last;
};

static void add_stretch(const struct bpf_scene *scene, const struct sampler_switch *stretch,
                        struct seen_waits *seen)
{
    uint64_t off_ns = stretch->end_ns - stretch->head.time_ns;

    seen->off_ns += off_ns;
    if (stretch->flags & SAMPLER_PREEMPTED)
        return;
    CHECK(stretch->wake_ns <= stretch->end_ns);
    CHECK(stretch->wake_ns >= stretch->head.time_ns || stretch->wake_ns == 0); /* 0: unknown */
    seen->blocked_ns +=
        (stretch->wake_ns ? stretch->wake_ns : stretch->end_ns) - stretch->head.time_ns;
    if (off_ns < WAIT_NS / 2)
        return;
    CHECK_INT(stretch->native_end, STACK_COMPLETE);
    CHECK(scene_part(scene, SAMPLER_NATIVE, stretch->native));
    if (stretch->kernel == 0)
        seen->bare_count++;
    else
        CHECK(scene_part(scene, SAMPLER_KERNEL, stretch->kernel));
    seen->long_count++;
    memcpy(&seen->last, stretch, stretch->head.size);
}

static struct seen_waits add_up(const struct bpf_scene *scene, pid_t pid, const struct waits *waits)
{
    struct seen_waits seen = {0};

    for (size_t i = 0; i < scene->records.count; i++) {
        const struct sampler_switch *stretch = (const void *)scene->records.items[i];

        if (stretch->head.kind == SAMPLER_SWITCH && stretch->head.tid == pid &&
            stretch->head.time_ns >= waits->begin_ns && stretch->end_ns <= waits->end_ns)
            add_stretch(scene, stretch, &seen);
    }
    return seen;
}

static struct seen_waits run(struct scenario scenario, struct sampler_process *process)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    struct seen_waits seen;
    struct pair pair;
    uint64_t difference, counters[SAMPLER_COUNTERS];

    pair.futex = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    scenario.waits = (void *)(pair.futex + 1024);
    scenario.pair = &pair;
    CHECK_INT(scenario.socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair.ends) : pipe(pair.ends),
              0);
    if (process) {
        process->runtime = (uintptr_t)pair.futex;
        process->runtime_end = process->runtime + 64;
    }
    scene_open(&scene, &options);
    child = scene_start(run_scenario, &scenario);
    scene_load(&scene, child.pid, process);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    seen = add_up(&scene, child.pid, scenario.waits);
    difference = scenario.waits->off_ns > seen.off_ns ? scenario.waits->off_ns - seen.off_ns
                                                      : seen.off_ns - scenario.waits->off_ns;
    fprintf(stderr, "  off CPU by its own clock %.3f ms, seen %.3f ms, of that blocked %.3f ms\n",
            (double)scenario.waits->off_ns / 1e6, (double)seen.off_ns / 1e6,
            (double)seen.blocked_ns / 1e6);
    CHECK(seen.long_count > 0);
    CHECK_INT(bpf_program_counters(scene.program, counters), 0);
    CHECK(seen.bare_count <= counters[SAMPLER_COUNT_REASONED]);
    CHECK(difference * 50 < scenario.waits->off_ns);
    scene_close(&scene);
    close(pair.ends[0]);
    close(pair.ends[1]);
    munmap(pair.futex, 8192);
    return seen;
}

TEST(sleep_is_seen_as_long_as_it_was)
{
    struct seen_waits seen = run((struct scenario){.wait = wait_sleep}, NULL);

    CHECK(seen.last.syscall == SYS_nanosleep || seen.last.syscall == SYS_clock_nanosleep);
    CHECK_INT(seen.last.state & 1, 1);
    CHECK_INT(seen.last.flags & (SAMPLER_IO_WAIT | SAMPLER_FAULTED | SAMPLER_GIL_WAIT), 0);
}

TEST(where_no_return_is_met_stacks_are_taken_at_the_leave)
{
    options.walks_at_leave = true;
    run((struct scenario){.wait = wait_sleep}, NULL);
    run((struct scenario){.wait = wait_read, .beside = true}, NULL);
}

TEST(above_the_threshold_stacks_are_the_same)
{
    options.off_cpu_threshold_ns = 1000000;
    run((struct scenario){.wait = wait_sleep}, NULL);
    run((struct scenario){.wait = wait_read, .beside = true}, NULL);
}

TEST(a_pipe_is_known_by_the_kind_of_its_file)
{
    struct seen_waits seen = run((struct scenario){.wait = wait_read, .beside = true}, NULL);

    CHECK_INT(seen.last.syscall, SYS_read);
    CHECK(S_ISFIFO(seen.last.file_mode));
}

TEST(a_socket_is_known_by_the_kind_of_its_file)
{
    struct seen_waits seen =
        run((struct scenario){.wait = wait_read, .beside = true, .socket = true}, NULL);

    CHECK_INT(seen.last.syscall, SYS_read);
    CHECK(S_ISSOCK(seen.last.file_mode));
}

TEST(poll_is_known_by_its_system_call)
{
    struct seen_waits seen = run((struct scenario){.wait = wait_poll, .beside = true}, NULL);

    CHECK_INT(seen.last.syscall, SYS_poll);
}

TEST(a_lock_is_known_by_its_address_and_the_interpreters_own_apart)
{
    struct scenario scenario = {.wait = wait_futex, .beside = true, .futex = true};
    struct sampler_process python = {0};
    struct seen_waits plain = run(scenario, NULL), inside = run(scenario, &python);

    CHECK_INT(plain.last.syscall, SYS_futex);
    CHECK_INT(plain.last.flags & SAMPLER_GIL_WAIT, 0);
    CHECK_INT(inside.last.syscall, SYS_futex);
    CHECK_INT(inside.last.flags & SAMPLER_GIL_WAIT, SAMPLER_GIL_WAIT);
    CHECK_INT(inside.last.argument, python.runtime);
}

TEST(a_child_is_known_by_its_system_call)
{
    struct seen_waits seen = run((struct scenario){.wait = wait_child}, NULL);

    CHECK_INT(seen.last.syscall, SYS_wait4);
}

/* Faults on file pages that are not in memory: a wait without a system call. */
static int fault_pages(void *context)
{
    const char *path = context;
    int fd = open(path, O_RDONLY);
    struct stat state;
    volatile const char *bytes;
    int sum = 0;

    fstat(fd, &state);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bytes = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    madvise((void *)bytes, (size_t)state.st_size, MADV_RANDOM);
    for (off_t i = 0; i < state.st_size; i += 4096)
        sum += bytes[i];
    return sum & 0;
}

TEST(a_page_fault_has_no_system_call)
{
    struct bpf_scene scene = {0};
    struct scene_child child;
    char path[512];
    size_t faults = 0;
    static char bytes[1 << 20];
    int fd;

    snprintf(path, sizeof(path), "%s/pages", test_directory());
    fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    memset(bytes, 1, sizeof(bytes));
    CHECK_INT(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    CHECK_INT(fsync(fd), 0);
    close(fd);
    scene_open(&scene, &options);
    child = scene_start(fault_pages, path);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(&scene);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_switch *stretch = (const void *)scene.records.items[i];

        if (stretch->head.kind != SAMPLER_SWITCH || !(stretch->flags & SAMPLER_FAULTED))
            continue;
        CHECK_INT(stretch->syscall, -1);
        faults++;
    }
    if (faults == 0)
        test_skip("the file system of %s keeps all pages in memory", path);
    scene_close(&scene);
}

static int sleep_long(void *context)
{
    *(volatile bool *)context = true;
    sleep_ns(999999999);
    return 0;
}

static int keep_last(void *context, const struct sampler_head *record)
{
    memcpy(context, record, record->size);
    return 0;
}

TEST(threads_that_are_still_off_can_be_listed)
{
    struct bpf_scene scene = {0};
    volatile bool *sleeps = scene_shared(sizeof(*sleeps));
    struct sampler_switch stretch = {0};
    struct scene_child child;

    scene_open(&scene, &options);
    child = scene_start(sleep_long, (void *)sleeps);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    while (!*sleeps)
        sleep_ns(1000000);
    sleep_ns(400000000);
    CHECK_INT(bpf_program_still_off(scene.program, keep_last, &stretch), 0);
    CHECK_INT(stretch.head.kind, SAMPLER_SWITCH);
    CHECK_INT(stretch.head.pid, child.pid);
    CHECK(stretch.flags & SAMPLER_STILL_OFF);
    CHECK(stretch.end_ns - stretch.head.time_ns > 100000000);
    CHECK_INT(stretch.wake_ns, 0);
    CHECK_INT(scene_wait(&child), 0);
    CHECK_INT(bpf_program_still_off(scene.program, keep_last, &stretch), 0);
    scene_close(&scene);
}

static int ping_pong(void *context)
{
    int there[2], back[2];
    char byte = 0;
    pid_t pid;

    if (pipe(there) < 0 || pipe(back) < 0)
        return 1;
    pid = fork();
    for (int i = 0; i < *(int *)context; i++) {
        if (pid == 0 ? read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1
                     : write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            _exit(1);
    }
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return 0;
}

TEST(above_the_rate_cap_switches_are_counted)
{
    struct bpf_program_options capped = options;
    struct bpf_scene scene = {0};
    struct scene_child child;
    uint64_t counters[SAMPLER_COUNTERS], begin;
    int rounds = 20000;
    size_t told;

    capped.off_cpu_rate_max = 2000;
    scene_open(&scene, &capped);
    child = scene_start(ping_pong, &rounds);
    scene_load(&scene, child.pid, NULL);
    begin = scene_now_ns();
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    begin = scene_now_ns() - begin;
    scene_drain(&scene);
    CHECK_INT(bpf_program_counters(scene.program, counters), 0);
    told = scene_count(&scene, SAMPLER_SWITCH, 0);
    fprintf(
        stderr, "  %llu switches in %llu ms, %zu told, %llu ns each\n",
        (unsigned long long)counters[SAMPLER_COUNT_SWITCHES], (unsigned long long)(begin / 1000000),
        told,
        (unsigned long long)(counters[SAMPLER_COUNT_SWITCH_NS] / counters[SAMPLER_COUNT_SWITCHES]));
    CHECK(counters[SAMPLER_COUNT_SWITCHES] > 20000);
    CHECK(counters[SAMPLER_LOSS_SWITCH_RATE] > 0);
    CHECK_INT(told + counters[SAMPLER_LOSS_SWITCH_RATE], counters[SAMPLER_COUNT_SWITCHES]);
    CHECK(told <= (begin / 10000000 + 2) * 21);
    scene_close(&scene);
}
