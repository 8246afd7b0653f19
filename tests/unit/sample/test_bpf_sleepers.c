/* SPDX-License-Identifier: MIT */
/* Compares the BPF program's memory of the kernel stacks of sleeping threads with the kernel's own
 * unwinder: at each switch both are queried, for processes that wait in all kinds of ways, at
 * different depths of the kernel, concurrently with each other and with busy ones. */
#include "bpf_scene.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_US = 60, /* longer than SAMPLER_KERNEL_STRETCH_NS */
    SLEEPERS = 4, /* processes */
    ASKED = 10000,
    RUN_SECONDS = 60, /* limit for slow machines */
    MAP_BYTES = 1 << 20,
};

/* Descriptors and memory that a process waits on. */
struct tools {
    int timer, epoll, event, file, pipe[2], sockets[2];
    uint8_t *pages;
};

static struct timespec wait_time(void)
{
    return (struct timespec){.tv_nsec = WAIT_US * 1000};
}

static void arm(int timer)
{
    struct itimerspec spec = {.it_value = wait_time()};

    timerfd_settime(timer, 0, &spec, NULL);
}

static void wait_nanosleep(struct tools *tools)
{
    (void)tools;
    nanosleep(&(struct timespec){.tv_nsec = WAIT_US * 1000}, NULL);
}

static void wait_timer(struct tools *tools)
{
    uint64_t count;

    arm(tools->timer);
    if (read(tools->timer, &count, sizeof(count)) != sizeof(count))
        abort();
}

static void wait_epoll(struct tools *tools)
{
    struct epoll_event event;

    arm(tools->timer);
    epoll_wait(tools->epoll, &event, 1, -1);
}

static void wait_poll(struct tools *tools)
{
    struct pollfd fds[2] = {{.fd = tools->event, .events = POLLIN},
                            {.fd = tools->sockets[0], .events = POLLIN}};
    struct timespec time = wait_time();

    ppoll(fds, 2, &time, NULL);
}

static void wait_select(struct tools *tools)
{
    struct timespec time = wait_time();
    fd_set set;

    FD_ZERO(&set);
    FD_SET(tools->pipe[0], &set);
    FD_SET(tools->sockets[0], &set);
    pselect(tools->sockets[0] + 1, &set, NULL, NULL, &time, NULL);
}

static void wait_futex(struct tools *tools)
{
    struct timespec time = wait_time();

    syscall(SYS_futex, tools->pages, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

static void wait_shared_futex(struct tools *tools)
{
    struct timespec time = wait_time();

    syscall(SYS_futex, tools->pages, FUTEX_WAIT, 0, &time, NULL, 0);
}

static void wait_signal(struct tools *tools)
{
    struct timespec time = wait_time();
    sigset_t set;

    (void)tools;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigtimedwait(&set, NULL, &time);
}

static void wait_socket(struct tools *tools)
{
    char byte;

    if (recv(tools->sockets[0], &byte, 1, 0) > 0) /* until its timeout */
        abort();
}

static void wait_child(struct tools *tools)
{
    pid_t pid = vfork();

    (void)tools;
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}

static void *answer(void *context)
{
    struct tools *tools = context;

    sched_yield();
    if (write(tools->pipe[1], "", 1) != 1)
        abort();
    return NULL;
}

static void wait_pipe(struct tools *tools)
{
    pthread_t thread;
    char byte;

    if (pthread_create(&thread, NULL, answer, tools) || read(tools->pipe[0], &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
}

static void wait_yield(struct tools *tools)
{
    (void)tools;
    for (int i = 0; i < 20; i++)
        sched_yield();
}

static void wait_busy(struct tools *tools)
{
    (void)tools;
    scene_spin(300000);
}

static void wait_fault(struct tools *tools)
{
    madvise(tools->pages + 4096, MAP_BYTES - 4096, MADV_DONTNEED);
    for (size_t i = 4096; i < MAP_BYTES; i += 4096)
        tools->pages[i] = 1;
}

static void wait_file(struct tools *tools)
{
    static char bytes[4096];

    if (pwrite(tools->file, bytes, sizeof(bytes), 0) != sizeof(bytes))
        abort();
    fdatasync(tools->file);
}

static void (*const waits[])(struct tools *) = {
    wait_nanosleep, wait_timer,        wait_epoll,  wait_poll,   wait_select,
    wait_futex,     wait_shared_futex, wait_signal, wait_socket, wait_child,
    wait_pipe,      wait_yield,        wait_busy,   wait_fault,  wait_file,
};

static void take_tools(struct tools *tools, const char *path)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct timeval timeout = {.tv_usec = WAIT_US};

    tools->timer = timerfd_create(CLOCK_MONOTONIC, 0);
    tools->epoll = epoll_create1(0);
    tools->event = eventfd(0, 0);
    tools->file = open(path, O_CREAT | O_RDWR, 0600);
    tools->pages =
        mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tools->file < 0 || tools->pages == MAP_FAILED || pipe(tools->pipe) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, tools->sockets) < 0 ||
        setsockopt(tools->sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
        epoll_ctl(tools->epoll, EPOLL_CTL_ADD, tools->timer, &event) < 0)
        abort();
}

struct sleeping {
    char directory[400];
    volatile bool *over;
};

static void wait_at_random(const struct sleeping *sleeping, unsigned seed)
{
    struct tools tools;
    char path[sizeof(sleeping->directory) + 16];

    snprintf(path, sizeof(path), "%s/%u", sleeping->directory, seed);
    take_tools(&tools, path);
    while (!*sleeping->over) {
        size_t which = (size_t)rand_r(&seed) % (sizeof(waits) / sizeof(waits[0]));

        for (int i = rand_r(&seed) % 8; i >= 0; i--)
            waits[which](&tools);
    }
}

static int wait_in_all_ways(void *context)
{
    for (unsigned i = 1; i <= SLEEPERS; i++) {
        if (fork() > 0)
            continue;
        wait_at_random(context, i);
        _exit(0);
    }
    for (unsigned i = 0; i < SLEEPERS; i++)
        wait(NULL);
    return 0;
}

/* Counters of a run with ASKED queries to the kernel. */
static void watch(uint32_t check, uint64_t counters[SAMPLER_COUNTERS])
{
    const struct bpf_program_options options = {
        .off_cpu = true, .uid = -1, .off_cpu_rate_max = 10000000, .check_sleepers = check};
    uint64_t end = scene_now_ns() + RUN_SECONDS * UINT64_C(1000000000);
    struct sleeping sleeping = {.over = scene_shared(4096)};
    struct bpf_scene scene = {0};
    struct scene_child child;

    snprintf(sleeping.directory, sizeof(sleeping.directory), "%s", test_directory());
    scene_open(&scene, &options);
    child = scene_start(wait_in_all_ways, &sleeping);
    scene_load(&scene, child.pid, NULL);
    scene_go(&child);
    do {
        usleep(20000);
        scene_drop(&scene);
        CHECK_INT(bpf_program_counters(scene.program, counters), 0);
    } while (counters[SAMPLER_COUNT_SLEEPERS_ASKED] < ASKED && scene_now_ns() < end);
    *sleeping.over = true;
    CHECK_INT(scene_wait(&child), 0);
    scene_close(&scene);
    fprintf(stderr, "  %llu known, %llu mistaken, %llu asked, of %llu switches\n",
            (unsigned long long)counters[SAMPLER_COUNT_SLEEPERS_KNOWN],
            (unsigned long long)counters[SAMPLER_COUNT_SLEEPERS_MISTAKEN],
            (unsigned long long)counters[SAMPLER_COUNT_SLEEPERS_ASKED],
            (unsigned long long)counters[SAMPLER_COUNT_SWITCHES]);
}

TEST_TIMEOUT(what_is_known_of_sleepers_is_what_the_kernel_says, 100)
{
    uint64_t counters[SAMPLER_COUNTERS];

    watch(SAMPLER_SLEEPERS_CHECKED, counters);
    CHECK(counters[SAMPLER_COUNT_SLEEPERS_KNOWN] * 4 > counters[SAMPLER_COUNT_SLEEPERS_ASKED]);
    CHECK_INT(counters[SAMPLER_COUNT_SLEEPERS_MISTAKEN], 0);
}

TEST_TIMEOUT(where_words_are_not_compared_the_check_finds_it, 100)
{
    uint64_t counters[SAMPLER_COUNTERS];

    watch(SAMPLER_SLEEPERS_BLIND, counters);
    CHECK(counters[SAMPLER_COUNT_SLEEPERS_MISTAKEN] > 0);
}
