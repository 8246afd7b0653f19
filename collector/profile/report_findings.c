/* SPDX-License-Identifier: MIT */
/* The diagnosis: what stands out in a recording, what it costs, and what to try. Each rule looks at
 * the numbers of other tables and says something only if those support it: docs/guides has all of
 * them with their limits. */
#include "report_parts.h"

#include "number.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From so many hundredths on. */
enum {
    WAIT_PART = 20,      /* of the wall time, in one place */
    START_UP_PART = 30,  /* of the wall time */
    GC_PART = 5,         /* of the CPU time */
    HOST_PART = 20,      /* of the wall time */
    CROWD_PART = 30,     /* of the wall time */
    GIL_PART = 30,       /* of the time of busy threads */
    SERIAL_PART = 25,    /* of the wall time */
    HAND_OVER_PART = 20, /* of the CPU time */
    UNEVEN_PART = 10,    /* of the wall time */
    FAULT_PART = 10,     /* of the CPU time or the wall time */
    SHARED_PART = 30,    /* of the CPU time, in one library function that several call */
    LOST_PART = 1,       /* of all records */
};

/* So many samples say something of CPU time, so many waits of their mean. */
enum { SAMPLES_FEW = 20, WAITS_FEW = 3 };

/* Short sleeps in one place. */
enum { POLLS_FEW = 50, POLL_NS = 20000000 };

enum { NAME_SIZE = 256, TEXT_SIZE = 512 };

struct finding {
    const char *disease; /* what programs call it */
    uint64_t cost_ns, whole_ns;
    char finding[TEXT_SIZE]; /* "of the wall time ..." */
    char evidence[TEXT_SIZE];
    char advice[TEXT_SIZE]; /* "try ..." */
};

struct findings {
    const struct report *report;
    const struct trace *trace;
    VEC(struct finding) items;
    bool failed;
};

/* ---- What rules have in common --------------------------------------------------------------- */

static bool reaches(uint64_t cost, uint64_t whole, unsigned hundredths)
{
    return cost > 0 && (double)cost * 100 >= (double)whole * hundredths;
}

/* A new one, whose texts are still empty; NULL: out of memory. */
static struct finding *add(struct findings *findings, const char *disease, uint64_t cost_ns,
                           uint64_t whole_ns)
{
    struct finding fresh = {.disease = disease, .cost_ns = cost_ns, .whole_ns = whole_ns};
    if (vec_push(&findings->items, fresh) == 0)
        return &findings->items.items[findings->items.count - 1];
    findings->failed = true;
    return NULL;
}

/* "call_api (io_bound.py:4)" */
static const char *place_of(const struct findings *findings, uint32_t label, int32_t line,
                            char *buffer)
{
    struct text text = text_init(buffer, NAME_SIZE);
    char place[NAME_SIZE];
    text.length = code_name(findings->trace, label, buffer, NAME_SIZE);
    if (code_location(findings->trace, label, line, place, sizeof(place)) > 0)
        text_format(&text, " (%s)", place);
    return buffer;
}

static uint64_t wall_ns(const struct findings *findings)
{
    return wall_totals(findings->report->samples.wall)->wall_ns;
}

static const struct own_totals *own_totals(const struct findings *findings)
{
    return own_time_totals(findings->report->samples.own);
}

/* ---- Waits in one place ---------------------------------------------------------------------- */

struct wait_words {
    const char *does, *advice;
};

/* Waits that somebody can do something about: not those for events or other threads. */
static const struct wait_words wait_words[WAIT_REASON_COUNT] = {
    [WAIT_SLEEP] = {"sleeps", ""},
    [WAIT_SOCKET] = {"waits for the network", ""},
    [WAIT_DISK] = {"waits for the disk", "try larger reads, or reading ahead in another thread"},
    [WAIT_PIPE] = {"waits for a pipe", "the time is spent by the program at its other end"},
    [WAIT_CHILD] = {"waits for a child process", "the time is spent in that process"},
    [WAIT_LOCK] = {"waits for a lock", "try to hold it for less time, or a lock for each part of "
                                       "the data"},
    [WAIT_TERMINAL] = {"waits for the terminal", ""},
};

/* What is known of all waits of that cause in that function. */
static struct own_wait find_wait(const struct findings *findings, const struct wall_wait *wanted)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label == wanted->label && waits[i].reason == wanted->reason)
            return waits[i];
    return (struct own_wait){0};
}

/* Other threads wait for a lock in the function that waits: does it hold the lock meanwhile? */
static const struct own_wait *find_convoy(const struct findings *findings,
                                          const struct wall_wait *wait)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count && wait->reason != WAIT_LOCK; i++)
        if (waits[i].label == wait->label && waits[i].reason == WAIT_LOCK &&
            reaches(waits[i].waiting_ns, wall_ns(findings), 2 * WAIT_PART))
            return &waits[i];
    return NULL;
}

static void tell_convoy(const struct findings *findings, const struct own_wait *lock,
                        struct finding *finding)
{
    char count[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE], place[NAME_SIZE];
    snprintf(finding->evidence, TEXT_SIZE,
             "Meanwhile others wait for a lock in %s: %s times, %s "
             "each.",
             place_of(findings, lock->label, lock->line, place), number_count(lock->count, count),
             number_time_short(lock->waiting_ns / (lock->count ? lock->count : 1), mean));
    snprintf(finding->advice, TEXT_SIZE, "try to wait without holding the lock");
}

static const char *advice_of(const struct findings *findings, const struct own_wait *all)
{
    bool outside = all->reason == WAIT_SLEEP || all->reason == WAIT_SOCKET;
    if (all->count < WAITS_FEW)
        return "";
    if (all->reason == WAIT_SLEEP && all->count >= POLLS_FEW &&
        all->waiting_ns / all->count < POLL_NS)
        return "try waiting for an event (join, Event, Condition) instead of asking again and "
               "again";
    if (outside && findings->report->samples.by_wall)
        return "try several at once (threads, asyncio), if one does not need the other";
    return wait_words[all->reason].advice;
}

static void tell_wait(struct findings *findings, const struct wall_wait *wait)
{
    const struct wait_words *words = &wait_words[wait->reason];
    struct own_wait all = find_wait(findings, wait);
    char place[NAME_SIZE], mean[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE];
    struct finding *finding = add(findings, "blocked", wait->time_ns, wall_ns(findings));
    if (!finding)
        return;
    place_of(findings, wait->label, all.line ? all.line : wait->line, place);
    if (all.count < WAITS_FEW)
        snprintf(finding->finding, TEXT_SIZE, "of the wall time %s in %s.", words->does, place);
    else
        snprintf(finding->finding, TEXT_SIZE, "of the wall time %s in %s: %s times, %s each%s.",
                 words->does, place, number_count(all.count, count),
                 number_time_short(all.waiting_ns / all.count, mean),
                 findings->report->samples.by_wall ? ", one by one" : "");
    const struct own_wait *convoy = find_convoy(findings, wait);
    if (convoy)
        tell_convoy(findings, convoy, finding);
    else
        snprintf(finding->advice, TEXT_SIZE, "%s", advice_of(findings, &all));
}

static void find_waits(struct findings *findings)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(findings->report->samples.wall, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label != 0 && wait_words[waits[i].reason].does &&
            reaches(waits[i].time_ns, wall_ns(findings), WAIT_PART))
            tell_wait(findings, &waits[i]);
}

/* ---- Start-up -------------------------------------------------------------------------------- */

static void find_start_up(struct findings *findings)
{
    struct own_row imports = own_totals(findings)->purposes[PURPOSE_IMPORT];
    uint64_t imports_ns = imports.cpu_ns + imports.waiting_ns + imports.ready_ns;
    uint64_t all_ns = own_totals(findings)->cpu_ns + own_totals(findings)->waiting_ns +
                      own_totals(findings)->ready_ns;
    char time[NUMBER_TEXT_SIZE];
    if (!reaches(imports_ns, all_ns, START_UP_PART) || imports.sample_count < SAMPLES_FEW / 2)
        return;
    struct finding *finding = add(findings, "imports", imports_ns, all_ns);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE, "of the %s goes to imports: %s.",
             findings->report->samples.by_wall ? "wall time" : "time of all threads",
             number_time_short(imports_ns, time));
    snprintf(finding->advice, TEXT_SIZE,
             "try importing rarely used modules inside the functions that use them; "
             "annot report --table imports has all of them");
}

/* ---- Processors ------------------------------------------------------------------------------ */

static void find_host(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct report_facts *facts = &findings->report->facts;
    double wall_ms = (double)wall->wall_ns / 1e6;
    if (!reaches(wall->contended_ns, wall->wall_ns, HOST_PART))
        return;
    struct finding *finding = add(findings, "host", wall->contended_ns, wall->wall_ns);
    if (!finding)
        return;
    struct text text = text_init(finding->finding, TEXT_SIZE);
    text_format(&text, "of the wall time it waited for a processor");
    if ((facts->others_ms + facts->stolen_ms) * 10 < wall->wall_ns / 1000000)
        text_format(&text, " that others had: programs, the host of a virtual machine, a quota");
    if (facts->others_ms * 10 >= wall->wall_ns / 1000000)
        text_format(&text, ": other programs used %.1f of %u", (double)facts->others_ms / wall_ms,
                    wall->processors);
    if (facts->stolen_ms * 10 >= wall->wall_ns / 1000000)
        text_format(&text, ": the host of the virtual machine took %.1f of %u",
                    (double)facts->stolen_ms / wall_ms, wall->processors);
    text_format(&text, ".");
    snprintf(finding->advice, TEXT_SIZE, "try a quiet machine");
}

/* The program's own threads are too many. */
static void find_crowd(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    char busy[NUMBER_TEXT_SIZE], ready[NUMBER_TEXT_SIZE];
    if (wall->processors == 0 || !reaches(wall->crowded_ns, wall->wall_ns, CROWD_PART) ||
        own_totals(findings)->busy_count <= wall->processors)
        return;
    struct finding *finding = add(findings, "oversubscribed", wall->crowded_ns, wall->wall_ns);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of the wall time more threads were ready than the %u processors can run.",
             wall->processors);
    snprintf(finding->evidence, TEXT_SIZE, "They ran for %s and were ready for another %s.",
             number_time_short(wall->busy_ns, busy),
             number_time_short(wall->thread_ready_ns, ready));
    snprintf(finding->advice, TEXT_SIZE,
             "only %u run at once: try fewer workers or threads (OMP_NUM_THREADS, "
             "OPENBLAS_NUM_THREADS for numerical libraries)",
             wall->processors);
}

static bool waits_for_gil(const struct findings *findings)
{
    const struct sample_stats *stats = &findings->report->samples.all;
    uint64_t gil_ns = stats->waits[WAIT_GIL].total_ns;
    return reaches(gil_ns, gil_ns + stats->all.cpu_ns, GIL_PART) &&
           stats->all.sample_count >= SAMPLES_FEW;
}

static void find_gil(struct findings *findings)
{
    const struct sample_stats *stats = &findings->report->samples.all;
    uint64_t gil_ns = stats->waits[WAIT_GIL].total_ns, busy_ns = gil_ns + stats->all.cpu_ns;
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    char place[NAME_SIZE];
    if (!waits_for_gil(findings))
        return;
    struct finding *finding = add(findings, "gil", gil_ns, busy_ns);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of what %u busy threads did was waiting for the GIL, which lets one of "
             "them run Python at a time.",
             own_totals(findings)->busy_count);
    for (uint32_t i = 0; i < count; i++) {
        if (waits[i].reason != WAIT_GIL || waits[i].label == 0)
            continue;
        snprintf(finding->evidence, TEXT_SIZE, "Most waited in %s.",
                 place_of(findings, waits[i].label, waits[i].line, place));
        break;
    }
    snprintf(finding->advice, TEXT_SIZE, "try processes in place of threads");
}

/* ---- Pools ----------------------------------------------------------------------------------- */

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
static void find_hand_over(struct findings *findings)
{
    struct own_row pools = own_totals(findings)->purposes[PURPOSE_POOL];
    const struct pool_function *function = busiest_function(findings);
    char tasks[NUMBER_TEXT_SIZE], run[NUMBER_TEXT_SIZE];
    if (!function || function->count == 0 || pools.sample_count < SAMPLES_FEW ||
        !reaches(pools.cpu_ns, own_totals(findings)->cpu_ns, HAND_OVER_PART))
        return;
    struct finding *finding = add(findings, "overhead", pools.cpu_ns, own_totals(findings)->cpu_ns);
    if (!finding)
        return;
    uint64_t chunk = (function->item_count + function->count - 1) / function->count;
    snprintf(finding->finding, TEXT_SIZE,
             "of the CPU time hands over tasks and results: %s tasks of %s, which run "
             "%s each (median).",
             number_count(function->count, tasks),
             trace_string(findings->trace, function->name)->bytes,
             number_time_short(function->parts[POOL_RUN].p50_ns, run));
    if (has_chunks(findings))
        snprintf(finding->advice, TEXT_SIZE,
                 "try chunksize=%llu, which halves it, or more work in each task",
                 2 * (unsigned long long)chunk);
    else
        snprintf(finding->advice, TEXT_SIZE, "try more work in each task");
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
    struct finding *finding = add(findings, "imbalance", even->lost_ns, wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of the wall time workers had nothing left to do while the last one went "
             "on: %s of %u workers, on average.",
             number_time_short(even->lost_ns, lost), even->count);
    snprintf(finding->evidence, TEXT_SIZE, "Its longest task took %s (%s).",
             number_time_short(even->last->longest_ns, longest),
             trace_string(findings->trace, even->last->longest_name)->bytes);
    snprintf(finding->advice, TEXT_SIZE, "try smaller tasks, or the longest ones first");
}

static void tell_idle(struct findings *findings, const struct evenness *even)
{
    uint32_t all = even->count + even->idle_count;
    uint64_t cost_ns = wall_ns(findings) / all * even->idle_count;
    bool few = even->task_count < all;
    struct finding *finding =
        add(findings, few ? "few_tasks" : "idle_worker", cost_ns, wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of the workers' time was spent by %u of %u workers that got no task.",
             even->idle_count, all);
    if (few)
        snprintf(finding->evidence, TEXT_SIZE, "There were %llu tasks.",
                 (unsigned long long)even->task_count);
    snprintf(finding->advice, TEXT_SIZE,
             few ? "try more and smaller tasks (a smaller chunksize)" : "try fewer workers");
}

static void find_uneven(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct pool *pools;
    uint32_t count = pools_all(pool_tasks_pools(findings->report->tasks), &pools);
    for (uint32_t pool = 0; pool < count; pool++) {
        struct evenness even = find_evenness(findings, pool);
        if (even.count > 1 && even.lost_ns > wall->contended_ns &&
            reaches(even.lost_ns, wall_ns(findings), UNEVEN_PART))
            tell_uneven(findings, &even);
        if (even.count > 0 && even.idle_count > 0)
            tell_idle(findings, &even);
    }
}

/* A program that uses several processors, but not all the time. Amdahl's law: with a serial part s
 * nothing makes it faster than 1 / s times what it would take on one processor. */
static void find_serial(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct own_row *purposes = own_totals(findings)->purposes, *rows;
    uint64_t begin_ns = purposes[PURPOSE_IMPORT].cpu_ns + purposes[PURPOSE_START_UP].cpu_ns;
    uint64_t single_ns = wall->single_ns > begin_ns ? wall->single_ns - begin_ns : 0;
    char place[NAME_SIZE];
    if (waits_for_gil(findings)) /* which lets one of them run */
        return;
    if (wall->processors < 2 || own_totals(findings)->busy_count < 2 || wall->busy_ns == 0 ||
        !reaches(single_ns, wall->wall_ns, SERIAL_PART) ||
        !reaches(wall->parallel_ns, wall->wall_ns, SERIAL_PART))
        return;
    struct finding *finding = add(findings, "serial", wall->single_ns, wall->wall_ns);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE, "of the wall time only one thread had something to do.");
    snprintf(finding->evidence, TEXT_SIZE,
             "So however many processors there are, this program can be at most %.1f "
             "times as fast as on one.",
             (double)wall->busy_ns / (double)wall->single_ns);
    if (own_time_rows(findings->report->samples.own, false, &rows) > 0 && rows[0].label)
        snprintf(finding->advice, TEXT_SIZE, "try to share out what %s does",
                 place_of(findings, rows[0].label, rows[0].line, place));
}

/* ---- Memory and losses ----------------------------------------------------------------------- */

static void find_gc(struct findings *findings)
{
    const struct thread_share *all = &findings->report->samples.all.all;
    char time[NUMBER_TEXT_SIZE];
    /* each sample stands for as much time */
    double samples =
        all->cpu_ns ? (double)all->gc_ns * (double)all->sample_count / (double)all->cpu_ns : 0;
    if (!reaches(all->gc_ns, all->cpu_ns, GC_PART) || samples < SAMPLES_FEW / 2.0)
        return;
    struct finding *finding = add(findings, "gc", all->gc_ns, all->cpu_ns);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE, "of the CPU time is Python's garbage collector: %s.",
             number_time_short(all->gc_ns, time));
    snprintf(finding->advice, TEXT_SIZE,
             "try gc.freeze() after start-up, or gc.disable() where many objects are "
             "made");
}

static void find_faults(struct findings *findings)
{
    const struct wait_share *wait = &findings->report->samples.all.waits[WAIT_PAGE_FAULT];
    char count[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE];
    if (!reaches(wait->total_ns, wall_ns(findings), FAULT_PART))
        return;
    struct finding *finding = add(findings, "page_faults", wait->total_ns, wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of the wall time waits for memory to be read from disk: %s times, %s.",
             number_count(wait->count, count), number_time_short(wait->total_ns, time));
    snprintf(finding->advice, TEXT_SIZE, "try less memory at once; the machine may be swapping");
}

static void find_lost(struct findings *findings)
{
    const struct report_facts *facts = &findings->report->facts;
    char count[NUMBER_TEXT_SIZE];
    uint64_t all = facts->event_count + facts->lost_count;
    if (!reaches(facts->lost_count, all, LOST_PART))
        return;
    struct finding *finding = add(findings, "lost", facts->lost_count, all);
    if (!finding)
        return;
    snprintf(finding->finding, TEXT_SIZE,
             "of the records were lost: %s. Counts are too low where that happened.",
             number_count(facts->lost_count, count));
    snprintf(finding->advice, TEXT_SIZE,
             "try a larger buffer (record --buffer), or fewer annotations");
}

/* ---- The table ------------------------------------------------------------------------------- */

enum { DISEASE, SHARE, COST, WHOLE, FINDING, EVIDENCE, ADVICE };

static const struct table_column columns[] = {
    [DISEASE] = {.name = "disease", .type = COLUMN_TEXT},
    [SHARE] = {.name = "share", .type = COLUMN_VALUE},
    [COST] = {.name = "cost", .type = COLUMN_COUNT},
    [WHOLE] = {.name = "whole", .type = COLUMN_COUNT},
    [FINDING] = {.name = "finding", .type = COLUMN_TEXT},
    [EVIDENCE] = {.name = "evidence", .type = COLUMN_TEXT},
    [ADVICE] = {.name = "advice", .type = COLUMN_TEXT},
};

static double share_of(const struct finding *finding)
{
    return finding->whole_ns ? (double)finding->cost_ns / (double)finding->whole_ns : 0;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct finding *finding = (const struct finding *)table->rows + index;
    row_text(row, DISEASE, finding->disease);
    row_value(row, SHARE, share_of(finding));
    row_count(row, COST, finding->cost_ns);
    row_count(row, WHOLE, finding->whole_ns);
    row_text(row, FINDING, finding->finding);
    row_text(row, EVIDENCE, finding->evidence);
    row_text(row, ADVICE, finding->advice);
}

static bool is_of_host(const struct finding *finding)
{
    return strcmp(finding->disease, "host") == 0;
}

/* What the program can change comes first. */
static int largest_first(const void *left, const void *right)
{
    double a = share_of(left), b = share_of(right);
    if (is_of_host(left) != is_of_host(right))
        return is_of_host(left) ? 1 : -1;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* A pool that mostly hands tasks over has threads that get in each other's way: its consequence. */
static void leave_consequences(struct findings *findings)
{
    static const char *const of_overhead[] = {"oversubscribed", "gil"};
    size_t kept = 0;
    bool overhead = false;
    for (size_t i = 0; i < findings->items.count; i++)
        overhead = overhead || strcmp(findings->items.items[i].disease, "overhead") == 0;
    for (size_t i = 0; i < findings->items.count; i++) {
        const char *disease = findings->items.items[i].disease;
        bool left = overhead &&
                    (strcmp(disease, of_overhead[0]) == 0 || strcmp(disease, of_overhead[1]) == 0);
        if (!left)
            findings->items.items[kept++] = findings->items.items[i];
    }
    findings->items.count = kept;
}

int report_add_findings(struct report *report)
{
    void (*const of_waits[])(struct findings *) = {
        find_waits, find_host, find_crowd, find_gil, find_serial, find_uneven, find_faults,
    };
    void (*const of_samples[])(struct findings *) = {find_start_up, find_gc, find_hand_over};
    struct findings findings = {.report = report, .trace = report->trace};
    struct table *table = report_add_table(report, "diagnosis", fill);
    for (size_t i = 0; i < sizeof(of_waits) / sizeof(*of_waits) && report->facts.wall; i++)
        of_waits[i](&findings);
    for (size_t i = 0; i < sizeof(of_samples) / sizeof(*of_samples) && report->facts.own; i++)
        of_samples[i](&findings);
    find_lost(&findings);
    leave_consequences(&findings);
    if (findings.items.count > 1)
        qsort(findings.items.items, findings.items.count, sizeof(*findings.items.items),
              largest_first);
    table->rows = findings.items.items;
    table->row_count = findings.items.count;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    return findings.failed ? -ENOMEM : 0;
}
