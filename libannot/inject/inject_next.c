/* SPDX-License-Identifier: MIT */
/* Loading the next tool: see inject_next.h. */
#include "inject_next.h"

#include <annot/observers.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By either name: a path to this library would recurse endlessly. */
static int is_this_library(const void *function)
{
    Dl_info theirs, ours;
    static const char here;
    return dladdr(function, &theirs) != 0 && dladdr(&here, &ours) != 0 &&
           theirs.dli_fbase == ours.dli_fbase;
}

/* Reports the failure: the original loader cannot, because it loads annot instead. */
static void emit_failure(const char *variable)
{
    char text[ANNOT_PROCESS_NOTE_MAX + 1];
    const char *why = dlerror();
    snprintf(text, sizeof(text), "The tool in %s does not go on behind annot: %s", variable,
             why ? why : "it cannot be loaded");
    annot_process_note(text);
}

void *inject_next_function(const char *variable, const char *function, int is_needed)
{
    const char *path = secure_getenv(variable);
    if (!path || !*path)
        return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void *found = library ? dlsym(library, function) : NULL;
    if (!library || (!found && is_needed))
        emit_failure(variable);
    return found && !is_this_library(found) ? found : NULL;
}
