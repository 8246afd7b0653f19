/* SPDX-License-Identifier: MIT */
/* Ends and execs of processes that were not told, because the ring was full or the kernel skipped
 * them: noticed by looking, a few processes a second. What /proc and the kernel's table say must be
 * said twice, with all that was told meanwhile between: a record may just be under way.
 * Thread-safety: one thread per object. */
#include "sampler_state.h"

#include "proc_info.h"
#include "text.h"

#include <errno.h>

#define EXEC_NS UINT64_C(1000000000)

enum { LOOKS = 64 };

/* Not there, another process, or a zombie whose threads have all ended. */
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

/* An image is another one if its mappings were told to be, or if the kernel's table has begun the
 * entry anew. */
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

void sampler_end_untold(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns)
{
    struct lives_task task = task_of(process);
    sampler->counts.ends_untold += !process->foreign;
    process->exited = true;
    process->exit_step = sampler->step;
    lives_exit(sampler->options.lives, &task, (int64_t)time_ns, true, LIVES_STATUS_UNKNOWN);
}

static int begin_image(struct bpf_sampler *sampler, struct sampled *process)
{
    char command[COMMAND_TEXT_SIZE];
    struct proc_stat now = {0};
    (void)proc_stat(process->pid, &now); /* if it is gone, it has no name */
    proc_command(process->pid, command);
    struct told_image image = {
        .task = task_of(process),
        .time_ns = process->fresh_list ? process->fresh_ns : sampler->now_ns,
        .comm = now.comm,
        .command = command,
    };
    sampler->counts.execs_untold++;
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
    sampler_end_untold(sampler, process, sampler->now_ns);
    if (process->entry)
        (void)bpf_program_remove_process(sampler->program, process->pid); /* or it was gone */
    return 0;
}

int sampler_look_untold(struct bpf_sampler *sampler)
{
    size_t count = sampler->processes.all.count;
    int error = 0;
    for (size_t i = 0; i < count && i < LOOKS && !error; i++) {
        size_t at = sampler->look_next++ % count;
        error = look_at(sampler, sampler->processes.all.items[at]);
    }
    return error;
}
