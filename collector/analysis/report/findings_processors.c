/* SPDX-License-Identifier: MIT */
/* The users of the processors, and the parallelism of the program's work. */
#include "findings.h"

#include "number.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds in hundredths. */
enum {
    HOST_PART = 20,    /* of the wall time */
    CROWD_PART = 30,   /* of the wall time */
    GIL_PART = 30,     /* of the time in which busy threads ran or waited for the GIL */
    GIL_ALL_PART = 10, /* of all their time */
    SERIAL_PART = 25,  /* of the wall time */
    ALONE_PART = 50,   /* of the wall time, of a program with a pool of processes */
};

/* If other programs seem not to have used the processors, only time counts in which the program did
 * not run at all, on one of its hosts: a short wait for a processor beside a running thread is
 * normal scheduling. */
static uint64_t taken_ns(const struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    if (findings_has_others(findings))
        return wall->contended_ns;
    return trace_host_count(findings->trace) > 1 ? wall->starved_ns : wall->runnable_ns;
}

static void find_host(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct report_facts *facts = &findings->report->facts;
    uint64_t wall_ms = wall->wall_ns / 1000000, taken = taken_ns(findings);
    bool others = facts->others_ms * 100 >= wall_ms * OTHERS_PART;
    bool stolen = facts->stolen_ms * 100 >= wall_ms * OTHERS_PART;
    if (!findings_reach(taken, wall->wall_ns, HOST_PART))
        return;
    struct finding *finding = findings_add(findings, "host", taken, wall->wall_ns);
    if (!finding)
        return;
    struct text text = text_init(finding->finding, FINDING_TEXT_SIZE);
    text_format(&text, "of the wall time a thread waited for a processor");
    if (!others && !stolen)
        text_format(&text, " that others had: programs, the host of a virtual machine, a quota");
    double used = (double)facts->others_ms / (double)(wall_ms ? wall_ms : 1);
    if (others) /* the kernel counts in hundredths of a second */
        text_format(&text, ": other programs used %.1f of %u",
                    used < wall->processors ? used : wall->processors, wall->processors);
    if (stolen)
        text_format(&text, ": the host of the virtual machine took %.1f of %u",
                    (double)facts->stolen_ms / (double)wall_ms, wall->processors);
    text_format(&text, ".");
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try a quiet machine");
}

/* ---- More threads than processors ------------------------------------------------------------ */

static uint32_t findings_host(const struct findings *findings, uint32_t thread)
{
    uint32_t process = trace_thread_get(findings->trace, thread)->process;
    return trace_process_get(findings->trace, process)->host;
}

/* The busy threads of a host, and those started by a native library: they never run Python. */
struct native_threads {
    uint32_t busy_count; /* all busy threads */
    uint32_t count;      /* threads of native libraries */
    uint32_t module;     /* string: the library that started most of them; of several, the last */
};

static struct native_threads find_native_threads(const struct findings *findings, uint32_t host)
{
    const struct report_samples *samples = &findings->report->samples;
    struct native_threads found = {0};
    for (uint32_t i = 0; i < samples->all.thread_count; i++) {
        const struct thread_entry *entry = &samples->entries[i];
        if (!own_time_is_busy(samples->own, i) || findings_host(findings, i) != host)
            continue;
        found.busy_count++;
        uint32_t module = entry->label ? 0 : code_beginner(findings->trace, entry->stack);
        const char *path = trace_string(findings->trace, module)->bytes;
        if (module == 0 || !strstr(path, ".so"))
            continue;
        found.count++;
        found.module = module;
    }
    return found;
}

static void advise_crowd(const struct findings *findings, const struct native_threads *native,
                         unsigned processors, struct finding *finding)
{
    const char *path = trace_string(findings->trace, native->module)->bytes;
    struct text text = text_init(finding->advice, FINDING_TEXT_SIZE);
    text_format(&text, "only %u run%s at once: try ", processors, processors == 1 ? "s" : "");
    if (native->count * 2 < native->busy_count)
        text_format(&text, "fewer workers or threads");
    else if (strstr(path, "blas"))
        text_format(&text, "OPENBLAS_NUM_THREADS=1 in processes that work side by side");
    else
        text_format(&text, "fewer threads of that library (OMP_NUM_THREADS=1, "
                           "OPENBLAS_NUM_THREADS=1) in processes that work side by side");
}

/* Returns the most crowded host. */
static const struct wall_host *find_crowded(const struct findings *findings)
{
    const struct wall_host *hosts, *most;
    uint32_t count = wall_hosts(findings->report->samples.wall, &hosts);
    most = hosts;
    for (uint32_t i = 1; i < count; i++)
        most = hosts[i].crowded_ns > most->crowded_ns ? &hosts[i] : most;
    return most;
}

/* Finding: the program has too many threads. */
static void find_crowd(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct wall_host *host = find_crowded(findings);
    const struct native_threads native = find_native_threads(findings, host->host);
    char busy[NUMBER_TEXT_SIZE], runnable[NUMBER_TEXT_SIZE];
    if (host->processors == 0 || !findings_reach(host->crowded_ns, wall->wall_ns, CROWD_PART) ||
        native.busy_count <= host->processors)
        return;
    struct finding *finding =
        findings_add(findings, "oversubscribed", host->crowded_ns, wall->wall_ns);
    if (!finding)
        return;
    struct text text = text_init(finding->finding, FINDING_TEXT_SIZE);
    text_format(&text, "of the wall time more threads were runnable than the %u processor%s",
                host->processors, host->processors == 1 ? "" : "s");
    if (trace_host_count(findings->trace) > 1)
        text_format(&text, " of host %s",
                    trace_string(findings->trace, trace_host_get(findings->trace, host->host)->name)
                        ->bytes);
    text_format(&text, " can run.");
    text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    text_format(&text, "They ran for %s and were runnable for another %s.",
                number_time_short(host->busy_ns, busy),
                number_time_short(host->runnable_ns, runnable));
    if (native.count > 0)
        text_format(&text, " Of %u busy threads, %u are those of %s.", native.busy_count,
                    native.count,
                    text_base_name(trace_string(findings->trace, native.module)->bytes));
    advise_crowd(findings, &native, host->processors, finding);
}

/* ---- The GIL --------------------------------------------------------------------------------- */

/* Times of busy threads. */
struct gil_times {
    const struct own_time *own;
    uint64_t gil_ns, cpu_ns, all_ns, sample_count;
};

static int add_gil(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct gil_times *gil = context;
    if (!own_time_is_busy(gil->own, moment->thread))
        return 0;
    gil->gil_ns += moment->reason == WAIT_GIL ? times->blocked_ns : 0;
    gil->cpu_ns += times->cpu_ns;
    gil->all_ns += times->cpu_ns + times->blocked_ns + times->runnable_ns;
    gil->sample_count += times->sample_count;
    return 0;
}

/* True if several threads contend for the GIL for a relevant part of their time. */
static bool waits_for_gil(const struct findings *findings, struct gil_times *ret_times)
{
    struct gil_times times = {.own = findings->report->samples.own};
    own_time_each(times.own, add_gil, &times);
    *ret_times = times;
    return findings_own(findings)->busy_count > 1 && times.sample_count >= SAMPLES_FEW &&
           findings_reach(times.gil_ns, times.gil_ns + times.cpu_ns, GIL_PART) &&
           findings_reach(times.gil_ns, times.all_ns, GIL_ALL_PART);
}

/* Busy threads that waited for the GIL. */
struct gil_waiters {
    const struct own_time *own;
    bool *waited; /* by thread */
};

static int add_waiter(void *context, const struct own_moment *moment, const struct own_times *times)
{
    const struct gil_waiters *waiters = context;
    if (moment->reason == WAIT_GIL && times->blocked_ns > 0 &&
        own_time_is_busy(waiters->own, moment->thread))
        waiters->waited[moment->thread] = true;
    return 0;
}

/* Counts all busy threads if out of memory. */
static uint32_t count_gil_waiters(const struct findings *findings)
{
    uint32_t threads = trace_thread_count(findings->trace), count = 0;
    struct gil_waiters waiters = {findings->report->samples.own,
                                  calloc((size_t)threads + 1, sizeof(bool))};
    if (!waiters.waited)
        return findings_own(findings)->busy_count;
    own_time_each(waiters.own, add_waiter, &waiters);
    for (uint32_t i = 0; i < threads; i++)
        count += waiters.waited[i];
    free(waiters.waited);
    return count;
}

static void find_gil(struct findings *findings)
{
    struct gil_times times;
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    char place[FINDING_NAME_SIZE];
    if (!waits_for_gil(findings, &times))
        return;
    struct finding *finding =
        findings_add(findings, "gil", times.gil_ns, times.gil_ns + times.cpu_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the time in which %u busy threads wanted to run, they waited for the GIL, which "
             "lets one of them run Python at a time.",
             count_gil_waiters(findings));
    for (uint32_t i = 0; i < count; i++) {
        if (waits[i].reason != WAIT_GIL || waits[i].label == 0)
            continue;
        snprintf(finding->evidence, FINDING_TEXT_SIZE, "Most waited in %s.",
                 findings_place(findings, waits[i].label, waits[i].line, place));
        break;
    }
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try processes in place of threads");
}

/* ---- One thread alone ------------------------------------------------------------------------ */

/* CPU time of one thread by own functions. */
struct alone {
    const struct own_time *own;
    uint32_t thread;
    VEC(uint64_t) row_ns;
};

static int add_alone(void *context, const struct own_moment *moment, const struct own_times *times)
{
    struct alone *alone = context;
    int32_t line;
    uint32_t row = own_time_row_of(alone->own, moment->stack, &line);
    if (moment->thread != alone->thread || times->cpu_ns == 0 || row == UINT32_MAX)
        return 0;
    while (alone->row_ns.count <= row)
        if (vec_push(&alone->row_ns, 0) != 0)
            return -ENOMEM;
    alone->row_ns.items[row] += times->cpu_ns;
    return 0;
}

/* Returns the own function with most of a thread's CPU time; NULL: not found, or out of memory. */
static const struct own_row *hottest_of(const struct findings *findings, uint32_t thread)
{
    struct alone alone = {.own = findings->report->samples.own, .thread = thread};
    const struct own_row *found = NULL;
    uint64_t most_ns = 0;
    int error = own_time_each(alone.own, add_alone, &alone);
    for (uint32_t i = 0; i < alone.row_ns.count && !error; i++) {
        const struct own_row *row = own_time_row(alone.own, i);
        if (row->label == 0 || alone.row_ns.items[i] <= most_ns)
            continue;
        most_ns = alone.row_ns.items[i];
        found = row;
    }
    vec_free(&alone.row_ns);
    return found;
}

/* True if there are workers with tasks in separate processes. */
static bool has_process_pool(const struct findings *findings, uint32_t thread, bool *ret_is_worker)
{
    const struct pool_worker *workers;
    uint32_t count = pools_workers(pool_tasks_pools(findings->report->tasks), &workers);
    bool found = false;
    *ret_is_worker = false;
    for (uint32_t i = 0; i < count; i++) {
        bool works = !workers[i].is_local && workers[i].task_count > 0;
        found |= works;
        *ret_is_worker |= works && workers[i].thread == thread;
    }
    return found;
}

/* True if busy threads are in several processes, or in one without Python: Python's threads take
 * turns. */
static bool can_be_parallel(const struct findings *findings)
{
    const struct report_samples *samples = &findings->report->samples;
    uint32_t process = UINT32_MAX;
    bool python = false;
    for (uint32_t i = 0; i < samples->all.thread_count; i++) {
        if (!own_time_is_busy(samples->own, i))
            continue;
        uint32_t of = trace_thread_get(findings->trace, i)->process;
        if (process != UINT32_MAX && of != process)
            return true;
        process = of;
        python |= samples->entries[i].label != 0;
    }
    return !python;
}

/* The time in which a single thread ran; with other programs also the time in which it was
 * runnable. */
static uint64_t alone_ns(const struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    return findings_has_others(findings) ? wall->single_ns : wall->alone_ns;
}

static uint64_t begin_ns(const struct findings *findings)
{
    const struct own_row *imports = &findings_own(findings)->purposes[PURPOSE_IMPORT];
    const struct own_row *start = &findings_own(findings)->purposes[PURPOSE_START_UP];
    uint64_t cpu_ns = imports->cpu_ns + start->cpu_ns;
    return findings_has_others(findings) ? cpu_ns + imports->runnable_ns + start->runnable_ns
                                         : cpu_ns;
}

/* True if the program uses several processors, but rarely. */
static bool is_serial(const struct findings *findings, const struct wall_totals *wall)
{
    uint64_t all_ns = alone_ns(findings), start_ns = begin_ns(findings);
    uint64_t single_ns = all_ns > start_ns ? all_ns - start_ns : 0;
    struct gil_times times;
    if (waits_for_gil(findings, &times)) /* the GIL already serializes them */
        return false;
    bool is_worker, has_pool = has_process_pool(findings, wall->single, &is_worker);
    if (wall->processors < 2 || wall->busy_ns == 0 || is_worker) /* a worker alone: uneven */
        return false;
    if (has_pool && findings_reach(single_ns, wall->wall_ns, ALONE_PART))
        return true;
    return findings_own(findings)->busy_count > 1 && can_be_parallel(findings) &&
           findings_reach(single_ns, wall->wall_ns, SERIAL_PART) &&
           findings_reach(wall->parallel_ns, wall->wall_ns, SERIAL_PART);
}

/* Amdahl's law: with a serial part s the program runs at most 1 / s times faster than on one
 * processor. */
static void find_serial(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    char place[FINDING_NAME_SIZE];
    if (!is_serial(findings, wall))
        return;
    struct finding *finding = findings_add(findings, "serial", alone_ns(findings), wall->wall_ns);
    if (!finding)
        return;
    const struct own_row *row = hottest_of(findings, wall->single);
    struct text text = text_init(finding->finding, FINDING_TEXT_SIZE);
    text_format(&text, "of the wall time is serial: only one thread had something to do");
    if (row)
        text_format(&text, ", mostly %s", findings_place(findings, row->label, row->line, place));
    text_format(&text, ".");
    double fastest = wall->alone_ns ? (double)wall->busy_ns / (double)wall->alone_ns : 1;
    if (fastest < 1.05)
        snprintf(finding->evidence, FINDING_TEXT_SIZE,
                 "However many processors there are, they do not make it faster.");
    else
        snprintf(finding->evidence, FINDING_TEXT_SIZE,
                 "This serial part limits the speed-up: however many processors there are, at most "
                 "%.1f times as fast as on one.",
                 fastest);
    if (row)
        snprintf(finding->advice, FINDING_TEXT_SIZE, "try to share that out, or to make it faster");
}

const struct finding_rule findings_of_processors[] = {
    {FINDING_NEEDS_WAITS, find_host},
    {FINDING_NEEDS_WAITS, find_crowd},
    {FINDING_NEEDS_WAITS, find_gil},
    {FINDING_NEEDS_WAITS, find_serial},
    {0},
};
