/* SPDX-License-Identifier: MIT */
/* What the program registers.bpf.c tells of a thread, and of which process. */
#ifndef ANNOT_REGISTERS_ABI_H
#define ANNOT_REGISTERS_ABI_H

#include <linux/types.h>

struct registers_config {
    __s32 pid;           /* the process, as the reader numbers it */
    __u32 pid_namespace; /* inode of the reader's */
};

/* As the thread had them when it entered the kernel. */
struct thread_registers {
    __s32 tid; /* as the reader numbers it */
    __u32 reserved;
    __u64 rip, rsp, rbp, rbx;
};

#endif
