/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The identity of tasks, and records into the ring. */
#ifndef ANNOT_EMIT_BPF_H
#define ANNOT_EMIT_BPF_H

#include "kernel_types.h"
#include "maps.bpf.h"
#include "walk.bpf.h"

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* Identity of a task: its pids in the collector's namespace and in its own, its times,
 * and the permission to sample it.
 *
 * Pointers in kernel structures are read by calls: for each place where a plain load yields a typed
 * pointer the verifier searches all types of the kernel by name, which would take longer than the
 * rest of loading. Numbers are plain loads where the verifier knows the type (`typed`); arguments
 * of plain tracepoints are untyped. A call takes 30 ns. A NULL or stale pointer reads as 0. */

#define TASK_GET(task, field, typed) ((typed) ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline int32_t task_tid(const struct task_struct *task, const bool typed)
{
    return config.pid_namespace ? pid_number(BPF_CORE_READ(task, thread_pid), config.pid_namespace)
                                : TASK_GET(task, pid, typed);
}

static __always_inline int32_t task_pid(const struct task_struct *task, const bool typed)
{
    return config.pid_namespace
               ? pid_number(BPF_CORE_READ(task, group_leader, thread_pid), config.pid_namespace)
               : TASK_GET(task, tgid, typed);
}

/* The number in a namespace below the first one. */
static __always_inline int32_t task_deep_number(const struct pid *pid, uint32_t level)
{
    int32_t number = 0;

    bpf_probe_read_kernel(&number, sizeof(number), &pid->numbers[level].nr);
    return number;
}

/* Sets process and thread numbers in the task's own namespace. */
static __always_inline void task_own_numbers(const struct task_struct *task,
                                             struct sampler_head *head, const bool typed)
{
    const struct pid *pid = BPF_CORE_READ(task, thread_pid);
    uint32_t level = BPF_CORE_READ(pid, level);

    head->ns_pid = TASK_GET(task, tgid, typed);
    head->ns_tid = TASK_GET(task, pid, typed);
    if (level == 0 || level >= 32)
        return;
    head->ns_tid = task_deep_number(pid, level);
    head->ns_pid = task_deep_number(BPF_CORE_READ(task, group_leader, thread_pid), level);
}

static __always_inline void task_identify(const struct task_struct *task, struct sampler_head *head,
                                          const bool typed)
{
    head->cpu = bpf_get_smp_processor_id();
    head->pid = task_pid(task, typed);
    head->tid = task_tid(task, typed);
    task_own_numbers(task, head, typed);
    head->process_start_ns = head->thread_start_ns = TASK_GET(task, start_boottime, typed);
    if (TASK_GET(task, pid, typed) != TASK_GET(task, tgid, typed))
        head->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

/* Without root, the collector sees only tasks that its user may inspect anyway. */
static __always_inline bool task_allowed(const struct task_struct *task)
{
    const struct cred *cred;

    if (config.uid < 0)
        return true;
    cred = BPF_CORE_READ(task, cred);
    return BPF_CORE_READ(cred, uid.val) == config.uid &&
           BPF_CORE_READ(cred, euid.val) == config.uid;
}

/* The process of a task of known type. NULL: do not sample it; counted as `loss` if its process is
 * tracked, but the task has become another user's. */
static __always_inline struct sampler_process *task_process(const struct task_struct *task,
                                                            const enum sampler_loss loss)
{
    int32_t pid = task_pid(task, true);
    struct sampler_process *process = bpf_map_lookup_elem(&processes, &pid);

    if (!process || (process->flags & SAMPLER_WAIT_EXEC))
        return 0;
    if (task_allowed(task))
        return process;
    count(loss);
    return 0;
}

/* The values for the image that the task runs now: the process's, or those of a fresh image. */
static __always_inline void task_values(struct sampler_process *values,
                                        const struct task_struct *task,
                                        const struct sampler_process *process)
{
    *values = *process;
    if (process->image && process->image != BPF_CORE_READ(task, self_exec_id))
        *values = (struct sampler_process){.flags = process->flags};
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Records into the ring: parts of stacks once, wake-ups seldom.
 *
 * A wake-up of the collector costs more than a sample, so it is requested only if waiting would
 * lose data: a new program image, missing tables, a ring a quarter full; at most one a
 * millisecond. */

/* A part is sent again after this time, in case its first record was lost. */
#define EMIT_AGAIN_NS      5000000000ull
#define EMIT_WAKE_EVERY_NS 1000000ull

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 32768);
    __type(key, uint64_t);
    __type(value, uint64_t); /* time of the last send */
} seen SEC(".maps");

uint64_t emit_woken_ns; /* races cost a wake-up at most */

/* Flags for bpf_ringbuf_output() and _submit(). */
static __always_inline uint64_t emit_flags(uint64_t now, bool urgent)
{
    if (!urgent && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < config.ring_bytes / 4)
        return BPF_RB_NO_WAKEUP;
    if (now - emit_woken_ns < EMIT_WAKE_EVERY_NS)
        return BPF_RB_NO_WAKEUP;
    emit_woken_ns = now;
    return BPF_RB_FORCE_WAKEUP;
}

/* One step of a 64-bit hash. The first step is emit_begin. */
static __always_inline uint64_t emit_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

/* The first step, with a space or an image: used unmixed, neighbouring addresses in neighbouring
 * spaces would have one hash. */
static __always_inline uint64_t emit_begin(uint64_t space)
{
    return emit_mix(0xd6e8feb86659fd93ull, space);
}

/* True if a part or code object must be sent now. */
static __always_inline bool emit_is_new(uint64_t hash, uint64_t now)
{
    uint64_t *sent = bpf_map_lookup_elem(&seen, &hash);

    return !sent || now - *sent >= EMIT_AGAIN_NS;
}

static __always_inline void emit_remember(uint64_t hash, uint64_t now)
{
    bpf_map_update_elem(&seen, &hash, &now, BPF_ANY);
}

/* Fills the record's head from the walk's thread. */
static __always_inline void emit_head(const struct walk *walk, struct sampler_head *head,
                                      enum sampler_record_kind kind, uint32_t size)
{
    *head = walk->head;
    head->kind = kind;
    head->size = size;
}

/* 0, or -1: the ring is full (counted as `loss`). `size` must be bounded for the verifier. */
static __always_inline int emit_record(struct sampler_head *record, uint32_t size, uint64_t flags,
                                       enum sampler_loss loss)
{
    record->size = size;
    if (bpf_ringbuf_output(&ring, record, size, flags) == 0)
        return 0;
    count(loss);
    return -1;
}

/* Fills in a part's head. Its hash becomes 0, "none", if sending failed. Returns true if the caller
 * must send it now, and pass the result to emit_part_sent(). */
static __always_inline bool emit_part_begin(struct walk *walk, struct sampler_part *part,
                                            enum sampler_record_kind kind, uint64_t hash)
{
    part->hash = hash ? hash : 1;
    part->space = walk->process.space;
    part->reserved = 0;
    if (!emit_is_new(part->hash, walk->now))
        return false;
    emit_head(walk, &part->head, kind, 0);
    return true;
}

static __always_inline void emit_part_sent(struct walk *walk, struct sampler_part *part, int rc)
{
    if (rc == 0)
        emit_remember(part->hash, walk->now);
    else
        part->hash = 0;
}

#endif
