/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Takes and sends all parts of the current task's stack: kernel, native, Python,
 * open ranges; a raw copy if unwind tables are missing. */
#ifndef ANNOT_STACK_BPF_H
#define ANNOT_STACK_BPF_H

#include "native.bpf.h"
#include "python.bpf.h"

/* ---- Open ranges ----------------------------------------------------------------------------- */

/* Read from libannot's live record. The thread itself is interrupted, so its record does not
 * change; it is valid only if it names this thread. In a forked child it is the parent's until the
 * child's first event. */

struct range_owner {
    int32_t pid, tid;
    uint32_t depth;
};

/* Flags for the sample; sets *ret_depth and `live` (raw) if they are known.
 * `head`: the expected owner. */
static __always_inline uint32_t range_read(const struct sampler_head *head, uint64_t word,
                                           uint32_t *ret_depth, uint64_t *live)
{
    struct range_owner owner;
    uint64_t record = 0;

    *ret_depth = 0;
    if (read_user(&record, sizeof(record), word))
        return 0;
    if (!record)
        return SAMPLER_RANGES_KNOWN;
    /* A fork does not copy the page tables of shared memory: pages that the child has not touched
     * yet are inherited. For a process that was not forked the ranges are unknown then. */
    if (read_user(&owner, sizeof(owner), record + LIVE_PID_OFFSET))
        return SAMPLER_RANGES_INHERITED;
    if (owner.tid == 0)
        return 0;
    if (owner.pid != head->ns_pid || owner.tid != head->ns_tid)
        return SAMPLER_RANGES_INHERITED;
    if (owner.depth && read_user(live, LIVE_RANGES * LIVE_RANGE_SIZE, record + LIVE_RANGES_OFFSET))
        return 0;
    *ret_depth = owner.depth;
    return SAMPLER_RANGES_KNOWN;
}

struct range_copying {
    uint32_t depth;
    const uint64_t *live;
    struct sampler_range *ranges;
};

static long range_copy_step(uint32_t index, void *context)
{
    const struct range_copying *copying = context;
    uint32_t at = ((copying->depth - 1 - index) % LIVE_RANGES) * (LIVE_RANGE_SIZE / 8);
    struct sampler_range *range = &copying->ranges[index & (SAMPLER_RANGES_MAX - 1)];
    uint64_t entry = copying->live[at], time = copying->live[at + 1];

    range->name = (uint32_t)entry;
    /* 0 for timestamps. Without a branch, as verifiers follow both ways each time. */
    range->mark = (uint32_t)(time & -((time - SAMPLER_MARK_END) >> 63));
    return 0;
}

/* Copies the open ranges, innermost first, at most SAMPLER_RANGES_MAX. */
static __always_inline uint32_t range_copy(uint32_t depth, const uint64_t *live,
                                           struct sampler_range *ranges)
{
    struct range_copying copying = {depth, live, ranges};
    uint32_t count = depth < SAMPLER_RANGES_MAX ? depth : SAMPLER_RANGES_MAX;

    if (count)
        bpf_loop(count, range_copy_step, &copying, 0);
    return count;
}

/* Reads the ranges of the walk's thread: sets its flags and depth. */
static __always_inline void range_walk(struct walk *walk)
{
    if (walk->process.tls_offset == 0 || walk->fsbase == 0)
        return;
    walk->flags |= range_read(&walk->head, walk->fsbase + walk->process.tls_offset,
                              &walk->range_depth, walk->live);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Copies of stacks are large: limits their number in STACK_COPY_WINDOW_NS, over all CPUs. */
#define STACK_COPY_WINDOW_NS 10000000ull

enum { STACK_COPY_WINDOW_MAX = 64, STACK_PAGE = 4096 };

uint64_t stack_copy_window; /* races cost a copy more or less */
uint64_t stack_copy_count;
uint64_t stack_copy_serial;

/* The thread's user registers, for any kind of kernel entry. */
static __always_inline void stack_registers(struct walk *walk, struct task_struct *task)
{
    const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);

    walk->leaf.rip = regs->ip;
    walk->leaf.rsp = regs->sp;
    walk->leaf.rbp = regs->bp;
    walk->leaf.rbx = regs->bx;
    walk->scratch[UNWIND_SCRATCH_RAX] = regs->ax;
    walk->scratch[UNWIND_SCRATCH_R9] = regs->r9;
    walk->scratch[UNWIND_SCRATCH_R10] = regs->r10;
    walk->scratch[UNWIND_SCRATCH_R11] = regs->r11;
}

/* If the walk stopped outside of user code, the collector could do no better. */
static __always_inline bool stack_wants_copy(const struct walk *walk)
{
    uint32_t end = walk->native_end;

    return (end == STACK_NO_TABLE || end == STACK_NO_MAPPING) && walk->at.rip >= STACK_PAGE &&
           walk->at.rip >> 47 == 0;
}

static __always_inline bool stack_copy_allowed(uint64_t now)
{
    uint64_t window = now / STACK_COPY_WINDOW_NS;

    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.ring_bytes / 2)
        return false; /* keep the rest for samples */
    if (window != stack_copy_window) {
        stack_copy_window = window;
        stack_copy_count = 0;
    }
    return __sync_fetch_and_add(&stack_copy_count, 1) < STACK_COPY_WINDOW_MAX;
}

/* Reads page by page, until one is unreadable. */
static __always_inline uint32_t stack_copy_read(struct walk *walk)
{
    uint32_t size = STACK_PAGE - (walk->leaf.rsp & (STACK_PAGE - 1));

    if (bpf_probe_read_user(walk->copy_bytes, size & (2 * STACK_PAGE - 1),
                            (const void *)walk->leaf.rsp))
        return 0;
    for (int i = 0; i < SAMPLER_COPY_MAX / STACK_PAGE - 1; i++) {
        if (size > SAMPLER_COPY_MAX - STACK_PAGE)
            break;
        if (bpf_probe_read_user(walk->copy_bytes + size, STACK_PAGE,
                                (const void *)(walk->leaf.rsp + size)))
            break;
        size += STACK_PAGE;
    }
    return size;
}

/* The hash of a copy that was sent; 0: not sent. */
static __always_inline uint64_t stack_copy(struct walk *walk)
{
    struct sampler_copy *copy = &walk->copy;
    uint32_t size;

    if (!stack_copy_allowed(walk->now))
        return 0;
    size = stack_copy_read(walk);
    if (size > SAMPLER_COPY_MAX)
        return 0;
    copy->hash = emit_mix(walk->now, __sync_fetch_and_add(&stack_copy_serial, 1)) | 1;
    copy->space = walk->process.space;
    copy->size = size;
    copy->rip = walk->leaf.rip;
    copy->rsp = walk->leaf.rsp;
    copy->rbp = walk->leaf.rbp;
    copy->rbx = walk->leaf.rbx;
    emit_head(walk, &copy->head, SAMPLER_COPY, 0);
    if (emit_record(&copy->head, sizeof(*copy) + size, emit_flags(walk->now, true),
                    SAMPLER_LOSS_RING_FULL_STACK))
        return 0;
    walk->flags |= SAMPLER_COPIED;
    return copy->hash;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

__noinline uint64_t stack_send_native(struct walk *walk)
{
    struct sampler_part *part;
    uint32_t count;
    uint64_t copied;

    if (!walk)
        return 0;
    part = &walk->native_part;
    count = walk->native_count;
    if (count == 0 || count > SAMPLER_NATIVE_MAX)
        return 0;
    if (stack_wants_copy(walk)) {
        copied = stack_copy(walk);
        if (copied)
            return copied;
    }
    part->count = count;
    part->end = walk->native_end;
    if (emit_part_begin(walk, part, SAMPLER_NATIVE, emit_mix(walk->native_hash, part->end)))
        emit_part_sent(walk, part,
                       emit_record(&part->head, sizeof(*part) + count * sizeof(walk->native[0]),
                                   emit_flags(walk->now, false), SAMPLER_LOSS_RING_FULL_STACK));
    return part->hash;
}

__noinline uint64_t stack_send_python(struct walk *walk)
{
    struct sampler_part *part;
    uint32_t count;

    if (!walk)
        return 0;
    part = &walk->python_part;
    count = walk->python_count;
    if (count == 0 || count > SAMPLER_PYTHON_MAX)
        return 0;
    part->count = count;
    part->end = walk->python_end;
    if (emit_part_begin(walk, part, SAMPLER_PYTHON, emit_mix(walk->python_hash, part->end))) {
        python_emit_codes(walk);
        emit_part_sent(walk, part,
                       emit_record(&part->head, sizeof(*part) + count * sizeof(walk->python[0]),
                                   emit_flags(walk->now, false), SAMPLER_LOSS_RING_FULL_STACK));
    }
    return part->hash;
}

struct stack_hashing {
    struct walk *walk;
    uint64_t hash;
};

static long stack_hash_kernel(uint32_t index, void *context)
{
    struct stack_hashing *hashing = context;

    if (index >= SAMPLER_KERNEL_MAX)
        return 1;
    hashing->hash = emit_mix(hashing->hash, hashing->walk->kernel[index]);
    return 0;
}

/* walk->kernel holds kernel_count addresses. */
__noinline uint64_t stack_send_kernel(struct walk *walk)
{
    struct stack_hashing hashing = {walk, 1};
    struct sampler_part *part;
    uint32_t count;

    if (!walk)
        return 0;
    part = &walk->kernel_part;
    count = walk->kernel_count;
    if (count == 0 || count > SAMPLER_KERNEL_MAX)
        return 0;
    bpf_loop(count, stack_hash_kernel, &hashing, 0);
    part->count = count;
    part->end = count < SAMPLER_KERNEL_MAX ? STACK_COMPLETE : STACK_DEPTH;
    if (emit_part_begin(walk, part, SAMPLER_KERNEL, hashing.hash))
        emit_part_sent(walk, part,
                       emit_record(&part->head, sizeof(*part) + count * sizeof(walk->kernel[0]),
                                   emit_flags(walk->now, false), SAMPLER_LOSS_RING_FULL_STACK));
    return part->hash;
}

/* The outermost known CFA of the native frames. */
static __always_inline uint64_t stack_base(const struct walk *walk)
{
    uint32_t count = walk->native_count;
    uint64_t cfa;

    if (count == 0)
        return 0;
    cfa = walk->native[(count - 1) & (SAMPLER_NATIVE_MAX - 1)].cfa;
    if (cfa || count == 1)
        return cfa;
    return walk->native[(count - 2) & (SAMPLER_NATIVE_MAX - 1)].cfa;
}

/* The common part of a tick and a switch: walk->leaf is set. */
/* Return probes, ours and others', hide return addresses. */
static __always_inline void stack_returns(struct walk *walk, const struct task_struct *task)
{
    const struct xol_area *area = 0;

    walk->trampoline = walk->returns = 0;
    if (!bpf_core_field_exists(task->utask) || !bpf_core_field_exists(area->vaddr))
        return;
    walk->returns = (uint64_t)BPF_CORE_READ(task, utask, return_instances);
    if (!walk->returns)
        return;
    area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
    walk->trampoline = BPF_CORE_READ(area, vaddr);
}

static __always_inline void stack_walk(struct walk *walk, struct task_struct *task)
{
    stack_returns(walk, task);
    walk->fsbase = task->thread.fsbase;
    native_walk(walk);
    walk->native_part.base = walk->python_part.base = stack_base(walk);
    if (walk->process.python)
        python_walk(walk);
    range_walk(walk);
}

#endif
