/* SPDX-License-Identifier: MIT */
/* See record_inject.h. */
#include "record_inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A loader of programs: the variable that names its library, and the one that keeps what stood
 * there (inject_next.h). */
struct loader {
    const char *variable, *next;
};

static const struct loader loaders[] = {
#ifdef ANNOT_HAVE_NVTX
    {"NVTX_INJECTION64_PATH", "ANNOT_NVTX_NEXT"},
#endif
#ifdef ANNOT_HAVE_ITT
    {"INTEL_LIBITTNOTIFY64", "ANNOT_ITT_NEXT"},
#endif
    {NULL, NULL},
};

/* Says to NVTX that nothing is to be loaded. */
#define NVTX_NONE "./."

/* Beside annot's own file: where the build has it, and where it is installed. */
static const char *const places[] = {
    "/../libannot/inject/libannot-inject.so",
    "/" ANNOT_LIBRARIES_FROM_BIN "/annot/libannot-inject.so",
};

static bool find_beside(const char *folder, char path[PATH_MAX])
{
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        int length = snprintf(name, sizeof(name), "%s%s", folder, places[i]);
        if (length > 0 && (size_t)length < sizeof(name) && realpath(name, path) &&
            access(path, R_OK) == 0)
            return true;
    }
    return false;
}

bool inject_library(char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    if (!slash || !loaders[0].variable)
        return false;
    *slash = 0;
    return find_beside(self, path);
}

/* What runs below another annot has that one's library there, and its next tool already. */
const char *inject_next_tool(const char *variable)
{
    const char *before = getenv(variable), *name = before ? strrchr(before, '/') : NULL;
    if (!before || !*before || strcmp(before, NVTX_NONE) == 0 ||
        strcmp(name ? name + 1 : before, "libannot-inject.so") == 0)
        return NULL;
    return before;
}

static void add(struct inject_environment *environment, size_t *count, const char *name,
                const char *value)
{
    environment->variables[(*count)++] = (struct child_variable){name, value};
}

size_t inject_environment(const struct inject_values *values,
                          struct inject_environment *environment)
{
    size_t count = 0;
    if (values->none || !inject_library(environment->library))
        return 0;
    for (const struct loader *loader = loaders; loader->variable; loader++) {
        const char *before = getenv(loader->variable);
        const char *tool = inject_next_tool(loader->variable);
        if (before && strcmp(before, NVTX_NONE) == 0)
            continue;
        if (tool)
            add(environment, &count, loader->next, tool);
        add(environment, &count, loader->variable, environment->library);
    }
    return count;
}
