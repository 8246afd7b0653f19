/* SPDX-License-Identifier: MIT */
/* Whether a process shares a file by a mapping: asked of every process when a directory is given
 * up, so it must be cheap. Thread-safety: pure. */
#ifndef ANNOT_PROC_MAPPED_H
#define ANNOT_PROC_MAPPED_H

#include <sys/types.h>

/* 1, 0, or -errno if we may not look. */
int proc_has_mapped(pid_t pid, dev_t device, ino_t inode);

/* The same by the text of all its mappings, as kernels before 6.11 have it. */
int proc_has_mapped_by_text(pid_t pid, dev_t device, ino_t inode);

#endif
