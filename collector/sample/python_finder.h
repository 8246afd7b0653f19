/* SPDX-License-Identifier: MIT */
/* Can the Python frames of a running process be read, and if not, why? For people who ask; what
 * the sampler asks is in process_parts.h. Thread-safety: no state. */
#ifndef ANNOT_PYTHON_FINDER_H
#define ANNOT_PYTHON_FINDER_H

#include <stdbool.h>
#include <stdint.h>

struct python_check {
    bool readable;
    uint32_t version; /* PY_VERSION_HEX >> 16; 0 = unknown */
    char source[32];  /* where offsets come from: "table", "_Py_DebugOffsets", "pyannot" */
    char reason[200]; /* why not; "" = readable */
};

/* Looks once: a process that has just begun may need to be asked again (-EAGAIN). 0, -ENOENT (no
 * interpreter in it), -errno. */
int python_check_process(int32_t pid, struct python_check *ret_check);

#endif
