/* SPDX-License-Identifier: MIT */
/* Kernels that a BPF program can freeze by reading a program's memory.
 *
 * From Linux 5.18 until "mm: Fix copy_from_user_nofault()" (6.4, and stable releases), such a read
 * takes the lock of the vmalloc areas. A tick may have interrupted its holder, and at a switch of
 * threads the run queue's lock is held, which the holder's interrupts want: the machine stands
 * still for good. There, nothing of the program is read in a tick that met the kernel, nor at a
 * switch. Thread-safety: any. */
#ifndef ANNOT_KERNEL_FLAW_H
#define ANNOT_KERNEL_FLAW_H

#include <stdbool.h>

/* Of uname(): release "6.1.0-18-amd64", version "#1 SMP Debian 6.1.76-1 (...)". */
bool kernel_flaw_freezes(const char *release, const char *version);

#endif
