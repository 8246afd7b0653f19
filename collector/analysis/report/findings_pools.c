/* SPDX-License-Identifier: MIT */
/* The cost of pools, and the balance of their workers. */
#include "findings.h"

#include "number.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds in hundredths. */
enum {
    HAND_OVER_PART = 20, /* of the CPU time */
    UNEVEN_PART = 10,    /* of the wall time */
    IDLE_PART = 5,       /* of the wall time, for the pool's workers together */
};

/* Bytes of a call from which they dominate the cost of hand-over. */
enum { LARGE_BYTES = 65536 };

/* Returns the function with the most tasks in processes; NULL: no such function. */
static const struct pool_function *busiest_function(const struct findings *findings)
{
    const struct pool_function *functions, *busiest = NULL;
    uint32_t count = pool_tasks_functions(findings->report->tasks, &functions);
    for (uint32_t i = 0; i < count; i++)
        if (!functions[i].is_local && (!busiest || functions[i].count > busiest->count))
            busiest = &functions[i];
    return busiest;
}

/* True if the pool was called with chunks, or by a method that accepts a chunk size. */
static bool takes_chunks(const struct findings *findings, const struct pool *pool)
{
    static const char *const methods[] = {"imap", "imap_unordered", "map", "starmap"};
    for (uint32_t i = 0; i < pool->method_count; i++)
        for (size_t k = 0; k < sizeof(methods) / sizeof(*methods); k++)
            if (strcmp(trace_string(findings->trace, pool->methods[i])->bytes, methods[k]) == 0)
                return true;
    return pool->chunk_max > 0;
}

/* Returns the pool with the most tasks among those that take chunks; NULL: not found. */
static const struct pool *find_chunked(const struct findings *findings)
{
    const struct pool *pools, *found = NULL;
    uint32_t count = pools_all(pool_tasks_pools(findings->report->tasks), &pools);
    for (uint32_t i = 0; i < count; i++)
        if (takes_chunks(findings, &pools[i]) &&
            (!found || pools[i].task_count > found->task_count))
            found = &pools[i];
    return found;
}

/* Writes "hand over 13.1 us, send 18.6 us": the two longest parts of a task outside of its
 * function. */
static void describe_parts(const struct pool_function *function, struct finding *finding)
{
    static const enum pool_part parts[] = {POOL_HAND_OVER, POOL_UNPICKLE, POOL_SEND, POOL_FETCH};

    enum { PARTS = sizeof(parts) / sizeof(*parts) };

    enum pool_part most = parts[0], next = parts[1];
    char first[NUMBER_TEXT_SIZE], second[NUMBER_TEXT_SIZE];
    for (unsigned i = 0; i < PARTS; i++)
        most = function->parts[parts[i]].sum_ns > function->parts[most].sum_ns ? parts[i] : most;
    next = most == next ? parts[0] : next;
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i] != most && function->parts[parts[i]].sum_ns > function->parts[next].sum_ns)
            next = parts[i];
    snprintf(finding->evidence, FINDING_TEXT_SIZE, "Of each task, %s takes %s and %s %s (mean).",
             pool_part_name(most),
             number_time_short(function->parts[most].sum_ns / function->count, first),
             pool_part_name(next),
             number_time_short(function->parts[next].sum_ns / function->count, second));
}

/* The cost of a chunk is independent of its number of calls, so doubling that halves the cost per
 * call; CHUNKS chunks for each worker still balance the work. */
static void advise_chunk(const struct pool *pool, const struct pool_function *function,
                         struct finding *finding)
{
    enum { CHUNKS = 8 };

    uint64_t chunk = (function->item_count + function->count - 1) / function->count;
    uint64_t workers = pool && pool->worker_count ? pool->worker_count : 1;
    uint64_t enough = function->item_count / (workers * CHUNKS);
    struct text text = text_init(finding->advice, FINDING_TEXT_SIZE);
    if (!pool || enough < 2 * chunk)
        text_format(&text, "try more work in each task");
    else if (enough < 3 * chunk)
        text_format(&text, "try chunksize=%llu, which halves it, or more work in each task",
                    2 * (unsigned long long)chunk);
    else
        text_format(
            &text, "try chunksize=%llu (%u chunks for each worker) instead of %llu; %llu halves it",
            (unsigned long long)enough, (unsigned)CHUNKS, (unsigned long long)chunk,
            2 * (unsigned long long)chunk);
}

/* The cost of large objects is proportional to their size, for any chunk size. */
static void advise_bytes(const struct pool_function *function, struct finding *finding)
{
    char in[NUMBER_TEXT_SIZE], out[NUMBER_TEXT_SIZE];
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try to send less: each task takes %s and returns %s, pickled (shared memory, a file, "
             "or an initializer for what all need)",
             number_size(function->bytes_in / function->count, in),
             number_size(function->bytes_out / function->count, out));
}

static void find_hand_over(struct findings *findings)
{
    struct own_row pools = findings_own(findings)->purposes[PURPOSE_POOL];
    const struct pool_function *function = busiest_function(findings);
    char tasks[NUMBER_TEXT_SIZE], run[NUMBER_TEXT_SIZE];
    if (!function || function->count == 0 || pools.sample_count < SAMPLES_FEW ||
        !findings_reach(pools.cpu_ns, findings_own(findings)->cpu_ns, HAND_OVER_PART))
        return;
    struct finding *finding =
        findings_add(findings, "overhead", pools.cpu_ns, findings_own(findings)->cpu_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the CPU time hands over tasks and results: %s tasks of %s, which run "
             "%s each (median).",
             number_count(function->count, tasks),
             trace_string(findings->trace, function->name)->bytes,
             number_time_short(function->parts[POOL_RUN].p50_ns, run));
    describe_parts(function, finding);
    if (function->bytes_in + function->bytes_out > function->item_count * LARGE_BYTES)
        advise_bytes(function, finding);
    else
        advise_chunk(find_chunked(findings), function, finding);
}

/* Idle time of one pool's workers while the last one still ran. */
struct evenness {
    uint32_t count, idle_count; /* workers with tasks; without tasks */
    uint64_t task_count, lost_ns;
    uint64_t others_cpu_ns; /* mean over all but the last */
    const struct pool_worker *last;
};

static int latest_first(const void *left, const void *right)
{
    const struct pool_worker *const *a = left, *const *b = right;
    return ((*a)->last_ns < (*b)->last_ns) - ((*a)->last_ns > (*b)->last_ns);
}

/* The workers of one pool. */
typedef VEC(const struct pool_worker *) worker_list;

/* Workers that were replaced ended early: keeps the latest ones, up to the pool's size. */
static void sum_evenness(worker_list *workers, uint64_t size, struct evenness *even)
{
    qsort(workers->items, workers->count, sizeof(workers->items[0]), latest_first);
    if (size > 0 && workers->count > size)
        workers->count = size;
    even->count = (uint32_t)workers->count;
    even->last = workers->items[0];
    for (size_t i = 1; i < workers->count; i++) {
        even->lost_ns += (uint64_t)(even->last->last_ns - workers->items[i]->last_ns) / even->count;
        even->others_cpu_ns += workers->items[i]->cpu_ns / (even->count - 1);
    }
}

static struct evenness find_evenness(const struct findings *findings, const struct pool *pools,
                                     uint32_t pool)
{
    const struct pool_worker *workers;
    uint32_t count = pools_workers(pool_tasks_pools(findings->report->tasks), &workers);
    struct evenness even = {0};
    worker_list used = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (workers[i].pool != pool || workers[i].is_local)
            continue;
        even.idle_count += workers[i].task_count == 0;
        even.task_count += workers[i].task_count;
        if (workers[i].task_count > 0 && vec_push(&used, &workers[i]) != 0)
            break;
    }
    if (used.count > 0)
        sum_evenness(&used, pools[pool].size, &even);
    vec_free(&used);
    return even;
}

/* The CPU time of the last worker while the others were idle, assuming a constant rate. */
static uint64_t tail_cpu_ns(const struct evenness *even)
{
    double tail_ns = (double)even->lost_ns * even->count / (even->count - 1);
    double busy_ns = (double)even->last->busy_ns;
    return busy_ns > 0 ? (uint64_t)((double)even->last->cpu_ns * tail_ns / busy_ns) : 0;
}

/* Other programs on the processors also make workers end at different times: then the last one has
 * not done more. */
static bool is_uneven(const struct findings *findings, const struct evenness *even)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    uint64_t quiet_ns = findings_quiet_ns(findings);
    if (even->count < 2 || !findings_reach(even->lost_ns, wall->wall_ns, UNEVEN_PART))
        return false;
    uint64_t more_ns =
        even->last->cpu_ns > even->others_cpu_ns ? even->last->cpu_ns - even->others_cpu_ns : 0;
    return even->lost_ns > wall->contended_ns ||
           (findings_reach(more_ns, quiet_ns, UNEVEN_PART) &&
            findings_reach(tail_cpu_ns(even), quiet_ns, UNEVEN_PART));
}

static void report_uneven(struct findings *findings, const struct evenness *even)
{
    char lost[NUMBER_TEXT_SIZE], longest[NUMBER_TEXT_SIZE];
    struct finding *finding =
        findings_add(findings, "imbalance", even->lost_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    uint32_t others = even->count - 1;
    snprintf(
        finding->finding, FINDING_TEXT_SIZE,
        "of the wall time could be saved by workers that end together: while the last one went "
        "on, %u other%s had nothing left to do for %s%s.",
        others, others > 1 ? "s" : "",
        number_time_short(even->lost_ns * even->count / others, lost),
        others > 1 ? " on average" : "");
    snprintf(finding->evidence, FINDING_TEXT_SIZE, "Its longest task took %s (%s).",
             number_time_short(even->last->longest_ns, longest),
             trace_string(findings->trace, even->last->longest_name)->bytes);
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try smaller tasks, or the longest ones first");
}

/* The pool was in use for `use_ns`. */
static void report_idle(struct findings *findings, const struct evenness *even, uint64_t use_ns)
{
    uint32_t all = even->count + even->idle_count;
    uint64_t cost_ns = use_ns / all * even->idle_count;
    bool few = even->task_count < all;
    if (!findings_reach(cost_ns, findings_wall_ns(findings), IDLE_PART))
        return;
    struct finding *finding = findings_add(findings, few ? "few_tasks" : "idle_worker", cost_ns,
                                           findings_wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the workers' time was spent by %u of %u workers that got no task.",
             even->idle_count, all);
    if (few)
        snprintf(finding->evidence, FINDING_TEXT_SIZE, "There were %llu tasks.",
                 (unsigned long long)even->task_count);
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             few ? "try more and smaller tasks (a smaller chunksize)" : "try fewer workers");
}

static void find_uneven(struct findings *findings)
{
    const struct pool *pools;
    uint32_t count = pools_all(pool_tasks_pools(findings->report->tasks), &pools);
    for (uint32_t pool = 0; pool < count; pool++) {
        struct evenness even = find_evenness(findings, pools, pool);
        if (is_uneven(findings, &even))
            report_uneven(findings, &even);
        if (even.count > 0 && even.idle_count > 0)
            report_idle(findings, &even, (uint64_t)(pools[pool].end_ns - pools[pool].begin_ns));
    }
}

const struct finding_rule findings_of_pools[] = {
    {FINDING_NEEDS_WAITS, find_uneven},
    {FINDING_NEEDS_SAMPLES, find_hand_over},
    {0},
};
