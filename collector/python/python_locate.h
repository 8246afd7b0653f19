/* SPDX-License-Identifier: MIT */
/* Which of a process's mapped files is its interpreter, and whether pyannot is among them.
 * Thread-safety: none needed. */
#ifndef ANNOT_PYTHON_LOCATE_H
#define ANNOT_PYTHON_LOCATE_H

#include "python_runtime.h"

struct python_location {
    struct python_image image;
    uint64_t bias;
    bool published; /* offsets of pyannot are there */
    struct python_offsets offsets;
};

/* Looks through /proc/PID/maps. 0, -ENOENT (no interpreter), -ESRCH, -EPERM (its files or maps
 * can't be opened), -ENOMEM. */
int python_locate(int32_t pid, struct python_location *ret_location);

#endif
