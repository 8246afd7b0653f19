/* SPDX-License-Identifier: MIT */
/* A program with a GPU that is not there: it starts the injection library as the driver does, and
 * launches what a recorded program launched, by the libcupti of this folder.
 *
 *   fake_program FILE MODE [kill|fork]
 *
 * Each recorded thread is one of ours. Around a launch with the number N, the range "launch N" is
 * open on its thread. At the end a line of JSON: how many launches were called on which thread.
 * With "kill" it kills itself instead of returning; with "fork" a child ends before it, by exit.
 * Without FAKE_CUPTI it launches nothing. */
#include "fake_cupti.h"

#include <annot/annot.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16 };

static struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct fake_launch *launch; /* to be called */
    uint32_t tid;                     /* recorded */
    int own_tid;
    unsigned launches;
    int ends;
} workers[THREADS];

static int worker_count;
static unsigned all_launches;

/* The driver's, which the library asks for its version. */
__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

static void do_launch(struct worker *worker)
{
    char name[32];
    snprintf(name, sizeof(name), "launch %u", worker->launch->correlation);
    annot_push(name);
    worker->launch->call(worker->launch->context);
    annot_pop();
    worker->launches++;
}

static void *work(void *context)
{
    struct worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    worker->own_tid = gettid();
    while (!worker->ends) {
        while (!worker->launch && !worker->ends)
            pthread_cond_wait(&worker->changed, &worker->lock);
        if (worker->launch)
            do_launch(worker);
        worker->launch = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

static struct worker *worker_of(uint32_t tid)
{
    for (int i = 0; i < worker_count; i++)
        if (workers[i].tid == tid)
            return &workers[i];
    if (worker_count == THREADS)
        exit(3);
    struct worker *worker = &workers[worker_count++];
    worker->tid = tid;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    pthread_create(&worker->thread, NULL, work, worker);
    return worker;
}

static void on_launch(const struct fake_launch *launch)
{
    struct worker *worker = worker_of(launch->tid);
    pthread_mutex_lock(&worker->lock);
    worker->launch = launch;
    pthread_cond_broadcast(&worker->changed);
    while (worker->launch)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    all_launches++;
}

static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (function)
        return function;
    fprintf(stderr, "fake_program.c: %s: %s\n", library, dlerror());
    exit(1);
}

/* As cuInit does. */
static void start_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*start)(void);
    if (!path)
        return;
    *(void **)&start = function_of(path, "InitializeInjection");
    if (!start())
        exit(4);
}

static void tell(void)
{
    printf("{\"launches\": %u, \"threads\": [", all_launches);
    for (int i = 0; i < worker_count; i++) {
        pthread_mutex_lock(&workers[i].lock);
        workers[i].ends = 1;
        pthread_cond_broadcast(&workers[i].changed);
        pthread_mutex_unlock(&workers[i].lock);
        pthread_join(workers[i].thread, NULL);
        printf("%s{\"recorded_tid\": %u, \"tid\": %d, \"launches\": %u}", i ? ", " : "",
               workers[i].tid, workers[i].own_tid, workers[i].launches);
    }
    printf("]}\n");
    fflush(stdout);
}

int main(int count, char **words)
{
    const char *library = getenv("FAKE_CUPTI");
    fake_play_function *play;
    if (count < 3)
        return 2;
    start_injection();
    if (!library || !*library)
        return 0;
    *(void **)&play = function_of(library, "fake_play");
    int error = play(words[1], words[2], on_launch);
    if (error != 0) {
        fprintf(stderr, "fake_program.c: %s: %s\n", words[1], strerror(-error));
        return 1;
    }
    tell();
    if (count > 3 && strcmp(words[3], "kill") == 0) {
        usleep(1500000); /* annot takes what it can get each second */
        kill(getpid(), SIGKILL);
    }
    if (count > 3 && strcmp(words[3], "fork") == 0) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            exit(0);
        return waitpid(child, &status, 0) == child ? status : 1;
    }
    return 0;
}
