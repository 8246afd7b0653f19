/* SPDX-License-Identifier: MIT */
/* Waiting for a free block: see wait.h. */
#include "wait.h"

#include "block.h"
#include "clock.h"
#include "proc.h"
#include "process.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The collector visits every millisecond while data flow. */
enum { PAUSE_NS = 100 * 1000, PAUSE_MAX_NS = 2000 * 1000 };

static APART uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Uses the system call itself: nanosleep is a cancellation point, which an event must not be. A
 * signal ends it early, which is harmless. */
static APART void pause_ns(long ns)
{
    const struct timespec pause = {0, ns};
    syscall(SYS_nanosleep, &pause, NULL);
}

/* Decides as the thread's next event would. */
static APART int does_go_on(const struct control *control, uint64_t gate)
{
    uint64_t before = proc_block_signals(); /* a handler that jumps out would leak a reference */
    struct segment *segment = process_join(gate);
    int goes_on = segment == control->segment;
    if (segment)
        segment_put(segment);
    proc_restore_signals(before);
    return goes_on;
}

/* True while the session of the thread is running. The gate changes for other sessions as well:
 * then this checks once per generation. */
static APART int is_recording(const struct control *control, uint64_t *asked)
{
    uint64_t gate = annot_gate_v1.generation;
    if (gate == *asked)
        return 1;
    if (gate == 0)
        return 0;
    *asked = gate;
    return does_go_on(control, gate);
}

static uint64_t heartbeat(const struct segment *segment)
{
    return annot_load_relaxed(&segment->header->control.heartbeat);
}

/* A wait failed while threads held all blocks: the collector has none to free. */
#define WITHOUT_HOPE (UINT64_MAX - 1)

static int is_any_released(const struct segment *segment)
{
    for (uint32_t index = 0; index < segment->block_count; index++)
        if ((annot_load_relaxed(&segment->block_states[index]) & ANNOT_BLOCK_STATE_MASK) ==
            ANNOT_BLOCK_RELEASED)
            return 1;
    return 0;
}

void wait_hope(struct segment *segment)
{
    if (annot_load_relaxed(&segment->vain_heartbeat) == WITHOUT_HOPE)
        annot_store_relaxed(&segment->vain_heartbeat, UINT64_MAX);
}

static int is_vain(const struct segment *segment)
{
    uint64_t vain = annot_load_relaxed(&segment->vain_heartbeat);
    return vain == heartbeat(segment) || vain == WITHOUT_HOPE;
}

static APART int try_claim(struct segment *segment, uint32_t *ret_index)
{
    return block_available(segment) ? block_claim(segment, ret_index) : -ENOBUFS;
}

static APART void give_up(struct segment *segment)
{
    int any = is_any_released(segment) || block_available(segment);
    annot_store_relaxed(&segment->vain_heartbeat, any ? heartbeat(segment) : WITHOUT_HOPE);
}

int wait_claim(const struct control *control, uint32_t *ret_index)
{
    uint64_t asked = control->attached_generation;
    if (is_vain(control->segment))
        return -ENOBUFS;
    uint64_t end = monotonic_ns() + ANNOT_WAIT_MAX_NS;
    for (long ns = PAUSE_NS; is_recording(control, &asked) && monotonic_ns() < end;) {
        pause_ns(ns);
        int error = try_claim(control->segment, ret_index);
        if (error != -ENOBUFS)
            return error;
        ns = ns < PAUSE_MAX_NS / 2 ? 2 * ns : PAUSE_MAX_NS;
    }
    give_up(control->segment);
    return -ENOBUFS;
}
