/* SPDX-License-Identifier: MIT */
/* Separates threads that hold up the program while they wait from helpers: a pool's own threads, a
 * queue's consumer, a heartbeat. */
#include "own_threads.h"

#include <stdlib.h>

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
    thread->all_ns += sum->time_ns + sum->ready_ns;
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

uint8_t *own_threads_find(const struct own_sums *sums, uint32_t *ret_busy_count)
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
