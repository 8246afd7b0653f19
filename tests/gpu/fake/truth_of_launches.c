/* SPDX-License-Identifier: MIT */
/* Launches kernels, copies and graphs from C functions, and reports its launches by thread, range
 * and function: lines of JSON, [pid, tid, thread, ranges, function, work, ns, count].
 *
 *     truth_of_launches SCENE COUNT
 *
 * A scene that captures "before" does so before CUPTI is loaded. Some threads end while launches of
 * others continue, so that their names cannot be read afterwards. */
#include "fake_cupti.h"

#include <annot/annot.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone)) static void
/* Keeps the caller's frame, even with a tail call. */
#define STAY __asm__ volatile("" ::: "memory")

enum { KEPT = 4096 };

static fake_launch_function *launch_kernel;
static fake_copy_function *launch_copy;
static fake_capture_function *capture;
static fake_instantiate_function *instantiate;
static fake_graph_launch_function *launch_graph;

static int count;
static uint32_t graph, other_graph;

/* ---- Known launches -------------------------------------------------------------------------- */

static struct known {
    int pid, tid;
    char thread[16];
    const char *ranges, *function, *work;
    uint64_t ns, count;
} known[KEPT];

static int known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread const char *ranges = "";

static void note(const char *function, const char *work, uint64_t ns)
{
    struct known one = {getpid(), gettid(), "", ranges, function, work, ns, 1};
    prctl(PR_GET_NAME, one.thread);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < known_count &&
           (known[i].tid != one.tid || strcmp(known[i].ranges, ranges) != 0 ||
            strcmp(known[i].function, function) != 0 || strcmp(known[i].work, work) != 0))
        i++;
    if (i == KEPT)
        abort();
    if (i == known_count)
        known[known_count++] = one;
    else
        known[i].ns += ns, known[i].count++;
    pthread_mutex_unlock(&lock);
}

static void tell(void)
{
    for (int i = 0; i < known_count; i++)
        printf("[%d, %d, \"%s\", \"%s\", \"%s\", \"%s\", %lu, %lu]\n", known[i].pid, known[i].tid,
               known[i].thread, known[i].ranges, known[i].function, known[i].work, known[i].ns,
               known[i].count);
    fflush(stdout);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void kernel(const char *function, const char *name, uint64_t ns)
{
    launch_kernel(name, ns);
    note(function, name, ns);
}

static void copy(const char *function, uint64_t bytes, uint64_t ns)
{
    launch_copy(bytes, ns);
    note(function, "copy host to device", ns);
}

static const struct {
    const char *name;
    uint64_t bytes, ns;
} nodes[] = {
    {"gemm", 0, 700}, {"relu", 0, 300}, {"copy host to device", 4096, 250}, {"gemm", 0, 50}};

static void replay(const char *function, uint32_t number)
{
    launch_graph(number);
    for (size_t i = number == graph ? 0 : 1; i < sizeof(nodes) / sizeof(*nodes); i++)
        note(function, nodes[i].name, nodes[i].ns);
}

static void push(const char *name, const char *all)
{
    annot_push(name);
    ranges = all;
}

static void pop(const char *all)
{
    annot_pop();
    ranges = all;
}

APART capture_graphs(void)
{
    annot_push("model");
    annot_push("forward");
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
        capture(nodes[i].name, nodes[i].bytes, nodes[i].ns);
    graph = instantiate();
    for (size_t i = 1; i < sizeof(nodes) / sizeof(*nodes); i++)
        capture(nodes[i].name, nodes[i].bytes, nodes[i].ns);
    other_graph = instantiate();
    annot_pop();
    annot_pop();
    STAY;
}

APART replay_in_main(void)
{
    replay(__func__, graph);
    STAY;
}

APART replay_other(void)
{
    replay(__func__, other_graph);
    STAY;
}

APART replay_left(void)
{
    replay(__func__, graph);
    STAY;
}

APART replay_right(void)
{
    replay(__func__, graph);
    STAY;
}

APART replay_once(void)
{
    replay(__func__, graph);
    STAY;
}

APART launch_gemm(void)
{
    kernel(__func__, "gemm", 11);
    STAY;
}

APART copy_alone(void)
{
    copy(__func__, 1 << 20, 90);
    STAY;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *run_left(void *unused)
{
    prctl(PR_SET_NAME, "left");
    push("left", "left");
    for (int i = 0; i < count; i++) {
        replay_left();
        launch_gemm();
        replay_other();
    }
    pop("");
    return unused;
}

/* A thread without a range. */
static void *run_right(void *unused)
{
    prctl(PR_SET_NAME, "right");
    for (int i = 0; i < 2 * count; i++) {
        replay_right();
        copy_alone();
    }
    return unused;
}

/* Launches once, and ends. */
static void *run_short(void *number)
{
    char name[16];
    snprintf(name, sizeof(name), "short %d", *(int *)number);
    prctl(PR_SET_NAME, name);
    replay_once();
    return NULL;
}

static void run(void *(*work)(void *), void *context)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, context);
    pthread_join(thread, NULL);
}

static void graphs(void)
{
    pthread_t left, right;
    push("step", "step");
    pthread_create(&left, NULL, run_left, NULL);
    pthread_create(&right, NULL, run_right, NULL);
    for (int i = 0; i < count; i++) {
        push("replay", "step;replay");
        replay_in_main();
        replay_other();
        pop("step");
        copy_alone();
    }
    pthread_join(left, NULL);
    pthread_join(right, NULL);
    pop("");
}

static void short_threads(void)
{
    for (int i = 0; i < count; i++)
        run(run_short, &i);
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    (void)number;
    replay_once();
    launch_gemm();
}

APART raise_one(void)
{
    raise(SIGUSR1);
    STAY;
}

static void signals(void)
{
    signal(SIGUSR1, on_signal);
    push("interrupted", "interrupted");
    for (int i = 0; i < count; i++) {
        raise_one();
        launch_gemm();
    }
    pop("");
}

/* ---- All scenes ------------------------------------------------------------------------------ */

static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function)
        exit(1);
    return function;
}

static void start(void)
{
    int (*begin)(void);
    *(void **)&begin = function_of(getenv("CUDA_INJECTION64_PATH"), "InitializeInjection");
    begin();
    launch_kernel("warm", 1);
    usleep(500000);
}

/* Ranges open at the fork are around the child's launches. */
static void children(void)
{
    push("parent", "parent");
    usleep(300000); /* by then, its ranges are known */
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            start();
            capture_graphs();
            ranges = "(inherited);parent";
            launch_gemm();
            graphs();
            tell();
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    pop("");
}

static const struct {
    const char *name;
    void (*run)(void);
    bool starts, captures;
} scenes[] = {{"graphs", graphs, true, true},
              {"before", graphs, true, false},
              {"short", short_threads, true, true},
              {"signals", signals, true, true},
              {"children", children, false, false}};

static void find_functions(void)
{
    const char *library = getenv("FAKE_CUPTI");
    *(void **)&launch_kernel = function_of(library, "fake_launch");
    *(void **)&launch_copy = function_of(library, "fake_copy");
    *(void **)&capture = function_of(library, "fake_capture");
    *(void **)&instantiate = function_of(library, "fake_instantiate");
    *(void **)&launch_graph = function_of(library, "fake_graph_launch");
}

int main(int word_count, char **words)
{
    if (word_count < 3)
        return 2;
    count = atoi(words[2]);
    find_functions();
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
        if (strcmp(words[1], scenes[i].name) != 0)
            continue;
        if (scenes[i].starts && !scenes[i].captures)
            capture_graphs();
        if (scenes[i].starts)
            start();
        if (scenes[i].captures)
            capture_graphs();
        scenes[i].run();
        if (scenes[i].starts)
            tell();
        return 0;
    }
    return 2;
}
