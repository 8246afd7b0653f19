/* SPDX-License-Identifier: MIT */
/* Two processes, a forked child among them, that report the work of queues, and print it: a row of
 * JSON for each span that the recording must have.
 *
 *     emit_queues SPANS WAY
 *
 * Each process has THREADS threads, which launch inside of ranges, and one more that reports all of
 * it later. WAY: "plain"; "killed": the child kills itself in the middle; "full": only counts are
 * printed, as the pool is too small; "silent": threads that launch emit no events, and each ends
 * before the next begins. */
#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, QUEUES = 3, SPANS_MAX = 100000, KERNELS = 4 };

#define GPU_AHEAD INT64_C(5000000000) /* the other clock, against CLOCK_MONOTONIC */
#define DAY_NS    UINT64_C(86400000000000)

static struct annot_origin origins[THREADS][SPANS_MAX];
static uint64_t launched_ns[THREADS][SPANS_MAX];
static uint32_t span_count;
static const char *process_name;
static bool silent;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void *launch(void *context)
{
    size_t thread = (size_t)context;
    char name[32];
    snprintf(name, sizeof(name), "launcher %zu", thread);
    if (silent)
        pthread_setname_np(pthread_self(), name);
    else
        annot_name_thread(name);
    for (uint32_t i = 0; i < span_count; i++) {
        if (!silent)
            annot_push("step");
        origins[thread][i] = annot_origin_here();
        launched_ns[thread][i] = now_ns();
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, 1);
        if (!silent)
            annot_pop();
    }
    return NULL;
}

static annot_name label_of(uint32_t number)
{
    char name[32], grid[32];
    snprintf(name, sizeof(name), "kernel %u", number);
    snprintf(grid, sizeof(grid), "%u,1,1", 64 << number);
    const struct annot_value values[] = {annot_value_string(ANNOT_QUEUE_KEY_GRID, grid),
                                         annot_value_uint64(ANNOT_QUEUE_KEY_REGISTERS, number)};
    return annot_queue_label(name, values, 2);
}

static annot_queue queue_of(uint32_t number, const char *name)
{
    annot_queue device = annot_queue_create(ANNOT_QUEUE_DEVICE, 0, 0, "GPU 0");
    return annot_queue_create(ANNOT_QUEUE_QUEUE, UINT64_C(1) << 32 | number, device, name);
}

static void print_span(size_t thread, uint32_t i, const struct annot_span *span)
{
    uint32_t number = i % KERNELS;
    printf("{\"process\": \"%s\", \"queue\": \"stream %u\", \"name\": \"kernel %u\", \"begin\": "
           "%" PRIu64 ", \"length\": %" PRIu64 ", \"thread\": \"launcher %zu\", \"number\": %u}\n",
           process_name, i % QUEUES, number, span->begin, span->end - span->begin, thread, i);
}

/* Reports the launches of one thread: on its queues, by CLOCK_MONOTONIC or by the GPU's clock. */
static void report(size_t thread, uint32_t limit, bool quiet)
{
    annot_span_clock clock = annot_clock_create("GPU");
    annot_category category =
        annot_category_observed(0, "kernels", ANNOT_OBSERVER_CUPTI, ANNOT_QUEUE_KERNEL);
    for (uint32_t i = 0; i < limit; i++) {
        char name[32];
        snprintf(name, sizeof(name), "stream %u", i % QUEUES);
        struct annot_value value = annot_value_uint64(ANNOT_QUEUE_KEY_CORRELATION, i);
        struct annot_span span = {.name = label_of(i % KERNELS),
                                  .queue = queue_of(i % QUEUES, name),
                                  .begin = launched_ns[thread][i] + 1000,
                                  .clock = ANNOT_SPAN_CLOCK_MONOTONIC,
                                  .origin = origins[thread][i],
                                  .category = category,
                                  .flags = ANNOT_SPAN_LAUNCHED,
                                  .values = &value,
                                  .value_count = 1};
        span.end = span.begin + 100 + i % 1000;
        if (!quiet)
            print_span(thread, i, &span);
        if (thread == 1) { /* converted back */
            span.clock = clock;
            span.begin += (uint64_t)GPU_AHEAD;
            span.end += (uint64_t)GPU_AHEAD;
        }
        annot_emit_spans(&span, 1);
    }
}

static void anchor(void)
{
    const struct annot_clock_anchor anchor = {now_ns() + (uint64_t)GPU_AHEAD, annot_queue_time(),
                                              50, 0};
    annot_clock_anchor(annot_clock_create("GPU"), &anchor);
}

static void *report_all(void *context)
{
    const char *way = context;
    bool killed = strcmp(way, "killed") == 0 && strcmp(process_name, "child") == 0;
    annot_name_thread("reporter");
    anchor();
    for (size_t thread = 0; thread < THREADS; thread++)
        report(thread, killed && thread == 2 ? span_count / 2 : span_count,
               strcmp(way, "full") == 0);
    if (killed) {
        fflush(stdout);
        raise(SIGKILL);
    }
    return NULL;
}

/* Reports invalid spans, which must be counted and left out, and odd but valid ones. */
static void report_odd(void)
{
    annot_queue queue = queue_of(0, "stream 0");
    uint64_t now = now_ns();
    const struct annot_span odd[] = {
        {.name = label_of(0), .queue = queue}, /* untimed */
        {.name = label_of(0),
         .queue = queue,
         .begin = now + DAY_NS,
         .end = now + DAY_NS + 1,
         .clock = ANNOT_SPAN_CLOCK_MONOTONIC},
        {.name = label_of(0),
         .queue = queue,
         .begin = 5,
         .end = 6,
         .clock = annot_clock_create("nobody's")},
    };
    struct annot_span early = {.name = annot_name_intern("early"),
                               .queue = queue,
                               .begin = now - 1000000,
                               .end = now - 900000,
                               .clock = ANNOT_SPAN_CLOCK_MONOTONIC,
                               .origin = annot_origin_here()};
    annot_emit_spans(odd, 3);
    annot_emit_spans(&early, 1);
    annot_queue_count(ANNOT_QUEUE_DROPPED, 7);
}

static void run(const char *name, const char *way)
{
    pthread_t threads[THREADS], reporter;
    process_name = name;
    annot_name_process(name);
    anchor();
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, launch, (void *)i);
        if (silent)
            pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < THREADS && !silent; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&reporter, NULL, report_all, (void *)way);
    pthread_join(reporter, NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[2] : "plain";
    silent = strcmp(way, "silent") == 0;
    span_count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (span_count == 0 || span_count > SPANS_MAX)
        return 2;
    (void)queue_of(2, "to be named"); /* of the parent; its last name is another one */
    pid_t child = fork();
    if (child == 0) {
        run("child", way);
        fflush(stdout);
        return 0;
    }
    waitpid(child, NULL, 0);
    run("parent", way);
    report_odd();
    return 0;
}
