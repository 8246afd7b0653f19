/* SPDX-License-Identifier: MIT */
/* A thread's open ranges, by domain: NVTX nests ranges per thread and domain, annot per thread.
 *
 * Usually both nest alike: then a pop closes the thread's innermost range. If ranges of two domains
 * cross, the one that is popped too early ends after those inside of it have ended, with a value
 * for the time since its pop. From then on the domains of the ranges inside of it are recorded
 * apart on this thread: as ranges of the process, which may cross.
 *
 * Threads: each uses only its own struct. Signal handlers: a push in a handler needs its pop there.
 * Memory: 12 KiB, reserved once for each thread that pushes during a recording. */
#ifndef ANNOT_NVTX_THREAD_H
#define ANNOT_NVTX_THREAD_H

#include <annot/annot.h>
#include <annot/values.h>
#include <wchar.h>

enum {
    NVTX_OPEN_KEPT = 1024, /* deeper ranges are assumed to nest */
    NVTX_LATE_KEPT = 64,   /* values of all of them; more are dropped */
    NVTX_LATE_EACH = 8,    /* and of one */
    NVTX_LANES = UINT16_MAX + 1,
    NVTX_LANE_SYNC = UINT16_MAX, /* waits for objects of SYNC, which count for no domain */
};

/* One byte more than a name may have, to detect cut names; the longest character; the end. */
enum { NVTX_TEXT_SIZE = 1024 + 4 + 1 };

enum nvtx_open_state {
    NVTX_OPEN_NESTED = 0,
    NVTX_OPEN_APART = 1, /* a range of the process; value: its id */
    NVTX_OPEN_ENDED = 2, /* popped too early; value: time of the pop, ns */
};

/* An open range. */
struct nvtx_open {
    uint32_t lane; /* the domain's number */
    uint32_t state;
    uint64_t value;
};

/* A domain on this thread. */
struct nvtx_lane {
    uint32_t open; /* number of its open ranges */
    uint32_t is_apart;
};

/* A value of a pop that was too early; emitted with the end. */
struct nvtx_late {
    uint64_t popped;          /* the range's */
    struct annot_value value; /* kind ANNOT_PAYLOAD_NONE: no value */
};

struct nvtx_thread {
    uint64_t generation; /* of the gate, for which the other fields are valid */
    uint64_t recording;
    uint32_t depth;   /* open ranges of all lanes */
    uint32_t endings; /* number of calls of the thread's end handler that found open ranges */
    struct nvtx_open open[NVTX_OPEN_KEPT];
    struct nvtx_late late[NVTX_LATE_KEPT];
    char text[NVTX_TEXT_SIZE];
    struct nvtx_lane lanes[NVTX_LANES];
};

extern __thread struct nvtx_thread *nvtx_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Returns the calling thread's struct, for the current recording; NULL: out of memory. */
struct nvtx_thread *nvtx_thread_refresh(void);

/* Converts wide characters to UTF-8, in memory of the thread, valid until the next call. */
const char *nvtx_thread_text(const wchar_t *wide);

static inline struct nvtx_thread *nvtx_thread_mine(void)
{
    struct nvtx_thread *thread = nvtx_thread;
    if (__builtin_expect(thread && thread->generation == annot_gate_v1.generation, 1))
        return thread;
    return nvtx_thread_refresh();
}

/* Adds a range that was pushed. Returns its level in the lane, from 0 on. */
static inline int nvtx_thread_push(struct nvtx_thread *thread, uint32_t lane,
                                   enum nvtx_open_state state, uint64_t value)
{
    uint32_t depth = thread->depth++;
    if (__builtin_expect(depth < NVTX_OPEN_KEPT, 1)) {
        struct nvtx_open *open = &thread->open[depth];
        open->lane = lane;
        open->state = (uint32_t)state;
        open->value = value;
    }
    return (int)thread->lanes[lane].open++;
}

/* True if a pop of the lane closes only the thread's innermost range. */
static inline int nvtx_thread_is_plain(const struct nvtx_thread *thread, uint32_t lane)
{
    uint32_t top = thread->depth - 1;
    return top < NVTX_OPEN_KEPT && thread->open[top].lane == lane &&
           thread->open[top].state == NVTX_OPEN_NESTED &&
           (top == 0 || thread->open[top - 1].state != NVTX_OPEN_ENDED);
}

/* Performs that pop: returns the level of the range in the lane. */
static inline int nvtx_thread_pop_plain(struct nvtx_thread *thread, uint32_t lane)
{
    thread->depth--;
    return (int)--thread->lanes[lane].open;
}

/* Closes the lane's innermost range, in any state. `values` are emitted with its end. Returns its
 * level, or NVTX_NO_PUSH_POP_TRACKING if it was pushed before the recording. */
int nvtx_thread_pop(struct nvtx_thread *thread, uint32_t lane, const struct annot_value *values,
                    size_t count);

#endif
