/* SPDX-License-Identifier: MIT */
/* model_program LOG SEED STEPS [resumed]: a random program with threads, forks and execs that emits
 * every kind of event and logs the events it has emitted.
 *
 * If MODEL_PACE is set, each thread sleeps this many microseconds after every 16 events.
 *
 * If MODEL_LOG_ALL is set, events that the filter of model_actor.h does not want are also logged.
 *
 * The actions of each thread depend only on SEED. The order between threads of a process does
 * not. */
#include "model_actor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* AddressSanitizer does not lock its allocator during a fork: the child of a process with threads
 * may wait for it forever. */
#ifdef __SANITIZE_ADDRESS__
enum { THREADS_MAY_FORK = 0 };
#else
enum { THREADS_MAY_FORK = 1 };
#endif

enum { THREADS_MAX = 4, DEPTH_MAX = 5, PART_MIN = 200 };

struct part {
    struct model_log *log;
    const char *program, *path;
    uint64_t seed;
    uint64_t steps;
    int depth;       /* of forks and threads */
    int is_threaded; /* the process has other threads: no exec */
};

static void run(struct model_actor *actor, struct part *part);

static void *run_thread(void *context)
{
    struct part part = *(struct part *)context;
    struct model_actor actor;
    free(context);
    model_actor_begin(&actor, part.log, part.seed);
    run(&actor, &part);
    return NULL;
}

/* Takes the work of a new thread, process or image from the caller's remaining work. */
static struct part split(struct model_actor *actor, struct part *part, uint32_t share)
{
    struct part other = *part;
    other.steps = part->steps / share;
    other.seed = (uint64_t)model_random(actor, UINT32_MAX) << 32 | model_random(actor, UINT32_MAX);
    other.depth++;
    part->steps -= other.steps;
    return other;
}

static void with_threads(struct model_actor *actor, struct part *part)
{
    pthread_t threads[THREADS_MAX];
    uint32_t count = 1 + model_random(actor, THREADS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct part *other = malloc(sizeof(*other));
        if (!other)
            abort();
        *other = split(actor, part, 8);
        other->is_threaded = 1;
        if (pthread_create(&threads[i], NULL, run_thread, other) != 0)
            abort();
    }
    struct part own = split(actor, part, 8);
    own.is_threaded = 1;
    own.depth = DEPTH_MAX; /* starts no others meanwhile */
    run(actor, &own);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void exec_again(const struct part *part)
{
    char seed[24], steps[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)part->seed);
    snprintf(steps, sizeof(steps), "%llu", (unsigned long long)part->steps);
    execl(part->program, part->program, part->path, seed, steps, "resumed", (char *)NULL);
    perror("exec");
    _exit(124);
}

static void in_child(struct model_actor *actor, struct part *part)
{
    model_actor_forked(actor, part->seed);
    part->is_threaded = 0;
    if (model_random(actor, 3) == 0) {
        struct part rest = split(actor, part, 2);
        run(actor, part);
        exec_again(&rest);
    }
    run(actor, part);
    if (model_random(actor, 2))
        exit(0);
    _exit(0);
}

static void with_child(struct model_actor *actor, struct part *part)
{
    struct part other = split(actor, part, 6);
    int status;
    pid_t pid = fork();
    if (pid == 0)
        in_child(actor, &other);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "child %d: %x\n", (int)pid, pid < 0 ? 0 : (unsigned)status);
        _exit(124);
    }
}

static void run(struct model_actor *actor, struct part *part)
{
    const char *pace = getenv("MODEL_PACE");
    useconds_t pause = pace ? (useconds_t)strtoul(pace, NULL, 10) : 0;
    while (part->steps > 0) {
        uint32_t chance = model_random(actor, 1000);
        int may_part = part->depth < DEPTH_MAX && part->steps > PART_MIN;
        if (may_part && chance == 0 && !part->is_threaded)
            with_threads(actor, part);
        else if (may_part && chance <= 2 && (THREADS_MAY_FORK || !part->is_threaded))
            with_child(actor, part);
        else
            model_emit(actor);
        part->steps -= part->steps > 0;
        if (pause && part->steps % 16 == 0)
            usleep(pause);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 125;
    struct part part = {.program = argv[0], .path = argv[1]};
    part.seed = strtoull(argv[2], NULL, 10);
    part.steps = strtoull(argv[3], NULL, 10);
    part.log = model_log_map(argv[1], argc == 4);
    part.depth = argc == 4 ? 0 : DEPTH_MAX - 2;
    model_events_setup();
    struct model_actor actor;
    model_actor_begin(&actor, part.log, part.seed);
    run(&actor, &part);
    return 0;
}
