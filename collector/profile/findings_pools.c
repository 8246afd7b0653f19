/* SPDX-License-Identifier: MIT */
/* What pools cost, and how even the work of their workers is. */
#include "findings_parts.h"
#include "number.h"

#include <stdio.h>

/* From so many hundredths on. */
enum {
    HAND_OVER_PART = 20, /* of the CPU time */
    UNEVEN_PART = 10,    /* of the wall time */
};

/* The function with the most tasks; NULL: none in processes. */
static const struct pool_function *busiest_function(const struct findings *findings)
{
    const struct pool_function *functions, *busiest = NULL;
    uint32_t count = pool_tasks_functions(findings->report->tasks, &functions);
    for (uint32_t i = 0; i < count; i++)
        if (!functions[i].is_local && (!busiest || functions[i].count > busiest->count))
            busiest = &functions[i];
    return busiest;
}

/* Was a method called that puts several calls into one task, if it is told to? */
static bool has_chunks(const struct findings *findings)
{
    const struct pool *pools;
    uint32_t count = pools_all(pool_tasks_pools(findings->report->tasks), &pools);
    for (uint32_t i = 0; i < count; i++)
        if (pools[i].chunk_max > 0)
            return true;
    return false;
}

/* What a chunk costs beside its calls, over what a call takes: so many calls a chunk make both
 * equal; twice as many as there are now halve what a call pays. */
void find_hand_over(struct findings *findings)
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
    uint64_t chunk = (function->item_count + function->count - 1) / function->count;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the CPU time hands over tasks and results: %s tasks of %s, which run "
             "%s each (median).",
             number_count(function->count, tasks),
             trace_string(findings->trace, function->name)->bytes,
             number_time_short(function->parts[POOL_RUN].p50_ns, run));
    if (has_chunks(findings))
        snprintf(finding->advice, FINDING_TEXT_SIZE,
                 "try chunksize=%llu, which halves it, or more work in each task",
                 2 * (unsigned long long)chunk);
    else
        snprintf(finding->advice, FINDING_TEXT_SIZE, "try more work in each task");
}

/* Of the workers of one pool: how long they were idle while the last one still ran. */
struct evenness {
    uint32_t count, idle_count; /* that got tasks; that got none */
    uint64_t task_count, lost_ns;
    int64_t last_ns;
    const struct pool_worker *last;
};

static struct evenness find_evenness(const struct findings *findings, uint32_t pool)
{
    const struct pool_worker *workers;
    uint32_t count = pools_workers(pool_tasks_pools(findings->report->tasks), &workers);
    struct evenness even = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (workers[i].pool != pool || workers[i].is_local)
            continue;
        even.count += workers[i].task_count > 0;
        even.idle_count += workers[i].task_count == 0;
        even.task_count += workers[i].task_count;
        if (workers[i].task_count > 0 && (!even.last || workers[i].last_ns > even.last_ns)) {
            even.last = &workers[i];
            even.last_ns = workers[i].last_ns;
        }
    }
    for (uint32_t i = 0; i < count && even.count > 0; i++)
        if (workers[i].pool == pool && !workers[i].is_local && workers[i].task_count > 0)
            even.lost_ns += (uint64_t)(even.last_ns - workers[i].last_ns) / even.count;
    return even;
}

static void tell_uneven(struct findings *findings, const struct evenness *even)
{
    char lost[NUMBER_TEXT_SIZE], longest[NUMBER_TEXT_SIZE];
    struct finding *finding =
        findings_add(findings, "imbalance", even->lost_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the wall time workers had nothing left to do while the last one went "
             "on: %s of %u workers, on average.",
             number_time_short(even->lost_ns, lost), even->count);
    snprintf(finding->evidence, FINDING_TEXT_SIZE, "Its longest task took %s (%s).",
             number_time_short(even->last->longest_ns, longest),
             trace_string(findings->trace, even->last->longest_name)->bytes);
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try smaller tasks, or the longest ones first");
}

static void tell_idle(struct findings *findings, const struct evenness *even)
{
    uint32_t all = even->count + even->idle_count;
    uint64_t cost_ns = findings_wall_ns(findings) / all * even->idle_count;
    bool few = even->task_count < all;
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

void find_uneven(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct pool *pools;
    uint32_t count = pools_all(pool_tasks_pools(findings->report->tasks), &pools);
    for (uint32_t pool = 0; pool < count; pool++) {
        struct evenness even = find_evenness(findings, pool);
        if (even.count > 1 && even.lost_ns > wall->contended_ns &&
            findings_reach(even.lost_ns, findings_wall_ns(findings), UNEVEN_PART))
            tell_uneven(findings, &even);
        if (even.count > 0 && even.idle_count > 0)
            tell_idle(findings, &even);
    }
}
