/* SPDX-License-Identifier: MIT */
/* Pausing, names of threads, clocks, stitched stacks, frames of the first version. */

#include "itt.h"
#include "itt_names.h"

#include <annot_barrier.h>
#include <string.h>

/* ---- Pause and resume of the process's ITT events, shown as a range -------------------------- */

int itt_is_paused;
static int is_detached; /* under itt_lock */
/* The same: the pause in its recording. */
static annot_range paused_range;
static uint64_t paused_recording;
static uint64_t paused_generation; /* of the gate, at the last check; W: under itt_lock */

/* Under itt_lock. */
static void begin_pause(void)
{
    const struct annot_event event = {.text = "paused", .domain = itt_domain_of("itt")};
    paused_range = annot_start_event(&event);
    paused_recording = annot_recording();
    annot_store_relaxed(&paused_generation, annot_gate_v1.generation); /* any order will do */
}

void itt_emit_pause(void)
{
    uint64_t generation = annot_gate_v1.generation;
    if (annot_load_relaxed(&paused_generation) == generation || !itt_lock())
        return;
    uint64_t recording = annot_recording();
    if (itt_is_paused && recording && recording != paused_recording)
        begin_pause();
    annot_store_relaxed(&paused_generation, generation);
    itt_unlock();
}

void itt_pause_after_fork(void)
{
    paused_range = 0;
    paused_recording = paused_generation = 0;
}

static void set_paused(int is_paused)
{
    if (!itt_lock())
        return;
    if (is_paused == itt_is_paused || is_detached) {
        itt_unlock();
        return;
    }
    if (is_paused)
        begin_pause();
    else
        annot_end(paused_range);
    annot_store_relaxed(&itt_is_paused, is_paused); /* any order will do */
    itt_unlock();
}

static void pause_scoped(int scope)
{
    if (scope & ITT_COLLECTION_HOST)
        set_paused(1);
}

static void resume_scoped(int scope)
{
    if (scope & ITT_COLLECTION_HOST)
        set_paused(0);
}

static void pause_all(void)
{
    set_paused(1);
}

static void resume_all(void)
{
    set_paused(0);
}

static void detach(void)
{
    set_paused(1);
    if (!itt_lock())
        return;
    is_detached = 1;
    itt_unlock();
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void thread_set_name(const char *name)
{
    if (name)
        annot_name_thread(name);
}

static int thr_name_set(const char *name, int length)
{
    (void)length;
    thread_set_name(name);
    return 0;
}

/* ---- Clocks: registered, but not converted; their times are key-values ----------------------- */

static struct itt_clock *clocks; /* under itt_lock */

static struct itt_clock *clock_domain_create(void (*read)(struct itt_clock *, void *), void *data)
{
    struct itt_clock *clock = itt_memory_take(sizeof(*clock));
    if (!clock || !itt_lock())
        return NULL;
    clock->read = read;
    clock->data = data;
    clock->next = clocks;
    clocks = clock;
    itt_unlock();
    if (read)
        read(clock, data);
    return clock;
}

static struct itt_clock *first_clock(void)
{
    if (!itt_lock())
        return NULL;
    struct itt_clock *first = clocks;
    itt_unlock();
    return first; /* the rest of the list never changes */
}

static void clock_domain_reset(void)
{
    for (struct itt_clock *clock = first_clock(); clock; clock = clock->next)
        if (clock->read)
            clock->read(clock, clock->data);
}

/* ---- Stitched stacks: an arrow from the submission of work to its execution ------------------ */

static void *stack_caller_create(void)
{
    annot_flow flow = annot_flow_new();
    if (itt_is_wanted())
        annot_emit_flow(ANNOT_FLOW_BEGIN, flow, "itt stack");
    return (void *)(uintptr_t)flow;
}

static void stack_callee_enter(void *caller)
{
    if (caller && itt_is_wanted())
        annot_emit_flow(ANNOT_FLOW_STEP, (annot_flow)(uintptr_t)caller, NULL);
}

const struct itt_entry itt_entries_control[] = {
    {"clock_domain_create", clock_domain_create},
    {"clock_domain_reset", clock_domain_reset},
    {"detach", detach},
    {"pause", pause_all},
    {"pause_scoped", pause_scoped},
    {"resume", resume_all},
    {"resume_scoped", resume_scoped},
    {"stack_callee_enter", stack_callee_enter},
    {"stack_caller_create", stack_caller_create},
    {"thr_name_set", thr_name_set},
    {"thread_set_name", thread_set_name},
    {NULL, NULL},
};
