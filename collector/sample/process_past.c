/* SPDX-License-Identifier: MIT */
/* An exec at the start of the process stands for its past, whatever that was; a child with its
 * parent's command line is taken for a forked one. */
#include "process_past.h"
#include "clock_now.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <string.h>

/* At least 1. */
static int64_t start_ns(uint64_t ticks)
{
    int64_t ns = clock_ticks_ns(ticks, clock_asleep_ns());
    return ns > 0 ? ns : 1;
}

int process_past_tell(struct lives *lives, int32_t pid, int32_t parent)
{
    char command[COMMAND_TEXT_SIZE], parent_command[COMMAND_TEXT_SIZE];
    struct proc_stat status, parent_status;
    if (proc_stat(pid, &status) != 0)
        return 0;
    struct lives_task task = {.pid = pid, .start_ticks = status.start_ticks};
    int64_t begin_ns = start_ns(status.start_ticks);
    proc_command(pid, command);
    if (parent && proc_stat(parent, &parent_status) == 0) {
        struct lives_fork fork = {
            .child = task,
            .parent = {.pid = parent, .start_ticks = parent_status.start_ticks},
            .time_ns = begin_ns,
            .comm = status.comm};
        int error = lives_fork(lives, &fork);
        proc_command(parent, parent_command);
        if (error || strcmp(command, parent_command) == 0)
            return error;
    }
    return lives_exec(lives, &task, begin_ns, status.comm, command);
}
