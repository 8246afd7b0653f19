/* SPDX-License-Identifier: MIT */
/* Classifies the wait of a thread that left the CPU, by its system call and the kind of its file.
 * Needs neither kernel symbols nor tracefs. x86-64 system call numbers.
 * Thread-safety: pure functions. */
#ifndef ANNOT_WAIT_CLASS_H
#define ANNOT_WAIT_CLASS_H

#include "sample.h"

#include <stdbool.h>

struct wait_facts {
    int32_t syscall;    /* -1 = not in one */
    uint32_t file_mode; /* st_mode of the file in its first argument; 0 = none or unknown */
    uint32_t state;     /* the kernel's __state: 1 interruptible, 2 not, 4 stopped, 8 traced */
    uint32_t flags;     /* enum sampler_flags */
    uint64_t argument;  /* the first one */
};

enum wait_reason wait_classify(const struct wait_facts *facts);

#endif
