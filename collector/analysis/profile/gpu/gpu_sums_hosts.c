/* SPDX-License-Identifier: MIT */
/* The time of threads while a GPU was starved. See gpu_stats.h.
 *
 * Queues report their work late, so samples and waits are kept until the starved times and the
 * launching thread of each process are known. */
#include "gpu_sums.h"

#include <errno.h>
#include <stdlib.h>

/* State of a thread at a stack, stored in the low bits of a key beside its number. */
enum host_state { HOST_BLOCKED, HOST_RUNNABLE, HOST_RAN, HOST_STATES };

enum { HOST_STATE_BITS = 2, HOST_THREADS_MAX = 1 << 30 };

void gpu_hosts_fini(struct gpu_hosts *hosts)
{
    vec_free(&hosts->of_process);
    gpu_stays_fini(&hosts->stays);
    vec_free(&hosts->places);
}

int gpu_hosts_launched(struct gpu_stats *work, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(work->trace, event->thread);
    struct gpu_hosts *hosts = &work->hosts;
    if (!thread || thread->process >= work->queues.has_queues.count)
        return 0;
    while (hosts->of_process.count <= thread->process)
        if (vec_push(&hosts->of_process, (struct gpu_host){0}) != 0)
            return -ENOMEM;
    struct gpu_host *host = &hosts->of_process.items[thread->process];
    if (!host->known || event->origin_ns < host->first_ns)
        *host = (struct gpu_host){true, event->thread, event->origin_ns};
    return 0;
}

static int keep(struct gpu_stats *work, const struct sample *sample, enum host_state state,
                struct gpu_interval time)
{
    if (time.end_ns <= time.begin_ns)
        return 0;
    return gpu_stays_add(&work->hosts.stays, sample->stack,
                         sample->thread << HOST_STATE_BITS | state, time.begin_ns, time.end_ns);
}

int gpu_hosts_take(struct gpu_stats *work, const struct sample *sample)
{
    const struct trace_thread *thread = trace_thread_get(work->trace, sample->thread);
    const struct sample_sets *sets = trace_sets_get(work->trace);
    enum sample_role role = sample_role(sets, sample);
    if (!thread || thread->process >= work->queues.has_queues.count ||
        !work->queues.has_queues.items[thread->process] || sample->thread >= HOST_THREADS_MAX)
        return 0;
    if (role == SAMPLE_ROLE_CPU) {
        int64_t half_ns = (int64_t)(sample_cpu_ns(sets, sample) / 2);
        const struct gpu_interval around = {sample->time_ns - half_ns, sample->time_ns + half_ns};
        return keep(work, sample, HOST_RAN, around);
    }
    if (role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    struct off_share off = sample_off_share(sets, sample);
    int64_t woken_ns = sample->time_ns + (int64_t)off.blocked_ns;
    int64_t runs_ns = woken_ns + (int64_t)off.runnable_ns;
    int error = keep(work, sample, HOST_BLOCKED, (struct gpu_interval){sample->time_ns, woken_ns});
    return error ? error
                 : keep(work, sample, HOST_RUNNABLE, (struct gpu_interval){woken_ns, runs_ns});
}

/* ---- Results --------------------------------------------------------------------------------- */

static uint64_t starved_in(const struct gpu_stay_list *list, const struct gpu_busy *starved)
{
    struct gpu_stay_reader reader = gpu_stays_read(list);
    int64_t begin_ns, end_ns;
    uint64_t sum = 0;
    size_t near = 0;
    while (gpu_stays_next(&reader, &begin_ns, &end_ns))
        sum += gpu_busy_within(starved, begin_ns, end_ns, &near);
    return sum;
}

/* NULL: out of memory. */
static struct gpu_host_place *place_of(struct gpu_hosts *hosts, uint32_t row)
{
    for (size_t i = 0; i < hosts->places.count; i++)
        if (hosts->places.items[i].row == row)
            return &hosts->places.items[i];
    const struct gpu_host_place fresh = {.row = row};
    return vec_push(&hosts->places, fresh) == 0 ? &hosts->places.items[hosts->places.count - 1]
                                                : NULL;
}

static uint64_t time_of(const struct gpu_host_place *place)
{
    return place->cpu_ns + place->runnable_ns + place->blocked_ns;
}

static int longest_first(const void *left, const void *right)
{
    const struct gpu_host_place *a = left, *b = right;
    if (time_of(a) != time_of(b))
        return time_of(a) < time_of(b) ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

/* 0 or -ENOMEM. */
static int add_list(struct gpu_stats *work, const struct own_time *own,
                    const struct gpu_stay_list *list)
{
    struct gpu_hosts *hosts = &work->hosts;
    uint32_t thread = list->process >> HOST_STATE_BITS;
    uint32_t process = trace_thread_get(work->trace, thread)->process;
    const struct process_busy *busy = gpu_queues_of_process(&work->queues, process);
    if (!busy || process >= hosts->of_process.count || !hosts->of_process.items[process].known ||
        hosts->of_process.items[process].thread != thread)
        return 0;
    int32_t line;
    uint32_t row = own_time_row_of(own, list->row, &line);
    uint64_t time_ns = row == UINT32_MAX ? 0 : starved_in(list, &busy->starved);
    struct gpu_host_place *place = time_ns ? place_of(hosts, row) : NULL;
    if (time_ns == 0 || !place)
        return time_ns == 0 ? 0 : -ENOMEM;
    uint64_t *const times[HOST_STATES] = {[HOST_BLOCKED] = &place->blocked_ns,
                                          [HOST_RUNNABLE] = &place->runnable_ns,
                                          [HOST_RAN] = &place->cpu_ns};
    unsigned state = list->process & ((1u << HOST_STATE_BITS) - 1);
    *times[state < HOST_STATES ? state : HOST_RAN] += time_ns;
    if (time_ns > place->line_ns) {
        place->line = line;
        place->line_ns = time_ns;
    }
    return 0;
}

int gpu_hosts_finish(struct gpu_stats *work, const struct own_time *own)
{
    struct gpu_hosts *hosts = &work->hosts;
    int error = 0;
    for (size_t i = 0; i < hosts->stays.lists.count && !error; i++)
        error = add_list(work, own, &hosts->stays.lists.items[i]);
    gpu_stays_fini(&hosts->stays);
    if (hosts->places.count > 1)
        qsort(hosts->places.items, hosts->places.count, sizeof(*hosts->places.items),
              longest_first);
    return error;
}
