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

/* Twice the C library's default, which is for its own purposes as well. */
enum { STATIC_TLS = 1024 };

static bool find_in(const char *folder, const char *between, const char *name, char path[PATH_MAX])
{
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof(whole), "%s%s%s", folder, between, name);
    return length > 0 && (size_t)length < sizeof(whole) && realpath(whole, path) &&
           access(path, R_OK) == 0;
}

bool library_of_annot(const char *part, const char *name, char path[PATH_MAX])
{
    char self[PATH_MAX], built[64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    if (!slash)
        return false;
    *slash = 0;
    snprintf(built, sizeof(built), "/../libannot/%s/", part);
    return find_in(self, built, name, path) ||
           find_in(self, "/" ANNOT_LIBRARIES_FROM_BIN "/annot/", name, path);
}

bool inject_library(char path[PATH_MAX])
{
    return loaders[0].variable && library_of_annot("inject", "libannot-inject.so", path);
}

/* What runs below another annot has that one's library there, and its next tool already. */
const char *inject_next_tool(const char *variable)
{
    const char *before = getenv(variable), *name = before ? strrchr(before, '/') : NULL;
    if (!before || !*before || strcmp(before, INJECT_NONE) == 0 ||
        strcmp(name ? name + 1 : before, "libannot-inject.so") == 0)
        return NULL;
    return before;
}

static void add(struct inject_environment *environment, size_t *count, const char *name,
                const char *value)
{
    environment->variables[(*count)++] = (struct child_variable){name, value};
}

bool inject_has_room(const char *tunables)
{
    const char *at = tunables ? strstr(tunables, INJECT_ROOM_KEY "=") : NULL;
    return at && strtoull(at + sizeof(INJECT_ROOM_KEY), NULL, 0) >= STATIC_TLS;
}

/* Libraries that threads reach the quickest way need room that is set aside when a program starts:
 * 1.6 KiB that all share which are loaded later. Where a program's own have used it up, the
 * injection library could not be loaded, and loaders would not say so. So there is more of it. */
static void add_room(struct inject_environment *environment, size_t *count)
{
    const char *before = getenv(INJECT_ROOM_VARIABLE);
    if (before && strstr(before, INJECT_ROOM_KEY))
        return;
    int length =
        snprintf(environment->room, sizeof(environment->room), "%s%s" INJECT_ROOM_KEY "=%d",
                 before ? before : "", before && *before ? ":" : "", STATIC_TLS);
    if (length > 0 && (size_t)length < sizeof(environment->room))
        add(environment, count, INJECT_ROOM_VARIABLE, environment->room);
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
        if (before && strcmp(before, INJECT_NONE) == 0)
            continue;
        if (tool)
            add(environment, &count, loader->next, tool);
        add(environment, &count, loader->variable, environment->library);
    }
    if (count > 0)
        add_room(environment, &count);
    return count;
}
