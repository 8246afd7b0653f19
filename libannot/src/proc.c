/* SPDX-License-Identifier: MIT */
/* /proc and text without stdio: see proc.h. /proc text is foreign bytes: bounded, never trusted. */
#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIELD_PARENT = 4, FIELD_START = 22 };

ssize_t proc_read(const char *path, void *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(fd, (char *)buffer + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    close(fd);
    return (ssize_t)used;
}

char *text_append(char *at, const char *end, const char *text)
{
    while (*text && at + 1 < end)
        *at++ = *text++;
    *at = 0;
    return at;
}

char *text_append_decimal(char *at, const char *end, uint64_t value)
{
    char digits[24];
    char *first = digits + sizeof(digits) - 1;
    *first = 0;
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return text_append(at, end, first);
}

char *text_append_hex(char *at, const char *end, uint64_t value, int digits)
{
    char text[20];
    char *first = text + sizeof(text) - 1;
    *first = 0;
    do {
        *--first = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value || text + sizeof(text) - 1 - first < digits);
    return text_append(at, end, first);
}

/* The n-th field (from 3) of a stat line; the second one may hold spaces and parentheses. */
static uint64_t stat_field(const char *line, int number)
{
    const char *at = strrchr(line, ')');
    if (!at || at[1] == 0)
        return 0;
    at += 2;
    for (int field = 3; field < number; field++) {
        at = strchr(at, ' ');
        if (!at)
            return 0;
        at++;
    }
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

static uint64_t read_stat_field(const char *path, int number)
{
    char line[1024];
    ssize_t size = proc_read(path, line, sizeof(line) - 1);
    if (size <= 0)
        return 0;
    line[size] = 0;
    return stat_field(line, number);
}

static uint64_t stat_field_of(pid_t pid, int number)
{
    char path[48];
    char *at = text_append(path, path + sizeof(path), "/proc/");
    at = text_append_decimal(at, path + sizeof(path), (uint64_t)pid);
    text_append(at, path + sizeof(path), "/stat");
    return read_stat_field(path, number);
}

/* What never changes in the life of a process; 0: not asked yet. W: all, atomic. */
static uint64_t own_start_ticks, own_namespace;

uint64_t proc_start_ticks(void)
{
    uint64_t ticks = annot_load_relaxed(&own_start_ticks);
    if (ticks == 0) {
        ticks = read_stat_field("/proc/self/stat", FIELD_START);
        annot_store_relaxed(&own_start_ticks, ticks);
    }
    return ticks;
}

uint64_t proc_start_ticks_of(pid_t pid)
{
    return stat_field_of(pid, FIELD_START);
}

pid_t proc_parent(pid_t pid)
{
    return (pid_t)stat_field_of(pid, FIELD_PARENT);
}

uint64_t proc_pid_namespace(void)
{
    struct stat status;
    uint64_t inode = annot_load_relaxed(&own_namespace);
    if (inode == 0 && stat("/proc/self/ns/pid", &status) == 0) {
        inode = status.st_ino;
        annot_store_relaxed(&own_namespace, inode);
    }
    return inode;
}

void proc_forked(void)
{
    annot_store_relaxed(&own_start_ticks, UINT64_C(0));
    annot_store_relaxed(&own_namespace, UINT64_C(0));
}

void proc_block_signals(sigset_t *ret_before)
{
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(synchronous) / sizeof(*synchronous); i++)
        sigdelset(&blocked, synchronous[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, ret_before);
}

pid_t proc_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

int proc_thread_alive(pid_t tid)
{
    return syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH;
}

uint64_t proc_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
