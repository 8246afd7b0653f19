/* SPDX-License-Identifier: MIT */
/* Reads /proc of processes, and tells the registry what it says. That is taken with care: a process
 * chooses its own name. Thread-safety: one thread per object. */
#include "sample_parts.h"

#include "clock_now.h"
#include "file_io.h"
#include "proc_info.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Processes sampled from outside ---------------------------------------------------------- */

#define TICK_NS          UINT64_C(10000000)
#define PAUSE_FIRST_NS   INT64_C(5000000)
#define PAUSE_LONGEST_NS INT64_C(2000000000)

bool remote_cpu_ns(int32_t pid, int32_t tid, uint64_t *ret_ns)
{
    char path[64], text[128];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return false;
    *ret_ns = strtoull(text, NULL, 10);
    return true;
}

struct remote_process *remote_process_find(const struct lives *lives, int32_t pid,
                                           uint64_t start_ticks)
{
    const struct process *entry = lives_find_sampled(lives, pid);
    struct remote_process *process = entry ? entry->sampled : NULL;
    return process && (start_ticks == 0 || process->start_ticks == start_ticks) ? process : NULL;
}

struct remote_process *remote_process_create(struct lives *lives, int32_t pid,
                                             const struct proc_stat *stat, int64_t now_ns)
{
    struct lives_task task = {.pid = pid, .start_ticks = stat->start_ticks};
    struct remote_process *old = remote_process_find(lives, pid, 0);
    struct remote_process *process = calloc(1, sizeof(*process));
    if (process)
        process->entry = lives_hang(lives, &task, now_ns, process);
    if (!process || !process->entry) {
        free(process);
        return NULL;
    }
    if (old && old->entry != process->entry)
        old->entry->sampled = NULL;
    if (old)
        old->entry = NULL;
    process->pid = pid;
    process->start_ticks = stat->start_ticks;
    process->stack_begin = stat->stack_begin;
    process->pause_ns = PAUSE_FIRST_NS;
    process->end_fd = proc_end_open(pid);
    return process;
}

void remote_process_destroy(struct remote_process *process)
{
    if (!process)
        return;
    if (process->entry)
        process->entry->sampled = NULL;
    python_remote_close(process->python);
    map64_free(&process->by_tid);
    vec_free(&process->threads);
    if (process->end_fd >= 0)
        close(process->end_fd);
    free(process);
}

void remote_process_look(struct remote_process *process, int64_t now_ns)
{
    char reason[PYTHON_REMOTE_REASON_MAX];
    if (process->python || process->waits_exec || now_ns < process->next_try_ns)
        return;
    int result = python_remote_open(process->pid, &process->python, reason);
    if (result == -EAGAIN)
        process->pause_ns = PAUSE_FIRST_NS;
    process->next_try_ns = now_ns + process->pause_ns;
    process->pause_ns =
        process->pause_ns * 2 < PAUSE_LONGEST_NS ? process->pause_ns * 2 : PAUSE_LONGEST_NS;
}

void remote_process_exec(struct remote_process *process, const struct proc_stat *stat)
{
    python_remote_close(process->python);
    process->python = NULL;
    process->stack_begin = stat->stack_begin;
    process->waits_exec = false;
    process->next_try_ns = 0;
    process->pause_ns = PAUSE_FIRST_NS;
}

/* ---- Threads ---- */

struct remote_thread *remote_thread_find(const struct remote_process *process, int32_t tid)
{
    const uint64_t *place = map64_find(&process->by_tid, (uint64_t)tid);
    return place ? &process->threads.items[*place - 1] : NULL;
}

struct remote_thread *remote_thread_add(struct remote_process *process, int32_t tid,
                                        uint64_t start_ticks)
{
    struct remote_thread thread = {.tid = tid, .start_ticks = start_ticks, .ordinal = -1};
    if (vec_reserve(&process->threads, 1) != 0 ||
        map64_put(&process->by_tid, (uint64_t)tid, process->threads.count + 1) != 0)
        return NULL;
    process->threads.items[process->threads.count] = thread;
    return &process->threads.items[process->threads.count++];
}

void remote_thread_remove(struct remote_process *process, struct remote_thread *thread)
{
    uint64_t place;
    const struct remote_thread *last = &process->threads.items[process->threads.count - 1];
    map64_take(&process->by_tid, (uint64_t)thread->tid, &place);
    if (thread != last) /* replaces a value, so it needs no memory */
        map64_put(&process->by_tid, (uint64_t)last->tid, place);
    *thread = *last;
    process->threads.count--;
}

struct lives_task remote_process_task(const struct remote_process *process)
{
    return (struct lives_task){
        .pid = process->pid, .tid = process->pid, .start_ticks = process->start_ticks};
}

struct lives_task remote_thread_task(const struct remote_process *process,
                                     const struct remote_thread *thread)
{
    return (struct lives_task){.pid = process->pid,
                               .tid = thread->tid,
                               .start_ticks = process->start_ticks,
                               .thread_start_ns = thread->start_ticks * TICK_NS};
}

/* ---- What /proc says, told to the registry --------------------------------------------------- */

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

/* ---- Names of threads ---- */

/* Reads /proc/PID/task. A process chooses the names of its threads: they are text, no more. */

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

/* Its number in the innermost of its namespaces; 0: gone. */
static int32_t read_inner_tid(int32_t pid, int32_t tid)
{
    char text[4096];
    return read_file(pid, tid, "status", text, sizeof(text)) ? proc_innermost(text) : 0;
}

void thread_names_tell(struct lives *lives, const struct lives_task *process, int64_t time_ns)
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
