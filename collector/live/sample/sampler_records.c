/* SPDX-License-Identifier: MIT */
/* Takes records in the order of the ring: lives of processes, stacks, samples, switches.
 * Thread-safety: one thread per object. */
#include "sampler_records.h"

#include "clock_now.h"
#include "frames.h"
#include "modules.h"
#include "probe_args.h"
#include "processes.h"
#include "sample_queue.h"
#include "sampler_asleep.h"
#include "sampler_bpf.h"
#include "sampler_heap.h"
#include "sampler_memory.h"
#include "sampler_probes.h"
#include "sampler_stacks.h"
#include "sampler_upkeep.h"
#include "spaces.h"
#include "stacks.h"
#include "text.h"
#include "wait_class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PUBLISH_NS UINT64_C(1000000)

static struct lives_task head_task(const struct sampler_head *head)
{
    return (struct lives_task){.pid = head->pid,
                               .tid = head->tid,
                               .ns_pid = head->ns_pid,
                               .ns_tid = head->ns_tid,
                               .start_ticks = head->process_start_ns / 10000000,
                               .thread_start_ns = head->thread_start_ns};
}

int sampler_apply_notes(struct bpf_sampler *sampler, uint64_t until_ns)
{
    const struct perf_note *note;
    while ((note = perf_rings_next(sampler->rings, until_ns))) {
        struct sampled *process = processes_find(&sampler->processes, note->pid);
        if (!process || process->exited)
            continue;
        int error = sampled_apply_note(process, &sampler->modules, note);
        sampler->unpublished = true;
        if (note->kind == PERF_NOTE_EXEC)
            process->fresh_floor = sampler->spaces.last_number;
        if (process->replaced)
            sampler->replaced_ns = sampler->now_ns;
        process->replaced = false;
        if (error)
            return error;
    }
    return 0;
}

/* Adds an unknown process: its fork record was lost. */
static struct sampled *adopt(struct bpf_sampler *sampler, const struct sampler_head *head)
{
    struct lives_task task = head_task(head);
    struct sampled *process = processes_add(&sampler->processes, &task, head->time_ns);
    if (!process)
        return NULL;
    sampler->counts.adopted++;
    sampler->served = 0; /* it may be served already */
    if (sampled_read_maps(process, &sampler->modules) == -ENOMEM)
        return NULL;
    process->changed = true;
    return process;
}

int sampler_pass_damaged(struct bpf_sampler *sampler)
{
    sampler->counts.damaged++;
    return 0;
}

/* The known process of the record's pid, or NULL. Ends a previous owner of the pid. */
static struct sampled *known_process(struct bpf_sampler *sampler, const struct sampler_head *head)
{
    struct sampled *process = processes_find(&sampler->processes, head->pid);
    if (!process || !process->start_ns || process->start_ns == head->process_start_ns)
        return process;
    if (!process->exited)
        sampler_end_unreported(sampler, process, head->time_ns);
    return NULL;
}

struct sampled *sampler_process_of(struct bpf_sampler *sampler, const struct sampler_head *head)
{
    struct sampled *process = known_process(sampler, head);
    if (!process)
        process = adopt(sampler, head);
    if (process) {
        process->start_ns = head->process_start_ns;
        process->ns_pid = head->ns_pid;
    }
    return process;
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static void copy_comm(char text[17], const uint8_t comm[16])
{
    memcpy(text, comm, 16);
    text[16] = 0;
}

static uint32_t range_count(uint32_t depth, uint32_t record_size, size_t fixed)
{
    size_t fits = record_size > fixed ? (record_size - fixed) / sizeof(struct sampler_range) : 0;
    if (depth > SAMPLER_RANGES_MAX)
        depth = SAMPLER_RANGES_MAX;
    return depth < fits ? depth : (uint32_t)fits;
}

/* The open ranges of a record. Before an exec their names are not those of the process's current
 * image. */
static struct sampled_ranges ranges_of(const struct sampled *process,
                                       const struct sampler_head *head, uint32_t flags)
{
    bool known = (flags & SAMPLER_RANGES_KNOWN) && head->time_ns >= process->exec_ns;
    return (struct sampled_ranges){.known = known, .pid = process->pid, .time_ns = head->time_ns};
}

/* The ranges inherited by a forked child: those of its parent's thread at the fork, and none of its
 * own. */
static void inherit_ranges(struct sampled *child, const struct sampled *parent,
                           const struct sampler_fork *fork)
{
    struct sampled_ranges *ranges = &child->inherited;
    if (fork->flags & SAMPLER_RANGES_INHERITED) {
        *ranges = parent->inherited;
        return;
    }
    *ranges = ranges_of(parent, &fork->head, fork->flags);
    ranges->depth = fork->range_depth;
    ranges->count =
        range_count(fork->range_depth, fork->head.size, offsetof(struct sampler_fork, ranges));
    for (uint32_t i = 0; i < ranges->count; i++)
        ranges->ranges[i] = (struct sampler_range){fork->ranges[i].name, SAMPLER_MARK_INHERITED};
}

/* Resolves them now: when the child is sampled, its parent may have ended long ago. */
static int ask_inherited(struct bpf_sampler *sampler, const struct sampled *child)
{
    struct queued_sample question = {.child = child->pid, .ranges = child->inherited};
    bool is_open = child->inherited.count > 0 && child->inherited.path == 0;
    return is_open ? sample_queue_add(&sampler->queue, &question, sampler->now_ns) : 0;
}

static int take_fork(struct bpf_sampler *sampler, const struct sampler_fork *fork)
{
    struct sampler_head head = fork->head;
    head.pid = head.ns_pid = fork->parent_pid;
    head.tid = fork->parent_tid;
    head.process_start_ns = fork->parent_start_ns;
    struct sampled *parent = processes_find(&sampler->processes, fork->parent_pid);
    if (parent)
        head.ns_pid = parent->ns_pid;
    parent = sampler_process_of(sampler, &head);
    (void)known_process(sampler, &fork->head);
    struct lives_task task = head_task(&fork->head);
    struct sampled *child =
        parent ? processes_fork(&sampler->processes, &task, fork->head.time_ns, parent) : NULL;
    if (!child)
        return -ENOMEM;
    /* The kernel's copy may be older than our state of the parent. */
    if (parent->published_ns >= fork->head.time_ns ||
        fork->space != (parent->space ? parent->space->number : 0))
        child->changed = true;
    child->start_ns = fork->head.process_start_ns;
    child->ns_pid = fork->head.ns_pid;
    sampler->unpublished = true;
    inherit_ranges(child, parent, fork);
    char comm[17];
    copy_comm(comm, fork->comm);
    struct lives_fork report = {.child = task,
                                .parent = {.pid = fork->parent_pid,
                                           .tid = fork->parent_tid,
                                           .ns_pid = fork->parent_ns_pid,
                                           .ns_tid = fork->parent_ns_tid,
                                           .start_ticks = fork->parent_start_ns / 10000000},
                                .time_ns = (int64_t)fork->head.time_ns,
                                .comm = comm};
    int error = lives_fork(sampler->options.lives, &report);
    return error ? error : ask_inherited(sampler, child);
}

int sampler_begin_image(struct bpf_sampler *sampler, struct sampled *process,
                        const struct image_report *image)
{
    bool is_listed = process->fresh_list; /* then it may be published already */
    int error = sampler_end_image_memory(sampler, process, image->time_ns);
    if (error)
        return error;
    sampler->unpublished = true;
    sampled_exec(&sampler->processes, process, sampler->now_ns, sampler->step);
    process->exec_ns = image->time_ns;
    process->image = image->number;
    process->space_floor = is_listed ? process->fresh_floor : sampler->spaces.last_number;
    error = is_listed ? 0 : sampled_read_maps(process, &sampler->modules);
    if (error == -ENOMEM)
        return error;
    sampler->counts.maps_unread += error != 0;
    return lives_exec(sampler->options.lives, &image->task, (int64_t)image->time_ns, image->comm,
                      image->command);
}

static int take_exec(struct bpf_sampler *sampler, const struct sampler_exec *exec)
{
    char comm[17], command[COMMAND_TEXT_SIZE];
    if (exec->head.size < sizeof(*exec) || exec->command_size > exec->head.size - sizeof(*exec))
        return sampler_pass_damaged(sampler);
    struct sampled *process = sampler_process_of(sampler, &exec->head);
    if (!process)
        return -ENOMEM;
    int error = sampler_end_probed_image(sampler, &exec->head);
    if (error)
        return error;
    copy_comm(comm, exec->comm);
    command_text((const char *)(exec + 1), exec->command_size, command);
    struct image_report image = {head_task(&exec->head), exec->head.time_ns, comm, command,
                                 exec->image};
    return sampler_begin_image(sampler, process, &image);
}

static struct wide_key thread_key(const struct sampler_head *head)
{
    return *WIDE_KEY((uint32_t)head->tid, head->thread_start_ns);
}

static int take_exit(struct bpf_sampler *sampler, const struct sampler_exit *exit)
{
    struct sampled *process = processes_find(&sampler->processes, exit->head.pid);
    struct lives_task task = head_task(&exit->head);
    char comm[17];
    uint64_t gone;
    int error = sampler_end_probed(sampler, &exit->head, exit->last != 0);
    if (error)
        return error;
    if (process && exit->last && !process->exited)
        error = sampler_end_image_memory(sampler, process, exit->head.time_ns);
    if (error)
        return error;
    copy_comm(comm, exit->comm);
    lives_thread_comm(sampler->options.lives, &task, (int64_t)exit->head.time_ns, comm);
    lives_exit(sampler->options.lives, &task, (int64_t)exit->head.time_ns, exit->last != 0,
               exit->code);
    if (!process)
        return 0;
    const struct wide_key key = thread_key(&exit->head);
    wide_map_take(&process->threads, &key, &gone);
    if (exit->last && !process->exited) {
        process->exited = true;
        process->exit_step = sampler->step;
    }
    return 0;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* The common part of sample and switch. `ranges`: of the record. */
struct common {
    const struct sampler_head *head;
    int64_t image_ns; /* a time at which its image ran: a wait in an exec belongs to the next one */
    bool passing;     /* the thread only lacked a CPU */
    struct sampler_stack stack;
    uint32_t range_depth;
    const struct sampler_range *ranges;
    size_t fixed; /* size of the record without ranges */
};

/* A record of the image before the last exec may arrive later; its thread is not cached. */
static int64_t find_thread(struct bpf_sampler *sampler, struct sampled *process,
                           const struct common *common)
{
    const struct sampler_head *head = common->head;
    const struct wide_key key = thread_key(head);
    bool is_former = common->image_ns < (int64_t)process->exec_ns;
    const uint64_t *found = is_former ? NULL : wide_map_find(&process->threads, &key);
    if (found && (common->passing || process->active))
        return (int64_t)*found - 1;
    struct lives_task task = head_task(head);
    task.passing = common->passing;
    process->active = process->active || (!common->passing && !is_former);
    int64_t thread = lives_thread(sampler->options.lives, &task, common->image_ns);
    if (thread >= 0 && !is_former &&
        wide_map_put(&process->threads, &key, (uint64_t)thread + 1) != 0)
        return -ENOMEM;
    return thread;
}

int64_t sampler_thread_of(struct bpf_sampler *sampler, const struct sampler_head *head,
                          int64_t image_ns)
{
    const struct common common = {.head = head, .image_ns = image_ns};
    struct sampled *process = sampler_process_of(sampler, head);
    return process ? find_thread(sampler, process, &common) : -ENOMEM;
}

/* Sets the path's ranges from a record. */
static void set_ranges(struct queued_sample *out, const struct sampled *process, uint32_t flags,
                       const struct sampled_ranges *own)
{
    const struct sampled_ranges *ranges = own;
    if (flags & SAMPLER_RANGES_INHERITED)
        ranges = &process->inherited;
    out->ranges = *ranges;
    if (ranges->known && ranges->depth > ranges->count)
        out->sample.flags |= SAMPLE_PATH_CUT;
}

static int take_common(struct bpf_sampler *sampler, struct common *common,
                       struct queued_sample *out)
{
    const struct sampler_head *head = common->head;
    struct sampled *process = sampler_process_of(sampler, head);
    int64_t thread = process ? find_thread(sampler, process, common) : -ENOMEM;
    if (thread < 0)
        return (int)thread;
    int64_t stack = sampler_find_stack(sampler, process, &common->stack);
    if (stack < 0)
        return (int)stack;
    struct sample *sample = &out->sample;
    uint32_t flags = common->stack.flags;
    sample->time_ns = (int64_t)head->time_ns;
    sample->thread = (uint32_t)thread;
    sample->stack = (uint32_t)stack;
    sample->cpu = head->cpu;
    sample->native_end = common->stack.native_end;
    sample->python_end = common->stack.python_end;
    bool own = common->stack.native || common->stack.python;
    int error = !own && flags & (SAMPLER_ASLEEP | SAMPLER_STILL_OFF)
                    ? sampler_take_asleep(sampler, head, &common->stack, sample)
                    : 0;
    if (error)
        return error;
    sample->flags |= flags & SAMPLER_IN_KERNEL ? SAMPLE_IN_KERNEL : 0;
    sample->flags |= flags & SAMPLER_GC ? SAMPLE_GC : 0;
    sample->flags |= flags & SAMPLER_HOLDS_GIL ? SAMPLE_HOLDS_GIL : 0;
    struct sampled_ranges ranges = ranges_of(process, head, flags);
    ranges.depth = common->range_depth;
    ranges.count = range_count(common->range_depth, head->size, common->fixed);
    memcpy(ranges.ranges, common->ranges, ranges.count * sizeof(ranges.ranges[0]));
    set_ranges(out, process, flags, &ranges);
    if (sample->native_end < STACK_END_COUNT)
        sampler->counts.native_end[sample->native_end]++;
    if (sample->python_end < STACK_END_COUNT)
        sampler->counts.python_end[sample->python_end]++;
    return 0;
}

static int take_sample(struct bpf_sampler *sampler, const struct sampler_sample *record)
{
    struct common common = {
        .head = &record->head,
        .image_ns = (int64_t)record->head.time_ns,
        .stack = {record->kernel, record->native, record->python, record->space, record->flags,
                  record->native_end, record->python_end},
        .range_depth = record->range_depth,
        .ranges = record->ranges,
        .fixed = offsetof(struct sampler_sample, ranges),
    };
    struct queued_sample out = {.sample = {.set = SAMPLE_SET_CPU, .value_count = 1}};
    uint64_t cpu_ns = bpf_program_tick_ns(sampler->program, record->head.cpu, record->head.time_ns);
    out.values[0] = (int64_t)cpu_ns;
    sampler->pace.cpu_ns += cpu_ns;
    int error = take_common(sampler, &common, &out);
    sampler->counts.samples++;
    return error ? error : sample_queue_add(&sampler->queue, &out, sampler->now_ns);
}

/* A sample of the thread that called a function of annot's libraries. */
static int take_call(struct bpf_sampler *sampler, const struct sampler_sample *record)
{
    struct common common = {
        .head = &record->head,
        .image_ns = (int64_t)record->head.time_ns,
        .stack = {0, record->native, record->python, record->space, record->flags,
                  record->native_end, record->python_end},
        .range_depth = record->range_depth,
        .ranges = record->ranges,
        .fixed = offsetof(struct sampler_sample, ranges),
    };
    struct queued_sample out = {0};
    int error = take_common(sampler, &common, &out);
    if (!error)
        error = record->head.kind == SAMPLER_LAUNCH ? sampler_describe_launch(sampler, record, &out)
                                                    : sampler_keep_block(sampler, record, &out);
    return error ? error : sample_queue_add(&sampler->queue, &out, sampler->now_ns);
}

/* For a thread that slept already, the kernel's part did not know yet the address of its
 * interpreter's lock. */
static uint32_t switch_flags(const struct bpf_sampler *sampler, const struct sampler_switch *record)
{
    const struct sampled *process = processes_find(&sampler->processes, record->head.pid);
    const struct python_runtime *runtime = process ? &process->interpreter.runtime : NULL;
    bool gil = record->flags & SAMPLER_ASLEEP && record->syscall == SAMPLER_CALL_FUTEX && runtime &&
               process->interpreter.state == INTERPRETER_FOUND &&
               record->argument >= runtime->runtime && record->argument < runtime->runtime_end;
    return record->flags | (gil ? SAMPLER_GIL_WAIT : 0);
}

/* True if called from Python's own subprocess.py. */
static bool is_in_subprocess(const struct trace *trace, uint32_t stack)
{
    static const char name[] = "/subprocess.py";
    const struct stacks *stacks = trace_stacks_get(trace);
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
        if (frame->kind != FRAME_PYTHON)
            continue;
        uint32_t source = stacks_get_label(stacks, frame->label)->source;
        const struct trace_string *path =
            trace_string(trace, stacks_get_source(stacks, source)->path);
        size_t size = sizeof(name) - 1;
        if (path->length > size && memcmp(path->bytes + path->length - size, name, size) == 0)
            return strstr(path->bytes, "/python3.") != NULL;
    }
    return false;
}

/* True if it waits for a command by reading its output, or by polling. */
static bool waits_for_command(const struct bpf_sampler *sampler, const struct sample *sample)
{
    bool may_be =
        sample->reason == WAIT_POLL || sample->reason == WAIT_PIPE || sample->reason == WAIT_SLEEP;
    return may_be && is_in_subprocess(sampler->options.trace, sample->stack);
}

static int take_switch(struct bpf_sampler *sampler, const struct sampler_switch *record)
{
    struct common common = {
        .head = &record->head,
        .image_ns = (int64_t)record->end_ns,
        .stack = {record->kernel, record->native, record->python, record->space, record->flags,
                  record->native_end, record->python_end},
        .range_depth = record->range_depth,
        .ranges = record->ranges,
        .fixed = offsetof(struct sampler_switch, ranges),
    };
    struct wait_facts facts = {record->syscall, record->file_mode, record->state,
                               switch_flags(sampler, record), record->argument};
    struct queued_sample out = {.sample = {.reason = (uint8_t)wait_classify(&facts),
                                           .time_ns = (int64_t)record->head.time_ns,
                                           .end_ns = (int64_t)record->end_ns}};
    sample_set_wait(&out.sample, (int64_t)record->wake_ns, out.values);
    common.passing = out.values[0] == 0;
    if (record->flags & SAMPLER_STILL_OFF)
        out.sample.flags |= SAMPLE_UNFINISHED;
    int error = take_common(sampler, &common, &out);
    if (!error && waits_for_command(sampler, &out.sample))
        out.sample.reason = WAIT_CHILD;
    sampler->counts.switches++;
    return error ? error : sample_queue_add(&sampler->queue, &out, sampler->now_ns);
}

/* Sums without a place. A thread's last ones come when it leaves its CPU for good: possibly long
 * after the end of its process was reported, which may be forgotten by then. */
static int take_short(struct bpf_sampler *sampler, const struct sampler_short *record)
{
    struct common common = {.head = &record->head,
                            .image_ns = (int64_t)record->end_ns,
                            .passing = record->waits.blocked_ns == 0};
    struct sampled *process = known_process(sampler, &record->head);
    struct lives_task task = head_task(&record->head);
    task.passing = common.passing;
    int64_t thread = process ? find_thread(sampler, process, &common)
                             : lives_thread(sampler->options.lives, &task, common.image_ns);
    if (thread < 0)
        return (int)thread;
    struct queued_sample out = {.sample = {.set = SAMPLE_SET_SHORT_WAITS,
                                           .value_count = 2,
                                           .time_ns = (int64_t)record->head.time_ns,
                                           .end_ns = (int64_t)record->end_ns,
                                           .thread = (uint32_t)thread,
                                           .cpu = record->head.cpu}};
    out.values[0] = (int64_t)record->waits.blocked_ns;
    out.values[1] = (int64_t)record->waits.runnable_ns;
    return sample_queue_add(&sampler->queue, &out, sampler->now_ns);
}

static int take_code(struct bpf_sampler *sampler, const struct sampler_code *code)
{
    const struct sampled *process = sampler_process_of(sampler, &code->head);
    if (!process)
        return -ENOMEM;
    int error = code_names_add(&sampler->codes, sampler->options.trace, process, code);
    return error == -EBADMSG ? sampler_pass_damaged(sampler) : error;
}

/* Naming functions can take long on a busy machine, and meanwhile new processes would be
 * walked without tables: publish to the kernel first. */
static int publish_first(struct bpf_sampler *sampler, const struct sampler_head *record)
{
    bool names = record->kind != SAMPLER_FORK && record->kind != SAMPLER_EXEC &&
                 record->kind != SAMPLER_EXIT;
    if (!names || !sampler->unpublished || sampler->finished ||
        (uint64_t)clock_now_ns() - sampler->published_ns < PUBLISH_NS)
        return 0;
    return sampler_publish(sampler);
}

int sampler_take_record(void *context, const struct sampler_head *record)
{
    struct bpf_sampler *sampler = context;
    int error = sampler_apply_notes(sampler, record->time_ns);
    if (!error)
        error = publish_first(sampler, record);
    if (error)
        return error;
    switch (record->kind) {
    case SAMPLER_SAMPLE:
        return take_sample(sampler, (const struct sampler_sample *)record);
    case SAMPLER_LAUNCH:
    case SAMPLER_ALLOCATED:
        return take_call(sampler, (const struct sampler_sample *)record);
    case SAMPLER_FREED:
        return sampler_take_freed(sampler, (const struct sampler_freed *)record);
    case SAMPLER_SWITCH:
        return take_switch(sampler, (const struct sampler_switch *)record);
    case SAMPLER_SHORT:
        return take_short(sampler, (const struct sampler_short *)record);
    case SAMPLER_KERNEL:
    case SAMPLER_NATIVE:
    case SAMPLER_PYTHON:
        return sampler_take_part(sampler, record);
    case SAMPLER_PROBED:
        return sampler_take_probed(sampler, (const struct sampler_probed *)record);
    case SAMPLER_PROBED_ARGS:
        return probe_args_take(&sampler->probes.entered, &sampler->probes.lists,
                               (const struct sampler_probed_args *)record);
    case SAMPLER_COPY:
        return sampler_take_copy(sampler, (const struct sampler_copy *)record);
    case SAMPLER_CODE:
        return take_code(sampler, (const struct sampler_code *)record);
    case SAMPLER_FORK:
        return take_fork(sampler, (const struct sampler_fork *)record);
    case SAMPLER_EXEC:
        return take_exec(sampler, (const struct sampler_exec *)record);
    case SAMPLER_EXIT:
        return take_exit(sampler, (const struct sampler_exit *)record);
    default:
        return 0;
    }
}
