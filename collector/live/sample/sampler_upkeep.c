/* SPDX-License-Identifier: MIT */
/* The part of a step after the records. Periodic upkeep: retries files that could not be opened,
 * drops unused mappings and files, and finds processes with an unreported end. Then publishes the
 * results to the kernel, and at times the counters to the trace. Thread-safety: one thread per
 * object. */
#include "sampler_upkeep.h"

#include "clock_now.h"
#include "frames.h"
#include "modules.h"
#include "proc_info.h"
#include "processes.h"
#include "python_finder.h"
#include "row_memory.h"
#include "sampler_bpf.h"
#include "sampler_probes.h"
#include "sampler_records.h"
#include "spaces.h"
#include "stack_join.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>

/* ---- Unreported ends and execs --------------------------------------------------------------- */

/* Ends and execs of processes that were not reported, because the ring was full or the kernel
 * skipped them: found by inspection, a few processes a second. A finding in /proc and the kernel's
 * table must be made twice, with all intermediate records processed between: a record may just be
 * under way. */

#define EXEC_NS UINT64_C(1000000000)

enum { LOOKS = 64 };

/* True if it is missing, another process, or a zombie with all threads ended. */
static bool is_gone(struct sampled *process)
{
    struct proc_stat now;
    int error = proc_stat(process->pid, &now);
    if (error)
        return error == -ESRCH;
    if (process->proc_ticks == 0)
        process->proc_ticks = now.start_ticks;
    return now.start_ticks != process->proc_ticks || (now.state == 'Z' && now.thread_count <= 1);
}

/* An image is another one if mappings of a new one were reported without its exec, or if the
 * kernel's table has reset the entry. */
static enum process_doubt doubt_of(const struct bpf_sampler *sampler, struct sampled *process)
{
    struct sampler_process value;
    if (is_gone(process))
        return DOUBT_GONE;
    if (bpf_program_get_process(sampler->program, process->pid, &value) != 0)
        return DOUBT_FOREIGN;
    bool image = process->fresh_list ? sampler->now_ns - process->fresh_ns > EXEC_NS
                                     : process->space && value.space == 0;
    return image ? DOUBT_IMAGE : DOUBT_NONE;
}

static struct lives_task task_of(const struct sampled *process)
{
    return (struct lives_task){.pid = process->pid,
                               .ns_pid = process->ns_pid,
                               .start_ticks = process->start_ns / 10000000};
}

void sampler_end_unreported(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns)
{
    struct lives_task task = task_of(process);
    sampler->counts.ends_unreported += !process->foreign;
    (void)sampler_end_image_memory(sampler, process, time_ns); /* else its last values stay */
    process->exited = true;
    process->exit_step = sampler->step;
    lives_exit(sampler->options.lives, &task, (int64_t)time_ns, true, LIVES_STATUS_UNKNOWN);
}

static int begin_image(struct bpf_sampler *sampler, struct sampled *process)
{
    char command[COMMAND_TEXT_SIZE];
    struct proc_stat now = {0};
    (void)proc_stat(process->pid, &now); /* without a name if it has ended */
    proc_command(process->pid, command);
    struct image_report image = {
        .task = task_of(process),
        .time_ns = process->fresh_list ? process->fresh_ns : sampler->now_ns,
        .comm = now.comm,
        .command = command,
    };
    sampler->counts.execs_unreported++;
    return sampler_begin_image(sampler, process, &image);
}

static int look_at(struct bpf_sampler *sampler, struct sampled *process)
{
    enum process_doubt before = process->doubt;
    if (process->exited)
        return 0;
    process->doubt = doubt_of(sampler, process);
    if (process->doubt != before)
        return 0;
    if (before == DOUBT_IMAGE)
        return begin_image(sampler, process);
    if (before == DOUBT_FOREIGN)
        process->foreign = true;
    if (before != DOUBT_GONE)
        return 0;
    sampler_end_unreported(sampler, process, sampler->now_ns);
    if (process->entry)
        (void)bpf_program_remove_process(sampler->program,
                                         process->pid); /* or it was already deleted */
    return 0;
}

/* 0 or -ENOMEM. */
static int look_unreported(struct bpf_sampler *sampler)
{
    size_t count = sampler->processes.all.count;
    int error = 0;
    for (size_t i = 0; i < count && i < LOOKS && !error; i++) {
        size_t at = sampler->look_next++ % count;
        error = look_at(sampler, sampler->processes.all.items[at]);
    }
    return error;
}

/* ---- Upkeep ---------------------------------------------------------------------------------- */

#define UPKEEP_NS UINT64_C(1000000000)

/* Short programs recur: their tables and names are kept this long, or with very many of them, for a
 * short time. */
#define KEEP_NS       UINT64_C(10000000000)
#define KEEP_SHORT_NS UINT64_C(1500000000)

enum { UNNEEDED_MAX = 256 };

/* Retries files, and detects free descriptors: 1 = none; 0, -ENOMEM. */
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
        if (!process->space || !space_is_outdated(process->space))
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
    int error = look_unreported(sampler);
    if (!error)
        error = prune_maps(sampler);
    if (!error)
        forget_modules(sampler);
    return error ? error : retry_missing(sampler);
}

/* ---- Publishing to the kernel ---------------------------------------------------------------- */

/* Publishes changes to the kernel: a space for each changed list of mappings, one for all processes
 * that share the list, then the process's value. */

/* The newest space of a list; made if missing. */
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

/* A value learned by the kernel's part about an interpreter is valid for all processes of its
 * module. */
static int32_t cframe_offset(struct bpf_sampler *sampler, const struct sampled *process)
{
    const struct sampled_interpreter *it = &process->interpreter;
    struct sampler_process old;
    if (bpf_program_get_process(sampler->program, process->pid, &old) == 0 && old.python &&
        old.python == it->python && old.eval == it->runtime.eval && old.cframe_offset)
        it->module->cframe_offset = old.cframe_offset;
    return it->module->cframe_offset;
}

static int write_process(struct bpf_sampler *sampler, const struct sampled *process)
{
    const struct sampled_interpreter *it = &process->interpreter;
    struct sampler_process value = {
        .space = process->space ? process->space->number : 0,
        .mapping_first = process->space ? process->space->first : 0,
        .mapping_count = process->space ? process->space->count : 0,
        .flags = process->waits_exec ? SAMPLER_WAIT_EXEC : 0,
        .tls_offset = process->tls_offset,
        .image =
            process->fresh_list ? 0 : process->image, /* its list may be that of the next image */
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

/* Ended processes keep their lists, for records under way; the kernel has no value for them. */
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

/* Makes new spaces for lists with newly loaded rows. */
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

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Writes counters of the kernel's part and of ours, as facts of the trace: records taken, ends of
 * stacks, losses and their reasons. */

static const char *const loss_names[SAMPLER_LOSS_COUNT] = {
    [SAMPLER_LOSS_RING_FULL_SAMPLE] = "samples: the ring was full",
    [SAMPLER_LOSS_RING_FULL_STACK] = "stacks: the ring was full",
    [SAMPLER_LOSS_RING_FULL_SWITCH] = "context switches: the ring was full",
    [SAMPLER_LOSS_RING_FULL_LIFE] = "starts and ends of processes: the ring was full",
    [SAMPLER_LOSS_RING_FULL_CODE] = "names of Python functions: the ring was full",
    [SAMPLER_LOSS_SWITCH_RATE] = "context switches: above the rate limit",
    [SAMPLER_LOSS_SWITCH_TABLE] = "context switches: more threads than the table holds",
    [SAMPLER_LOSS_PROCESS_TABLE] = "processes: more than the table holds",
    [SAMPLER_LOSS_BUSY] = "samples: taken while another was being taken",
    [SAMPLER_LOSS_OTHER_UID] = "processes: became another user's",
    [SAMPLER_LOSS_UID_SAMPLE] = "samples: the thread had become another user's",
    [SAMPLER_LOSS_UID_SWITCH] = "context switches: the thread had become another user's",
    [SAMPLER_LOSS_MALFORMED] = "records: damaged",
    [SAMPLER_LOSS_RING_FULL_PROBE] = "ranges of functions: the ring was full",
    [SAMPLER_LOSS_PROBE_TABLE] = "ranges of functions: more threads than the table holds",
    [SAMPLER_LOSS_PROBE_DEPTH] = "ranges of functions: more than 128 were open in a thread",
    [SAMPLER_LOSS_SKIPPED] = "starts and ends of processes: skipped by the kernel",
};

static int write_losses(struct trace *trace, const uint64_t counters[SAMPLER_COUNTERS])
{
    int error = 0;
    for (size_t i = 0; i < SAMPLER_LOSS_COUNT && !error; i++)
        error = trace_fact_set(trace, FACT_LOSS, loss_names[i], counters[i]);
    return error;
}

static int write_ends(struct trace *trace, const char *what, const uint64_t ends[STACK_END_COUNT])
{
    char name[96];
    int error = 0;
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT && !error; end++) {
        if (ends[end] == 0)
            continue;
        snprintf(name, sizeof(name), "%s stacks: %s", what, stack_end_name(end));
        error = trace_fact_set(trace, FACT_COUNT, name, ends[end]);
    }
    return error;
}

struct fact {
    enum fact_kind kind;
    const char *name;
    uint64_t value;
};

static int write_own(struct bpf_sampler *sampler)
{
    const struct sampler_counts *counts = &sampler->counts;
    const uint64_t *unread = sampler->modules.unread;
    const struct row_counts rows = row_memory_count(&sampler->modules.rows);
    const struct fact facts[] = {
        {FACT_COUNT, "samples", counts->samples},
        {FACT_COUNT, "context switches", counts->switches},
        {FACT_COUNT, "stacks that were different", sampler->join.joined},
        {FACT_COUNT, "stacks unwound by the collector", counts->copies},
        {FACT_COUNT, "threads that slept at the start: woke while they were read",
         counts->asleep_moved},
        {FACT_COUNT, "Python frames placed by order", sampler->join.unplaced},
        {FACT_COUNT, "mappings read from /proc because the kernel's telling was lost",
         counts->notes_lost},
        {FACT_COUNT, TRACE_FACT_UNSEEN, lives_unseen(sampler->options.lives)},
        {FACT_COUNT, "unwind rows", rows.rows_used},
        {FACT_LOSS, "stacks: a part did not arrive", counts->stacks_missing},
        {FACT_LOSS, "stacks: taken during an exec", counts->stacks_stale},
        {FACT_LOSS, "stacks: cut, a library had taken the place of another",
         counts->stacks_replaced},
        {FACT_LOSS, "names of Python functions: not readable", counts->code_unread},
        {FACT_LOSS, "names of functions: too many were asked for at once", sampler->names.refused},
        {FACT_LOSS, "names of functions: not found when the recording ended",
         sampler->finished ? frames_unnamed(&sampler->names) : 0},
        {FACT_LOSS, "ranges of samples: the name did not arrive", sampler->queue.unnamed},
        {FACT_LOSS, "processes: their start was not told", counts->adopted},
        {FACT_LOSS, "processes: their end was not told", counts->ends_unreported},
        {FACT_LOSS, "processes: their exec was not told", counts->execs_unreported},
        {FACT_LOSS, "processes: ended before their mappings were read", counts->maps_unread},
        {FACT_LOSS, "threads that slept at the start: could not be looked for",
         counts->asleep_denied},
        {FACT_LOSS, "mappings of processes: more than the table holds", counts->stuck_lists},
        {FACT_LOSS, "unwind tables: more rows than the memory holds",
         sampler->modules.tables_refused},
        {FACT_LOSS, "unwind tables: damaged", sampler->modules.tables_damaged},
        {FACT_LOSS, "libraries not read: too many open files", unread[MODULE_LOSS_FILES]},
        {FACT_LOSS, "libraries not read: deleted or replaced", unread[MODULE_LOSS_GONE]},
        {FACT_LOSS, "libraries not read: no right to", unread[MODULE_LOSS_RIGHT]},
        {FACT_LOSS, "libraries not read: damaged", unread[MODULE_LOSS_DAMAGED]},
        {FACT_LOSS, "unwind rules: more than the table holds", rows.rules_refused},
    };
    int error = 0;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !error; i++)
        error =
            trace_fact_set(sampler->options.trace, facts[i].kind, facts[i].name, facts[i].value);
    return error;
}

static int write_interpreters(struct bpf_sampler *sampler)
{
    char name[256];
    if (sampler->finder.unknown == 0)
        return 0;
    snprintf(name, sizeof(name), "Python frames of some processes are not shown: %s",
             sampler->finder.reason);
    return trace_fact_set(sampler->options.trace, FACT_NOTE, name, sampler->finder.unknown);
}

static int write_costs(struct trace *trace, const uint64_t counters[SAMPLER_COUNTERS])
{
    uint64_t samples = counters[SAMPLER_COUNT_SAMPLES], switches = counters[SAMPLER_COUNT_SWITCHES];
    int error = 0;
    if (samples)
        error = trace_fact_set(trace, FACT_COUNT, "ns per sample in the kernel",
                               counters[SAMPLER_COUNT_NS] / samples);
    if (!error)
        error = trace_fact_set(trace, FACT_LOSS,
                               "stretches off the CPU: the kernel did not tell their end",
                               counters[SAMPLER_COUNT_UNTOLD]);
    if (!error)
        error = trace_fact_set(trace, FACT_LOSS,
                               "stretches off the CPU: their kernel stack was mistaken",
                               counters[SAMPLER_COUNT_SLEEPERS_MISTAKEN]);
    if (!error && counters[SAMPLER_COUNT_REASONED])
        error = trace_fact_set(trace, FACT_COUNT,
                               "ends of stretches found by CPU time, not told by the kernel",
                               counters[SAMPLER_COUNT_REASONED]);
    if (!error && switches)
        error = trace_fact_set(trace, FACT_COUNT, "ns per context switch in the kernel",
                               counters[SAMPLER_COUNT_SWITCH_NS] / switches);
    if (!error && switches)
        error = trace_fact_set(trace, FACT_COUNT, "context switches below the threshold",
                               counters[SAMPLER_COUNT_SHORT]);
    return error;
}

int sampler_write_facts(struct bpf_sampler *sampler)
{
    struct trace *trace = sampler->options.trace;
    uint64_t counters[SAMPLER_COUNTERS] = {0};
    bpf_program_counters(sampler->program, counters);
    counters[SAMPLER_LOSS_MALFORMED] += sampler->counts.damaged;
    int error = write_own(sampler);
    if (!error)
        error = write_losses(trace, counters);
    if (!error)
        error = write_ends(trace, "native", sampler->counts.native_end);
    if (!error)
        error = write_ends(trace, "Python", sampler->counts.python_end);
    if (!error)
        error = write_costs(trace, counters);
    if (!error)
        error = sampler_write_launches(sampler, counters);
    if (!error)
        error = sampler_write_heap(sampler, counters);
    if (!error)
        error = sampler_write_memory(sampler);
    if (!error)
        error = sampler_write_probes(sampler);
    if (!error && bpf_program_user_is_unsafe())
        error =
            trace_fact_set(trace, FACT_NOTE,
                           "of threads in the kernel and off the CPU the kernel's part is known "
                           "only: reading more can freeze this Linux (5.18 to 6.3)",
                           1);
    if (error || !sampler->finished) /* the note's text may still change */
        return error;
    return write_interpreters(sampler);
}
