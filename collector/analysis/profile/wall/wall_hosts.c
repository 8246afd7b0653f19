/* SPDX-License-Identifier: MIT */
/* The processors of one host only serve its threads: sums for each host of a merge. See wall.h. */
#include "wall_hosts.h"

#include <errno.h>
#include <stdlib.h>

int wall_begin_hosts(struct wall *wall)
{
    const struct trace *trace = wall->trace;
    uint32_t count = trace_host_count(trace);
    wall->host_count = count > 0 ? count : 1;
    wall->hosts = calloc(wall->host_count, sizeof(*wall->hosts));
    if (!wall->hosts)
        return -ENOMEM;
    for (uint32_t i = 0; i < wall->host_count; i++) {
        struct wall_host *known = &wall->hosts[i].known;
        known->host = i;
        known->processors =
            count > 1 ? trace_host_get(trace, i)->processors : trace_session_get(trace)->processors;
        wall->hosts[i].since_ns = wall->totals.begin_ns;
    }
    return 0;
}

struct host_now *wall_host_of(struct wall *wall, uint32_t thread)
{
    uint32_t process = trace_thread_get(wall->trace, thread)->process;
    uint32_t host = trace_process_get(wall->trace, process)->host;
    return &wall->hosts[host < wall->host_count ? host : 0];
}

/* True if more threads are able to run than there are processors, and they have all of these or are
 * twice as many. Otherwise other programs use the processors. */
static bool is_crowded(const struct host_now *host)
{
    uint32_t processors = host->known.processors, able = host->running + host->ready;
    return processors > 0 && able > processors &&
           (host->running >= processors || able >= 2 * processors);
}

static void count_states(struct wall *wall, const struct host_now *host, int by)
{
    bool crowded = is_crowded(host);
    wall->contended_hosts += host->ready > 0 && !crowded ? by : 0;
    wall->starved_hosts += host->ready > 0 && host->running == 0 ? by : 0;
}

void wall_host_leave(struct wall *wall, struct host_now *host, int64_t now_ns)
{
    uint64_t time_ns = (uint64_t)(now_ns - host->since_ns);
    double running = host->running - host->partly + host->partly_sum;
    host->known.busy_ns += (uint64_t)(running * (double)time_ns);
    host->known.ready_ns += host->ready * time_ns;
    host->known.crowded_ns += is_crowded(host) ? time_ns : 0;
    host->since_ns = now_ns;
    count_states(wall, host, -1);
}

void wall_host_enter(struct wall *wall, struct host_now *host)
{
    count_states(wall, host, 1);
}

/* The busiest first. */
static int busiest_first(const void *left, const void *right)
{
    const struct wall_host *a = left, *b = right;
    if (a->busy_ns != b->busy_ns)
        return a->busy_ns < b->busy_ns ? 1 : -1;
    return a->host < b->host ? -1 : 1;
}

int wall_finish_hosts(struct wall *wall)
{
    wall->told_hosts = calloc(wall->host_count, sizeof(*wall->told_hosts));
    if (!wall->told_hosts)
        return -ENOMEM;
    for (uint32_t i = 0; i < wall->host_count; i++) {
        wall_host_leave(wall, &wall->hosts[i], wall->totals.end_ns);
        wall->told_hosts[i] = wall->hosts[i].known;
    }
    qsort(wall->told_hosts, wall->host_count, sizeof(*wall->told_hosts), busiest_first);
    return 0;
}

uint32_t wall_hosts(const struct wall *wall, const struct wall_host **ret_hosts)
{
    *ret_hosts = wall->told_hosts;
    return wall->host_count;
}
