/* SPDX-License-Identifier: MIT */
/* Reading /proc. Its texts are foreign: a process chooses its own comm, so fields are counted
 * from the last parenthesis. */
#include "proc_info.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static ssize_t read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, buffer, size - 1);
    int error = errno;
    close(fd);
    if (got < 0)
        return -error;
    buffer[got] = 0;
    return got;
}

/* The text of field `number` (from 3 on) behind the last parenthesis. */
static const char *stat_field(const char *behind_comm, int number)
{
    const char *at = behind_comm;
    for (int i = 3; at && i < number; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

/* The kernel's own decimal number. */
static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

int proc_stat(pid_t pid, struct proc_stat *ret_stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t got = read_file(path, text, sizeof(text));
    if (got <= 0)
        return got == -EMFILE || got == -ENFILE || got == -ENOMEM ? (int)got : -ESRCH;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ')
        return -ESRCH;
    *close = 0;
    *ret_stat = (struct proc_stat){.state = close[2]};
    snprintf(ret_stat->comm, sizeof(ret_stat->comm), "%.15s", open + 1);
    const char *ppid = stat_field(close + 2, 4), *start = stat_field(close + 2, 22);
    const char *code = stat_field(close + 2, 52), *threads = stat_field(close + 2, 20);
    ret_stat->ppid = ppid ? number(ppid) : 0;
    ret_stat->thread_count = threads ? number(threads) : 1;
    ret_stat->start_ticks = start ? strtoull(start, NULL, 10) : 0;
    ret_stat->exit_code = code ? number(code) : 0;
    return 0;
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
    ssize_t got = read_file(path, (char *)pairs, sizeof(pairs));
    for (ssize_t i = 0; i + 1 < got / (ssize_t)sizeof(uint64_t); i += 2)
        if (pairs[i] == AT_RANDOM)
            return pairs[i + 1];
    return 0;
}

int proc_has_mapped(pid_t pid, dev_t device, ino_t inode)
{
    char path[64], line[512], wanted[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    snprintf(wanted, sizeof(wanted), " %02x:%02x %" PRIu64 " ", major(device), minor(device),
             (uint64_t)inode);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    int found = 0;
    while (!found && fgets(line, sizeof(line), file))
        found = strstr(line, wanted) != NULL;
    if (!found && ferror(file))
        found = -EIO;
    fclose(file);
    return found;
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

/* The pid in the innermost namespace: the last number of the line NSpid. */
static pid_t innermost_pid(pid_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) <= 0)
        return 0;
    char *line = strstr(text, "\nNSpid:");
    char *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return 0;
    *end = 0;
    char *last = strrchr(line, '\t');
    return last ? number(last + 1) : 0;
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
        innermost_pid(pid) == search->ns_pid)
        search->found = pid;
}

pid_t proc_find(uint64_t pid_ns, pid_t ns_pid)
{
    struct search search = {pid_ns, ns_pid, 0};
    proc_each(compare, &search);
    return search.found;
}

int64_t proc_ticks_ns(uint64_t ticks)
{
    struct timespec boot, monotonic;
    long per_second = sysconf(_SC_CLK_TCK);
    if (ticks == 0 || per_second <= 0 || ticks > INT64_MAX / 1000000000)
        return 0;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    int64_t asleep =
        (boot.tv_sec - monotonic.tv_sec) * INT64_C(1000000000) + boot.tv_nsec - monotonic.tv_nsec;
    int64_t ns = (int64_t)(ticks * (UINT64_C(1000000000) / (uint64_t)per_second)) - asleep;
    return ns > 0 ? ns : 0;
}
