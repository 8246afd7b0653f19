/* SPDX-License-Identifier: MIT */
/* How fast range_stats takes events, and how much memory it holds: events per second per core.
 *
 *     bench_report [SHAPE]     only one of them, counted from 0
 *
 * Shapes: few paths in one thread; 64 threads in turn; paths of many depths; a new path for every
 * range. Shapes alternate over the rounds; the minimum is the cost, the median the usual. Each
 * shape's memory is measured in a separate child. Budget: 10 M events/s, 256 MiB. Prints a table,
 * and JSON to the file named by ANNOT_BENCH_JSON. */
#include "range_stats.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 500, EVENTS = 2000000, ROUNDS = 9, THREADS = 64, NAMES = 1000000 };

struct shape {
    const char *name;
    void (*fill)(struct event *events, uint64_t at);
    unsigned threads;
    double ns[ROUNDS];
    long peak_kib;
};

static const struct trace *trace;

static void put(struct event *event, enum event_kind kind, uint64_t name, uint64_t time_ns)
{
    *event = (struct event){.time_ns = (int64_t)time_ns, .kind = (uint8_t)kind};
    event->name = (uint32_t)name;
}

/* job(step(), step()...): a push and a pop per range. */
static void fill_few(struct event *events, uint64_t at)
{
    put(&events[0], EVENT_PUSH, 1, at);
    for (uint64_t i = 1; i + 1 < BATCH; i += 2) {
        put(&events[i], EVENT_PUSH, 2 + i / 2 % 20, at + i);
        put(&events[i + 1], EVENT_POP, 0, at + i + 1);
        events[i + 1].depth = 1;
    }
    put(&events[BATCH - 1], EVENT_POP, 0, at + BATCH);
}

static void fill_deep(struct event *events, uint64_t at)
{
    for (uint64_t i = 0; i < BATCH / 2; i++) {
        put(&events[i], EVENT_PUSH, 1 + i % 7, at + i);
        put(&events[BATCH - 1 - i], EVENT_POP, 0, at + BATCH - i);
        events[BATCH - 1 - i].depth = i;
    }
}

static void fill_new(struct event *events, uint64_t at)
{
    for (uint64_t i = 0; i < BATCH; i += 2) {
        put(&events[i], EVENT_PUSH, 1 + (at + i) / 2 % NAMES, at + i);
        put(&events[i + 1], EVENT_POP, 0, at + i + 1);
    }
}

static void fill_mixed(struct event *events, uint64_t at)
{
    for (uint64_t i = 0; i < BATCH; i += 4) {
        put(&events[i], EVENT_START, 1 + i % 5, at + i);
        put(&events[i + 1], EVENT_MARK, 6, at + i + 1);
        put(&events[i + 2], EVENT_COUNTER, 7, at + i + 2);
        put(&events[i + 3], EVENT_END, 0, at + i + 3);
        events[i].id = events[i + 3].id = at + i;
    }
}

static struct shape shapes[] = {
    {.name = "20 paths, 1 thread", .fill = fill_few, .threads = 1},
    {.name = "20 paths, 64 threads in turn", .fill = fill_few, .threads = THREADS},
    {.name = "250 levels deep", .fill = fill_deep, .threads = 1},
    {.name = "start, mark, counter, end", .fill = fill_mixed, .threads = 1},
    {.name = "1,000,000 paths", .fill = fill_new, .threads = 1},
};

enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench_report: %s failed\n", what);
    exit(1);
}

/* Input of a pass; the time to make it. */
struct feed {
    const struct shape *shape;
    uint64_t at;
    double making_ns;
};

static int next_batch(void *context, struct event_batch *ret_batch)
{
    static struct event events[BATCH];
    struct feed *feed = context;
    if (feed->at == EVENTS)
        return 0;
    double begin = now();
    uint32_t thread = (uint32_t)(feed->at / BATCH % feed->shape->threads);
    feed->shape->fill(events, feed->at);
    for (int i = 0; i < BATCH; i++)
        events[i].thread = thread;
    *ret_batch = (struct event_batch){.thread = thread, .count = BATCH, .events = events};
    feed->at += BATCH;
    feed->making_ns += now() - begin;
    return 1;
}

/* Nanoseconds of CPU per event, without making the events. */
static double run(const struct shape *shape)
{
    struct range_stats_options options = {0};
    struct range_stats *stats = range_stats_create(trace, &options);
    struct feed feed = {.shape = shape};
    const struct pass_source source = {
        .trace = (struct trace *)trace, .next_events = next_batch, .context = &feed};
    require(stats, "create");
    const struct sink sink = range_stats_sink(stats);
    double begin = now();
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    require(pass && pass_run(pass) == 0, "read");
    require(range_stats_finish(stats, pass) == 0, "finish");
    double spent = now() - begin - feed.making_ns;
    pass_destroy(pass);
    range_stats_destroy(stats);
    return spent / EVENTS;
}

static long peak_of(const struct shape *shape)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        run(shape);
        _exit(0);
    }
    require(wait4(child, &status, 0, &usage) == child && status == 0, "child");
    return usage.ru_maxrss;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static void print_results(unsigned from, unsigned to)
{
    const char *path = getenv("ANNOT_BENCH_JSON");
    FILE *json = path ? fopen(path, "w") : NULL;
    printf("%-32s %10s %10s %12s %10s\n", "shape", "min", "median", "M events/s", "memory");
    for (unsigned i = from; i < to; i++) {
        struct shape *shape = &shapes[i];
        qsort(shape->ns, ROUNDS, sizeof(double), compare);
        double median = shape->ns[ROUNDS / 2], rate = 1e3 / median;
        printf("%-32s %7.1f ns %7.1f ns %12.1f %6.1f MiB%s\n", shape->name, shape->ns[0], median,
               rate, (double)shape->peak_kib / 1024, rate < 10 ? "  below 10 M/s" : "");
        if (json)
            fprintf(json,
                    "%s{\"name\": \"report: %s\", \"min_ns\": %.2f, \"median_ns\": %.2f, "
                    "\"peak_kib\": %ld}%s\n",
                    i > from ? " " : "[", shape->name, shape->ns[0], median, shape->peak_kib,
                    i + 1 < to ? "," : "]");
    }
    if (json)
        fclose(json);
}

int main(int argc, char **argv)
{
    unsigned from = argc > 1 ? (unsigned)atoi(argv[1]) % SHAPES : 0;
    unsigned to = argc > 1 ? from + 1 : SHAPES;
    struct trace *made = trace_create();
    require(made && trace_process_add(made) == 0, "trace");
    for (uint32_t i = 0; i < THREADS; i++)
        require(trace_thread_add(made, 0) == i, "thread");
    trace = made;
    for (unsigned i = from; i < to; i++)
        shapes[i].peak_kib = peak_of(&shapes[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = from; i < to; i++)
            shapes[i].ns[round] = run(&shapes[i]);
    }
    print_results(from, to);
    trace_destroy(made);
    return 0;
}
