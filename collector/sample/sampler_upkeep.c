/* SPDX-License-Identifier: MIT */
/* What is looked after now and then: files that could not be opened are tried again, mappings and
 * files that are not there any more are forgotten.
 * Thread-safety: one thread per object. */
#include "sampler_state.h"

#define UPKEEP_NS UINT64_C(1000000000)

/* Short programs come again and again: their tables and names are kept for so long, or when there
 * are very many of them, for a short time. */
#define KEEP_NS       UINT64_C(10000000000)
#define KEEP_SHORT_NS UINT64_C(1500000000)

enum { UNNEEDED_MAX = 256 };

/* Whether there are descriptors again: 1 = no; 0, -ENOMEM. */
static int retry_list(struct bpf_sampler *sampler, const struct sampled *process)
{
    int error = 0;
    for (size_t i = 0; i < process->list->count && !error; i++) {
        const struct mapping *mapping = &process->list->items[i];
        struct module *module = mapping->module;
        struct module_place place = {.pid = process->pid,
                                     .begin = mapping->begin,
                                     .end = mapping->end,
                                     .offset = mapping->offset};
        if (!module || module->rows != MODULE_ROWS_MISSING)
            continue;
        place.major = module->major;
        place.minor = module->minor;
        place.inode = module->inode;
        place.path = module->path;
        error = modules_retry(&sampler->modules, &place, module);
    }
    return error;
}

static int retry_missing(struct bpf_sampler *sampler)
{
    int error = 0;
    for (size_t i = 0; i < sampler->processes.all.count && error == 0; i++) {
        const struct sampled *process = sampler->processes.all.items[i];
        if (!process->exited && process->space && process->space->missing)
            error = retry_list(sampler, process);
    }
    for (size_t i = 0; i < sampler->processes.all.count; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        if (!process->space || !space_is_behind(process->space))
            continue;
        if (process->space->list == process->list)
            process->list->space = NULL;
        process->changed = true;
    }
    return error < 0 ? error : 0;
}

static int prune_maps(struct bpf_sampler *sampler)
{
    int error = 0;
    for (size_t i = 0; i < sampler->processes.all.count && !error; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        if (!process->exited && !process->fresh_list && !process->waits_exec)
            error = sampled_prune_maps(process, sampler->now_ns);
    }
    return error;
}

static void mark_list(struct mapping_list *list, uint64_t now_ns)
{
    if (list->marked_ns == now_ns)
        return;
    list->marked_ns = now_ns;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].module)
            list->items[i].module->needed_ns = now_ns;
}

static void on_forget(void *context, const struct module *module)
{
    struct bpf_sampler *sampler = context;
    python_finder_forget(&sampler->finder, module);
}

static void forget_modules(struct bpf_sampler *sampler)
{
    uint64_t now_ns = sampler->now_ns;
    for (size_t i = 0; i < sampler->processes.all.count; i++) {
        const struct sampled *process = sampler->processes.all.items[i];
        mark_list(process->list, now_ns);
        if (process->interpreter.module)
            process->interpreter.module->needed_ns = now_ns;
    }
    for (size_t i = 0; i < sampler->spaces.all.count; i++)
        mark_list(sampler->spaces.all.items[i]->list, now_ns);
    size_t unneeded = 0;
    for (size_t i = 0; i < sampler->modules.all.count; i++)
        unneeded += sampler->modules.all.items[i]->needed_ns < now_ns;
    uint64_t keep_ns = unneeded > UNNEEDED_MAX ? KEEP_SHORT_NS : KEEP_NS;
    if (now_ns > keep_ns)
        modules_forget(&sampler->modules, now_ns - keep_ns, on_forget, sampler);
}

int sampler_upkeep(struct bpf_sampler *sampler)
{
    if (sampler->finished || sampler->now_ns - sampler->upkeep_ns < UPKEEP_NS)
        return 0;
    sampler->upkeep_ns = sampler->now_ns;
    int error = sampler_look_untold(sampler);
    if (!error)
        error = prune_maps(sampler);
    if (!error)
        forget_modules(sampler);
    return error ? error : retry_missing(sampler);
}
