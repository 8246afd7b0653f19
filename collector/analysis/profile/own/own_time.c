/* SPDX-License-Identifier: MIT */
/* Sums by stack and thread, and the rows made of them once all samples are added. See
 * own_time.h. */
#include "own_time.h"

#include "call_label.h"
#include "hash_map.h"
#include "launch.h"
#include "vec.h"
#include "wait_kind.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Separates threads that hold up the program while they wait from helpers: a pool's own threads, a
 * queue's consumer, a heartbeat. */

/* Stands for the reason in samples of CPU time. */
enum { OWN_ON_CPU = 15 };

/* The time of one thread at one stack. */
struct own_sum {
    uint32_t stack, thread; /* may be unknown to the trace */
    uint8_t reason;         /* enum wait_reason, or OWN_ON_CPU */
    uint64_t count, time_ns, runnable_ns, max_ns, unfinished;
    uint64_t gil_ns; /* part of CPU time holding the GIL */
};

struct own_sums {
    const struct trace *trace;
    const struct own_label *labels;
    const struct own_sum *items;
    size_t count;
};

enum own_thread_flags {
    OWN_THREAD_WORKS = 1u << 0, /* its waits count */
    OWN_THREAD_BUSY = 1u << 1,  /* it has a twentieth of the busiest one's CPU time */
};

/* Minimum of waits (for locks in a function, or of own code in a thread) to count as working. */
enum { WAITS_FEW = 3 };

enum { BUSY_PART = 20 };

struct thread_sums {
    uint64_t cpu_ns, all_ns;
    uint64_t passive_ns;    /* waits for locks and signals */
    uint64_t outside_count; /* waits of own code for something outside of the program */
    bool works;
};

/* Returns the own Python function that waits for a lock directly; 0: not one. A queue's consumer
 * waits inside of the queue. */
static uint32_t lock_waiter(const struct own_sums *sums, const struct own_sum *sum)
{
    const struct stacks *stacks = trace_stacks_get(sums->trace);
    for (uint32_t at = sum->stack; at != 0 && sum->reason == WAIT_LOCK;) {
        const struct stack *stack = stacks_get_stack(stacks, at);
        const struct frame *frame = stacks_get_frame(stacks, stack->frame);
        if (frame->kind == FRAME_PYTHON)
            return sums->labels[frame->label].owner == CODE_OWN ? frame->label : 0;
        at = stack->parent;
    }
    return 0;
}

/* Counts the waits for locks of each function, over all threads. NULL: out of memory. */
static uint64_t *count_locks(const struct own_sums *sums)
{
    uint32_t labels = stacks_label_count(trace_stacks_get(sums->trace));
    uint64_t *counts = calloc((size_t)labels + 1, sizeof(*counts));
    for (size_t i = 0; i < sums->count && counts; i++)
        counts[lock_waiter(sums, &sums->items[i])] += sums->items[i].count;
    if (counts)
        counts[0] = 0; /* waits outside of these functions */
    return counts;
}

struct own_place {
    bool in_own;    /* own Python code is on the stack */
    bool is_called; /* and a pool called it */
};

static struct own_place place_of(const struct own_sums *sums, uint32_t at)
{
    const struct stacks *stacks = trace_stacks_get(sums->trace);
    struct own_place place = {0};
    while (at != 0 && !place.is_called) {
        const struct stack *stack = stacks_get_stack(stacks, at);
        const struct frame *frame = stacks_get_frame(stacks, stack->frame);
        const struct own_label *label = &sums->labels[frame->label];
        place.is_called = place.in_own && label->purpose == PURPOSE_POOL;
        place.in_own |= frame->kind == FRAME_PYTHON && label->owner == CODE_OWN;
        at = stack->parent;
    }
    return place;
}

static bool is_outside(unsigned reason)
{
    return reason == WAIT_SLEEP || reason == WAIT_SOCKET || reason == WAIT_DISK ||
           reason == WAIT_PIPE || reason == WAIT_CHILD || reason == WAIT_TERMINAL;
}

static void add(const struct own_sums *sums, const struct own_sum *sum, const uint64_t *locks,
                struct thread_sums *thread)
{
    bool on_cpu = sum->reason == OWN_ON_CPU;
    thread->all_ns += sum->time_ns + sum->runnable_ns;
    thread->cpu_ns += on_cpu ? sum->time_ns : 0;
    if (on_cpu)
        return;
    if (sum->reason == WAIT_LOCK || sum->reason == WAIT_SIGNAL)
        thread->passive_ns += sum->time_ns;
    struct own_place place = place_of(sums, sum->stack);
    thread->works |= place.is_called || locks[lock_waiter(sums, sum)] >= WAITS_FEW;
    thread->outside_count += place.in_own && is_outside(sum->reason) ? sum->count : 0;
}

static bool is_main(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    return thread->tid == trace_process_get(trace, thread->process)->ns_pid;
}

/* Finds the processes with main threads that wait for locks and signals most of the time. */
static void find_passive(const struct trace *trace, const struct thread_sums *threads,
                         bool *passive)
{
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        if (is_main(trace, i) && threads[i].passive_ns * 2 > threads[i].all_ns)
            passive[trace_thread_get(trace, i)->process] = true;
}

static uint8_t flags_of(const struct own_sums *sums, const struct thread_sums *threads, uint32_t at,
                        uint64_t most_ns, const bool *passive)
{
    const struct thread_sums *thread = &threads[at];
    bool busy = thread->cpu_ns * BUSY_PART > most_ns;
    bool waits_outside =
        passive[trace_thread_get(sums->trace, at)->process] && thread->outside_count >= WAITS_FEW;
    bool works = busy || waits_outside || thread->works || is_main(sums->trace, at);
    return (uint8_t)((busy ? OWN_THREAD_BUSY : 0) | (works ? OWN_THREAD_WORKS : 0));
}

/* enum own_thread_flags by thread, to be freed; NULL: out of memory. */
static uint8_t *own_threads_find(const struct own_sums *sums, uint32_t *ret_busy_count)
{
    uint32_t count = trace_thread_count(sums->trace);
    struct thread_sums *threads = calloc((size_t)count + 1, sizeof(*threads));
    bool *passive = calloc((size_t)trace_process_count(sums->trace) + 1, sizeof(*passive));
    uint8_t *flags = calloc((size_t)count + 1, sizeof(*flags));
    uint64_t *locks = count_locks(sums), most_ns = 0;
    bool made = threads && passive && flags && locks;
    for (size_t i = 0; i < sums->count && made; i++)
        if (sums->items[i].thread < count)
            add(sums, &sums->items[i], locks, &threads[sums->items[i].thread]);
    if (made)
        find_passive(sums->trace, threads, passive);
    for (uint32_t i = 0; i < count && made; i++)
        most_ns = threads[i].cpu_ns > most_ns ? threads[i].cpu_ns : most_ns;
    *ret_busy_count = 0;
    for (uint32_t i = 0; i < count && made; i++) {
        flags[i] = flags_of(sums, threads, i, most_ns, passive);
        *ret_busy_count += (flags[i] & OWN_THREAD_BUSY) != 0;
    }
    free(threads);
    free(passive);
    free(locks);
    if (made)
        return flags;
    free(flags);
    return NULL;
}

/* Own code gets a separate table from this part (1/20) of the CPU time and waits on. */
enum { OWN_PART = 20 };

/* Keys of sums hold 1 + the thread, so that none is 0. */
enum { REASON_BITS = 4, THREAD_BITS = 28, THREAD_UNKNOWN = (1 << THREAD_BITS) - 2 };

/* Row and line of a stack. */
struct place {
    uint32_t row; /* index + 1 into `rows`; 0: not resolved */
    int32_t line;
};

/* A line of a row, while rows are made. */
struct line_sum {
    uint32_t row;
    int32_t line;
    uint64_t time_ns;
};

struct own_time {
    const struct trace *trace;
    const struct stacks *stacks;
    struct own_label *labels; /* by label */
    struct place *places;     /* by stack */
    bool *starts;             /* by stack: code that runs before the main module begins */
    bool *launches;           /* by stack: the command's start (launch.h) */
    uint32_t stack_count;
    struct map64 sum_by_key;
    VEC(struct own_sum) sums;
    VEC(struct own_row) rows; /* in order of discovery: indices are stable */
    VEC(struct own_row) sorted;
    VEC(struct own_wait) waits;
    struct map64 row_by_key;
    uint8_t *threads; /* enum own_thread_flags of each */
    uint32_t busy_count;
    struct own_row purposes[PURPOSE_COUNT];
    struct own_totals totals;
};

/* ---- Adding ---------------------------------------------------------------------------------- */

struct own_time *own_time_create(const struct trace *trace)
{
    struct own_time *own = calloc(1, sizeof(*own));
    if (!own)
        return NULL;
    own->trace = trace;
    own->stacks = trace_stacks_get(trace);
    return own;
}

static void free_tables(struct own_time *own)
{
    free(own->labels);
    free(own->places);
    free(own->starts);
    free(own->launches);
    free(own->threads);
    own->starts = own->launches = NULL;
    own->threads = NULL;
}

void own_time_destroy(struct own_time *own)
{
    if (!own)
        return;
    free_tables(own);
    map64_free(&own->sum_by_key);
    map64_free(&own->row_by_key);
    vec_free(&own->sums);
    vec_free(&own->rows);
    vec_free(&own->sorted);
    vec_free(&own->waits);
    free(own);
}

static struct own_sum *sum_of(struct own_time *own, uint32_t stack, uint32_t thread, uint8_t reason)
{
    stack = stack < stacks_stack_count(own->stacks) ? stack : 0;
    thread = thread < THREAD_UNKNOWN ? thread : THREAD_UNKNOWN;
    uint64_t key = ((uint64_t)stack << THREAD_BITS | (thread + 1)) << REASON_BITS;
    const uint64_t *found = map64_find(&own->sum_by_key, key | reason);
    if (!found) {
        struct own_sum fresh = {.stack = stack, .thread = thread, .reason = reason};
        if (vec_push(&own->sums, fresh) != 0 ||
            map64_put(&own->sum_by_key, key | reason, own->sums.count) != 0)
            return NULL;
        return &own->sums.items[own->sums.count - 1];
    }
    return &own->sums.items[*found - 1];
}

int own_time_add(struct own_time *own, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(own->trace);
    enum sample_role role = sample_role(sets, sample);
    struct off_share off = {0};
    uint64_t time_ns = 0;
    if (role != SAMPLE_ROLE_CPU && role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    if (role == SAMPLE_ROLE_CPU)
        time_ns = sample_cpu_ns(sets, sample);
    else
        off = sample_off_share(sets, sample);
    uint8_t reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN;
    struct own_sum *sum =
        sum_of(own, sample->stack, sample->thread, role == SAMPLE_ROLE_CPU ? OWN_ON_CPU : reason);
    if (!sum)
        return -ENOMEM;
    sum->gil_ns += sample->flags & SAMPLE_HOLDS_GIL ? time_ns : 0;
    time_ns += off.blocked_ns;
    sum->count += role == SAMPLE_ROLE_CPU || off.blocked_ns > 0;
    sum->time_ns += time_ns;
    sum->runnable_ns += off.runnable_ns;
    sum->max_ns = off.blocked_ns > sum->max_ns ? off.blocked_ns : sum->max_ns;
    sum->unfinished += off.blocked_ns > 0 && (sample->flags & SAMPLE_UNFINISHED);
    return 0;
}

int own_time_add_all(struct own_time *own, const struct own_time *other, own_time_wants *wants,
                     void *context)
{
    for (size_t i = 0; i < other->sums.count; i++) {
        const struct own_sum *from = &other->sums.items[i];
        if (wants && !wants(context, from->thread))
            continue;
        struct own_sum *sum = sum_of(own, from->stack, from->thread, from->reason);
        if (!sum)
            return -ENOMEM;
        sum->count += from->count;
        sum->time_ns += from->time_ns;
        sum->runnable_ns += from->runnable_ns;
        sum->gil_ns += from->gil_ns;
        sum->unfinished += from->unfinished;
        sum->max_ns = from->max_ns > sum->max_ns ? from->max_ns : sum->max_ns;
    }
    return 0;
}

size_t own_time_size(const struct own_time *own)
{
    return own->sums.count;
}

/* ---- Start of programs ------------------------------------------------------------------------
 *
 * Start-up is the code that runs before the main module begins. The same functions are called
 * later, too, and then work for their callers. */

static void find_labels(const struct trace *trace, struct own_label *labels)
{
    uint32_t count = stacks_label_count(trace_stacks_get(trace));
    for (uint32_t i = 1; i < count; i++)
        labels[i] =
            (struct own_label){(uint8_t)code_owner_of(trace, i), (uint8_t)code_purpose_of(trace, i),
                               (uint8_t)code_begins(trace, i), code_is_bootstrap(trace, i)};
}

/* Progress of a stack, from its outermost frame inwards. */
enum state { BEFORE, STARTS, HANDS_OVER, BEGUN };

static enum state after(enum state before, const struct own_label *label)
{
    if (before == BEGUN || (before == HANDS_OVER && label->begins == BEGINS_MODULE))
        return BEGUN;
    if (label->purpose == PURPOSE_START_UP)
        return label->begins == BEGINS_MAIN ? HANDS_OVER : STARTS;
    if (before != BEFORE)
        return STARTS;
    return label->purpose == PURPOSE_IMPORT ? BEFORE : BEGUN;
}

/* Fills in `labels`, by label. Returns an array by stack, true if the innermost frame is start-up;
 * the caller frees it. NULL: out of memory. A caller's stack has a smaller number, so its state is
 * known. */
static bool *find_starts(const struct trace *trace, struct own_label *labels)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t count = stacks_stack_count(stacks);
    uint8_t *states = calloc((size_t)count + 1, sizeof(*states));
    bool *starts = calloc((size_t)count + 1, sizeof(*starts));
    find_labels(trace, labels);
    for (uint32_t i = 1; i < count && states && starts; i++) {
        const struct stack *stack = stacks_get_stack(stacks, i);
        const struct frame *frame = stacks_get_frame(stacks, stack->frame);
        enum state before = (enum state)states[stack->parent];
        states[i] = before;
        if (frame->kind == FRAME_PYTHON)
            states[i] = after(before, &labels[frame->label]);
        starts[i] = states[i] == STARTS || states[i] == HANDS_OVER;
    }
    if (!states) {
        free(starts);
        starts = NULL;
    }
    free(states);
    return starts;
}

static bool is_launch(const struct trace *trace, const bool *launches, uint32_t thread)
{
    return thread < trace_thread_count(trace) && launches[trace_thread_get(trace, thread)->process];
}

/* Returns an array by stack, true if all its samples are from processes of the command's start
 * (launch.h); the caller frees it. NULL: out of memory. */
static bool *find_launches(const struct own_sums *sums)
{
    uint32_t count = stacks_stack_count(trace_stacks_get(sums->trace));
    bool *stacks = calloc((size_t)count + 1, sizeof(*stacks));
    struct launch_counts counts;
    bool *launches = launch_find(sums->trace, &counts);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] |= is_launch(sums->trace, launches, sums->items[i].thread);
    for (size_t i = 0; i < sums->count && stacks && launches; i++)
        stacks[sums->items[i].stack] &= is_launch(sums->trace, launches, sums->items[i].thread);
    if (!launches) {
        free(stacks);
        stacks = NULL;
    }
    free(launches);
    return stacks;
}

/* ---- Rows of stacks -------------------------------------------------------------------------- */

static bool is_own(enum own_level level, uint8_t owner)
{
    static const uint8_t owners[OWN_LEVELS] = {
        [OWN_USER] = 1u << CODE_OWN,
        [OWN_PACKAGES] = 1u << CODE_OWN | 1u << CODE_LIBRARY,
        [OWN_PYTHON] = 1u << CODE_OWN | 1u << CODE_LIBRARY | 1u << CODE_STDLIB,
        [OWN_ALL] = 0xff,
    };
    return owners[level] >> owner & 1;
}

/* In installed code, native functions belong to the Python functions that call them. */
bool own_time_is_own(const struct own_time *own, const struct frame *frame, bool in_python)
{
    uint8_t owner = own->labels[frame->label].owner;
    if (!is_own(own->totals.level, owner))
        return false;
    return owner == CODE_OWN || frame->kind == FRAME_PYTHON || !in_python;
}

/* Returns true if a Python function is on the stack. */
static bool has_python(const struct stacks *stacks, uint32_t stack)
{
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent)
        if (stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame)->kind == FRAME_PYTHON)
            return true;
    return false;
}

/* Time of imported modules belongs to the import, except own code that they run. */
static struct own_row search(const struct own_time *own, uint32_t stack, int32_t *ret_line)
{
    struct own_row row = {0};
    bool in_python = has_python(own->stacks, stack), starts = own->starts[stack];
    for (; stack != 0; stack = stacks_get_stack(own->stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(own->stacks, stacks_get_stack(own->stacks, stack)->frame);
        const struct own_label *facts = &own->labels[frame->label];
        uint8_t purpose = frame->kind == FRAME_COLLECTOR ? PURPOSE_GC : facts->purpose;
        if (purpose > row.purpose && (starts || purpose != PURPOSE_START_UP))
            row.purpose = purpose;
        if (row.purpose == PURPOSE_IMPORT || facts->bootstrap)
            return row;
        if (!own_time_is_own(own, frame, in_python))
            continue;
        *ret_line = frame->line;
        return (struct own_row){.label = frame->label};
    }
    return row;
}

static int resolve(struct own_time *own, uint32_t stack)
{
    int32_t line = 0;
    struct own_row row = search(own, stack, &line);
    if (own->totals.level == OWN_USER && (row.label || row.purpose))
        own->launches[stack] = false;
    if (own->launches[stack])
        row = (struct own_row){.purpose = PURPOSE_LAUNCH};
    if (row.label == 0 && row.purpose == PURPOSE_NONE)
        row.program = code_beginner(own->trace, stack);
    uint64_t what = row.program ? (uint64_t)1 << 40 | row.program : row.label;
    uint64_t key = (what << 8 | row.purpose) + 1;
    const uint64_t *found = map64_find(&own->row_by_key, key);
    if (!found &&
        (vec_push(&own->rows, row) != 0 || map64_put(&own->row_by_key, key, own->rows.count) != 0))
        return -ENOMEM;
    own->places[stack] = (struct place){(uint32_t)(found ? *found : own->rows.count), line};
    return 0;
}

static int resolve_all(struct own_time *own, enum own_level level)
{
    own->totals.level = level;
    own->rows.count = 0;
    map64_free(&own->row_by_key);
    own->row_by_key = (struct map64){0};
    memset(own->places, 0, ((size_t)own->stack_count + 1) * sizeof(*own->places));
    for (size_t i = 0; i < own->sums.count; i++) {
        uint32_t stack = own->sums.items[i].stack;
        if (own->places[stack].row == 0 && resolve(own, stack) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Allocates tables for the current stacks and labels of the trace. 0 or -ENOMEM. */
static int make_room(struct own_time *own)
{
    free_tables(own);
    own->stack_count = stacks_stack_count(own->stacks);
    own->places = calloc((size_t)own->stack_count + 1, sizeof(*own->places));
    own->labels = calloc((size_t)stacks_label_count(own->stacks) + 1, sizeof(*own->labels));
    return own->places && own->labels ? 0 : -ENOMEM;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* True for waits outside of own code that carry no information: of a shell for its child processes
 * or their output; of a pool's threads and workers for tasks and results; of a library's threads
 * for work. */
static bool is_by_design(const struct own_row *row, unsigned reason)
{
    bool own = row->purpose == PURPOSE_NONE || row->purpose == PURPOSE_LAUNCH;
    bool inside =
        reason == WAIT_LOCK || reason == WAIT_PIPE || reason == WAIT_POLL || reason == WAIT_SOCKET;
    if (row->label != 0)
        return false;
    return reason == WAIT_CHILD || (row->purpose == PURPOSE_POOL && inside) ||
           (own && (reason == WAIT_PIPE || reason == WAIT_LOCK));
}

static bool is_idle(const struct own_time *own, const struct own_sum *sum)
{
    const struct own_row *row = &own->rows.items[own->places[sum->stack].row - 1];
    bool known = sum->thread < trace_thread_count(own->trace);
    return sum->reason != OWN_ON_CPU && (!known || is_by_design(row, sum->reason) ||
                                         !(own->threads[sum->thread] & OWN_THREAD_WORKS));
}

static struct own_times times_of(const struct own_sum *sum)
{
    bool cpu = sum->reason == OWN_ON_CPU;
    return (struct own_times){.cpu_ns = cpu ? sum->time_ns : 0,
                              .runnable_ns = sum->runnable_ns,
                              .blocked_ns = cpu ? 0 : sum->time_ns,
                              .gil_ns = sum->gil_ns,
                              .sample_count = cpu ? sum->count : 0};
}

static void add_to_row(struct own_time *own, const struct own_sum *sum)
{
    struct own_row *row = &own->rows.items[own->places[sum->stack].row - 1];
    struct own_totals *totals = &own->totals;
    struct own_times times = times_of(sum);
    row->cpu_ns += times.cpu_ns;
    row->sample_count += times.sample_count;
    row->blocked_ns += times.blocked_ns;
    row->wait_count += sum->reason == OWN_ON_CPU ? 0 : sum->count;
    row->runnable_ns += times.runnable_ns;
    totals->cpu_ns += times.cpu_ns;
    totals->sample_count += times.sample_count;
    totals->blocked_ns += times.blocked_ns;
    totals->runnable_ns += times.runnable_ns;
}

static int by_line(const void *left, const void *right)
{
    const struct line_sum *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Finds the line with the most time of each row. */
static void take_lines(struct own_time *own, struct line_sum *lines, size_t count)
{
    uint64_t most_ns = 0;
    for (size_t i = 0; i < count;) {
        struct line_sum line = lines[i];
        bool first = i == 0 || lines[i - 1].row != line.row;
        uint64_t time_ns = 0;
        for (; i < count && lines[i].row == line.row && lines[i].line == line.line; i++)
            time_ns += lines[i].time_ns;
        if (first || time_ns > most_ns) {
            own->rows.items[line.row - 1].line = line.line;
            most_ns = time_ns;
        }
    }
}

static int find_lines(struct own_time *own)
{
    struct line_sum *lines = calloc(own->sums.count + 1, sizeof(*lines));
    if (!lines)
        return -ENOMEM;
    for (size_t i = 0; i < own->sums.count; i++) {
        const struct own_sum *sum = &own->sums.items[i];
        const struct place *place = &own->places[sum->stack];
        uint64_t time_ns = is_idle(own, sum) ? 0 : sum->time_ns + sum->runnable_ns;
        lines[i] = (struct line_sum){place->row, place->line, time_ns};
    }
    qsort(lines, own->sums.count, sizeof(*lines), by_line);
    take_lines(own, lines, own->sums.count);
    free(lines);
    return 0;
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static int add_wait(struct own_time *own, const struct own_sum *sum, struct map64 *wait_by_key)
{
    const struct place *place = &own->places[sum->stack];
    const struct own_row *row = &own->rows.items[place->row - 1];
    bool helper = is_idle(own, sum);
    uint8_t kind = wait_kind_of(own, sum->stack, sum->reason);
    uint64_t key = (((uint64_t)place->row << 8 | kind) << 1 | helper) + 1;
    const uint64_t *found = map64_find(wait_by_key, key);
    if (!found) {
        struct own_wait fresh = {.label = row->label,
                                 .program = row->program,
                                 .purpose = row->purpose,
                                 .reason = sum->reason,
                                 .kind = kind,
                                 .helper = helper,
                                 .line = place->line};
        if (vec_push(&own->waits, fresh) != 0 || map64_put(wait_by_key, key, own->waits.count) != 0)
            return -ENOMEM;
        found = map64_find(wait_by_key, key);
    }
    struct own_wait *wait = &own->waits.items[*found - 1];
    wait->line = sum->time_ns > wait->blocked_ns ? place->line : wait->line;
    wait->count += sum->count;
    wait->blocked_ns += sum->time_ns;
    wait->max_ns = sum->max_ns > wait->max_ns ? sum->max_ns : wait->max_ns;
    wait->unfinished += sum->unfinished;
    return 0;
}

/* Breaks ties independently of the numbers of functions in a recording. */
static int by_name(const struct own_time *own, const struct own_row *a, const struct own_row *b)
{
    int order = call_compare_labels(own->trace, a->label, b->label);
    if (order || a->purpose != b->purpose)
        return order ? order : (int)a->purpose - (int)b->purpose;
    return strcmp(trace_string(own->trace, a->program)->bytes,
                  trace_string(own->trace, b->program)->bytes);
}

static struct own_row row_of_wait(const struct own_wait *wait)
{
    return (struct own_row){
        .label = wait->label, .purpose = wait->purpose, .program = wait->program};
}

static int longest_first(const void *left, const void *right, void *own)
{
    const struct own_wait *a = left, *b = right;
    if (a->helper != b->helper)
        return a->helper ? 1 : -1;
    if (a->blocked_ns != b->blocked_ns)
        return a->blocked_ns < b->blocked_ns ? 1 : -1;
    struct own_row a_row = row_of_wait(a), b_row = row_of_wait(b);
    int order = by_name(own, &a_row, &b_row);
    return order ? order : (int)a->kind - (int)b->kind;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Sums the CPU time of all threads, and ready and waiting time of all but helpers. */
static int add_up(struct own_time *own)
{
    struct map64 wait_by_key = {0};
    int error = 0;
    own->totals = (struct own_totals){.level = own->totals.level, .busy_count = own->busy_count};
    own->waits.count = 0;
    for (size_t i = 0; i < own->sums.count && !error; i++) {
        const struct own_sum *sum = &own->sums.items[i];
        if (is_idle(own, sum))
            own->totals.idle_ns += sum->time_ns + sum->runnable_ns;
        else
            add_to_row(own, sum);
        if (sum->reason != OWN_ON_CPU && sum->time_ns > 0)
            error = add_wait(own, sum, &wait_by_key);
    }
    map64_free(&wait_by_key);
    return error;
}

/* Keeps the times outside of the user's own code, before other code counts as own. */
static void sum_purposes(struct own_time *own)
{
    for (size_t i = 0; i < own->rows.count; i++) {
        const struct own_row *row = &own->rows.items[i];
        if (row->label == 0 && row->program == 0)
            own->purposes[row->purpose] = *row;
    }
}

/* True if own code has a sufficient part of the time, or if imports, pools and the like have most
 * of it: then no other level has a hotter function. */
static bool has_enough(const struct own_time *own)
{
    uint64_t cpu_ns = 0, blocked_ns = 0, purpose_ns = 0;
    for (size_t i = 0; i < own->rows.count; i++) {
        const struct own_row *row = &own->rows.items[i];
        purpose_ns += row->purpose && row->purpose != PURPOSE_LAUNCH ? row->cpu_ns : 0;
        cpu_ns += row->label ? row->cpu_ns : 0;
        blocked_ns += row->label ? row->blocked_ns : 0;
    }
    if (purpose_ns * 2 > own->totals.cpu_ns)
        return true;
    return (cpu_ns + blocked_ns) * OWN_PART >= own->totals.cpu_ns + own->totals.blocked_ns;
}

int own_time_finish(struct own_time *own)
{
    int error = make_room(own);
    if (error)
        return error;
    const struct own_sums sums = {own->trace, own->labels, own->sums.items, own->sums.count};
    own->starts = find_starts(own->trace, own->labels);
    own->launches = find_launches(&sums);
    own->threads = own_threads_find(&sums, &own->busy_count);
    if (!own->starts || !own->launches || !own->threads)
        return -ENOMEM;
    memset(own->purposes, 0, sizeof(own->purposes));
    for (unsigned level = OWN_USER; level < OWN_LEVELS && !error; level++) {
        error = resolve_all(own, (enum own_level)level);
        if (!error)
            error = add_up(own);
        if (!error && level == OWN_USER)
            sum_purposes(own);
        if (has_enough(own))
            break;
    }
    memcpy(own->totals.purposes, own->purposes, sizeof(own->purposes));
    if (!error)
        error = vec_reserve(&own->sorted, own->rows.count); /* for own_time_rows() */
    if (!error)
        error = find_lines(own);
    if (!error && own->waits.count > 0)
        qsort_r(own->waits.items, own->waits.count, sizeof(*own->waits.items), longest_first, own);
    return error;
}

const struct own_totals *own_time_totals(const struct own_time *own)
{
    return &own->totals;
}

uint32_t own_time_row_of(const struct own_time *own, uint32_t stack, int32_t *ret_line)
{
    if (stack >= own->stack_count || own->places[stack].row == 0)
        return UINT32_MAX;
    *ret_line = own->places[stack].line;
    return own->places[stack].row - 1;
}

uint32_t own_time_function(const struct own_time *own, uint32_t stack)
{
    return own->totals.level == OWN_ALL ? 0 : search(own, stack, &(int32_t){0}).label;
}

const struct own_row *own_time_row(const struct own_time *own, uint32_t row)
{
    return &own->rows.items[row];
}

static uint64_t wall_of(const struct own_row *row)
{
    return row->cpu_ns + row->runnable_ns + row->blocked_ns;
}

struct row_order {
    const struct own_time *own;
    bool by_wall;
};

static int largest_first(const void *left, const void *right, void *context)
{
    const struct own_row *a = left, *b = right;
    const struct row_order *order = context;
    uint64_t a_ns = order->by_wall ? wall_of(a) : a->cpu_ns;
    uint64_t b_ns = order->by_wall ? wall_of(b) : b->cpu_ns;
    bool a_named = a->label || a->program, b_named = b->label || b->program;
    if (a_named != b_named)
        return a_named ? -1 : 1;
    if (a_ns != b_ns)
        return a_ns < b_ns ? 1 : -1;
    return by_name(order->own, a, b);
}

uint32_t own_time_rows(struct own_time *own, bool by_wall, const struct own_row **ret_rows)
{
    own->sorted.count = 0;
    for (size_t i = 0; i < own->rows.count; i++)
        if (wall_of(&own->rows.items[i]) > 0 && vec_push(&own->sorted, own->rows.items[i]) != 0)
            break;
    if (own->sorted.count > 0)
        qsort_r(own->sorted.items, own->sorted.count, sizeof(*own->sorted.items), largest_first,
                &(struct row_order){own, by_wall});
    *ret_rows = own->sorted.items;
    return (uint32_t)own->sorted.count;
}

uint32_t own_time_waits(const struct own_time *own, const struct own_wait **ret_waits)
{
    *ret_waits = own->waits.items;
    return (uint32_t)own->waits.count;
}

static int report_sums(const struct own_time *own, bool idle, own_time_take *take, void *context)
{
    int rc = 0;
    for (size_t i = 0; i < own->sums.count && rc == 0; i++) {
        const struct own_sum *sum = &own->sums.items[i];
        struct own_times times = times_of(sum);
        struct own_moment moment = {sum->stack, sum->thread, sum->reason, is_idle(own, sum)};
        if (sum->reason == OWN_ON_CPU)
            moment.reason = WAIT_REASON_COUNT;
        if (!moment.idle || idle)
            rc = take(context, &moment, &times);
    }
    return rc;
}

bool own_time_is_idle(const struct own_time *own, const struct own_moment *moment)
{
    bool on_cpu = moment->reason >= WAIT_REASON_COUNT;
    const struct own_sum sum = {.stack = moment->stack < own->stack_count ? moment->stack : 0,
                                .thread = moment->thread,
                                .reason = on_cpu ? OWN_ON_CPU : (uint8_t)moment->reason};
    return own->places[sum.stack].row != 0 && is_idle(own, &sum);
}

int own_time_each(const struct own_time *own, own_time_take *take, void *context)
{
    return report_sums(own, false, take, context);
}

int own_time_every(const struct own_time *own, own_time_take *take, void *context)
{
    return report_sums(own, true, take, context);
}

bool own_time_is_busy(const struct own_time *own, uint32_t thread)
{
    return thread < trace_thread_count(own->trace) && (own->threads[thread] & OWN_THREAD_BUSY);
}

bool own_time_is_helper(const struct own_time *own, uint32_t thread)
{
    return thread >= trace_thread_count(own->trace) || !(own->threads[thread] & OWN_THREAD_WORKS);
}

const bool *own_time_starts(const struct own_time *own)
{
    return own->starts;
}

const struct own_label *own_time_label(const struct own_time *own, uint32_t label)
{
    return &own->labels[label];
}

const struct trace *own_time_trace(const struct own_time *own)
{
    return own->trace;
}
