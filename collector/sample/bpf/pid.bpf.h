/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The number of a task in a pid namespace. */
#ifndef ANNOT_PID_BPF_H
#define ANNOT_PID_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel_types.h"

/* In the namespace of that inode; 0: it is not shown there. */
static __always_inline __s32 pid_number(const struct pid *pid, __u32 pid_namespace)
{
    __u32 level = BPF_CORE_READ(pid, level);
    const struct upid *numbers = pid->numbers;

    for (__u32 i = 0; i < KERNEL_PID_LEVELS && i <= level; i++) {
        struct pid_namespace *space = 0;
        __s32 number = 0;

        bpf_probe_read_kernel(&space, sizeof(space), &numbers[i].ns);
        if (BPF_CORE_READ(space, ns.inum) != pid_namespace)
            continue;
        bpf_probe_read_kernel(&number, sizeof(number), &numbers[i].nr);
        return number;
    }
    return 0;
}

#endif
