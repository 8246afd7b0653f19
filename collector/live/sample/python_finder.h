/* SPDX-License-Identifier: MIT */
/* Finds the Python interpreter of a process, and the offsets of its frames. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_PYTHON_FINDER_H
#define ANNOT_PYTHON_FINDER_H

#include "hash_map.h"
#include "modules.h"
#include "processes.h"
#include "python_offsets.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- For users: whether a process's frames are readable, and if not, why ---- */

struct python_check {
    bool readable;
    uint32_t version; /* PY_VERSION_HEX >> 16; 0 = unknown */
    char source[32];  /* source of the offsets: "table", "_Py_DebugOffsets", "pyannot" */
    char reason[200]; /* why it is unreadable; "" = readable */
};

/* Looks once: a process that has just begun may need a retry (-EAGAIN). 0, -ENOENT (no interpreter
 * in it), -errno. */
int python_check_process(int32_t pid, struct python_check *ret_check);

/* ---- For the sampler ----
 *
 * The result for one process of a module is valid for all, moved by the load bias, so that later
 * ones are known before they have run a line. */

struct python_finder {
    /* The memory for offsets of number `index`; NULL: no room. */
    struct python_offsets *(*place)(void *context, uint32_t index);
    void *context;
    VEC(struct python_offsets) known; /* by number */
    struct map64 by_module;           /* struct module * -> index in `found`, plus 1 */
    VEC(struct sampled_interpreter) found;
    uint64_t unknown; /* processes with unreadable frames */
    char reason[160]; /* of the last of them */
};

void python_finder_fini(struct python_finder *finder);

/* Looks at a process after a change of its mappings, or when its retry is due. 0 or -ENOMEM; sets
 * process->interpreter, and process->changed if that is new. */
int python_finder_look(struct python_finder *finder, struct sampled *process, uint64_t now_ns);

/* Call when no process has this module any more, before it becomes invalid. */
void python_finder_forget(struct python_finder *finder, const struct module *module);

#endif
