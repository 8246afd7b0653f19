/* SPDX-License-Identifier: MIT */
/* What a program that is recorded takes of the machine at its defaults, in bytes: for those who
 * tell whether it is there. Thread-safety: yes. */
#ifndef ANNOT_HOST_NEEDS_H
#define ANNOT_HOST_NEEDS_H

#include <stdint.h>

/* The size of its file in shared memory, which is sparse: RLIMIT_FSIZE must allow it. */
uint64_t host_needs_file_bytes(void);

/* The part that fills up in a busy program. */
uint64_t host_needs_memory_bytes(void);

#endif
