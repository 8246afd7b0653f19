/* SPDX-License-Identifier: MIT */
/* Reads /proc with care: a process chooses its name and the names of its threads. */
#include "proc_lives.h"

#include "clock_now.h"
#include "file_io.h"
#include "proc_info.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

/* At least 1. */
static int64_t start_ns(uint64_t ticks)
{
    int64_t ns = clock_ticks_ns(ticks, clock_asleep_ns());
    return ns > 0 ? ns : 1;
}

int process_look(int32_t pid, struct process_look *ret_look)
{
    struct proc_stat after;
    for (int i = 0; i < TRIES; i++) {
        int error = proc_stat(pid, &ret_look->stat);
        if (error != 0)
            return error;
        proc_command(pid, ret_look->command);
        if (proc_stat(pid, &after) != 0 || after.stack_begin == ret_look->stat.stack_begin)
            break;
    }
    return 0;
}

/* Notes when the texts were read, and those read earlier, for an exec that is reported late. */
static int note_look(struct lives *lives, const struct lives_task *task, int64_t begin_ns,
                     const struct process_look *earlier)
{
    const struct lives_look look = {.task = *task,
                                    .time_ns = begin_ns,
                                    .looked_ns = clock_now_ns(),
                                    .earlier_comm = earlier->stat.comm,
                                    .earlier_cmdline = earlier->command};
    return lives_note_look(lives, &look);
}

int process_past_emit(struct lives *lives, int32_t pid, int32_t parent,
                      const struct process_look *earlier)
{
    char parent_command[COMMAND_TEXT_SIZE];
    struct process_look look;
    struct proc_stat parent_status;
    bool is_copy = false;
    if (process_look(pid, &look) != 0)
        return 0;
    struct lives_task task = {.pid = pid, .start_ticks = look.stat.start_ticks};
    int64_t begin_ns = start_ns(task.start_ticks);
    if (parent && proc_stat(parent, &parent_status) == 0) {
        struct lives_fork fork = {
            .child = task,
            .parent = {.pid = parent, .start_ticks = parent_status.start_ticks},
            .time_ns = begin_ns,
            .comm = look.stat.comm};
        int error = lives_fork(lives, &fork);
        if (error)
            return error;
        proc_command(parent, parent_command);
        is_copy = strcmp(look.command, parent_command) == 0;
    }
    if (!is_copy && lives_exec(lives, &task, begin_ns, look.stat.comm, look.command) != 0)
        return -ENOMEM;
    return note_look(lives, &task, begin_ns, earlier);
}

/* ---- Names of threads ---- */

enum { NAME_SIZE = 32 };

static bool read_file(int32_t pid, int32_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return file_read_text(path, text, size) > 0;
}

static bool read_name(int32_t pid, int32_t tid, char name[NAME_SIZE])
{
    if (!read_file(pid, tid, "comm", name, NAME_SIZE))
        return false;
    name[strcspn(name, "\n")] = '\0';
    return name[0] != '\0';
}

/* The tid in its innermost namespace; 0: it has ended. */
static int32_t read_inner_tid(int32_t pid, int32_t tid)
{
    char text[4096];
    return read_file(pid, tid, "status", text, sizeof(text)) ? proc_innermost(text) : 0;
}

void thread_names_emit(struct lives *lives, const struct lives_task *process, int64_t time_ns)
{
    char path[64], name[NAME_SIZE];
    const struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        struct lives_task task = *process;
        task.tid = task.ns_tid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (task.tid <= 0 || !read_name(task.pid, task.tid, name))
            continue;
        if (task.ns_pid != 0 && task.ns_pid != task.pid)
            task.ns_tid = read_inner_tid(task.pid, task.tid);
        lives_thread_comm(lives, &task, time_ns, name);
    }
    if (folder)
        closedir(folder);
}
