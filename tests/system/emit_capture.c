/* SPDX-License-Identifier: MIT */
/* Ranges named "step", and marks and ranges that know whether they lie inside of one: "in PROCESS
 * THREAD" or "out PROCESS THREAD". Prints how often it said each. Three processes of three threads:
 * a parent, a child that it forks inside of a step, and one that it forks outside. */
#include <annot/annot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 60 };

static pthread_barrier_t barrier;
static const char *process;
static unsigned told[2][THREADS];

static void say(int inside, int thread)
{
    char text[64];
    snprintf(text, sizeof(text), "%s %s %d", inside ? "in" : "out", process, thread);
    annot_push(text);
    annot_mark(text);
    annot_pop();
    annot_counter(text, thread);
    annot_end(annot_start(text));
    told[inside][thread]++;
}

static void *run_thread(void *context)
{
    int thread = (int)(size_t)context;
    annot_domain domain = annot_domain_create("lib");
    const struct annot_event event = {.text = "step", .domain = domain};
    for (int round = 0; round < ROUNDS; round++) {
        say(0, thread);
        pthread_barrier_wait(&barrier);
        if (thread == round % THREADS)
            annot_push_event(&event);
        pthread_barrier_wait(&barrier);
        say(1, thread);
        pthread_barrier_wait(&barrier);
        if (thread == round % THREADS)
            annot_pop();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void run_process(const char *name)
{
    pthread_t threads[THREADS];
    process = name;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_thread, (void *)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%s %d %u %u\n", name, i, told[0][i], told[1][i]);
    fflush(stdout);
}

static void fork_one(const char *name, int inside)
{
    pid_t pid = fork();
    if (pid == 0) {
        process = name;
        say(inside, 0);
        if (inside)
            annot_pop();
        say(0, 0);
        run_process(name);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct annot_event event = {.text = "step", .domain = annot_domain_create("lib")};
    annot_push("around");
    fork_one("outside", 0);
    annot_push_event(&event);
    fork_one("inside", 1);
    annot_pop();
    run_process("parent");
    annot_pop();
    return 0;
}
