/* SPDX-License-Identifier: MIT */
/* Calls python_runtime_find with a process's memory, and numbers the offsets for the BPF program;
 * for reports to users, searches the mapped files of a process for its interpreter and for pyannot.
 * Thread-safety: one thread per object. */
#include "python_finder.h"

#include "ladder.h"
#include "modules.h"
#include "processes.h"
#include "spaces.h"

#include "proc_info.h"
#include "python_runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- For the sampler ------------------------------------------------------------------------- */

#define TRY_NS_MIN UINT64_C(2000000)
#define TRY_NS_MAX UINT64_C(200000000)

void python_finder_fini(struct python_finder *finder)
{
    vec_free(&finder->known);
    vec_free(&finder->found);
    map64_free(&finder->by_module);
}

/* 1 + the number of these offsets; 0: no room. */
static int64_t number_offsets(struct python_finder *finder, const struct python_offsets *offsets)
{
    for (size_t i = 0; i < finder->known.count; i++)
        if (memcmp(&finder->known.items[i], offsets, sizeof(*offsets)) == 0)
            return (int64_t)i + 1;
    uint32_t index = (uint32_t)finder->known.count;
    struct python_offsets *place = finder->place(finder->context, index);
    if (!place)
        return 0;
    if (vec_push(&finder->known, *offsets) != 0)
        return -ENOMEM;
    *place = *offsets;
    return (int64_t)index + 1;
}

/* Relocates the result from another process with the same module. */
static bool take_found(const struct python_finder *finder, struct sampled_interpreter *interpreter,
                       uint64_t bias)
{
    const uint64_t *index = map64_find(&finder->by_module, (uintptr_t)interpreter->module);
    if (!index)
        return false;
    uint64_t old = finder->found.items[*index - 1].bias;
    *interpreter = finder->found.items[*index - 1];
    struct python_runtime *runtime = &interpreter->runtime;
    interpreter->bias = bias;
    runtime->runtime += bias - old;
    runtime->runtime_end += bias - old;
    runtime->eval += bias - old;
    runtime->eval_end += bias - old;
    return true;
}

static int keep_found(struct python_finder *finder, const struct sampled_interpreter *interpreter)
{
    if (vec_push(&finder->found, *interpreter) != 0)
        return -ENOMEM;
    return map64_put(&finder->by_module, (uintptr_t)interpreter->module, finder->found.count);
}

void python_finder_forget(struct python_finder *finder, const struct module *module)
{
    uint64_t index;
    if (!map64_take(&finder->by_module, (uintptr_t)module, &index))
        return;
    struct sampled_interpreter *last = &finder->found.items[--finder->found.count];
    if (index - 1 == finder->found.count)
        return;
    finder->found.items[index - 1] = *last;
    *map64_find(&finder->by_module, (uintptr_t)last->module) = index;
}

static const struct mapping *find_interpreter(const struct mapping_list *list,
                                              const struct python_offsets **ret_published)
{
    const struct mapping *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct module *module = list->items[i].module;
        if (module && module->interpreter && !found)
            found = &list->items[i];
        if (module && module->publishes)
            *ret_published = &module->offsets;
    }
    return found;
}

static int ask(struct python_finder *finder, struct sampled *process,
               const struct python_offsets *published, uint64_t now_ns)
{
    struct sampled_interpreter *it = &process->interpreter;
    struct python_memory memory = python_memory_of(&process->pid);
    int error = python_runtime_find(&it->module->image, it->bias, &memory, published, &it->runtime);
    if (!python_answer_stands(&it->doubt, error, &it->runtime, now_ns)) {
        uint64_t wait = TRY_NS_MIN << (it->tries < 7 ? it->tries : 7);
        it->state = INTERPRETER_WAIT;
        it->tries++;
        it->next_try_ns = now_ns + (wait < TRY_NS_MAX ? wait : TRY_NS_MAX);
        return 0;
    }
    int64_t number = error == 0 && it->runtime.offsets.version != 0 && !it->runtime.reason[0]
                         ? number_offsets(finder, &it->runtime.offsets)
                         : 0;
    if (number < 0)
        return (int)number;
    it->python = (uint32_t)number;
    it->state = number ? INTERPRETER_FOUND : INTERPRETER_UNKNOWN;
    process->changed = process->changed || number;
    if (number)
        return keep_found(finder, it);
    finder->unknown++;
    snprintf(finder->reason, sizeof(finder->reason), "%s",
             it->runtime.reason[0] ? it->runtime.reason : "it never began to run");
    return 0;
}

int python_finder_look(struct python_finder *finder, struct sampled *process, uint64_t now_ns)
{
    struct sampled_interpreter *it = &process->interpreter;
    if (it->state == INTERPRETER_FOUND || process->exited ||
        (it->state == INTERPRETER_WAIT && now_ns < it->next_try_ns))
        return 0;
    const struct python_offsets *published = NULL;
    const struct mapping *mapping = find_interpreter(process->list, &published);
    if (!mapping)
        return 0;
    bool same = it->state == INTERPRETER_UNKNOWN && it->module == mapping->module;
    if (same && !published)
        return 0;
    it->module = mapping->module;
    it->bias = mapping->begin -
               module_address(mapping->module, mapping->begin, mapping->begin, mapping->offset);
    if (take_found(finder, it, it->bias)) {
        process->changed = true;
        return 0;
    }
    return ask(finder, process, published, now_ns);
}

/* ---- For users ------------------------------------------------------------------------------- */

struct search {
    int32_t pid;
    bool found, published;
    struct python_image image;
    struct python_offsets offsets; /* of pyannot */
    uint64_t bias;
};

static int look_into(void *context, const struct maps_line *line)
{
    struct search *search = context;
    struct stat status;
    struct elf_file *file;
    uint64_t address;
    struct module_place place = {search->pid, line->begin, line->end,   line->offset,
                                 line->major, line->minor, line->inode, line->path};
    int fd = line->executable && line->path[0] == '/' ? module_file_open(&place, &status) : -ENOENT;
    if (fd < 0)
        return 0;
    if (elf_file_open(fd, &file) == 0) {
        if (!search->found && python_image_find(file, &search->image) &&
            elf_file_address(file, line->offset, &address)) {
            search->found = true;
            search->bias = line->begin - address;
        }
        if (!search->published && strstr(line->path, "pyannot"))
            search->published = python_offsets_from_module(file, &search->offsets);
        elf_file_close(file);
    }
    close(fd);
    return 0;
}

int python_check_process(int32_t pid, struct python_check *ret_check)
{
    struct search search = {.pid = pid};
    struct python_memory memory = python_memory_of(&search.pid);
    struct python_runtime runtime = {0};
    *ret_check = (struct python_check){0};
    int error = maps_each(pid, look_into, &search);
    if (error)
        return error;
    if (!search.found)
        return -ENOENT;
    ret_check->version = search.image.version;
    error = python_runtime_find(&search.image, search.bias, &memory,
                                search.published ? &search.offsets : NULL, &runtime);
    if (error)
        return error;
    ret_check->readable = runtime.offsets.version != 0 && runtime.reason[0] == '\0';
    if (runtime.offsets.version)
        ret_check->version = runtime.offsets.version;
    snprintf(ret_check->source, sizeof(ret_check->source), "%s",
             runtime.source ? runtime.source : "");
    snprintf(ret_check->reason, sizeof(ret_check->reason), "%s",
             ret_check->readable || runtime.reason[0] ? runtime.reason : "unknown interpreter");
    return 0;
}
