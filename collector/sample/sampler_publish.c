/* SPDX-License-Identifier: MIT */
/* Tells the kernel what was learned: a space for each changed list of mappings, one for all
 * processes that share the list, then the process's value. Thread-safety: one thread per object. */
#include "clock_now.h"
#include "sampler_state.h"

#include <errno.h>

/* The newest space of a list; made if there is none. */
static int list_space(struct bpf_sampler *sampler, struct mapping_list *list,
                      struct space **ret_space)
{
    struct space *space = list->space;
    if (space) {
        *ret_space = space_use(space);
        return 0;
    }
    int error = spaces_add(&sampler->spaces, list, ret_space);
    if (!error)
        list->space = *ret_space;
    return error;
}

/* What the kernel's part learned about an interpreter holds for all processes of its module. */
static int32_t cframe_offset(struct bpf_sampler *sampler, const struct sampled *process)
{
    const struct interpreter *it = &process->interpreter;
    struct sampler_process old;
    if (bpf_program_get_process(sampler->program, process->pid, &old) == 0 && old.python &&
        old.python == it->python && old.eval == it->runtime.eval && old.cframe_offset)
        it->module->cframe_offset = old.cframe_offset;
    return it->module->cframe_offset;
}

static int write_process(struct bpf_sampler *sampler, const struct sampled *process)
{
    const struct interpreter *it = &process->interpreter;
    struct sampler_process value = {
        .space = process->space ? process->space->number : 0,
        .mapping_first = process->space ? process->space->first : 0,
        .mapping_count = process->space ? process->space->count : 0,
        .flags = process->waits_exec ? SAMPLER_WAIT_EXEC : 0,
        .tls_offset = process->tls_offset,
    };
    if (it->state == INTERPRETER_FOUND) {
        value.python = it->python;
        value.runtime = it->runtime.runtime;
        value.runtime_end = it->runtime.runtime_end;
        value.eval = it->runtime.eval;
        value.eval_end = it->runtime.eval_end;
        value.cframe_offset = cframe_offset(sampler, process);
    }
    return bpf_program_set_process(sampler->program, process->pid, &value, true);
}

/* Gone processes keep their lists, for records under way; the kernel has no value of them. */
static int publish_process(struct bpf_sampler *sampler, struct sampled *process)
{
    struct space *space = NULL;
    process->changed = false;
    if (process->exited)
        return 0;
    int error = list_space(sampler, process->list, &space);
    if (error == -ENOMEM)
        return error;
    if (error) {
        sampler->counts.stuck_lists++;
        return 0;
    }
    space_leave(process->space, sampler->now_ns, sampler->step);
    process->space = space;
    write_process(sampler, process); /* -ENOENT: it ended; its exit is on the way */
    process->published_ns = (uint64_t)clock_now_ns();
    return 0;
}

/* Lists of which rows were loaded get another space. */
static int load_wanted(struct bpf_sampler *sampler)
{
    struct spaces *spaces = &sampler->spaces;
    sampler->lazy = false;
    for (size_t i = 0; i < spaces->all.count; i++) {
        struct space *space = spaces->all.items[i];
        if (!space->lazy || space->users == 0 || space->list->space != space)
            continue;
        int loaded = space_load_wanted(spaces, space, &sampler->modules);
        if (loaded < 0)
            return loaded;
        sampler->lazy = true;
        if (loaded)
            space->list->space = NULL;
    }
    return 0;
}

int sampler_publish(struct bpf_sampler *sampler)
{
    int error = load_wanted(sampler);
    sampler->waits_interpreter = false;
    for (size_t i = 0; i < sampler->processes.all.count && !error; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        if (process->changed || process->interpreter.state == INTERPRETER_WAIT)
            error = python_finder_look(&sampler->finder, process, sampler->now_ns);
        sampler->waits_interpreter |= process->interpreter.state == INTERPRETER_WAIT;
        bool newer = process->space && process->list->space != process->space;
        if (!error && (process->changed || newer))
            error = publish_process(sampler, process);
    }
    sampler->unpublished = false;
    sampler->published_ns = (uint64_t)clock_now_ns();
    return error;
}

void sampler_sweep(struct bpf_sampler *sampler)
{
    spaces_sweep(&sampler->spaces, sampler->now_ns, sampler->step);
    processes_sweep(&sampler->processes, sampler->now_ns, sampler->step);
    stack_parts_sweep(&sampler->parts, sampler->now_ns, sampler->step);
}
