/* SPDX-License-Identifier: MIT */
/* The table of processes and their lives. Thread-safety: one thread per object. */
#include "processes.h"

#include <stdlib.h>

enum { EXIT_STEPS = 2 };

static void take_off(struct sampled *process)
{
    if (process->entry)
        process->entry->sampled = NULL;
    process->entry = NULL;
}

static void destroy_process(struct sampled *process)
{
    take_off(process);
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
}

struct sampled *processes_find(const struct processes *processes, int32_t pid)
{
    const struct process *entry = lives_find_sampled(processes->lives, pid);
    return entry ? entry->sampled : NULL;
}

/* Takes over the reference of `list`, which may be NULL for want of memory. */
static struct sampled *add(struct processes *processes, const struct lives_task *task,
                           uint64_t time_ns, struct mapping_list *list)
{
    struct sampled *process = calloc(1, sizeof(*process));
    struct sampled *old = processes_find(processes, task->pid);
    if (list && process && vec_reserve(&processes->all, 1) == 0)
        process->entry = lives_hang(processes->lives, task, (int64_t)time_ns, process);
    if (!process || !process->entry) {
        mapping_list_unref(list);
        free(process);
        return NULL;
    }
    if (old) { /* its number was given to another */
        if (old->entry == process->entry)
            old->entry = NULL;
        take_off(old);
        old->exited = true;
    }
    process->pid = process->ns_pid = task->pid;
    process->list = list;
    process->family = ++processes->last_family;
    processes->all.items[processes->all.count++] = process;
    return process;
}

struct sampled *processes_add(struct processes *processes, const struct lives_task *task,
                              uint64_t time_ns)
{
    return add(processes, task, time_ns, mapping_list_create());
}

struct sampled *processes_fork(struct processes *processes, const struct lives_task *task,
                               uint64_t time_ns, const struct sampled *parent)
{
    struct sampled *process = add(processes, task, time_ns, mapping_list_ref(parent->list));
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
        space_leave(process->space, now_ns, step);
        destroy_process(process);
        processes->all.items[i] = processes->all.items[--processes->all.count];
    }
}
