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

/* 0, or -errno: unavailable, in whole or in part, which callers tolerate. */
int bpf_registers_read(int32_t pid, struct bpf_registers *ret_registers);

#endif
