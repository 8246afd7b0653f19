/* SPDX-License-Identifier: MIT */
/* Loads a library into a running process: see look_enter.h. */
#include "look_enter.h"

#include "elf_symbols.h"
#include "look_place.h"
#include "look_space.h"

#include "proc_info.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifndef __x86_64__

int look_enter(int32_t pid, const char *library, struct look_reason *ret_reason)
{
    (void)pid;
    (void)library;
    snprintf(ret_reason->text, sizeof(ret_reason->text), "that is possible on x86-64 only");
    return -ENOTSUP;
}

#else

enum { ERROR_TEXT_MAX = 200 };

struct entering {
    const char *library;
    uint64_t dlopen_at, dlerror_at;
};

/* The same path must lead to the same file in the process. */
static int check_library(pid_t pid, const char *library, struct look_reason *reason)
{
    char path[PATH_MAX + 64];
    struct stat here, there;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, library);
    if (stat(library, &here) != 0)
        return look_refuse(reason, "%s: %s", library, strerror(errno));
    if (stat(path, &there) != 0)
        return look_refuse(reason, "it does not see %s: %s", library, strerror(errno));
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        return look_refuse(reason, "%s is another file where it runs", library);
    return 0;
}

static int find(struct look_place *place, void *context)
{
    struct entering *entering = context;
    entering->dlopen_at = look_place_function(place, "dlopen", false);
    entering->dlerror_at = look_place_function(place, "dlerror", false);
    return entering->dlopen_at && entering->dlerror_at
               ? 0
               : look_refuse(place->reason, "it has no function dlopen: it is linked statically, "
                                            "or has not loaded libdl");
}

/* ---- The calls ------------------------------------------------------------------------------- */

static int call(struct look_place *place, uint64_t function, uint64_t first, uint64_t *ret_value)
{
    const uint64_t arguments[2] = {first, RTLD_NOW};
    return look_place_call(place, function, arguments, ret_value);
}

/* Sets the reason to the dynamic linker's error. */
static int emit_error(struct look_place *place, const struct entering *entering)
{
    char text[ERROR_TEXT_MAX + 1] = "";
    uint64_t at = 0;
    if (call(place, entering->dlerror_at, 0, &at) == 0 && at)
        proc_read_memory(place->pid, at, text, ERROR_TEXT_MAX);
    return look_refuse(place->reason, "it cannot load the library: %s",
                       text[0] ? text : "its dynamic linker does not say why");
}

/* Calls the library's entry function, at its mapped address. */
static int call_entered(struct look_place *place, const struct entering *entering)
{
    struct look_space space;
    struct elf_symbol symbol;
    uint64_t function = 0, value;
    if (look_space_open(&space, place->pid, place->pid) == 0)
        for (size_t i = 0; i < space.modules.count && !function; i++) {
            struct look_module *module = look_space_find(&space, space.modules.items[i].begin);
            if (module && strcmp(module->path, entering->library) == 0 && module->file &&
                elf_file_find_exported(module->file, LOOK_ENTERED, &symbol))
                function = module->bias + symbol.address;
        }
    look_space_close(&space);
    if (!function)
        return look_refuse(place->reason, "the library is in it, but not of this annot");
    return call(place, function, 0, &value);
}

static int load(struct look_place *place, void *context)
{
    const struct entering *entering = context;
    uint64_t handle = 0;
    int error = look_traced_write(&place->traced, place->traced.stack, entering->library,
                                  strlen(entering->library) + 1);
    if (error == 0)
        error = call(place, entering->dlopen_at, place->traced.stack, &handle);
    if (error != 0)
        return error;
    return handle ? call_entered(place, entering) : emit_error(place, entering);
}

int look_enter(int32_t pid, const char *library, struct look_reason *ret_reason)
{
    struct entering entering = {.library = library};
    const struct look_use use = {find, load, &entering};
    uint64_t ignored;
    int error = check_library(pid, library, ret_reason);
    return error == 0 ? look_place_use(pid, &use, &ignored, ret_reason) : error;
}

#endif
