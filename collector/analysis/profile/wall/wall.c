/* SPDX-License-Identifier: MIT */
/* Walks the lives and waits of all threads in order of time. See wall.h. */
#include "wall.h"

#include "hash_map.h"
#include "pass.h"
#include "trace.h"
#include "vec.h"
#include "wait_kind.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Changes of state of all threads in order of time. */

/* A stretch off the CPU: blocked until `wake_ns`, then runnable. */
struct stretch {
    int64_t begin_ns, wake_ns, end_ns;
    uint32_t thread, stack;
    uint8_t reason;
};

/* Short waits between two instants, at unknown places: the thread ran for a constant part of the
 * time. */
struct interval {
    int64_t begin_ns, end_ns;
    uint64_t blocked_ns, runnable_ns;
    uint32_t thread;
    double part; /* part of the time outside of its stretches in which it ran */
};

enum state { ABSENT = 0, RUNNING, BLOCKED, RUNNABLE, PART_BEGINS, PART_ENDS };

/* A thread enters a state. At equal times, the smaller `order` is first. */
struct change {
    int64_t time_ns;
    uint32_t thread;
    uint32_t stretch; /* BLOCKED: 1 + index; PART_BEGINS: of an interval */
    uint8_t state, order;
};

struct life {
    int64_t begin_ns, end_ns; /* first and last sign of it */
};

/* The threads, and their waits. */
struct wall_threads {
    const struct trace *trace;
    const struct pass_selection *selection;
    int64_t begin_ns, end_ns; /* of the wall time */
    struct life *lives;       /* by thread */
    uint32_t count;
    VEC(struct stretch) stretches;
    VEC(struct interval) intervals;
    VEC(struct change) changes;
};

/* Extends the life of a thread by a time at which it was seen. */
static inline void wall_see(struct life *life, int64_t begin_ns, int64_t end_ns)
{
    if (life->begin_ns == 0 || begin_ns < life->begin_ns)
        life->begin_ns = begin_ns;
    if (end_ns > life->end_ns)
        life->end_ns = end_ns;
}

static inline bool wall_is_main(const struct trace *trace, const struct trace_thread *thread)
{
    return thread->tid == trace_process_get(trace, thread->process)->ns_pid;
}

/* ---- Lives ----------------------------------------------------------------------------------- */

/* A main thread lives as long as its process, other threads from the first to the last sign of
 * them. */
static struct life life_of(const struct wall_threads *threads, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(threads->trace, ordinal);
    const struct trace_process *process = trace_process_get(threads->trace, thread->process);
    struct life life = threads->lives[ordinal];
    bool wanted = pass_selects_thread(threads->selection, ordinal);
    if (thread->first_ns)
        wall_see(&life, thread->first_ns, thread->last_ns);
    if (wall_is_main(threads->trace, thread)) {
        int64_t begin_ns = process->start_ns ? process->start_ns : threads->begin_ns;
        int64_t end_ns =
            process->end != PROCESS_RUNNING && process->end_ns ? process->end_ns : threads->end_ns;
        wall_see(&life, begin_ns, end_ns);
    }
    life.begin_ns = life.begin_ns > threads->begin_ns ? life.begin_ns : threads->begin_ns;
    life.end_ns = life.end_ns < threads->end_ns ? life.end_ns : threads->end_ns;
    return wanted ? life : (struct life){0};
}

/* ---- Changes --------------------------------------------------------------------------------- */

static int add_change(struct wall_threads *threads, int64_t time_ns, uint32_t thread,
                      enum state state, size_t stretch)
{
    /* Order at equal times: a thread runs between a wait and the next one; its start is first, its
     * end last. */
    static const uint8_t orders[] = {[ABSENT] = 6,   [RUNNING] = 3,   [BLOCKED] = 4,
                                     [RUNNABLE] = 5, [PART_ENDS] = 1, [PART_BEGINS] = 2};
    struct change change = {.time_ns = time_ns,
                            .thread = thread,
                            .stretch = (uint32_t)stretch,
                            .state = (uint8_t)state,
                            .order = orders[state]};
    return vec_push(&threads->changes, change);
}

/* Adds start and end; if only one range was recorded, its times in that process. */
static int add_life(struct wall_threads *threads, uint32_t thread)
{
    const struct life life = threads->lives[thread];
    const struct trace_capture all = {
        .process = trace_thread_get(threads->trace, thread)->process, INT64_MIN, INT64_MAX};
    const struct trace_capture *capture = &all;
    size_t count = 1;
    int error = 0;
    if (trace_captures(threads->trace) == CAPTURES_KNOWN)
        capture = trace_captures_from(threads->trace, all.process, life.begin_ns, &count);
    for (; count > 0 && capture->process == all.process && !error; capture++, count--) {
        int64_t from_ns = capture->from_ns > life.begin_ns ? capture->from_ns : life.begin_ns;
        int64_t to_ns = capture->to_ns < life.end_ns ? capture->to_ns : life.end_ns;
        if (from_ns >= to_ns)
            break;
        error = add_change(threads, from_ns, thread, RUNNING, 0);
        if (!error)
            error = add_change(threads, to_ns, thread, ABSENT, 0);
    }
    return error;
}

static int add_lives(struct wall_threads *threads)
{
    int error = 0;
    for (uint32_t i = 0; i < threads->count && !error; i++) {
        threads->lives[i] = life_of(threads, i);
        if (threads->lives[i].end_ns > threads->lives[i].begin_ns)
            error = add_life(threads, i);
    }
    return error;
}

static int add_stretches(struct wall_threads *threads)
{
    int error = 0;
    for (size_t i = 0; i < threads->stretches.count && !error; i++) {
        const struct stretch *stretch = &threads->stretches.items[i];
        uint32_t thread = stretch->thread;
        if (threads->lives[thread].end_ns <= threads->lives[thread].begin_ns)
            continue;
        if (stretch->wake_ns > stretch->begin_ns)
            error = add_change(threads, stretch->begin_ns, thread, BLOCKED, i + 1);
        if (!error && stretch->end_ns > stretch->wake_ns)
            error = add_change(threads, stretch->wake_ns, thread, RUNNABLE, 0);
        if (!error && stretch->end_ns < threads->lives[thread].end_ns)
            error = add_change(threads, stretch->end_ns, thread, RUNNING, 0);
    }
    return error;
}

static int by_thread(uint32_t a, uint32_t b, int64_t a_ns, int64_t b_ns)
{
    if (a != b)
        return a < b ? -1 : 1;
    return a_ns < b_ns ? -1 : a_ns > b_ns;
}

static int stretches_by_thread(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    return by_thread(a->thread, b->thread, a->begin_ns, b->begin_ns);
}

static int intervals_by_thread(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return by_thread(a->thread, b->thread, a->begin_ns, b->begin_ns);
}

/* Returns the time of the interval in which its thread was outside of the stretches from `*at`
 * on. */
static uint64_t outside_of_stretches(const struct wall_threads *threads,
                                     const struct interval *interval, size_t *at)
{
    const struct stretch *items = threads->stretches.items;
    uint64_t outside_ns = (uint64_t)interval->end_ns - (uint64_t)interval->begin_ns;
    while (*at < threads->stretches.count && by_thread(items[*at].thread, interval->thread,
                                                       items[*at].end_ns, interval->begin_ns) <= 0)
        ++*at;
    for (size_t i = *at; i < threads->stretches.count && items[i].thread == interval->thread &&
                         items[i].begin_ns < interval->end_ns;
         i++) {
        int64_t from_ns = items[i].begin_ns, to_ns = items[i].end_ns;
        from_ns = from_ns > interval->begin_ns ? from_ns : interval->begin_ns;
        to_ns = to_ns < interval->end_ns ? to_ns : interval->end_ns;
        uint64_t inside_ns = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
        outside_ns = inside_ns < outside_ns ? outside_ns - inside_ns : 0;
    }
    return outside_ns;
}

static int add_intervals(struct wall_threads *threads)
{
    size_t at = 0;
    int error = 0;
    if (threads->intervals.count == 0)
        return 0;
    if (threads->stretches.count > 0)
        qsort(threads->stretches.items, threads->stretches.count, sizeof(struct stretch),
              stretches_by_thread);
    qsort(threads->intervals.items, threads->intervals.count, sizeof(struct interval),
          intervals_by_thread);
    for (size_t i = 0; i < threads->intervals.count && !error; i++) {
        struct interval *interval = &threads->intervals.items[i];
        double outside = (double)outside_of_stretches(threads, interval, &at);
        double waits = (double)interval->blocked_ns + (double)interval->runnable_ns;
        interval->part = waits < outside ? 1 - waits / outside : 0;
        error = add_change(threads, interval->begin_ns, interval->thread, PART_BEGINS, i + 1);
        if (!error)
            error = add_change(threads, interval->end_ns, interval->thread, PART_ENDS, i + 1);
    }
    return error;
}

static int in_time(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (int)a->order - (int)b->order;
}

/* Lists all changes, in order of time. 0 or -ENOMEM. */
static int wall_changes_list(struct wall_threads *threads)
{
    int error = add_lives(threads);
    if (!error)
        error = add_intervals(threads);
    if (!error)
        error = add_stretches(threads);
    if (!error && threads->changes.count > 0)
        qsort(threads->changes.items, threads->changes.count, sizeof(*threads->changes.items),
              in_time);
    return error;
}

/* State of a thread during the walk. */
struct now {
    uint8_t state, reason, kind;
    uint32_t interval; /* 1 + index; 0: runs all the time */
    uint32_t row;      /* BLOCKED: as own_time_row_of() */
    int32_t line;
    uint32_t next, before; /* 1 + thread, among those that wait for something outside; 0: end */
    uint64_t single_ns;    /* time as the only thread able to run */
};

/* State of a host during the walk: its threads, as `struct wall` for all. */
struct host_now {
    struct wall_host known;
    int64_t since_ns; /* time of the latest change */
    uint32_t running, runnable, partly;
    double partly_sum;
};

struct wall {
    struct wall_threads threads;
    const struct own_time *own;
    VEC(struct wall_wait) waits;
    struct map64 wait_by_key;
    struct now *now;               /* by thread */
    struct host_now *hosts;        /* by ordinal */
    struct wall_host *host_totals; /* busiest first */
    uint32_t host_count;
    uint32_t contended_hosts; /* hosts with a runnable thread that no crowd explains */
    uint32_t starved_hosts;   /* hosts with a runnable thread but no running one */
    uint32_t outside;         /* 1 + the first thread that waits for something outside; 0: empty */
    uint32_t running, runnable, present;
    uint64_t able_sum; /* sum of the ordinals of threads that run or are runnable; of a single one,
                          its ordinal */
    uint32_t partly;   /* part of running: in an interval with short waits */
    /* Over these: log of the part of the time in which all wait, sum of the parts in which they
     * run, and sum of the runnable parts of their short waits. */
    double partly_log, partly_sum, partly_runnable;
    struct wall_totals totals;
};

/* ---- Adding ---------------------------------------------------------------------------------- */

struct wall *wall_create(const struct trace *trace, const struct pass_selection *selection)
{
    struct wall *wall = calloc(1, sizeof(*wall));
    if (!wall)
        return NULL;
    wall->threads.trace = trace;
    wall->threads.selection = selection;
    wall->threads.count = trace_thread_count(trace);
    wall->threads.lives = calloc((size_t)wall->threads.count + 1, sizeof(*wall->threads.lives));
    wall->now = calloc((size_t)wall->threads.count + 1, sizeof(*wall->now));
    if (wall->threads.lives && wall->now)
        return wall;
    wall_destroy(wall);
    return NULL;
}

void wall_destroy(struct wall *wall)
{
    if (!wall)
        return;
    free(wall->threads.lives);
    free(wall->now);
    free(wall->hosts);
    free(wall->host_totals);
    vec_free(&wall->threads.stretches);
    vec_free(&wall->threads.intervals);
    vec_free(&wall->threads.changes);
    vec_free(&wall->waits);
    map64_free(&wall->wait_by_key);
    free(wall);
}

/* Makes room by dropping the shortest stretches. */
static void leave_out_short(struct wall *wall)
{
    size_t kept = 0;
    wall->totals.shortest_ns = wall->totals.shortest_ns ? 2 * wall->totals.shortest_ns : 1000;
    for (size_t i = 0; i < wall->threads.stretches.count; i++) {
        const struct stretch *stretch = &wall->threads.stretches.items[i];
        uint64_t length_ns = (uint64_t)stretch->end_ns - (uint64_t)stretch->begin_ns;
        if (length_ns >= wall->totals.shortest_ns)
            wall->threads.stretches.items[kept++] = *stretch;
    }
    wall->threads.stretches.count = kept;
}

/* Intervals beyond the limit count as running. */
static int add_interval(struct wall *wall, const struct sample *sample)
{
    struct off_share off = sample_off_share(trace_sets_get(wall->threads.trace), sample);
    struct interval interval = {.begin_ns = sample->time_ns,
                                .end_ns = sample->end_ns,
                                .blocked_ns = off.blocked_ns,
                                .runnable_ns = off.runnable_ns,
                                .thread = sample->thread};
    if (interval.end_ns <= interval.begin_ns || wall->threads.intervals.count >= WALL_WAITS_MAX)
        return 0;
    return vec_push(&wall->threads.intervals, interval);
}

int wall_add(struct wall *wall, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(wall->threads.trace);
    enum sample_role role = sample_role(sets, sample);
    if (role == SAMPLE_ROLE_OTHER || role > SAMPLE_ROLE_SHORT_WAITS ||
        sample->thread >= wall->threads.count)
        return 0;
    wall_see(&wall->threads.lives[sample->thread], sample->time_ns, sample_order_ns(sample));
    if (role == SAMPLE_ROLE_SHORT_WAITS)
        return add_interval(wall, sample);
    if (role != SAMPLE_ROLE_OFF_CPU || sample->end_ns <= sample->time_ns)
        return 0;
    struct off_share off = sample_off_share(sets, sample);
    uint64_t length_ns = (uint64_t)sample->end_ns - (uint64_t)sample->time_ns;
    uint64_t blocked_ns = off.blocked_ns < length_ns ? off.blocked_ns : length_ns;
    struct stretch stretch = {
        .begin_ns = sample->time_ns,
        .wake_ns = (int64_t)((uint64_t)sample->time_ns + blocked_ns),
        .end_ns = sample->end_ns,
        .thread = sample->thread,
        .stack = sample->stack,
        .reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN,
    };
    if (length_ns < wall->totals.shortest_ns)
        return 0;
    while (wall->threads.stretches.count >= WALL_WAITS_MAX)
        leave_out_short(wall);
    return vec_push(&wall->threads.stretches, stretch);
}

/* ---- While all wait -------------------------------------------------------------------------- */

/* True for waits that other threads of the program end. */
static bool is_inside(unsigned reason)
{
    switch (reason) {
    case WAIT_LOCK:
    case WAIT_GIL:
    case WAIT_CHILD:
    case WAIT_PIPE:
    case WAIT_SOCKET:
    case WAIT_POLL:
        return true;
    }
    return false;
}

static void list_outside(struct wall *wall, uint32_t thread)
{
    struct now *now = &wall->now[thread];
    now->before = 0;
    now->next = wall->outside;
    if (wall->outside)
        wall->now[wall->outside - 1].before = thread + 1;
    wall->outside = thread + 1;
}

static void unlist_outside(struct wall *wall, uint32_t thread)
{
    struct now *now = &wall->now[thread];
    if (now->before)
        wall->now[now->before - 1].next = now->next;
    else if (wall->outside == thread + 1)
        wall->outside = now->next;
    else
        return;
    if (now->next)
        wall->now[now->next - 1].before = now->before;
    now->next = now->before = 0;
}

static bool is_in_own_code(const struct wall *wall, const struct now *now)
{
    return now->row != UINT32_MAX && own_time_row(wall->own, now->row)->label != 0;
}

/* Ranks a thread's wait by its relevance for the program. */
static unsigned rank_of(const struct wall *wall, uint32_t thread)
{
    const struct now *now = &wall->now[thread];
    if (now->state != BLOCKED)
        return 0;
    if (!wall_is_main(wall->threads.trace, trace_thread_get(wall->threads.trace, thread)))
        return 1;
    return is_in_own_code(wall, now) ? 4 : now->reason == WAIT_CHILD ? 2 : 3;
}

/* Returns the first main thread that waits in own code; otherwise one that does not wait for a
 * child. */
static uint32_t find_leader(const struct wall *wall)
{
    uint32_t leader = 0;
    unsigned most = 0;
    for (uint32_t i = 0; i < wall->threads.count && most < 4; i++) {
        unsigned rank = rank_of(wall, i);
        leader = rank > most ? i : leader;
        most = rank > most ? rank : most;
    }
    return leader;
}

/* Limit of the searched threads. */
enum { LOOK_MAX = 64 };

/* Finds the thread that a waiting leader depends on: one of its process, with a wait in own code
 * that may end from outside. Otherwise returns the leader. */
static uint32_t find_worker(const struct wall *wall, uint32_t leader)
{
    uint32_t process = trace_thread_get(wall->threads.trace, leader)->process;
    for (uint32_t i = leader + 1; i < wall->threads.count && i - leader < LOOK_MAX; i++) {
        const struct now *now = &wall->now[i];
        bool may_end = now->reason == WAIT_SOCKET || now->reason == WAIT_PIPE;
        if (now->state == BLOCKED && may_end && is_in_own_code(wall, now) &&
            trace_thread_get(wall->threads.trace, i)->process == process)
            return i;
    }
    return leader;
}

/* Finds the wait that ends the leader's wait: a thread that waits for something outside. A command
 * is another process. */
static uint32_t find_outside(const struct wall *wall, uint32_t leader)
{
    uint32_t at = wall->outside;
    bool command = wall->now[leader].reason == WAIT_CHILD;
    for (int i = 0; i < LOOK_MAX && at != 0; i++) {
        uint32_t process = trace_thread_get(wall->threads.trace, at - 1)->process;
        if (!command || process != trace_thread_get(wall->threads.trace, leader)->process)
            return at - 1;
        at = wall->now[at - 1].next;
    }
    return wall->now[leader].reason == WAIT_LOCK ? find_worker(wall, leader) : leader;
}

static int add_wait(struct wall *wall, uint64_t time_ns)
{
    uint32_t leader = find_leader(wall);
    if (is_inside(wall->now[leader].reason))
        leader = find_outside(wall, leader);
    const struct now *now = &wall->now[leader];
    uint64_t key = ((uint64_t)now->row << 8 | now->kind) + 1;
    const uint64_t *found = map64_find(&wall->wait_by_key, key);
    if (!found) {
        struct wall_wait wait = {.reason = now->reason, .kind = now->kind, .line = now->line};
        if (now->row != UINT32_MAX) {
            wait.label = own_time_row(wall->own, now->row)->label;
            wait.purpose = own_time_row(wall->own, now->row)->purpose;
        }
        if (vec_push(&wall->waits, wait) != 0 ||
            map64_put(&wall->wait_by_key, key, wall->waits.count) != 0)
            return -ENOMEM;
        found = map64_find(&wall->wait_by_key, key);
    }
    wall->waits.items[*found - 1].time_ns += time_ns;
    return 0;
}

/* ---- Hosts: the processors of one serve only its threads --------------------------------------
 */

/* A thread's state changes between leave and enter of its host, in order of time. */

static int begin_hosts(struct wall *wall)
{
    const struct trace *trace = wall->threads.trace;
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

static struct host_now *host_of(struct wall *wall, uint32_t thread)
{
    uint32_t process = trace_thread_get(wall->threads.trace, thread)->process;
    uint32_t host = trace_process_get(wall->threads.trace, process)->host;
    return &wall->hosts[host < wall->host_count ? host : 0];
}

/* True if more threads are able to run than there are processors, and they have all of these or are
 * twice as many. Otherwise other programs use the processors. */
static bool is_crowded(const struct host_now *host)
{
    uint32_t processors = host->known.processors, able = host->running + host->runnable;
    return processors > 0 && able > processors &&
           (host->running >= processors || able >= 2 * processors);
}

static void count_states(struct wall *wall, const struct host_now *host, int by)
{
    bool crowded = is_crowded(host);
    wall->contended_hosts += host->runnable > 0 && !crowded ? by : 0;
    wall->starved_hosts += host->runnable > 0 && host->running == 0 ? by : 0;
}

static void leave_host(struct wall *wall, struct host_now *host, int64_t now_ns)
{
    uint64_t time_ns = (uint64_t)(now_ns - host->since_ns);
    double running = host->running - host->partly + host->partly_sum;
    host->known.busy_ns += (uint64_t)(running * (double)time_ns);
    host->known.runnable_ns += host->runnable * time_ns;
    host->known.crowded_ns += is_crowded(host) ? time_ns : 0;
    host->since_ns = now_ns;
    count_states(wall, host, -1);
}

static void enter_host(struct wall *wall, struct host_now *host)
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

static int finish_hosts(struct wall *wall)
{
    wall->host_totals = calloc(wall->host_count, sizeof(*wall->host_totals));
    if (!wall->host_totals)
        return -ENOMEM;
    for (uint32_t i = 0; i < wall->host_count; i++) {
        leave_host(wall, &wall->hosts[i], wall->totals.end_ns);
        wall->host_totals[i] = wall->hosts[i].known;
    }
    qsort(wall->host_totals, wall->host_count, sizeof(*wall->host_totals), busiest_first);
    return 0;
}

/* ---- Time steps ------------------------------------------------------------------------------ */

/* Threads that run part of the time leave the rest to their short waits. */
static void pass_running(struct wall *wall, uint64_t time_ns)
{
    struct wall_totals *totals = &wall->totals;
    bool all_partly = wall->partly == wall->running;
    uint64_t idle_ns = all_partly ? (uint64_t)((double)time_ns * exp(wall->partly_log)) : 0;
    uint64_t runnable_ns =
        (uint64_t)((double)idle_ns * wall->partly_runnable / (wall->partly + 1e-9));
    idle_ns = idle_ns < time_ns ? idle_ns : time_ns;
    runnable_ns = runnable_ns < idle_ns ? runnable_ns : idle_ns;
    totals->running_ns += time_ns - idle_ns;
    totals->runnable_ns += runnable_ns;
    totals->short_ns += idle_ns - runnable_ns;
}

/* Lower bound of the part of the time with all processors in use: threads that run partly need not
 * do so at the same time. */
static double full_part(const struct wall *wall, double running)
{
    double part = running - (double)wall->totals.processors + 1;
    return wall->totals.processors == 0 || part < 0 ? 0 : part < 1 ? part : 1;
}

/* Adds a time without changes of state. */
static int pass_time(struct wall *wall, uint64_t time_ns)
{
    struct wall_totals *totals = &wall->totals;
    if (time_ns == 0)
        return 0;
    double whole = wall->running - wall->partly; /* threads without short waits */
    double running = whole + wall->partly_sum;
    totals->busy_ns += (uint64_t)(running * (double)time_ns);
    uint32_t able = wall->running + wall->runnable;
    if (able == 1) {
        totals->single_ns += time_ns;
        totals->alone_ns += wall->running ? time_ns : 0;
        wall->now[wall->able_sum].single_ns += time_ns;
    }
    totals->parallel_ns += able > 1 ? time_ns : 0;
    totals->contended_ns += wall->contended_hosts > 0 ? time_ns : 0;
    totals->starved_ns += wall->starved_hosts > 0 ? time_ns : 0;
    if (wall->running > 0) {
        pass_running(wall, time_ns);
        totals->full_ns += (uint64_t)(full_part(wall, running) * (double)time_ns);
    } else if (wall->runnable > 0) {
        totals->runnable_ns += time_ns;
    } else if (wall->present > 0) {
        totals->blocked_ns += time_ns;
        return add_wait(wall, time_ns);
    } else {
        totals->absent_ns += time_ns;
    }
    return 0;
}

/* Adds a running thread to those that run partly (by: 1), or removes it (-1). */
static void count_partly(struct wall *wall, struct host_now *host, const struct now *now, int by)
{
    if (now->state != RUNNING || now->interval == 0)
        return;
    const struct interval *interval = &wall->threads.intervals.items[now->interval - 1];
    double waits = (double)interval->blocked_ns + (double)interval->runnable_ns;
    double rest = 1 - interval->part;
    wall->partly += (uint32_t)by;
    wall->partly_sum += by * interval->part;
    host->partly += (uint32_t)by;
    host->partly_sum = host->partly ? host->partly_sum + by * interval->part : 0;
    wall->partly_log += by * log(rest > 1e-9 ? rest : 1e-9);
    wall->partly_runnable += waits > 0 ? by * (double)interval->runnable_ns / waits : 0;
    if (wall->partly == 0) /* clear rounding errors */
        wall->partly_sum = wall->partly_log = wall->partly_runnable = 0;
}

static bool is_able(unsigned state)
{
    return state == RUNNING || state == RUNNABLE;
}

static void change_state(struct wall *wall, struct host_now *host, const struct change *change)
{
    struct now *now = &wall->now[change->thread];
    count_partly(wall, host, now, -1);
    if (change->state >= PART_BEGINS) {
        now->interval = change->state == PART_BEGINS ? change->stretch : 0;
        count_partly(wall, host, now, 1);
        return;
    }
    if (is_able(change->state) != is_able(now->state))
        wall->able_sum += is_able(change->state) ? change->thread : -(uint64_t)change->thread;
    int running = (change->state == RUNNING) - (now->state == RUNNING);
    int runnable = (change->state == RUNNABLE) - (now->state == RUNNABLE);
    wall->running += (uint32_t)running;
    wall->runnable += (uint32_t)runnable;
    host->running += (uint32_t)running;
    host->runnable += (uint32_t)runnable;
    wall->present += (change->state != ABSENT) - (now->state != ABSENT);
    if (now->state == BLOCKED)
        unlist_outside(wall, change->thread);
    now->state = change->state;
    count_partly(wall, host, now, 1);
    if (change->state != BLOCKED)
        return;
    const struct stretch *stretch = &wall->threads.stretches.items[change->stretch - 1];
    now->reason = stretch->reason;
    now->kind = wait_kind_of(wall->own, stretch->stack, stretch->reason);
    now->line = 0;
    now->row = own_time_row_of(wall->own, stretch->stack, &now->line);
    if (!is_inside(now->reason) && is_in_own_code(wall, now))
        list_outside(wall, change->thread);
}

static void apply(struct wall *wall, const struct change *change, int64_t now_ns)
{
    struct host_now *host = host_of(wall, change->thread);
    leave_host(wall, host, now_ns);
    change_state(wall, host, change);
    enter_host(wall, host);
}

static int go_through(struct wall *wall)
{
    int64_t time_ns = wall->totals.begin_ns;
    int error = 0;
    for (size_t i = 0; i < wall->threads.changes.count && !error; i++) {
        const struct change *change = &wall->threads.changes.items[i];
        int64_t next_ns =
            change->time_ns < wall->totals.end_ns ? change->time_ns : wall->totals.end_ns;
        if (next_ns > time_ns) {
            error = pass_time(wall, (uint64_t)(next_ns - time_ns));
            time_ns = next_ns;
        }
        apply(wall, change, time_ns);
    }
    return error ? error : pass_time(wall, (uint64_t)(wall->totals.end_ns - time_ns));
}

static void find_single(struct wall *wall)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < wall->threads.count; i++)
        most = wall->now[i].single_ns > wall->now[most].single_ns ? i : most;
    wall->totals.single = most;
}

static int longest_first(const void *left, const void *right)
{
    const struct wall_wait *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

int wall_finish(struct wall *wall, const struct own_time *own, int64_t begin_ns, int64_t end_ns)
{
    wall->own = own;
    wall->totals.begin_ns = wall->threads.begin_ns = begin_ns;
    wall->totals.end_ns = wall->threads.end_ns = end_ns > begin_ns ? end_ns : begin_ns;
    wall->totals.wall_ns = (uint64_t)(wall->totals.end_ns - begin_ns);
    wall->totals.processors = trace_session_get(wall->threads.trace)->processors;
    int error = wall_changes_list(&wall->threads);
    if (!error)
        error = begin_hosts(wall);
    if (!error)
        error = go_through(wall);
    if (!error)
        error = finish_hosts(wall);
    find_single(wall);
    if (!error && wall->waits.count > 0)
        qsort(wall->waits.items, wall->waits.count, sizeof(*wall->waits.items), longest_first);
    return error;
}

const struct wall_totals *wall_totals(const struct wall *wall)
{
    return &wall->totals;
}

uint32_t wall_waits(const struct wall *wall, const struct wall_wait **ret_waits)
{
    *ret_waits = wall->waits.items;
    return (uint32_t)wall->waits.count;
}

uint32_t wall_hosts(const struct wall *wall, const struct wall_host **ret_hosts)
{
    *ret_hosts = wall->host_totals;
    return wall->host_count;
}
