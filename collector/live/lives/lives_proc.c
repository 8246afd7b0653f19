/* SPDX-License-Identifier: MIT */
/* Reads /proc for the registry: processes that ran before the recording, names of threads, titles
 * of processes. All of it is foreign: a process chooses its name and the names of its threads. */
#include "lives_proc.h"

#include "lives_state.h"

#include "clock_now.h"
#include "file_io.h"
#include "hash.h"
#include "proc_info.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Processes that ran before --------------------------------------------------------------- */

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

/* ---- Names of threads ------------------------------------------------------------------------ */

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

/* ---- Titles ---------------------------------------------------------------------------------- */

/* Titles of processes: /proc/PID/cmdline, where the program has written a text over its arguments.
 *
 * A look may find the command line of an exec that is not reported yet, so a title counts when the
 * next look finds the same. The interval of looks at a process grows from PAUSE_LEAST_NS to
 * PAUSE_MOST_NS; a changed title is confirmed by another look after PAUSE_LEAST_NS. The bytes are
 * foreign; a program that changes its title all the time changes its name CHANGES_MAX times. */

#define ROUND_NS       INT64_C(50000000)
#define PAUSE_LEAST_NS INT64_C(50000000)
#define PAUSE_MOST_NS  INT64_C(5000000000)

enum { TITLE_SIZE = 512, LOOKS = 16, SLOTS = 1024, CHANGES_MAX = 16 };

/* Arguments are separated by NUL, and programs are started by their paths; the memory after a title
 * is filled with NUL or blanks. Returns the length; 0: no title. */
static size_t read_title(int32_t pid, char title[TITLE_SIZE])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    ssize_t size = file_read_text(path, title, TITLE_SIZE);
    size_t length = size > 0 ? (size_t)size : 0;
    while (length > 0 && (title[length - 1] == 0 || title[length - 1] == ' '))
        length--;
    if (length == TITLE_SIZE - 1 || title[0] == '/' || memchr(title, 0, length))
        return 0;
    title[length] = 0;
    return length;
}

/* True if it is the command line. Without arguments a command line, too, is a single text. */
static bool is_command(const struct lives *lives, const struct image *image, const char *title,
                       size_t length)
{
    char text[COMMAND_TEXT_SIZE];
    uint32_t cmdline = trace_process_get(lives->trace, (uint32_t)image->ordinal)->cmdline;
    const char *known = cmdline ? trace_string(lives->trace, cmdline)->bytes : image->cmdline;
    command_text(title, length, text);
    return !known || !known[0] || strcmp(known, title) == 0 || strcmp(known, text) == 0;
}

static bool is_still(const struct process *life)
{
    struct proc_stat now;
    return proc_stat(life->pid, &now) == 0 &&
           (life->start_ticks == 0 || life->start_ticks == now.start_ticks);
}

static int set_title(struct lives *lives, struct process *life, const char *text, size_t length)
{
    struct trace_process *entry = trace_process(lives->trace, (uint32_t)life->last->ordinal);
    struct title *title = life_title(life);
    if (entry->name != title->name || title->changes >= CHANGES_MAX || !is_still(life))
        return 0;
    int64_t name = trace_string_add(lives->trace, text, length);
    if (name < 0)
        return (int)name;
    if (entry->name == (uint32_t)name)
        return 0;
    title->name = entry->name = (uint32_t)name;
    title->changes++;
    entry->revision++;
    return 0;
}

static int look_at(struct lives *lives, struct process *life, int64_t now_ns)
{
    struct title *title = life_title(life);
    char text[TITLE_SIZE];
    size_t length = read_title(life->pid, text);
    if (title->image != life->last)
        *title = (struct title){.image = life->last, .pause_ns = PAUSE_LEAST_NS / 2};
    if (length > 0 && is_command(lives, life->last, text, length))
        length = 0;
    uint64_t seen = length > 0 ? hash_bytes(text, length) | 1 : 0;
    bool is_same = seen != 0 && seen == title->seen;
    title->hurried = seen != 0 && !is_same && !title->hurried;
    title->seen = seen;
    if (!title->hurried)
        title->pause_ns = title->pause_ns < PAUSE_MOST_NS / 2 ? title->pause_ns * 2 : PAUSE_MOST_NS;
    title->due_ns = now_ns + (title->hurried ? PAUSE_LEAST_NS : title->pause_ns);
    return is_same ? set_title(lives, life, text, length) : 0;
}

static bool is_due(struct process *life, int64_t now_ns)
{
    const struct title *title = life_title(life);
    return life->end_ns == 0 && life->last->ordinal >= 0 &&
           (title->image != life->last || now_ns >= title->due_ns);
}

int lives_read_titles(struct lives *lives, int64_t now_ns)
{
    const struct map64 *map = &lives->by_pid;
    unsigned looks = 0;
    int error = 0;
    if (now_ns < lives->titles_ns)
        return 0;
    lives->titles_ns = now_ns + ROUND_NS;
    for (size_t i = 0; i < SLOTS && i < map->capacity && looks < LOOKS && !error; i++) {
        const struct map64_entry *entry = &map->entries[lives->title_slot++ & (map->capacity - 1)];
        struct process *life = (struct process *)(uintptr_t)entry->value;
        if (entry->key == 0 || !is_due(life, now_ns))
            continue;
        error = look_at(lives, life, now_ns);
        looks++;
    }
    return error;
}
