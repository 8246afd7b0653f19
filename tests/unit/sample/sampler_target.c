/* SPDX-License-Identifier: MIT */
/* A program for sampling with known behaviour.
 *
 *     shares MS        three functions take 50, 30 and 20 % of this CPU time
 *     spin MS          one function takes this CPU time
 *     many N MS        N processes, one after the other, each executes `spin MS`
 *     forks N MS       N forked children, at once, without exec
 *     load LIB N MS    opens and closes a library N times, spins in it for MS each
 *     turns LIB1 LIB2 N MS   the same with two libraries in turn
 *     each DIR N MS    the same with DIR/0 to DIR/N-1, each at a new address; then it creates
 *                      DIR/done and sleeps
 *     threads N MS     N threads, each spins
 *     named N MS       the same, with thread names: first, second, ... */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink_word;

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Computes for this much CPU time, in comparatively short pieces. */
static inline __attribute__((always_inline)) void burn(int64_t ns)
{
    for (int64_t end = cpu_ns() + ns; cpu_ns() < end;)
        for (int i = 0; i < 20000; i++)
            sink_word = sink_word * 31 + (uint64_t)i;
}

static __attribute__((noinline)) void work_half(int64_t ns)
{
    burn(ns * 50 / 100);
    sink_word++;
}

static __attribute__((noinline)) void work_third(int64_t ns)
{
    burn(ns * 30 / 100);
    sink_word++;
}

static __attribute__((noinline)) void work_fifth(int64_t ns)
{
    burn(ns * 20 / 100);
    sink_word++;
}

static __attribute__((noinline)) void spin(int64_t ns)
{
    burn(ns);
    sink_word++;
}

static int shares(int64_t ns)
{
    for (int i = 0; i < 20; i++) {
        work_half(ns / 20);
        work_third(ns / 20);
        work_fifth(ns / 20);
    }
    return 0;
}

static int many(const char *program, int count, char *milliseconds)
{
    char *const argv[] = {(char *)program, (char *)"spin", milliseconds, NULL};
    for (int i = 0; i < count; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            execv(program, argv);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    return 0;
}

static int forks(int count, int64_t ns)
{
    int failed = 0, status;
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            spin(ns);
            _exit(0);
        }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

static int load(const char *library, int count, int64_t ns)
{
    for (int i = 0; i < count; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        void (*call)(int64_t) = NULL;
        void *symbol = handle ? dlsym(handle, "plugin_spin") : NULL;
        memcpy(&call, &symbol, sizeof(call));
        if (!call) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        call(ns);
        dlclose(handle);
    }
    return 0;
}

static int turns(char *const libraries[2], int count, int64_t ns)
{
    int failed = 0;
    for (int i = 0; i < count && !failed; i++)
        failed = load(libraries[i % 2], 1, ns);
    return failed;
}

/* Maps single pages to fill the place that a small library left. */
static int fill_hole(void)
{
    for (int i = 0; i < 16; i++)
        if (mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return 1;
    return 0;
}

static int each(const char *directory, int count, int64_t ns)
{
    char library[4200];
    int failed = 0;
    for (int i = 0; i < count && !failed; i++) {
        snprintf(library, sizeof(library), "%s/%d", directory, i);
        failed = load(library, 1, ns) || fill_hole();
    }
    snprintf(library, sizeof(library), "%s/done", directory);
    failed = failed || close(creat(library, 0600)) != 0;
    sleep(60);
    return failed;
}

static void *thread_main(void *context)
{
    spin(*(const int64_t *)context);
    return NULL;
}

static int threads(int count, int64_t ns, bool named)
{
    static const char *const names[] = {"first", "second", "third"};
    pthread_t ids[64];
    for (int i = 0; i < count && i < 64; i++) {
        if (pthread_create(&ids[i], NULL, thread_main, &ns) != 0)
            return 1;
        if (named)
            pthread_setname_np(ids[i], names[i % 3]);
    }
    for (int i = 0; i < count && i < 64; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    int64_t last = argc > 2 ? strtoll(argv[argc - 1], NULL, 10) * 1000000 : 0;
    int count = argc > 3 ? (int)strtol(argv[argc - 2], NULL, 10) : 0;
    if (strcmp(mode, "shares") == 0)
        return shares(last);
    if (strcmp(mode, "spin") == 0) {
        spin(last);
        return 0;
    }
    if (strcmp(mode, "many") == 0)
        return many(argv[0], count, argv[argc - 1]);
    if (strcmp(mode, "forks") == 0)
        return forks(count, last);
    if (strcmp(mode, "load") == 0)
        return load(argv[2], count, last);
    if (strcmp(mode, "turns") == 0)
        return turns(argv + 2, count, last);
    if (strcmp(mode, "each") == 0)
        return each(argv[2], count, last);
    if (strcmp(mode, "threads") == 0)
        return threads(count, last, false);
    if (strcmp(mode, "named") == 0)
        return threads(count, last, true);
    return 2;
}
