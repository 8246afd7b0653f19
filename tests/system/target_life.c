/* SPDX-License-Identifier: MIT */
/* Processes and threads that come, go and change in every odd way, each using known CPU time.
 *
 * target_life MODE [COUNT [MS]]: prints its certain CPU nanoseconds, as "NAME NANOSECONDS" lines.
 * Modes are listed at the end of the file. */
#include "spin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int count = 8, ms = 20;
static char **program;

static __attribute__((noinline)) int64_t burn(void)
{
    int64_t spent = spin_inline(ms * INT64_C(1000000));
    return spent;
}

static void tell(const char *name, int64_t ns)
{
    printf("%s %" PRId64 "\n", name, ns);
    fflush(stdout);
}

static __attribute__((noinline)) void child_work(void)
{
    burn();
    _exit(0);
}

/* One after the other, two at a time. */
static void mode_children(void)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0)
            child_work();
        if (i % 2 == 1)
            wait(NULL);
    }
    while (wait(NULL) > 0)
        continue;
}

/* A tree that doubles: many forks at once. */
static void mode_storm(void)
{
    for (int level = 0; level < count; level++)
        fork();
    burn();
    while (wait(NULL) > 0)
        continue;
}

static void *thread_work(void *argument)
{
    if (argument)
        burn();
    return NULL;
}

/* Threads that end at once, in fours; the main thread also uses CPU time. */
static void mode_threads(void)
{
    for (int i = 0; i < count; i += 4) {
        pthread_t threads[4];
        int made = 0;
        while (made < 4 && pthread_create(&threads[made], NULL, thread_work, NULL) == 0)
            made++;
        for (int t = 0; t < made; t++)
            pthread_join(threads[t], NULL);
    }
    tell("burn", burn());
}

static void *exec_work(void *unused)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", ms);
    (void)unused;
    execl(program[0], program[0], "burn", "1", number, (char *)NULL);
    return NULL;
}

/* A thread other than the first replaces the program: the kernel gives it the first one's id. */
static void mode_exec(void)
{
    pthread_t thread;
    burn();
    if (pthread_create(&thread, NULL, exec_work, NULL) == 0)
        pthread_join(thread, NULL);
}

static void mode_vfork(void)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", ms);
    for (int i = 0; i < count; i++) {
        pid_t pid = vfork(); /* NOLINT: what is tested */
        if (pid == 0) {
            execl(program[0], program[0], "burn", "1", number, (char *)NULL);
            _exit(127);
        }
        waitpid(pid, NULL, 0);
    }
}

static void mode_burn(void)
{
    tell("burn", burn());
}

static volatile sig_atomic_t handled;

static __attribute__((noinline)) void on_signal(int number)
{
    (void)number;
    burn();
    handled++;
}

static __attribute__((noinline)) void interrupted(void)
{
    raise(SIGUSR1);
    handled++; /* no tail call */
}

/* The handler runs on an alternate stack. */
static void mode_altstack(void)
{
    stack_t stack = {.ss_size = 1 << 16, .ss_sp = malloc(1 << 16)};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < count; i++)
        interrupted();
}

static __attribute__((noinline)) int recurse(int depth) /* NOLINT(misc-no-recursion) */
{
    volatile int own = depth;
    if (depth == 0)
        burn();
    else
        recurse(depth - 1);
    return own;
}

static void mode_deep(void)
{
    recurse(count);
}

/* `count` times: a library comes, is used, and goes. */
static void mode_libraries(void)
{
    for (int i = 0; i < count; i++) {
        void *library = dlopen(program[4], RTLD_NOW);
        int64_t (*use)(int64_t) =
            library ? (int64_t(*)(int64_t))dlsym(library, "library_burn") : NULL;
        if (!use)
            exit(1);
        use(ms * INT64_C(1000000));
        dlclose(library);
    }
}

/* Deletes the file that it runs from, then works. */
static void mode_deleted(void)
{
    unlink(program[0]);
    tell("burn", burn());
}

struct mode {
    const char *name;
    void (*run)(void);
};

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"children", mode_children}, {"storm", mode_storm}, {"threads", mode_threads},
        {"exec", mode_exec},         {"vfork", mode_vfork}, {"burn", mode_burn},
        {"altstack", mode_altstack}, {"deep", mode_deep},   {"libraries", mode_libraries},
        {"deleted", mode_deleted},
    };
    program = argv;
    count = argc > 2 ? atoi(argv[2]) : count;
    ms = argc > 3 ? atoi(argv[3]) : ms;
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    return 2;
}
