/* SPDX-License-Identifier: MIT */
/* Implements record_inject.h. */
#include "record_inject.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A loader in programs: the variable that names its library, and the one that keeps the previous
 * value (inject_next.h). */
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

/* ---- Files of this annot ---------------------------------------------------------------------
 *
 * glob() is avoided: that of glibc 2.36 frees its results twice when out of memory. */

/* Appends a component to a path. */
static bool append(char path[PATH_MAX], size_t length, const char *name, size_t name_length)
{
    if (length + 1 + name_length >= PATH_MAX)
        return false;
    path[length] = '/';
    memcpy(path + length + 1, name, name_length);
    path[length + 1 + name_length] = '\0';
    return true;
}

static bool find_below(char path[PATH_MAX], const char *pattern);

static bool find_in(char path[PATH_MAX], const char *component, const char *rest)
{
    size_t length = strlen(path);
    DIR *folder = opendir(path);
    bool found = false;
    const struct dirent *entry;
    while (folder && !found && (entry = readdir(folder)))
        found = fnmatch(component, entry->d_name, FNM_PERIOD) == 0 &&
                append(path, length, entry->d_name, strlen(entry->d_name)) &&
                find_below(path, rest);
    if (folder)
        closedir(folder);
    return found;
}

/* `pattern`: the remaining components, or "". */
static bool find_below(char path[PATH_MAX], const char *pattern)
{
    char component[NAME_MAX + 1];
    size_t size = strcspn(pattern, "/");
    if (size == 0)
        return access(path, F_OK) == 0;
    if (size > NAME_MAX)
        return false;
    memcpy(component, pattern, size);
    component[size] = '\0';
    const char *rest = pattern + size + (pattern[size] == '/');
    if (strpbrk(component, "*?["))
        return find_in(path, component, rest);
    return append(path, strlen(path), component, size) && find_below(path, rest);
}

/* The first path that matches `pattern`, relative to the folder of the program file. */
static bool own_file_find(const char *pattern, char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    return find_below(path, pattern);
}

/* ---- Libraries of this annot ---- */

/* Twice the default, which the C library itself uses in part. */
enum { STATIC_TLS = 1024 };

/* In the build's folder, installed by `meson install`, in a wheel's package, with pip --target. */
static const char *const library_places[] = {
    "../libannot/*/%s",
    ANNOT_LIBRARIES_FROM_BIN "/annot/%s",
    "../lib*/python3*/*-packages/pyannot/loaded/%s",
    "../pyannot/loaded/%s",
};

static bool find_library(const char *place, const char *name, char path[PATH_MAX])
{
    char pattern[256], found[PATH_MAX];
    snprintf(pattern, sizeof(pattern), place, name);
    return own_file_find(pattern, found) && realpath(found, path) && access(path, R_OK) == 0;
}

bool library_of_annot(const char *name, char path[PATH_MAX])
{
    for (size_t i = 0; i < sizeof(library_places) / sizeof(*library_places); i++)
        if (find_library(library_places[i], name, path))
            return true;
    return false;
}

bool inject_library(char path[PATH_MAX])
{
    return loaders[0].variable && library_of_annot("libannot-inject.so", path);
}

/* Below another annot, the variable names that annot's library, and the next tool is already
 * set. */
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

/* A library with initial-exec TLS needs space that is reserved when a program starts: 1.6 KiB,
 * shared by all libraries loaded later. If the program's own libraries have used it up, the
 * injection library cannot be loaded, and loaders do not report it. So more space is requested. */
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
