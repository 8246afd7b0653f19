/* SPDX-License-Identifier: MIT */
/* User registers of the threads of a process that wait in the kernel, by a BPF iterator
 * (Linux 5.15, CAP_BPF and CAP_PERFMON). */
#ifndef ANNOT_BPF_REGISTERS_H
#define ANNOT_BPF_REGISTERS_H

#include "sampler_abi.h"

#include <stddef.h>
#include <stdint.h>

struct bpf_registers {
    struct thread_registers *threads; /* free */
    size_t count;
};

/* 0, or -errno: they cannot be had, wholly or in part, which is no failure of whoever looks. */
int bpf_registers_read(int32_t pid, struct bpf_registers *ret_registers);

#endif
