/* SPDX-License-Identifier: MIT */
/* The state of each thread by slot. If waits were recorded, a thread runs from its first sign of
 * life to its last, except in its waits; otherwise in the time covered by its samples. */
#include "page_states.h"

#include "page_calls.h"
#include "page_data.h"
#include "page_model.h"

#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_MAX = 256, ROLE_SIZE = 256 };

struct thread_life {
    int64_t begin_ns, end_ns; /* 0 before the first sample */
};

/* State of a thread, or the sum of other threads of a role: shares of each slot, 1 per thread. */
struct page_state {
    uint32_t thread;  /* PAGE_NONE for several threads */
    uint32_t threads; /* number of threads */
    char role[ROLE_SIZE];
    float runnable[PAGE_STATE_SLOTS], blocked[PAGE_STATE_SLOTS], running[PAGE_STATE_SLOTS];
    float weight[PAGE_STATE_SLOTS];  /* of the current cause */
    uint8_t cause[PAGE_STATE_SLOTS]; /* 1 + enum wait_reason */
};

int page_states_init(struct page_states *states, const struct trace *trace,
                     const struct page_span *span)
{
    *states = (struct page_states){.trace = trace, .span = *span};
    states->thread_count = trace_thread_count(trace);
    states->off_cpu = trace_sampling_get(trace)->off_cpu;
    states->by_thread = calloc((size_t)states->thread_count + 1, sizeof(*states->by_thread));
    states->lives = calloc((size_t)states->thread_count + 1, sizeof(*states->lives));
    return states->by_thread && states->lives ? 0 : -ENOMEM;
}

void page_states_fini(struct page_states *states)
{
    for (size_t i = 0; i < states->items.count; i++)
        free(states->items.items[i]);
    vec_free(&states->items);
    vec_free(&states->roles);
    free(states->by_thread);
    free(states->lives);
    *states = (struct page_states){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

static struct page_state *new_state(struct page_states *states)
{
    struct page_state *state = calloc(1, sizeof(*state));
    if (state && vec_push(&states->items, state) == 0)
        return state;
    free(state);
    return NULL;
}

static struct page_state *state_of_role(struct page_states *states, uint32_t thread)
{
    char role[ROLE_SIZE];
    page_role_name(states->trace, thread, role, sizeof(role));
    for (size_t i = 0; i < states->roles.count; i++)
        if (i + 1 == OWN_MAX || strcmp(states->roles.items[i]->role, role) == 0)
            return states->roles.items[i];
    struct page_state *state = new_state(states);
    if (!state || vec_push(&states->roles, state) != 0)
        return NULL;
    state->thread = PAGE_NONE;
    memcpy(state->role, role, sizeof(role));
    return state;
}

/* Returns NULL if out of memory. */
static struct page_state *state_of(struct page_states *states, uint32_t thread)
{
    struct page_state *state = states->by_thread[thread];
    if (state)
        return state;
    if (states->items.count - states->roles.count < OWN_MAX) {
        state = new_state(states);
        if (state)
            state->thread = thread;
    } else {
        state = state_of_role(states, thread);
    }
    if (state)
        state->threads++;
    states->by_thread[thread] = state;
    return state;
}

/* Adds `part` of a stretch to the slots it overlaps. */
static void add_stretch(const struct page_states *states, float *slots, struct thread_life stretch,
                        double part)
{
    const struct page_span *span = &states->span;
    double slot_ns = (double)span->length_ns / PAGE_STATE_SLOTS;
    double begin = ((double)stretch.begin_ns - (double)span->begin_ns) / slot_ns;
    double end = ((double)stretch.end_ns - (double)span->begin_ns) / slot_ns;
    begin = begin > 0 ? begin : 0;
    end = end < PAGE_STATE_SLOTS ? end : PAGE_STATE_SLOTS;
    for (uint32_t slot = begin < end ? (uint32_t)begin : PAGE_STATE_SLOTS; slot < end; slot++) {
        double from = begin > slot ? begin : slot;
        double to = end < slot + 1 ? end : slot + 1;
        slots[slot] += (float)((to - from) * part);
    }
}

/* Estimates the most frequent cause of waits in each slot, without a sum per cause. */
static void add_cause(const struct page_states *states, struct page_state *state, uint8_t cause,
                      struct thread_life stretch)
{
    if (stretch.end_ns <= stretch.begin_ns)
        return;
    uint32_t first = page_slot(&states->span, PAGE_STATE_SLOTS, stretch.begin_ns);
    uint32_t last = page_slot(&states->span, PAGE_STATE_SLOTS, stretch.end_ns - 1);
    float length = (float)((double)stretch.end_ns - (double)stretch.begin_ns);
    float slot_ns = (float)states->span.length_ns / PAGE_STATE_SLOTS;
    length = length < slot_ns ? length : slot_ns;
    for (uint32_t slot = first; slot <= last; slot++) {
        if (state->cause[slot] == cause)
            state->weight[slot] += length;
        else if (length > state->weight[slot]) {
            state->cause[slot] = cause;
            state->weight[slot] = length;
        }
    }
}

/* Imported times may be extreme. */
static int64_t later(int64_t time_ns, uint64_t by_ns)
{
    int64_t sum;
    return __builtin_add_overflow(time_ns, by_ns, &sum) ? INT64_MAX : sum;
}

static void see(struct page_states *states, uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
    struct thread_life *life = &states->lives[thread];
    if (life->begin_ns == 0 || begin_ns < life->begin_ns)
        life->begin_ns = begin_ns;
    life->end_ns = end_ns > life->end_ns ? end_ns : life->end_ns;
}

static void add_wait(const struct page_states *states, struct page_state *state,
                     const struct sample *sample, const struct off_share *off)
{
    int64_t wake_ns = later(sample->time_ns, off->blocked_ns);
    struct thread_life blocked = {sample->time_ns, wake_ns};
    struct thread_life runnable = {wake_ns, later(wake_ns, off->runnable_ns)};
    uint8_t reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN;
    add_stretch(states, state->blocked, blocked, 1);
    add_cause(states, state, (uint8_t)(1 + reason), blocked);
    add_stretch(states, state->runnable, runnable, 1);
}

/* Spreads short waits over their interval, as their times are unknown. */
static void add_short(const struct page_states *states, struct page_state *state,
                      const struct sample *sample, const struct off_share *off)
{
    struct thread_life all = {sample->time_ns, sample->end_ns};
    double length = (double)sample->end_ns - (double)sample->time_ns;
    if (length <= 0)
        return;
    add_stretch(states, state->blocked, all, (double)off->blocked_ns / length);
    add_stretch(states, state->runnable, all, (double)off->runnable_ns / length);
}

static int take(void *context, const struct item *item)
{
    struct page_states *states = context;
    const struct sample *sample = item->sample;
    const struct sample_sets *sets = trace_sets_get(states->trace);
    enum sample_role role = sample_role(sets, sample);
    if (role == SAMPLE_ROLE_OTHER || role > SAMPLE_ROLE_SHORT_WAITS ||
        sample->thread >= states->thread_count)
        return 0;
    struct page_state *state = state_of(states, sample->thread);
    struct off_share off = sample_off_share(sets, sample);
    uint64_t cpu_ns = sample_cpu_ns(sets, sample);
    int64_t from_ns;
    if (!state)
        return -ENOMEM;
    see(states, sample->thread, sample->time_ns, sample_order_ns(sample));
    if (role == SAMPLE_ROLE_OFF_CPU)
        add_wait(states, state, sample, &off);
    else if (role == SAMPLE_ROLE_SHORT_WAITS)
        add_short(states, state, sample, &off);
    else if (!states->off_cpu && !__builtin_sub_overflow(sample->time_ns, cpu_ns, &from_ns))
        add_stretch(states, state->running, (struct thread_life){from_ns, sample->time_ns}, 1);
    return 0;
}

struct sink page_states_sink(struct page_states *states)
{
    return (struct sink){take, states, WANT_SAMPLES};
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* As for the wall time (profile/wall.c): main threads live as long as their process. */
static struct thread_life life_of(const struct page_states *states, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(states->trace, ordinal);
    const struct trace_process *process = trace_process_get(states->trace, thread->process);
    struct thread_life life = states->lives[ordinal];
    int64_t end_ns = states->span.begin_ns + (int64_t)states->span.length_ns;
    if (thread->first_ns && thread->first_ns < life.begin_ns)
        life.begin_ns = thread->first_ns;
    life.end_ns = thread->last_ns > life.end_ns ? thread->last_ns : life.end_ns;
    if (thread->tid != process->ns_pid)
        return life;
    life.begin_ns = process->start_ns ? process->start_ns : states->span.begin_ns;
    life.end_ns = process->end != PROCESS_RUNNING && process->end_ns ? process->end_ns : end_ns;
    return life;
}

/* Running: alive and not blocked. */
static void find_running(const struct page_states *states)
{
    for (uint32_t i = 0; i < states->thread_count; i++)
        if (states->off_cpu && states->by_thread[i])
            add_stretch(states, states->by_thread[i]->running, life_of(states, i), 1);
    for (size_t i = 0; i < states->items.count && states->off_cpu; i++) {
        struct page_state *state = states->items.items[i];
        for (uint32_t slot = 0; slot < PAGE_STATE_SLOTS; slot++)
            state->running[slot] -= state->runnable[slot] + state->blocked[slot];
    }
}

static double activity(const struct page_state *state)
{
    double sum = 0;
    for (uint32_t slot = 0; slot < PAGE_STATE_SLOTS; slot++)
        sum += (double)(state->running[slot] * 16 + state->runnable[slot] + state->blocked[slot]);
    return sum;
}

static int most_first(const void *left, const void *right)
{
    const struct page_state *a = *(const struct page_state *const *)left;
    const struct page_state *b = *(const struct page_state *const *)right;
    double a_sum = activity(a), b_sum = activity(b);
    if (a_sum != b_sum)
        return a_sum < b_sum ? 1 : -1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void join(struct page_state *into, const struct page_state *from)
{
    into->threads += from->threads;
    for (uint32_t slot = 0; slot < PAGE_STATE_SLOTS; slot++) {
        into->running[slot] += from->running[slot];
        into->runnable[slot] += from->runnable[slot];
        into->blocked[slot] += from->blocked[slot];
        if (from->weight[slot] > into->weight[slot]) {
            into->weight[slot] = from->weight[slot];
            into->cause[slot] = from->cause[slot];
        }
    }
}

/* Joins the threads beyond PAGE_STATES_MAX by role. Returns the number of remaining items. */
static size_t join_rest(const struct page_states *states)
{
    struct page_state **items = states->items.items;
    size_t kept = states->items.count < PAGE_STATES_MAX ? states->items.count : PAGE_STATES_MAX;
    size_t count = kept;
    for (size_t i = kept; i < states->items.count; i++) {
        struct page_state *state = items[i];
        size_t at = kept;
        if (state->thread != PAGE_NONE)
            page_role_name(states->trace, state->thread, state->role, sizeof(state->role));
        state->thread = PAGE_NONE;
        while (at < count && at + 1 < 2 * (size_t)PAGE_STATES_MAX &&
               strcmp(items[at]->role, state->role) != 0)
            at++;
        if (at < count) {
            join(items[at], state);
        } else {
            items[i] = items[count];
            items[count++] = state;
        }
    }
    return count;
}

static int put_bytes(struct json_doc *doc, const char *key, const float *parts, uint32_t threads)
{
    uint8_t bytes[PAGE_STATE_SLOTS];
    for (uint32_t slot = 0; slot < PAGE_STATE_SLOTS; slot++) {
        float part = parts[slot] / (float)threads * 255 + 0.5F;
        bytes[slot] = (uint8_t)(part < 0 ? 0 : part > 255 ? 255 : part);
    }
    return page_put_bytes(doc, key, bytes, sizeof(bytes));
}

static int put_state(const struct page *page, struct json_doc *doc, const struct page_state *state)
{
    bool known = state->thread != PAGE_NONE && page->thread_index[state->thread] != PAGE_NONE;
    json_doc_object(doc, NULL);
    json_doc_int(doc, "thread", known ? (int64_t)page->thread_index[state->thread] : -1);
    if (state->thread == PAGE_NONE)
        page_put_text(page, doc, "role", state->role);
    json_doc_uint(doc, "threads", state->threads);
    int error = put_bytes(doc, "running", state->running, state->threads);
    if (!error)
        error = put_bytes(doc, "runnable", state->runnable, state->threads);
    if (!error)
        error = put_bytes(doc, "blocked", state->blocked, state->threads);
    if (!error)
        error = page_put_bytes(doc, "cause", state->cause, sizeof(state->cause));
    json_doc_close(doc);
    return error;
}

void page_states_finish(struct page_states *states)
{
    find_running(states);
    if (states->items.count > 0)
        qsort(states->items.items, states->items.count, sizeof(*states->items.items), most_first);
    states->shown = join_rest(states);
}

int page_put_states(struct page *page, struct json_doc *doc)
{
    int error = 0;
    json_doc_object(doc, "states");
    json_doc_uint(doc, "slots", PAGE_STATE_SLOTS);
    json_doc_array(doc, "threads");
    for (size_t i = 0; i < page->states.shown && !error; i++)
        error = put_state(page, doc, page->states.items.items[i]);
    json_doc_close(doc);
    json_doc_close(doc);
    return error;
}
