/* SPDX-License-Identifier: MIT */
/* The table of processes and their lives. Thread-safety: one thread per object. */
#include "processes.h"

#include <stdlib.h>

enum { EXIT_STEPS = 2 };

static void destroy_process(struct sampled *process)
{
    mapping_list_unref(process->list);
    symbol_jit_destroy(process->jit);
    wide_map_free(&process->threads);
    free(process);
}

void processes_fini(struct processes *processes)
{
    for (size_t i = 0; i < processes->all.count; i++)
        destroy_process(processes->all.items[i]);
    vec_free(&processes->all);
    map64_free(&processes->by_pid);
}

struct sampled *processes_find(const struct processes *processes, int32_t pid)
{
    const uint64_t *found = pid > 0 ? map64_find(&processes->by_pid, (uint64_t)pid) : NULL;
    return found ? (struct sampled *)(uintptr_t)*found : NULL;
}

/* Takes over the reference of `list`, which may be NULL for want of memory. */
static struct sampled *add(struct processes *processes, int32_t pid, struct mapping_list *list)
{
    struct sampled *process = calloc(1, sizeof(*process));
    struct sampled *old = processes_find(processes, pid);
    if (!list || !process || vec_reserve(&processes->all, 1) != 0 ||
        map64_put(&processes->by_pid, (uint64_t)pid, (uintptr_t)process) != 0) {
        mapping_list_unref(list);
        free(process);
        return NULL;
    }
    if (old)
        old->exited = true; /* its number was given to another */
    process->pid = process->ns_pid = pid;
    process->list = list;
    process->family = ++processes->last_family;
    processes->all.items[processes->all.count++] = process;
    return process;
}

struct sampled *processes_add(struct processes *processes, int32_t pid)
{
    return add(processes, pid, mapping_list_create());
}

struct sampled *processes_fork(struct processes *processes, int32_t pid,
                               const struct sampled *parent)
{
    struct sampled *process = add(processes, pid, mapping_list_ref(parent->list));
    if (!process)
        return NULL;
    process->family = parent->family;
    process->changed = parent->changed;
    process->compared_count = parent->compared_count;
    process->space_floor = parent->space_floor;
    process->space = space_use(parent->space);
    process->tls_offset = parent->tls_offset;
    process->interpreter = parent->interpreter;
    return process;
}

void sampled_exec(struct processes *processes, struct sampled *process, uint64_t now_ns,
                  uint64_t step)
{
    space_leave(process->space, now_ns, step);
    symbol_jit_destroy(process->jit);
    wide_map_free(&process->threads);
    process->space = NULL;
    process->jit = NULL;
    process->tls_offset = 0;
    process->interpreter = (struct interpreter){0};
    process->inherited = (struct sampled_ranges){0};
    process->family = ++processes->last_family;
    process->changed = true;
    process->waits_exec = false;
    process->active = false;
    process->fresh_list = false;
    process->compared_count = 0;
    process->doubt = DOUBT_NONE;
}

void processes_sweep(struct processes *processes, uint64_t now_ns, uint64_t step)
{
    for (size_t i = 0; i < processes->all.count;) {
        struct sampled *process = processes->all.items[i];
        if (!process->exited || step - process->exit_step <= EXIT_STEPS) {
            i++;
            continue;
        }
        if (processes_find(processes, process->pid) == process) {
            uint64_t gone;
            map64_take(&processes->by_pid, (uint64_t)process->pid, &gone);
        }
        space_leave(process->space, now_ns, step);
        destroy_process(process);
        processes->all.items[i] = processes->all.items[--processes->all.count];
    }
}
