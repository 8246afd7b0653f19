/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Threads that left the CPU before sampling began, and those that still wait at
 * the end. */
#ifndef ANNOT_ASLEEP_BPF_H
#define ANNOT_ASLEEP_BPF_H

#include "sched.bpf.h"

/* Threads that already sleep when sampling of their process begins.
 *
 * The scheduler does not report them until they run again, if they ever do. A program of
 * bpf_iter/task visits each thread of the machine once and opens a stretch for these, which then
 * ends like any other. It runs in the system call of the collector, which reads their stacks. */

/* The stretch being made; there is one reader. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct sampler_switch);
} asleep_stretch SEC(".maps");

static __always_inline void asleep_fill(struct sampler_switch *stretch, struct task_struct *task,
                                        const struct sampler_process *process)
{
    struct sampler_head *head = &stretch->head;

    task_identify(task, head, true);
    if (bpf_core_field_exists(task->wake_cpu))
        head->cpu = BPF_CORE_READ(task, wake_cpu);
    head->kind = SAMPLER_SWITCH;
    head->size = offsetof(struct sampler_switch, ranges);
    head->time_ns = bpf_ktime_get_ns();
    stretch->used_ns = task->se.sum_exec_runtime;
    stretch->state = task->__state;
    stretch->flags = SAMPLER_ASLEEP;
    stretch->space = process->space;
    stretch->native_end = stretch->python_end = STACK_NOT_WALKED;
    sched_call(stretch, task);
    sched_facts(stretch, task, process);
}

/* True if the thread still sleeps. If it woke up before its stretch existed to be ended, drops the
 * stretch. */
static __always_inline bool asleep_settle(struct task_struct *task, uint32_t key)
{
    struct sampler_switch *entry;

    if (BPF_CORE_READ(task, __state))
        return true;
    entry = bpf_map_lookup_elem(&switches, &key);
    if (entry && entry->flags & SAMPLER_ASLEEP)
        entry->head.kind = 0;
    return false;
}

static __always_inline void asleep_emit(struct seq_file *seq, struct task_struct *task,
                                        const struct sampler_head *head, uint32_t key)
{
    const struct pt_regs___kernel *regs = (const void *)bpf_task_pt_regs(task);
    struct sampler_asleep record = {.head = *head, .key = key};

    record.rip = regs->ip;
    record.rsp = regs->sp;
    record.rbp = regs->bp;
    record.rbx = regs->bx;
    bpf_seq_write(seq, &record, sizeof(record));
}

/* Lists a thread with an unfinished stretch, which will not be reported before the recording
 * ends. */
static __always_inline void asleep_list(struct seq_file *seq, struct task_struct *task,
                                        const struct sampler_process *process)
{
    uint32_t key = task->pid;
    struct sampler_switch *entry = bpf_map_lookup_elem(&switches, &key);

    if (config.walks_at_leave || !entry || entry->head.kind != SAMPLER_SWITCH ||
        entry->flags & SAMPLER_RETURNING ||
        bpf_ktime_get_ns() - entry->head.time_ns < config.threshold_ns)
        return;
    sched_facts(entry, task, process);
    asleep_emit(seq, task, &entry->head, key);
}

SEC("iter/task")

int sampler_asleep(struct bpf_iter__task *context)
{
    struct seq_file *seq = context->meta->seq;
    struct task_struct *task = context->task;
    struct sampler_switch *stretch;
    struct sampler_process *process;
    uint32_t zero = 0, key, state;

    if (!task || !BPF_CORE_READ(task, mm)) /* for task->mm the verifier searches all types, 1 ms */
        return 0;
    key = task->pid;
    state = task->__state;
    process = task_process(task, SAMPLER_LOSS_UID_SWITCH);
    if (!process || state == 0 || state & KERNEL_TASK_DEAD)
        return 0;
    if (sched_control.listing) {
        asleep_list(seq, task, process);
        return 0;
    }
    stretch = bpf_map_lookup_elem(&asleep_stretch, &zero);
    if (!stretch)
        return 0;
    asleep_fill(stretch, task, process);
    if (bpf_map_update_elem(&switches, &key, stretch, BPF_NOEXIST)) {
        if (!bpf_map_lookup_elem(&switches, &key))
            count(SAMPLER_LOSS_SWITCH_TABLE);
        return 0;
    }
    if (asleep_settle(task, key))
        asleep_emit(seq, task, &stretch->head, key);
    return 0;
}

#endif
