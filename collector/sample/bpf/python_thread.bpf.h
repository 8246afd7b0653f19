/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The thread state of the current task, through the lists of the interpreter.
 *
 * Not through the thread-local word that newer versions keep: that is empty while the GIL is
 * released. What was found is kept per task and checked each time, unless
 * there are several interpreters: then any of them may have the thread now. */
#ifndef ANNOT_PYTHON_THREAD_BPF_H
#define ANNOT_PYTHON_THREAD_BPF_H

#include "python_state.bpf.h"

/* A thread that was not there is looked for again after a while; at once while it is young, for it
 * may be one of Python's that just begins. */
#define PYTHON_AGAIN_NS 5000000ull
#define PYTHON_YOUNG_NS 50000000ull

enum { PYTHON_THREADS_LOOKED_AT = 8192 };

struct python_task {
    int32_t pid, tid;
};

struct python_known {
    uint64_t tstate, interp; /* 0: there was none */
    uint64_t gil;            /* of that interpreter: as long as it lives */
    uint64_t alone;          /* the interpreter that was the only one; 0: there were several */
    uint64_t runtime;        /* of the image that it was found in */
    uint64_t until_ns;       /* of those that were not there: when to look again */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, struct python_task);
    __type(value, struct python_known);
} python_threads SEC(".maps");

/* Reads the thread state that is known. */
static __always_inline bool python_thread_is(const struct walk *walk, struct python_cursor *c,
                                             const struct python_known *known)
{
    return python_read_thread(c, known->tstate) == 0 &&
           python_thread_field(c, c->offsets.tstate_thread_id) == walk->fsbase &&
           python_thread_field(c, c->offsets.tstate_interp) == known->interp;
}

/* A thread has a state in each interpreter that it ever ran: the one with frames is meant. From
 * 3.15 on the outermost of all is none: nothing comes before it. Of the one that was read. */
static __always_inline bool python_has_frames(const struct python_cursor *c, uint64_t tstate)
{
    uint64_t top = python_thread_field(c, c->offsets.tstate_frame), previous = 0;

    if (!top)
        return false;
    if (c->offsets.layout == PYTHON_LAYOUT_CURRENT)
        return !read_user(&previous, sizeof(previous), top + c->offsets.frame_previous) && previous;
    return c->offsets.layout != PYTHON_LAYOUT_CFRAME || top - tstate >= PYTHON_TSTATE_BYTES;
}

/* One thread state, or on to the next interpreter. c->found, in c->inner: the best so far. */
static long python_thread_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);

    if (!c->frame) {
        if (index && read_user(&c->interp, sizeof(c->interp), c->interp + c->offsets.interp_next))
            return 1;
        if (!c->interp ||
            read_user(&c->frame, sizeof(c->frame), c->interp + c->offsets.interp_threads_head))
            return 1;
        return 0;
    }
    if (python_read_thread(c, c->frame))
        return 1;
    if (python_thread_field(c, c->offsets.tstate_thread_id) == walk->fsbase) {
        if (python_has_frames(c, c->frame)) {
            c->found = c->frame;
            c->inner = c->interp;
            return 1;
        }
        if (!c->found) {
            c->found = c->frame;
            c->inner = c->interp;
        }
    }
    c->frame = python_thread_field(c, c->offsets.tstate_next);
    return 0;
}

/* From the interpreter `first` on. */
static __always_inline void python_search(struct walk *walk, struct python_cursor *c,
                                          uint64_t first)
{
    c->found = c->inner = c->frame = 0;
    c->interp = first;
    if (first)
        bpf_loop(PYTHON_THREADS_LOOKED_AT, python_thread_step, &walk, 0);
    c->tstate = c->found;
    c->interp = c->inner;
}

static __always_inline uint64_t python_next_interpreter(const struct python_cursor *c,
                                                        uint64_t interp)
{
    uint64_t next = 0;

    return interp && !read_user(&next, sizeof(next), interp + c->offsets.interp_next) ? next : 0;
}

/* The newest one. c->several: there are others. New ones come first in the list, so one that was
 * alone still is when it is the first. */
static __always_inline uint64_t python_first_interpreter(const struct walk *walk,
                                                         struct python_cursor *c,
                                                         const struct python_known *known)
{
    uint64_t first = 0;

    if (read_user(&first, sizeof(first),
                  walk->process.runtime + c->offsets.runtime_interpreters_head))
        first = 0;
    c->several = !(known && first && known->alone == first) && python_next_interpreter(c, first);
    return first;
}

/* Sets c->tstate and c->interp. Not 0: the interpreter does not know this thread. */
static __always_inline int python_find_thread(struct walk *walk, struct python_cursor *c)
{
    struct python_task task = {walk->head.pid, walk->head.tid};
    struct python_known *known = bpf_map_lookup_elem(&python_threads, &task);
    struct python_known fresh = {};
    uint64_t first;

    if (known && known->runtime != walk->process.runtime)
        known = 0;
    first = python_first_interpreter(walk, c, known);
    if (known) {
        if (!known->tstate && walk->now < known->until_ns)
            return -1;
        if (known->tstate && !c->several && python_thread_is(walk, c, known)) {
            c->tstate = known->tstate;
            c->interp = known->interp;
            c->gil = known->gil;
            return 0;
        }
    }
    python_search(walk, c, first);
    c->gil = 0;
    if (c->offsets.interp_gil != PYTHON_OFFSET_NONE &&
        read_user(&c->gil, sizeof(c->gil), c->interp + c->offsets.interp_gil))
        c->gil = 0;
    fresh.tstate = c->tstate;
    fresh.interp = c->interp;
    fresh.gil = c->gil;
    fresh.alone = c->several ? 0 : first;
    fresh.runtime = walk->process.runtime;
    if (bpf_ktime_get_boot_ns() - walk->head.thread_start_ns > PYTHON_YOUNG_NS)
        fresh.until_ns = walk->now + PYTHON_AGAIN_NS;
    bpf_map_update_elem(&python_threads, &task, &fresh, BPF_ANY);
    return c->tstate && python_read_thread(c, c->tstate) == 0 ? 0 : -1;
}

static __always_inline bool python_holds_gil(const struct walk *walk, struct python_cursor *c)
{
    uint64_t holder = 0;

    if (c->offsets.runtime_gil_holder != PYTHON_OFFSET_NONE)
        return !read_user(&holder, sizeof(holder),
                          walk->process.runtime + c->offsets.runtime_gil_holder) &&
               holder == c->tstate;
    return c->gil && !read_user(c->words, PYTHON_WORDS_BYTES, c->gil) &&
           python_word(c, c->gil, c->offsets.gil_holder) == c->tstate &&
           (int32_t)python_word(c, c->gil, c->offsets.gil_locked) == 1;
}

static __always_inline void python_look_around(struct walk *walk, struct python_cursor *c)
{
    int32_t collecting = 0;

    if (!python_holds_gil(walk, c))
        return;
    walk->flags |= SAMPLER_HOLDS_GIL;
    if (c->offsets.interp_gc_collecting != PYTHON_OFFSET_NONE &&
        !read_user(&collecting, sizeof(collecting), c->interp + c->offsets.interp_gc_collecting) &&
        collecting == 1)
        walk->flags |= SAMPLER_GC;
}

#endif
