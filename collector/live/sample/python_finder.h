/* SPDX-License-Identifier: MIT */
/* Finds the Python interpreter of a process, and where it keeps its frames. Thread-safety: one
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

/* ---- For people: whether a process's frames can be read, and if not, why ---- */

struct python_check {
    bool readable;
    uint32_t version; /* PY_VERSION_HEX >> 16; 0 = unknown */
    char source[32];  /* where offsets come from: "table", "_Py_DebugOffsets", "pyannot" */
    char reason[200]; /* why not; "" = readable */
};

/* Looks once: a process that has just begun may need to be asked again (-EAGAIN). 0, -ENOENT (no
 * interpreter in it), -errno. */
int python_check_process(int32_t pid, struct python_check *ret_check);

/* ---- For the sampler ----
 *
 * The result of one process of a module holds for all, moved by the load bias, so that later ones
 * are known before they have run a line. */

struct python_finder {
    /* Where offsets of number `index` go; NULL: no room. */
    struct python_offsets *(*place)(void *context, uint32_t index);
    void *context;
    VEC(struct python_offsets) known; /* by number */
    struct map64 by_module;           /* struct module * -> index in `found`, plus 1 */
    VEC(struct sampled_interpreter) found;
    uint64_t unknown; /* processes whose frames cannot be read */
    char reason[160]; /* of the last of them */
};

void python_finder_fini(struct python_finder *finder);

/* Looks at a process whose mappings changed, or whose time to ask again has come. 0 or -ENOMEM;
 * then process->interpreter says it and process->changed is set if that is news. */
int python_finder_look(struct python_finder *finder, struct sampled *process, uint64_t now_ns);

/* No process has this module any more, and it will not be valid. */
void python_finder_forget(struct python_finder *finder, const struct module *module);

#endif
