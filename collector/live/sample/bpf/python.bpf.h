/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Walks the frames of a CPython interpreter.
 *
 * Starts at the thread state's frame; each frame leads to its caller. Calls from C leave marks on
 * the C stack (shims from 3.12 on, CFrames in 3.10 to 3.12): by their addresses user space later
 * matches native frames to Python frames. All memory belongs to the process and may have any
 * content. */
#ifndef ANNOT_PYTHON_BPF_H
#define ANNOT_PYTHON_BPF_H

#include "python_code.bpf.h"
#include "python_state.bpf.h"

/* ---- Calls that are just being made ---------------------------------------------------------- */

/* Calls of the eval function that are just being made (3.11, 3.12).
 *
 * Its first instructions publish a structure in its C frame before filling it in: until then its
 * content is left over from an earlier call. Such a call is skipped: the structure of the next
 * outer call lies in that call's C frame, always at the same distance from its end. */

/* How far into the function the structure may be unfilled: 0x60 to 0xb0 in the builds examined; the
 * first instruction handler follows at 0x100 or later. */
enum { PYTHON_ENTRY_BYTES = 0xc0 };

static __always_inline bool python_in_leaf(const struct walk *walk, uint64_t address)
{
    return walk->native_count && address >= walk->leaf.rsp && address < walk->native[0].cfa;
}

/* True if the innermost C frame may be unfilled. */
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

/* Visits native frames from the leaf on. c->found: 0 until the frame that has c->cframe was met;
 * then its CFA, or, if the next outer frame of the eval function is wanted, 1 until that was met.
 * c->inner: the CFA of the frame before. */
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
 * 0: not found. */
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

/* Moves to the next outer call. Not 0: it could not be located reliably. */
static __always_inline int python_entry_skip(struct walk *walk, struct python_cursor *c)
{
    uint64_t cframe, cfa;

    if (!walk->native_count || !walk->process.eval || python_take_top(c))
        return -1;
    cfa = python_entry_find(walk, c, false);
    if (!cfa) { /* the outermost call, if the native stack is complete */
        c->frame = 0;
        return walk->native_end == STACK_COMPLETE ? 0 : -1;
    }
    cframe = walk->process.cframe_offset ? cfa - walk->process.cframe_offset : c->cframe_previous;
    if (cframe < c->inner || cframe >= cfa || python_take_cframe(c, cframe))
        return -1;
    c->frame = c->cframe_frame;
    return 0;
}

/* Stores the distance from a successful walk, once per process. */
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

/* ---- Frames ---------------------------------------------------------------------------------- */

enum { PYTHON_INTERPRETERS_LOOKED_AT = 8 }; /* of one thread at a time */

/* The bytecode of one thread, in builds with a copy for each. */
static __always_inline uint64_t python_bytecode(const struct python_cursor *c, uint64_t code)
{
    uint64_t array = 0, bytecode = 0;
    int32_t index;

    if (c->offsets.frame_tlbc == PYTHON_OFFSET_NONE)
        return code + c->offsets.code_bytes;
    index = (int32_t)python_field(c, c->offsets.frame_tlbc);
    if (index <= 0 || read_user(&array, sizeof(array), code + c->offsets.code_tlbc) ||
        read_user(&bytecode, sizeof(bytecode), array + 8 + 8 * (uint64_t)(uint32_t)index))
        return code + c->offsets.code_bytes;
    return bytecode;
}

/* A byte offset; -1: before the first instruction, or at an implausible distance. */
static __always_inline int32_t python_instruction(const struct python_cursor *c, uint64_t code)
{
    uint64_t value = python_field(c, c->offsets.frame_instruction);
    int64_t distance;

    if (c->offsets.layout == PYTHON_LAYOUT_FRAME_OBJECT) {
        distance = (int32_t)value;
        return distance > 0 && c->offsets.version >= 0x030a ? distance * 2 : distance;
    }
    distance = value - python_bytecode(c, code);
    return distance < 0 || distance > PYTHON_BYTECODE_MAX ? -1 : distance;
}

/* Moves past a mark, to the C frame of the next outer call of the eval function. Its frame must be
 * the one that made this call. STACK_NOT_WALKED: go on. */
static __always_inline enum stack_end python_leave_call(struct python_cursor *c)
{
    uint64_t outer = c->cframe_previous;

    if (c->offsets.layout != PYTHON_LAYOUT_CFRAME)
        return c->frame ? STACK_NOT_WALKED : STACK_COMPLETE;
    if (python_is_root(c, outer))
        return c->frame ? STACK_TORN : STACK_COMPLETE;
    if (python_take_cframe(c, outer))
        return STACK_FAULT;
    if (c->cframe_frame != c->frame)
        return STACK_TORN;
    c->calls++;
    return STACK_NOT_WALKED;
}

/* In 3.10 every frame is a separate call, and the chain of CFrames advances with it. */
static __always_inline void python_leave_object(struct python_cursor *c)
{
    if (c->offsets.cframe_previous == PYTHON_OFFSET_NONE || !c->cframe)
        return;
    if (python_is_root(c, c->cframe) ||
        read_user(&c->cframe, sizeof(c->cframe), c->cframe + c->offsets.cframe_previous))
        c->cframe = 0;
}

static __always_inline enum stack_end python_fill(struct walk *walk, struct python_cursor *c,
                                                  struct sampler_python *frame)
{
    uint64_t code = python_field(c, c->offsets.frame_code);

    if (c->offsets.flags & PYTHON_TAGGED_CODE)
        code &= ~(uint64_t)PYTHON_TAG_BITS;
    frame->code = code;
    frame->anchor = c->offsets.layout == PYTHON_LAYOUT_CURRENT ? 0 : c->cframe;
    if (c->cframe && python_is_root(c, c->cframe))
        frame->anchor = 0;
    if (python_code_key(walk, c, code))
        return STACK_BAD_FRAME;
    frame->key = c->key;
    frame->instruction = python_instruction(c, code);
    return STACK_NOT_WALKED;
}

/* From 3.15 on the outermost mark lies in the thread state itself: it is not a call. */
static __always_inline bool python_is_base(const struct python_cursor *c)
{
    return c->frame - c->tstate < PYTHON_BASE_BYTES && c->offsets.layout == PYTHON_LAYOUT_CURRENT;
}

static __always_inline enum stack_end python_frame(struct walk *walk, struct python_cursor *c,
                                                   struct sampler_python *frame)
{
    enum stack_end end = STACK_NOT_WALKED;
    uint64_t here = c->frame;
    bool shim, entry;

    if (python_is_base(c))
        return STACK_COMPLETE;
    if (python_read_frame(c))
        return STACK_FAULT;
    frame->owner = python_byte(c, c->offsets.frame_owner);
    shim = c->offsets.shim_owner != PYTHON_OFFSET_NONE && frame->owner == c->offsets.shim_owner;
    entry = c->offsets.frame_is_entry != PYTHON_OFFSET_NONE &&
            python_byte(c, c->offsets.frame_is_entry);
    frame->flags = shim ? SAMPLER_PYTHON_SHIM : entry ? SAMPLER_PYTHON_ENTRY : 0;
    frame->reserved = 0;
    if (shim) {
        frame->code = frame->key = 0;
        frame->anchor = here;
        frame->instruction = -1;
    } else {
        end = python_fill(walk, c, frame);
        if (end != STACK_NOT_WALKED)
            return end;
    }
    c->hash = emit_mix(emit_mix(c->hash, frame->code),
                       frame->key ^ ((uint64_t)(uint32_t)frame->instruction << 32));
    c->taken++;
    c->frame = python_field(c, c->offsets.frame_previous);
    if (c->offsets.layout == PYTHON_LAYOUT_FRAME_OBJECT) {
        frame->flags |= SAMPLER_PYTHON_ENTRY;
        python_leave_object(c);
        return c->frame ? STACK_NOT_WALKED : STACK_COMPLETE;
    }
    if (shim || entry)
        return python_leave_call(c);
    return c->frame ? STACK_NOT_WALKED : STACK_TORN;
}

/* Appends a frame. 1: it was the last. A separate function, so that it is verified once and not for
 * each loop over frames. */
__noinline int python_take_frame(struct walk *walk)
{
    struct python_cursor *c;
    uint32_t index;

    if (!walk)
        return 1;
    c = python_cursor(walk);
    index = c->taken;
    if (index >= SAMPLER_PYTHON_MAX)
        return 1;
    c->end = python_frame(walk, c, &walk->python[index]);
    return c->end != STACK_NOT_WALKED;
}

/* The kernel verifies python_take_frame separately, so here its result may be any number. clang
 * knows that it is 0 or 1, and would omit the comparison that the kernel needs. */
static long python_step(uint32_t index, void *context)
{
    int is_last = python_take_frame(*(struct walk **)context);
    barrier_var(is_last);
    return is_last != 0;
}

/* Appends the frames of one more interpreter. */
static __always_inline void python_more_frames(struct walk *walk, struct python_cursor *c)
{
    c->calls = 0;
    c->file = c->key_code = 0;
    c->end = STACK_COMPLETE;
    if (!c->frame)
        return;
    c->end = STACK_NOT_WALKED;
    bpf_loop(SAMPLER_PYTHON_MAX, python_step, &walk, 0);
    if (c->end == STACK_NOT_WALKED)
        c->end = STACK_DEPTH;
}

static __always_inline void python_frames(struct walk *walk, struct python_cursor *c)
{
    c->taken = 0;
    c->hash = emit_begin(walk->process.space);
    c->frames.size = 0;
    python_more_frames(walk, c);
}

/* 3.10: a call that is just being made has a CFrame already but no frame yet: each frame belongs to
 * the next outer CFrame. For a call that is just ending it is the reverse. */
static long python_shift_outwards(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);

    if (index >= SAMPLER_PYTHON_MAX - 1)
        return 1;
    walk->python[index].anchor = index + 1 < c->taken ? walk->python[index + 1].anchor : c->cframe;
    return 0;
}

/* Starts at the outermost frame; the last round is that of the innermost one. */
static long python_shift_inwards(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);
    uint32_t before = c->taken - 2 - index;

    if (before < SAMPLER_PYTHON_MAX - 1)
        walk->python[before + 1].anchor = walk->python[before].anchor;
    else
        walk->python[0].anchor = 0;
    return 0;
}

static __always_inline void python_settle_objects(struct walk *walk, struct python_cursor *c)
{
    uint32_t last = c->taken - 1;

    if (c->offsets.tstate_cframe == PYTHON_OFFSET_NONE || c->end != STACK_COMPLETE ||
        last >= SAMPLER_PYTHON_MAX)
        return;
    if (c->cframe && !python_is_root(c, c->cframe))
        bpf_loop(c->taken, python_shift_outwards, &walk, 0);
    else if (walk->python[last & (SAMPLER_PYTHON_MAX - 1)].anchor == 0)
        bpf_loop(c->taken, python_shift_inwards, &walk, 0);
}

/* Starts at the top of the thread state. Not 0: unreadable. */
static __always_inline int python_begin(struct python_cursor *c)
{
    c->cframe = c->cframe_previous = 0;
    if (c->offsets.layout == PYTHON_LAYOUT_CFRAME) {
        if (python_take_top(c))
            return -1;
        c->frame = python_is_root(c, c->cframe) ? 0 : c->cframe_frame;
        return 0;
    }
    if (c->offsets.tstate_cframe != PYTHON_OFFSET_NONE)
        c->cframe = python_thread_field(c, c->offsets.tstate_cframe);
    c->frame = python_thread_field(c, c->offsets.tstate_frame);
    return 0;
}

/* 3.11 and 3.12 publish the C frame of a call before it is filled in. Skips such a call; its
 * callers are complete. */
static __always_inline void python_walk_calls(struct walk *walk, struct python_cursor *c)
{
    bool guarded = python_entry_is_open(walk, c);

    if (!guarded)
        python_frames(walk, c);
    if (guarded || (c->calls == 0 && c->end != STACK_COMPLETE && c->end != STACK_DEPTH)) {
        if (python_entry_skip(walk, c)) {
            c->end = STACK_TORN;
            c->taken = 0;
            return;
        }
        python_frames(walk, c);
    } else if (c->end == STACK_COMPLETE) {
        python_entry_learn(walk, c);
    }
}

/* An interpreter that called another one: older ones come later in the list. */
static long python_outer_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);

    python_search(walk, c, python_next_interpreter(c, c->interp));
    if (!c->tstate)
        return 1;
    if (python_read_thread(c, c->tstate)) {
        c->end = STACK_FAULT;
        return 1;
    }
    if (!python_has_frames(c, c->tstate))
        return 1;
    if (python_begin(c)) {
        c->end = STACK_FAULT;
        return 1;
    }
    python_more_frames(walk, c);
    return c->end != STACK_COMPLETE;
}

/* Call after the native walk (walk->native, native_count, leaf, fsbase, process); fills
 * walk->python, python_count, python_end. Called only if walk->process.python is not 0. Not 0: give
 * up. */
__noinline int python_walk(struct walk *walk)
{
    struct python_cursor *c;
    struct python_offsets *offsets;
    uint32_t index;

    if (!walk)
        return -1;
    c = python_cursor(walk);
    index = walk->process.python - 1;
    offsets = bpf_map_lookup_elem(&pythons, &index);
    walk->python_count = 0;
    walk->python_end = STACK_NOT_WALKED;
    if (!offsets || !offsets->version)
        return -1;
    c->offsets = *offsets;
    c->image = emit_mix(emit_mix(walk->process.space, walk->head.pid), walk->head.process_start_ns);
    if (python_find_thread(walk, c)) {
        walk->python_end = STACK_NO_THREAD;
        return 0;
    }
    python_look_around(walk, c);
    if (python_begin(c)) {
        walk->python_end = STACK_FAULT;
        return 0;
    }
    if (c->offsets.layout == PYTHON_LAYOUT_CFRAME) {
        python_walk_calls(walk, c);
    } else {
        python_frames(walk, c);
        python_settle_objects(walk, c);
    }
    if (c->several && c->end == STACK_COMPLETE && c->offsets.layout != PYTHON_LAYOUT_FRAME_OBJECT)
        bpf_loop(PYTHON_INTERPRETERS_LOOKED_AT, python_outer_step, &walk, 0);
    walk->python_count = c->taken;
    walk->python_end = c->end;
    walk->python_hash = c->hash;
    return 0;
}

#endif
