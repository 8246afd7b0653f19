/* SPDX-License-Identifier: MIT */
/* Goes through the lives and waits of all threads in order of time. See wall.h. */
#include "wall.h"

#include "hash_map.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stretch off the CPU: blocked until `wake_ns`, then ready. */
struct stretch {
    int64_t begin_ns, wake_ns, end_ns;
    uint32_t thread, stack;
    uint8_t reason;
};

/* Short waits between two instants, whose places are not known: the thread ran for a part of the
 * time only, which is the same all over it. */
struct interval {
    int64_t begin_ns, end_ns;
    uint64_t blocked_ns, ready_ns;
    uint32_t thread;
    double part; /* of the time outside of its stretches: it ran */
};

enum state { ABSENT = 0, RUNNING, BLOCKED, READY, PART_BEGINS, PART_ENDS };

/* A thread comes into a state. Of equal times, the smaller `order` is first. */
struct change {
    int64_t time_ns;
    uint32_t thread;
    uint32_t stretch; /* BLOCKED: 1 + index; PART_BEGINS: of an interval */
    uint8_t state, order;
};

struct life {
    int64_t begin_ns, end_ns; /* as far as it was seen */
};

/* A thread while time goes on. */
struct now {
    uint8_t state, reason;
    uint32_t interval; /* 1 + index; 0: it runs all the time */
    uint32_t row;      /* BLOCKED: as own_time_row_of() */
    int32_t line;
    uint32_t next, before; /* 1 + thread, of those that wait for something outside; 0: none */
    uint64_t single_ns;    /* it alone was able to run */
};

struct wall {
    const struct trace *trace;
    const struct pass_selection *selection;
    const struct own_time *own;
    struct life *lives; /* by thread */
    uint32_t thread_count;
    VEC(struct stretch) stretches;
    VEC(struct interval) intervals;
    VEC(struct change) changes;
    VEC(struct wall_wait) waits;
    struct map64 wait_by_key;
    struct now *now;
    uint32_t outside; /* the first of those that wait for something outside */
    uint32_t running, ready, present;
    uint64_t able_sum; /* of the numbers of threads that run or are ready: of one, its own */
    uint32_t partly;   /* of running: in an interval with short waits */
    /* Of them: the log of the part of the time in which none runs, the sum of their parts, and how
     * much of their short waits they were ready. */
    double partly_log, partly_sum, partly_ready;
    struct wall_totals totals;
};

/* ---- Adding ---------------------------------------------------------------------------------- */

struct wall *wall_create(const struct trace *trace, const struct pass_selection *selection)
{
    struct wall *wall = calloc(1, sizeof(*wall));
    if (!wall)
        return NULL;
    wall->trace = trace;
    wall->selection = selection;
    wall->thread_count = trace_thread_count(trace);
    wall->lives = calloc((size_t)wall->thread_count + 1, sizeof(*wall->lives));
    wall->now = calloc((size_t)wall->thread_count + 1, sizeof(*wall->now));
    if (wall->lives && wall->now)
        return wall;
    wall_destroy(wall);
    return NULL;
}

void wall_destroy(struct wall *wall)
{
    if (!wall)
        return;
    free(wall->lives);
    free(wall->now);
    vec_free(&wall->stretches);
    vec_free(&wall->intervals);
    vec_free(&wall->changes);
    vec_free(&wall->waits);
    map64_free(&wall->wait_by_key);
    free(wall);
}

/* Makes room: the shortest go. */
static void leave_out_short(struct wall *wall)
{
    size_t kept = 0;
    wall->totals.shortest_ns = wall->totals.shortest_ns ? 2 * wall->totals.shortest_ns : 1000;
    for (size_t i = 0; i < wall->stretches.count; i++) {
        const struct stretch *stretch = &wall->stretches.items[i];
        uint64_t length_ns = (uint64_t)stretch->end_ns - (uint64_t)stretch->begin_ns;
        if (length_ns >= wall->totals.shortest_ns)
            wall->stretches.items[kept++] = *stretch;
    }
    wall->stretches.count = kept;
}

static void see(struct life *life, int64_t begin_ns, int64_t end_ns)
{
    if (life->begin_ns == 0 || begin_ns < life->begin_ns)
        life->begin_ns = begin_ns;
    if (end_ns > life->end_ns)
        life->end_ns = end_ns;
}

/* What finds no room counts as running. */
static int add_interval(struct wall *wall, const struct sample *sample)
{
    struct off_share off = sample_off_share(trace_sets_get(wall->trace), sample);
    struct interval interval = {.begin_ns = sample->time_ns,
                                .end_ns = sample->end_ns,
                                .blocked_ns = off.blocked_ns,
                                .ready_ns = off.runnable_ns,
                                .thread = sample->thread};
    if (interval.end_ns <= interval.begin_ns || wall->intervals.count >= WALL_WAITS_MAX)
        return 0;
    return vec_push(&wall->intervals, interval);
}

int wall_add(struct wall *wall, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(wall->trace);
    enum sample_role role = sample_role(sets, sample);
    if (role == SAMPLE_ROLE_OTHER || sample->thread >= wall->thread_count)
        return 0;
    see(&wall->lives[sample->thread], sample->time_ns, sample_told_ns(sample));
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
    while (wall->stretches.count >= WALL_WAITS_MAX)
        leave_out_short(wall);
    return vec_push(&wall->stretches, stretch);
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static bool is_main(const struct trace *trace, const struct trace_thread *thread)
{
    return thread->tid == trace_process_get(trace, thread->process)->ns_pid;
}

/* A main thread lives as long as its process, others as long as they were seen. */
static struct life life_of(const struct wall *wall, uint32_t ordinal)
{
    const struct wall_totals *totals = &wall->totals;
    const struct trace_thread *thread = trace_thread_get(wall->trace, ordinal);
    const struct trace_process *process = trace_process_get(wall->trace, thread->process);
    struct life life = wall->lives[ordinal];
    bool wanted = pass_selects_thread(wall->selection, ordinal);
    if (thread->first_ns)
        see(&life, thread->first_ns, thread->last_ns);
    if (is_main(wall->trace, thread)) {
        int64_t begin_ns = process->start_ns ? process->start_ns : totals->begin_ns;
        int64_t end_ns =
            process->end != PROCESS_RUNNING && process->end_ns ? process->end_ns : totals->end_ns;
        see(&life, begin_ns, end_ns);
    }
    life.begin_ns = life.begin_ns > totals->begin_ns ? life.begin_ns : totals->begin_ns;
    life.end_ns = life.end_ns < totals->end_ns ? life.end_ns : totals->end_ns;
    return wanted ? life : (struct life){0};
}

/* ---- Changes --------------------------------------------------------------------------------- */

static int add_change(struct wall *wall, int64_t time_ns, uint32_t thread, enum state state,
                      size_t stretch)
{
    /* Between a wait and the next one a thread runs; it begins before all, and ends after all. */
    static const uint8_t orders[] = {[ABSENT] = 6, [RUNNING] = 3,   [BLOCKED] = 4,
                                     [READY] = 5,  [PART_ENDS] = 1, [PART_BEGINS] = 2};
    struct change change = {.time_ns = time_ns,
                            .thread = thread,
                            .stretch = (uint32_t)stretch,
                            .state = (uint8_t)state,
                            .order = orders[state]};
    return vec_push(&wall->changes, change);
}

static int add_lives(struct wall *wall)
{
    int error = 0;
    for (uint32_t i = 0; i < wall->thread_count && !error; i++) {
        wall->lives[i] = life_of(wall, i);
        struct life life = wall->lives[i];
        if (life.end_ns <= life.begin_ns)
            continue;
        error = add_change(wall, life.begin_ns, i, RUNNING, 0);
        if (!error)
            error = add_change(wall, life.end_ns, i, ABSENT, 0);
    }
    return error;
}

static int add_stretches(struct wall *wall)
{
    int error = 0;
    for (size_t i = 0; i < wall->stretches.count && !error; i++) {
        const struct stretch *stretch = &wall->stretches.items[i];
        uint32_t thread = stretch->thread;
        if (wall->lives[thread].end_ns <= wall->lives[thread].begin_ns)
            continue;
        if (stretch->wake_ns > stretch->begin_ns)
            error = add_change(wall, stretch->begin_ns, thread, BLOCKED, i + 1);
        if (!error && stretch->end_ns > stretch->wake_ns)
            error = add_change(wall, stretch->wake_ns, thread, READY, 0);
        if (!error && stretch->end_ns < wall->lives[thread].end_ns)
            error = add_change(wall, stretch->end_ns, thread, RUNNING, 0);
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

/* How long of the interval its thread was in none of the stretches from `*at` on. */
static uint64_t outside_of_stretches(const struct wall *wall, const struct interval *interval,
                                     size_t *at)
{
    const struct stretch *items = wall->stretches.items;
    uint64_t outside_ns = (uint64_t)interval->end_ns - (uint64_t)interval->begin_ns;
    while (*at < wall->stretches.count && by_thread(items[*at].thread, interval->thread,
                                                    items[*at].end_ns, interval->begin_ns) <= 0)
        ++*at;
    for (size_t i = *at; i < wall->stretches.count && items[i].thread == interval->thread &&
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

static int add_intervals(struct wall *wall)
{
    size_t at = 0;
    int error = 0;
    if (wall->intervals.count == 0)
        return 0;
    if (wall->stretches.count > 0)
        qsort(wall->stretches.items, wall->stretches.count, sizeof(struct stretch),
              stretches_by_thread);
    qsort(wall->intervals.items, wall->intervals.count, sizeof(struct interval),
          intervals_by_thread);
    for (size_t i = 0; i < wall->intervals.count && !error; i++) {
        struct interval *interval = &wall->intervals.items[i];
        double outside = (double)outside_of_stretches(wall, interval, &at);
        double waits = (double)interval->blocked_ns + (double)interval->ready_ns;
        interval->part = waits < outside ? 1 - waits / outside : 0;
        error = add_change(wall, interval->begin_ns, interval->thread, PART_BEGINS, i + 1);
        if (!error)
            error = add_change(wall, interval->end_ns, interval->thread, PART_ENDS, i + 1);
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

/* ---- While all wait -------------------------------------------------------------------------- */

/* What a program waits for in itself: others of it end that. */
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

/* How much a thread's wait says of what the program waits for. */
static unsigned rank_of(const struct wall *wall, uint32_t thread)
{
    const struct now *now = &wall->now[thread];
    if (now->state != BLOCKED)
        return 0;
    if (!is_main(wall->trace, trace_thread_get(wall->trace, thread)))
        return 1;
    return is_in_own_code(wall, now) ? 4 : now->reason == WAIT_CHILD ? 2 : 3;
}

/* The first main thread that waits in own code; else one that does not wait for another one. */
static uint32_t find_leader(const struct wall *wall)
{
    uint32_t leader = 0;
    unsigned most = 0;
    for (uint32_t i = 0; i < wall->thread_count && most < 4; i++) {
        unsigned rank = rank_of(wall, i);
        leader = rank > most ? i : leader;
        most = rank > most ? rank : most;
    }
    return leader;
}

static int add_wait(struct wall *wall, uint64_t time_ns)
{
    uint32_t leader = find_leader(wall);
    if (is_inside(wall->now[leader].reason) && wall->outside)
        leader = wall->outside - 1;
    const struct now *now = &wall->now[leader];
    uint64_t key = ((uint64_t)now->row << 8 | now->reason) + 1;
    const uint64_t *found = map64_find(&wall->wait_by_key, key);
    if (!found) {
        struct wall_wait wait = {.reason = now->reason, .line = now->line};
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

/* ---- As time goes on ------------------------------------------------------------------------- */

/* Threads that run for a part of the time leave the rest of it to their short waits. */
static void pass_running(struct wall *wall, uint64_t time_ns)
{
    struct wall_totals *totals = &wall->totals;
    bool all_partly = wall->partly == wall->running;
    uint64_t idle_ns = all_partly ? (uint64_t)((double)time_ns * exp(wall->partly_log)) : 0;
    uint64_t ready_ns = (uint64_t)((double)idle_ns * wall->partly_ready / (wall->partly + 1e-9));
    idle_ns = idle_ns < time_ns ? idle_ns : time_ns;
    ready_ns = ready_ns < idle_ns ? ready_ns : idle_ns;
    totals->running_ns += time_ns - idle_ns;
    totals->ready_ns += ready_ns;
    totals->short_ns += idle_ns - ready_ns;
}

/* Nothing changes for so long. */
static int pass_time(struct wall *wall, uint64_t time_ns)
{
    struct wall_totals *totals = &wall->totals;
    if (time_ns == 0)
        return 0;
    double whole = wall->running - wall->partly; /* threads that run all the time */
    totals->busy_ns += (uint64_t)((whole + wall->partly_sum) * (double)time_ns);
    totals->thread_ready_ns += wall->ready * time_ns;
    uint32_t able = wall->running + wall->ready;
    bool crowded = totals->processors > 0 && able > totals->processors;
    if (able == 1) {
        totals->single_ns += time_ns;
        totals->alone_ns += wall->running ? time_ns : 0;
        wall->now[wall->able_sum].single_ns += time_ns;
    }
    totals->parallel_ns += able > 1 ? time_ns : 0;
    totals->crowded_ns += crowded ? time_ns : 0;
    totals->contended_ns += wall->ready > 0 && !crowded ? time_ns : 0;
    if (wall->running > 0) {
        pass_running(wall, time_ns);
        totals->full_ns += totals->processors && wall->running >= totals->processors ? time_ns : 0;
    } else if (wall->ready > 0) {
        totals->ready_ns += time_ns;
    } else if (wall->present > 0) {
        totals->waiting_ns += time_ns;
        return add_wait(wall, time_ns);
    } else {
        totals->absent_ns += time_ns;
    }
    return 0;
}

/* A running thread joins those that run partly (1), or leaves them (-1). */
static void count_partly(struct wall *wall, const struct now *now, int by)
{
    if (now->state != RUNNING || now->interval == 0)
        return;
    const struct interval *interval = &wall->intervals.items[now->interval - 1];
    double waits = (double)interval->blocked_ns + (double)interval->ready_ns;
    double rest = 1 - interval->part;
    wall->partly += (uint32_t)by;
    wall->partly_sum += by * interval->part;
    wall->partly_log += by * log(rest > 1e-9 ? rest : 1e-9);
    wall->partly_ready += waits > 0 ? by * (double)interval->ready_ns / waits : 0;
    if (wall->partly == 0) /* of what rounding left */
        wall->partly_sum = wall->partly_log = wall->partly_ready = 0;
}

static bool is_able(unsigned state)
{
    return state == RUNNING || state == READY;
}

static void apply(struct wall *wall, const struct change *change)
{
    struct now *now = &wall->now[change->thread];
    count_partly(wall, now, -1);
    if (change->state >= PART_BEGINS) {
        now->interval = change->state == PART_BEGINS ? change->stretch : 0;
        count_partly(wall, now, 1);
        return;
    }
    if (is_able(change->state) != is_able(now->state))
        wall->able_sum += is_able(change->state) ? change->thread : -(uint64_t)change->thread;
    wall->running += (change->state == RUNNING) - (now->state == RUNNING);
    wall->ready += (change->state == READY) - (now->state == READY);
    wall->present += (change->state != ABSENT) - (now->state != ABSENT);
    if (now->state == BLOCKED)
        unlist_outside(wall, change->thread);
    now->state = change->state;
    count_partly(wall, now, 1);
    if (change->state != BLOCKED)
        return;
    const struct stretch *stretch = &wall->stretches.items[change->stretch - 1];
    now->reason = stretch->reason;
    now->line = 0;
    now->row = own_time_row_of(wall->own, stretch->stack, &now->line);
    if (!is_inside(now->reason) && is_in_own_code(wall, now))
        list_outside(wall, change->thread);
}

static int go_through(struct wall *wall)
{
    int64_t time_ns = wall->totals.begin_ns;
    int error = 0;
    for (size_t i = 0; i < wall->changes.count && !error; i++) {
        const struct change *change = &wall->changes.items[i];
        int64_t next_ns =
            change->time_ns < wall->totals.end_ns ? change->time_ns : wall->totals.end_ns;
        if (next_ns > time_ns) {
            error = pass_time(wall, (uint64_t)(next_ns - time_ns));
            time_ns = next_ns;
        }
        apply(wall, change);
    }
    return error ? error : pass_time(wall, (uint64_t)(wall->totals.end_ns - time_ns));
}

static void find_single(struct wall *wall)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < wall->thread_count; i++)
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
    return (int)a->reason - (int)b->reason;
}

int wall_finish(struct wall *wall, const struct own_time *own, int64_t begin_ns, int64_t end_ns)
{
    wall->own = own;
    wall->totals.begin_ns = begin_ns;
    wall->totals.end_ns = end_ns > begin_ns ? end_ns : begin_ns;
    wall->totals.wall_ns = (uint64_t)(wall->totals.end_ns - begin_ns);
    wall->totals.processors = trace_session_get(wall->trace)->processors;
    int error = add_lives(wall);
    if (!error)
        error = add_intervals(wall);
    if (!error)
        error = add_stretches(wall);
    if (!error && wall->changes.count > 0)
        qsort(wall->changes.items, wall->changes.count, sizeof(*wall->changes.items), in_time);
    if (!error)
        error = go_through(wall);
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
