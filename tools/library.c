/* SPDX-License-Identifier: MIT */
/* Implements library.h. */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

static void *open_first(const char *const *files)
{
    void *library = NULL;
    for (; *files && !library; files++)
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool library_load(const char *const *files, const struct library_function *functions, size_t count)
{
    void *library = open_first(files);
    if (!library)
        return false;
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            return false;
        memcpy(functions[i].place, &function, sizeof(function));
    }
    return true;
}
