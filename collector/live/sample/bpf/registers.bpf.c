// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads the user registers of each thread of one process, while it waits in the kernel.
 *
 * /proc has only two of them; code with frame pointers needs rbp, too. A program of bpf_iter/task:
 * it runs in the system call that reads it, once for each thread of the machine. */
#include "sampler_abi.h"

#include "kernel_types.h"

#include <bpf/bpf_tracing.h>

const volatile struct registers_config config SEC(".rodata.config");

SEC("iter/task")

int registers_emit(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct thread_registers record = {};
    const struct pt_regs___kernel *registers;

    if (!task)
        return 0;
    if (pid_number(BPF_CORE_READ(task, group_leader, thread_pid), config.pid_namespace) !=
        config.pid)
        return 0;
    record.tid = pid_number(BPF_CORE_READ(task, thread_pid), config.pid_namespace);
    registers = (const void *)bpf_task_pt_regs(task);
    record.rip = BPF_CORE_READ(registers, ip);
    record.rsp = BPF_CORE_READ(registers, sp);
    record.rbp = BPF_CORE_READ(registers, bp);
    record.rbx = BPF_CORE_READ(registers, bx);
    bpf_seq_write(context->meta->seq, &record, sizeof(record));
    return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
