/* SPDX-License-Identifier: MIT */
/* A program that calls every function of NVTX's core from several images, threads and processes.
 *
 *     nvtx_all LIBRARY     everything; LIBRARY is loaded in between
 *     nvtx_all             the part after an exec */
#include "nvtx_ledger.h"
#include "nvtx_part.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

static void *named(void *context)
{
    (void)context;
    part_name_thread_a((unsigned)syscall(SYS_gettid), NULL);
    part_a();
    part_x();
    return (void *)part_start_a();
}

static void *is_named(void *context)
{
    int *pipe_of = context, tid = (int)syscall(SYS_gettid);
    char go;
    EXPECT(write(pipe_of[1], &tid, sizeof(tid)) == sizeof(tid));
    EXPECT(read(pipe_of[2], &go, 1) == 1);
    part_b();
    return NULL;
}

/* Names another thread from the main thread. */
static void name_another(void)
{
    int pipes[4], tid;
    pthread_t thread;
    EXPECT(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pthread_create(&thread, NULL, is_named, pipes);
    EXPECT(read(pipes[0], &tid, sizeof(tid)) == sizeof(tid));
    part_name_thread_b((unsigned)tid, "named by another");
    EXPECT(write(pipes[3], "", 1) == 1);
    pthread_join(thread, NULL);
}

static void threads(void)
{
    pthread_t ids[3];
    void *range;
    for (int i = 0; i < 3; i++)
        pthread_create(&ids[i], NULL, named, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(ids[i], &range);
        part_end_x((unsigned long)range); /* started in a library, on another thread */
    }
    name_another();
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != NULL);
    void (*part)(void) = (void (*)(void))dlsym(library, "part_c");
    void *(*domain)(void) = (void *(*)(void))dlsym(library, "part_domain_c");
    EXPECT(part && domain);
    part();
    EXPECT(domain() == part_domain_x() && domain() == part_domain_a());
}

static void wait_for(pid_t child)
{
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void processes(void)
{
    pid_t child = fork();
    if (child == 0) {
        part_x();
        part_a();
        child = fork(); /* a fork of a fork */
        if (child == 0)
            _exit(0);
        wait_for(child);
        _exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "nvtx_all", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
}

/* Checks that the names are available through the injection library's query functions. */
static void check_objects(void)
{
    static const char *const names[] = {"cu device",   "cu context",  "cu stream",  "cu event",
                                        "cuda device", "cuda stream", "cuda event", "cl device",
                                        "cl context",  "cl queue",    "cl memory",  "cl sampler",
                                        "cl program",  "cl event"};
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library != NULL);
    const char *(*find)(unsigned, unsigned long) =
        (const char *(*)(unsigned, unsigned long))dlsym(library, "annot_inject_object");
    for (unsigned kind = 1; kind <= 14; kind++) {
        int is_device = kind == 1 || kind == 5;
        for (unsigned long i = 1; i <= 2; i++) {
            const char *name = find(kind, is_device ? i : 16 * i);
            EXPECT(name && strcmp(name, names[kind - 1]) == 0);
        }
    }
    EXPECT(strcmp(find(6, 48), "stream as a resource") == 0);
    EXPECT(find(6, 49) == NULL);
}

int main(int argc, char **argv)
{
    part_x();
    part_b();
    if (argc < 2)
        return 0;
    threads();
    load(argv[1]);
    processes();
    part_a();
    if (getenv("NVTX_CHECK_OBJECTS"))
        check_objects();
    return 0;
}
