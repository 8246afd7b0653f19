/* SPDX-License-Identifier: MIT */
/* Entry point that `annot attach --inject` calls after it has loaded this library into a running
 * program: adds the library to the program's environment, so that images which call NVTX or ITT for
 * the first time find it, and children inherit it.
 *
 * The C library's setenv may move the array while another thread reads it; this makes a new one and
 * leaves the old one as it is. Runs in a thread of the program that was stopped where it holds no
 * lock. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

__attribute__((visibility("default"))) int annot_inject_entered(void);

static const struct {
    const char *variable, *next;
} loaders[] = {
    {"NVTX_INJECTION64_PATH", "ANNOT_NVTX_NEXT"},
    {"INTEL_LIBITTNOTIFY64", "ANNOT_ITT_NEXT"},
};

enum { LOADERS = sizeof(loaders) / sizeof(loaders[0]) };

static char *assignment(const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 2;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s=%s", name, value);
    return text;
}

/* "./." disables loading in NVTX. */
static int is_to_be_set(const char *before, const char *path)
{
    return !before || (strcmp(before, "./.") != 0 && strcmp(before, path) != 0);
}

static int is_replaced(const char *entry, char *const *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(made[i], "=") + 1;
        if (strncmp(entry, made[i], length) == 0)
            return 1;
    }
    return 0;
}

static size_t make(const char *path, char *made[2 * LOADERS])
{
    size_t count = 0;
    for (size_t i = 0; i < LOADERS; i++) {
        const char *before = getenv(loaders[i].variable);
        if (!is_to_be_set(before, path))
            continue;
        char *set = assignment(loaders[i].variable, path);
        char *next = before && *before ? assignment(loaders[i].next, before) : NULL;
        if (set)
            made[count++] = set;
        if (next)
            made[count++] = next;
    }
    return count;
}

int annot_inject_entered(void)
{
    static const char here;
    char *made[2 * LOADERS];
    Dl_info info;
    size_t size = 0, used = 0;
    if (dladdr(&here, &info) == 0 || !info.dli_fname)
        return 0;
    size_t count = make(info.dli_fname, made);
    while (environ && environ[size])
        size++;
    char **all = count ? malloc((size + count + 1) * sizeof(*all)) : NULL;
    if (!all) {
        for (size_t i = 0; i < count; i++)
            free(made[i]);
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        if (!is_replaced(environ[i], made, count))
            all[used++] = environ[i];
    memcpy(all + used, made, count * sizeof(*made));
    all[used + count] = NULL;
    __atomic_store_n(&environ, all, __ATOMIC_RELEASE); /* partner: callers of getenv */
    return 1;
}
