/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Who a task is: its pids in the collector's namespace and in its own, its times,
 * whether it may be looked at.
 *
 * Pointers in kernel structures are read by calls: for each place where a plain load yields a typed
 * pointer the verifier searches all types of the kernel by name, which would take longer than the
 * rest of loading. Numbers are plain loads where the verifier knows the type (`typed`); arguments
 * of plain tracepoints have none. A call takes 30 ns. A NULL or stale pointer reads as 0. */
#ifndef ANNOT_TASK_BPF_H
#define ANNOT_TASK_BPF_H

#include "maps.bpf.h"
#include "pid.bpf.h"

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

/* In a namespace below the first one. */
static __always_inline int32_t task_deep_number(const struct pid *pid, uint32_t level)
{
    int32_t number = 0;

    bpf_probe_read_kernel(&number, sizeof(number), &pid->numbers[level].nr);
    return number;
}

/* Process and thread as the namespace numbers them that the task itself lives in. */
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

/* Not being root, the collector sees only what its user could see anyway. */
static __always_inline bool task_allowed(const struct task_struct *task)
{
    const struct cred *cred;

    if (config.uid < 0)
        return true;
    cred = BPF_CORE_READ(task, cred);
    return BPF_CORE_READ(cred, uid.val) == config.uid &&
           BPF_CORE_READ(cred, euid.val) == config.uid;
}

/* Of a task of known type. NULL: not to be sampled; counted as `loss` if its process is tracked,
 * but the task has become another user's. */
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

#endif
