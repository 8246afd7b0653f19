/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Calls of the eval function that are just being made (3.11, 3.12).
 *
 * Its first instructions publish a structure of its own C frame before they have filled it in: what
 * is read from it then is left over from some earlier call. Such a call is skipped: the structure
 * of the next outer call lies in that call's C frame, always at the same distance from its end. */
#ifndef ANNOT_PYTHON_ENTRY_BPF_H
#define ANNOT_PYTHON_ENTRY_BPF_H

#include "python_state.bpf.h"

/* How far into the function the structure may not be filled in: 0x60 to 0xb0 in builds that were
 * looked at; the first instruction handler follows at 0x100 or later. */
enum { PYTHON_ENTRY_BYTES = 0xc0 };

static __always_inline bool python_in_leaf(const struct walk *walk, uint64_t address)
{
    return walk->native_count && address >= walk->leaf.rsp && address < walk->native[0].cfa;
}

/* Whether the innermost C frame is not to be believed. */
static __always_inline bool python_entry_is_open(const struct walk *walk,
                                                 const struct python_cursor *c)
{
    if (walk->leaf.rip - walk->process.eval >= PYTHON_ENTRY_BYTES || !walk->process.eval)
        return false;
    return !walk->native_count || !walk->native[0].cfa || python_in_leaf(walk, c->cframe);
}

static __always_inline bool python_is_eval(const struct walk *walk, uint64_t address)
{
    return address > walk->process.eval && address <= walk->process.eval_end;
}

/* Native frames from the leaf on. c->found: 0 until the frame that has c->cframe was met; then its
 * CFA, or, if the next outer frame of the eval function is wanted, 1 until that was met. c->inner:
 * the CFA of the frame before. */
static long python_entry_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);
    uint64_t cfa;

    if (index >= SAMPLER_NATIVE_MAX || index >= walk->native_count)
        return 1;
    cfa = walk->native[index].cfa;
    if (c->found && python_is_eval(walk, walk->native[index].address)) {
        c->found = cfa;
        return 1;
    }
    if (!c->found && c->cframe < cfa) {
        c->found = c->own ? cfa : 1;
        if (c->own)
            return 1;
    }
    c->inner = cfa;
    return 0;
}

/* The CFA of the native frame that has c->cframe, or of the next outer one of the eval function.
 * 0: there is none. */
static __always_inline uint64_t python_entry_find(struct walk *walk, struct python_cursor *c,
                                                  bool own)
{
    c->own = own;
    c->found = 0;
    c->inner = walk->leaf.rsp;
    if (c->cframe >= walk->leaf.rsp)
        bpf_loop(SAMPLER_NATIVE_MAX, python_entry_step, &walk, 0);
    return c->found > 1 ? c->found : 0;
}

/* To the next outer call. Not 0: it could not be found for sure. */
static __always_inline int python_entry_skip(struct walk *walk, struct python_cursor *c)
{
    uint64_t cframe, cfa;

    if (!walk->native_count || !walk->process.eval || python_take_top(c))
        return -1;
    cfa = python_entry_find(walk, c, false);
    if (!cfa) { /* the first call of all, if the native stack is whole */
        c->frame = 0;
        return walk->native_end == STACK_COMPLETE ? 0 : -1;
    }
    cframe = walk->process.cframe_offset ? cfa - walk->process.cframe_offset : c->cframe_previous;
    if (cframe < c->inner || cframe >= cfa || python_take_cframe(c, cframe))
        return -1;
    c->frame = c->cframe_frame;
    return 0;
}

/* From a walk that went well: the distance, once per process. */
static __always_inline void python_entry_learn(struct walk *walk, struct python_cursor *c)
{
    struct sampler_process *process;
    int32_t pid = walk->head.pid;
    uint64_t cfa;

    if (walk->process.cframe_offset || !walk->native_count || python_take_top(c))
        return;
    cfa = python_entry_find(walk, c, true);
    if (!cfa || cfa - c->cframe > PYTHON_TSTATE_BYTES)
        return;
    process = bpf_map_lookup_elem(&processes, &pid);
    if (process && process->runtime == walk->process.runtime)
        process->cframe_offset = cfa - c->cframe;
}

#endif
