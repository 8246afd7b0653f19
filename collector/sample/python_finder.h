/* SPDX-License-Identifier: MIT */
/* Which Python interpreter a process has, if any, and where it keeps its frames.
 *
 * What was found for one process of a module holds for all, moved by the load bias, so that later
 * ones are known before they have run a line. Thread-safety: one thread per object. */
#ifndef ANNOT_PYTHON_FINDER_H
#define ANNOT_PYTHON_FINDER_H

#include "processes.h"

struct python_finder {
    /* Where offsets of number `index` go; NULL: no room. */
    struct python_offsets *(*place)(void *context, uint32_t index);
    void *context;
    VEC(struct python_offsets) known; /* by number */
    struct map64 by_module;           /* struct module * -> index in `found`, plus 1 */
    VEC(struct interpreter) found;
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
