/* SPDX-License-Identifier: MIT */
/* The program of the kill matrix: emits from processes of one kind, which end in one way, and
 * counts its own committed calls in a shared file (KILL_COUNTS).
 *
 *     kill_target MODE END      MODE: main fork vfork fork_exec threads spawn exec noise
 *                               END: return exit _exit term kill segv hold
 *
 * Each call is counted after it came back, and a process dies by its own hand between two calls,
 * so counted = committed. "hold" waits in the middle until the test lets it go on. */
#include "kill_counts.h"

#include <annot/annot.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, ROUNDS = 400 };

extern char **environ;
static struct kill_counts *counts;
static const char *program, *end;
static pthread_barrier_t barrier;

static uint64_t *new_slot(void)
{
    return &counts->calls[__atomic_fetch_add(&counts->slot_count, 1, __ATOMIC_RELAXED)];
}

static void count(uint64_t *slot)
{
    __atomic_store_n(slot, *slot + 1, __ATOMIC_RELAXED);
}

static void emit(uint64_t *slot, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        ANNOT_PUSH("round");
        count(slot);
        annot_mark("mark");
        count(slot);
        annot_counter("counter", i);
        count(slot);
        annot_pop();
        count(slot);
    }
}

static void hold(void)
{
    __atomic_fetch_add(&counts->holding, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&counts->go_on, __ATOMIC_SEQ_CST))
        usleep(1000);
}

/* Emits with a range left open, and stops in the middle on request. */
static void work(void)
{
    uint64_t *slot = new_slot();
    annot_push("work");
    count(slot);
    emit(slot, ROUNDS);
    if (strcmp(end, "hold") == 0)
        hold();
    emit(slot, ROUNDS);
}

/* Text that does not compress, 4 MiB in 1.5 seconds. */
static void make_noise(void)
{
    uint64_t *slot = new_slot(), seed = 1;
    for (int i = 0; i < 60000; i++) {
        char text[64];
        for (int k = 0; k < 63; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[k] = (char)('!' + (seed >> 33) % 90);
        }
        text[63] = 0;
        annot_mark(text);
        count(slot);
        if (i % 200 == 0)
            usleep(8000);
    }
}

static int finish(void)
{
    if (strcmp(end, "exit") == 0)
        exit(3);
    if (strcmp(end, "_exit") == 0)
        _exit(4);
    if (strcmp(end, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(end, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(end, "segv") == 0)
        kill(getpid(), SIGSEGV);
    return 0;
}

static pid_t start_program(const char *mode)
{
    char *argv[] = {(char *)program, (char *)"work", (char *)end, NULL};
    pid_t pid = -1;
    if (strcmp(mode, "spawn") == 0) {
        if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0)
            abort();
        return pid;
    }
    pid = strcmp(mode, "vfork") == 0 ? vfork() : fork();
    if (pid == 0) {
        execv(program, argv);
        _exit(99);
    }
    return pid;
}

static pid_t start_fork(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    work();
    int status = finish();
    exit(status);
}

static void run_processes(const char *mode)
{
    pid_t pids[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pids[i] = strcmp(mode, "fork") == 0 ? start_fork() : start_program(mode);
    work();
    for (int i = 0; i < WORKERS; i++)
        waitpid(pids[i], NULL, 0);
}

static void *thread_main(void *context)
{
    (void)context;
    work();
    pthread_barrier_wait(&barrier);
    pause();
    return NULL;
}

/* Threads live while their process ends. */
static int run_threads(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
            abort();
    work();
    pthread_barrier_wait(&barrier);
    return finish();
}

int main(int argc, char **argv)
{
    int fd = open(getenv("KILL_COUNTS"), O_RDWR);
    if (argc != 3 || fd < 0)
        return 99;
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    program = argv[0];
    end = argv[2];
    if (strcmp(argv[1], "threads") == 0)
        return run_threads();
    if (strcmp(argv[1], "noise") == 0) {
        make_noise();
        return finish();
    }
    if (strcmp(argv[1], "exec") == 0) {
        work();
        execl(program, program, "main", "return", (char *)NULL);
        return 99;
    }
    if (strcmp(argv[1], "main") == 0 || strcmp(argv[1], "work") == 0) {
        work();
        return finish();
    }
    run_processes(argv[1]);
    return 0;
}
