/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The fields of kernel structures that the BPF program reads.
 *
 * Only the fields that are used, by their names: libbpf finds their offsets in the running kernel
 * (CO-RE), so order and size here are irrelevant. libbpf drops the ___ suffix of names. */
#ifndef ANNOT_KERNEL_TYPES_H
#define ANNOT_KERNEL_TYPES_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1];
};

typedef struct {
    unsigned int val;
} kuid_t;

struct cred {
    kuid_t uid, euid;
};

struct thread_struct {
    unsigned long fsbase, sp;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
};

struct xol_area {
    unsigned long vaddr;
};

struct uprobes_state {
    struct xol_area *xol_area;
};

struct mm_struct {
    unsigned long arg_start, arg_end;
    struct uprobes_state uprobes_state;
};

struct return_instance {
    unsigned long stack, orig_ret_vaddr;
    struct return_instance *next;
};

struct uprobe_task {
    struct return_instance *return_instances;
};

struct inode {
    unsigned short i_mode;
};

struct file {
    struct inode *f_inode;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct sched_entity {
    __u64 sum_exec_runtime;
};

struct task_struct {
    unsigned int __state;
    unsigned int flags;
    struct sched_entity se;
    struct mm_struct *mm;
    int exit_code;
    unsigned in_iowait : 1;
    int pid, tgid, wake_cpu;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    __u64 start_boottime;
    const struct cred *cred;
    char comm[16];
    struct files_struct *files;
    struct signal_struct *signal;
    struct uprobe_task *utask;
    __u64 self_exec_id; /* counts execs; a new task inherits it */
    struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

struct pt_regs___kernel {
    unsigned long ax, bx, bp, di, orig_ax, ip, cs, sp, r9, r10, r11;
};

#pragma clang attribute pop

enum {
    KERNEL_TASK_DEAD = 0x80, /* of __state */
    KERNEL_USER_CS = 3,      /* privilege bits of cs */
    KERNEL_COMPAT_CS = 0x23, /* a 32-bit task */
    KERNEL_PID_LEVELS = 8,   /* of 32: deeper nested namespaces are ignored */
};

/* ---- The number of a task in a pid namespace ------------------------------------------------- */

/* The number in the namespace of that inode; 0: not visible there. */
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
