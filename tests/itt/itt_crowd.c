/* SPDX-License-Identifier: MIT */
/* Tasks of several images, threads and forked children. Prints the number of tasks, one line for
 * each combination:
 *
 *     PID TID DOMAIN COUNT
 *
 * itt_crowd IMAGE_A IMAGE_B: two shared objects, which are loaded in between */
#include "itt_image.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, CHILDREN = 3, OVERLAPPED = 50 };

static const char *paths[2];
static void *images[2];

static void account(const char *domain, int count)
{
    printf("%d %ld %s %d\n", getpid(), syscall(SYS_gettid), domain, count);
}

static void *function_of(int image, const char *name)
{
    void *found = images[image] ? dlsym(images[image], name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", paths[image], dlerror());
        exit(1);
    }
    return found;
}

static void work(int seed)
{
    static const char *const names[] = {"image a", "image b"};
    int own = 100 + seed;
    itt_image_work("program", own);
    account("program", own);
    for (int i = 0; i < 2; i++) {
        work_function *image;
        *(void **)&image = function_of(i, "image_work");
        image(10 * i + seed);
        account(names[i], 10 * i + seed);
        own += 10 * i + seed;
    }
    account("shared", own);
}

static void *run_thread(void *seed)
{
    work((int)(long)seed);
    return NULL;
}

static void run_threads(int seed)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, (void *)(seed + i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Ends tasks of the program in another thread and another image. */
static void *end_all(void *argument)
{
    void (*end)(unsigned long long number);
    *(void **)&end = function_of(1, "image_end");
    for (unsigned long long i = 0; i < OVERLAPPED; i++)
        end(i);
    return argument;
}

static void emit_overlapped(void)
{
    __itt_domain *shared = __itt_domain_create("shared");
    __itt_string_handle *name = __itt_string_handle_create("far");
    pthread_t thread;
    for (unsigned long long i = 0; i < OVERLAPPED; i++)
        __itt_task_begin_overlapped(shared, __itt_id_make(NULL, i), __itt_null, name);
    pthread_create(&thread, NULL, end_all, NULL);
    pthread_join(thread, NULL);
}

static void run_child(int seed)
{
    fflush(stdout);
    if (fork() != 0)
        return;
    work(seed);
    run_threads(seed + 1);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    itt_image_work("program", 5); /* before the others are loaded */
    account("program", 5);
    account("shared", 5);
    for (int i = 0; i < 2; i++) {
        paths[i] = argv[1 + i];
        images[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    }
    run_threads(20);
    emit_overlapped();
    for (int i = 0; i < CHILDREN; i++)
        run_child(30 + 10 * i);
    for (int i = 0; i < CHILDREN; i++)
        wait(NULL);
    work(7);
    return 0;
}
