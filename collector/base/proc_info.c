/* SPDX-License-Identifier: MIT */
/* Reading /proc. Its texts are foreign: a process chooses its own comm, so fields are counted
 * from the last parenthesis. */
#include "proc_info.h"

#include "command_text.h"
#include "file_io.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kernel's own decimal number. */
static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

enum {
    FIELD_STATE = 3, /* behind the last parenthesis */
    FIELD_PARENT = 4,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_STACK = 28,
    FIELD_CPU = 39,
    FIELD_EXIT = 52,
};

/* Field `wanted` of a text that begins with the state; 0: it is not there. */
static uint64_t field(const char *text, int wanted)
{
    for (int i = FIELD_STATE; text && i < wanted; i++) {
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text, NULL, 10) : 0;
}

static int read_stat(const char *path, struct proc_stat *ret_stat)
{
    char text[1024];
    ssize_t got = file_read_text(path, text, sizeof(text));
    if (got <= 0)
        return got == -EMFILE || got == -ENFILE || got == -ENOMEM ? (int)got : -ESRCH;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return -ESRCH;
    *close = 0;
    const char *state = close + 2;
    *ret_stat = (struct proc_stat){
        .state = *state,
        .ppid = (pid_t)field(state, FIELD_PARENT),
        .thread_count = (int)field(state, FIELD_THREADS),
        .start_ticks = field(state, FIELD_START),
        .stack_begin = field(state, FIELD_STACK),
        .cpu = (uint16_t)field(state, FIELD_CPU),
        .exit_code = (int)field(state, FIELD_EXIT),
    };
    snprintf(ret_stat->comm, sizeof(ret_stat->comm), "%.15s", open + 1);
    return 0;
}

int proc_stat(pid_t pid, struct proc_stat *ret_stat)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return read_stat(path, ret_stat);
}

int proc_thread_stat(pid_t pid, pid_t tid, struct proc_stat *ret_stat)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    return read_stat(path, ret_stat);
}

bool proc_thread_exists(pid_t pid, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

uint64_t proc_at_random(pid_t pid)
{
    char path[64];
    uint64_t pairs[2 * 64 + 1] = {0};
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    ssize_t got = file_read_text(path, (char *)pairs, sizeof(pairs));
    for (ssize_t i = 0; i + 1 < got / (ssize_t)sizeof(uint64_t); i += 2)
        if (pairs[i] == AT_RANDOM)
            return pairs[i + 1];
    return 0;
}

uint64_t proc_pid_namespace(pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), pid ? "/proc/%d/ns/pid" : "/proc/self/ns/pid", (int)pid);
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

void proc_each(void (*call)(void *context, pid_t pid, uid_t uid), void *context)
{
    struct stat status;
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (const struct dirent *entry; (entry = readdir(proc));)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            fstatat(dirfd(proc), entry->d_name, &status, 0) == 0)
            call(context, number(entry->d_name), status.st_uid);
    closedir(proc);
}

pid_t proc_innermost(const char *status)
{
    const char *line = strstr(status, "\nNSpid:");
    if (!line)
        return 0;
    const char *end = line + 1 + strcspn(line + 1, "\n"), *last = end;
    while (last[-1] >= '0' && last[-1] <= '9')
        last--;
    return last < end ? number(last) : 0;
}

pid_t proc_pid_inside(pid_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return file_read_text(path, text, sizeof(text)) > 0 ? proc_innermost(text) : 0;
}

int proc_check_owner(pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &status) != 0)
        return -ESRCH;
    return geteuid() == 0 || status.st_uid == geteuid() ? 0 : -EPERM;
}

void proc_command(pid_t pid, char *command)
{
    char path[64], arguments[COMMAND_TEXT_SIZE];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    ssize_t size = file_read_text(path, arguments, sizeof(arguments));
    command_text(arguments, size > 0 ? (size_t)size : 0, command);
}

int64_t proc_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got < 0 ? -errno : got;
}

struct search {
    uint64_t pid_ns;
    pid_t ns_pid, found;
};

static void compare(void *context, pid_t pid, uid_t uid)
{
    struct search *search = context;
    (void)uid;
    if (search->found == 0 && proc_pid_namespace(pid) == search->pid_ns &&
        proc_pid_inside(pid) == search->ns_pid)
        search->found = pid;
}

pid_t proc_find(uint64_t pid_ns, pid_t ns_pid)
{
    struct search search = {pid_ns, ns_pid, 0};
    proc_each(compare, &search);
    return search.found;
}
