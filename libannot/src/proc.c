/* SPDX-License-Identifier: MIT */
/* /proc and text without stdio: see proc.h. /proc text is untrusted: bounded and checked. */
#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS UINT64_C(10000000)

enum {
    FIELD_PARENT = 4,
    FIELD_START = 22,
    STAT_PIECE = 96, /* more than a pid and a command, which has 64 bytes in a kernel thread */
};

static ssize_t read_whole(int fd, void *buffer, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(fd, (char *)buffer + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

ssize_t proc_read(const char *path, void *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t used = read_whole(fd, buffer, size);
    close(fd);
    return used;
}

/* Fields of statm, from 0, in pages. */
enum { STATM_SIZE = 0, STATM_DATA = 5 };

static uint64_t room(int resource, int field)
{
    char text[128] = "";
    uint64_t pages = 0;
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    ssize_t size = proc_read("/proc/self/statm", text, sizeof(text));
    for (ssize_t i = 0; i < size && field >= 0; i++) {
        int digit = text[i] >= '0' && text[i] <= '9';
        if (digit && field == 0)
            pages = pages * 10 + (uint64_t)(text[i] - '0');
        field -= !digit;
    }
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t proc_address_room(void)
{
    return room(RLIMIT_AS, STATM_SIZE);
}

uint64_t proc_private_room(void)
{
    uint64_t address = proc_address_room(), data = room(RLIMIT_DATA, STATM_DATA);
    return address < data ? address : data;
}

char *text_append(char *at, const char *end, const char *text)
{
    while (*text && at + 1 < end)
        *at++ = *text++;
    *at = 0;
    return at;
}

char *text_append_clean(char *at, const char *end, const char *text)
{
    char *from = at;
    at = text_append(at, end, text ? text : "(null)");
    for (; from < at; from++)
        if (*from == '\x1e' || *from == '\x1f')
            *from = ' ';
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

/* Returns the offset after the last parenthesis, or `size`; later fields have none. */
static ssize_t after_command(const char *line, ssize_t size)
{
    const char *last = size > 0 ? memrchr(line, ')', (size_t)size) : NULL;
    return last ? last + 1 - line : size;
}

/* The n-th field (from 3) of a stat line; the second one may hold spaces and parentheses, and ends
 * within the first STAT_PIECE bytes. */
static uint64_t stat_field(int fd, int number)
{
    char piece[STAT_PIECE];
    uint64_t value = 0;
    ssize_t size = read_whole(fd, piece, sizeof(piece));
    ssize_t at = after_command(piece, size);
    for (int field = 2; size > 0 && at < size;) {
        if (piece[at] == ' ' && field++ == number)
            return value;
        if (field == number && piece[at] >= '0' && piece[at] <= '9')
            value = value * 10 + (uint64_t)(piece[at] - '0');
        if (++at == size) {
            size = read_whole(fd, piece, sizeof(piece));
            at = 0;
        }
    }
    return 0;
}

static uint64_t read_stat_field(const char *path, int number)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    uint64_t value = stat_field(fd, number);
    close(fd);
    return value;
}

static uint64_t stat_field_of(pid_t pid, int number)
{
    char path[48];
    char *at = text_append(path, path + sizeof(path), "/proc/");
    at = text_append_decimal(at, path + sizeof(path), (uint64_t)pid);
    text_append(at, path + sizeof(path), "/stat");
    return read_stat_field(path, number);
}

/* Constant for the life of a process; 0: not read yet. W: all, atomic. */
static uint64_t own_start_ticks, own_namespace;
static pid_t forked_tid; /* the first thread of a forked child */

int64_t proc_ahead_ns;
static int64_t boot_ahead_ns; /* W: proc_read_ahead, atomic */

/* "NAME SECONDS NANOSECONDS", numbers aligned by spaces. */
static int64_t offset_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    uint64_t numbers[2] = {0};
    int negative = 0;
    at = at ? at + strlen(name) : "";
    for (int i = 0; i < 2; i++) {
        for (; *at == ' ' || *at == '-'; at++)
            negative |= *at == '-';
        for (; *at >= '0' && *at <= '9'; at++)
            numbers[i] = numbers[i] * 10 + (uint64_t)(*at - '0');
    }
    numbers[0] *= UINT64_C(1000000000);
    return (int64_t)((negative ? -numbers[0] : numbers[0]) + numbers[1]);
}

/* True if the process shares its children's time namespace: /proc has their offsets. */
static APART int shares_with_children(void)
{
    struct stat own, children;
    return stat("/proc/self/ns/time", &own) == 0 &&
           stat("/proc/self/ns/time_for_children", &children) == 0 && own.st_ino == children.st_ino;
}

APART void proc_read_ahead(void)
{
    char text[256] = "";
    if (proc_read("/proc/self/timens_offsets", text, sizeof(text) - 1) <= 0)
        return;
    int64_t monotonic_ns = offset_of(text, "monotonic"), boot_ns = offset_of(text, "boottime");
    if ((monotonic_ns != 0 || boot_ns != 0) && !shares_with_children())
        return;
    annot_store_relaxed(&proc_ahead_ns, monotonic_ns);
    annot_store_relaxed(&boot_ahead_ns, boot_ns);
}

/* The kernel's sum is unsigned: for a process older than its namespace's clock, it is huge. */
static uint64_t machine_ticks(uint64_t ticks)
{
    int64_t ahead_ns = annot_load_relaxed(&boot_ahead_ns);
    return ticks && ahead_ns ? (ticks * TICK_NS - (uint64_t)ahead_ns) / TICK_NS : ticks;
}

int proc_same_ticks(uint64_t a, uint64_t b)
{
    return a - b + 1 <= 2;
}

uint64_t proc_start_ticks(void)
{
    uint64_t ticks = annot_load_relaxed(&own_start_ticks);
    if (ticks == 0) {
        ticks = read_stat_field("/proc/self/stat", FIELD_START);
        annot_store_relaxed(&own_start_ticks, ticks);
    }
    return machine_ticks(ticks);
}

uint64_t proc_start_ticks_of(pid_t pid)
{
    return machine_ticks(stat_field_of(pid, FIELD_START));
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
    annot_store_relaxed(&forked_tid, proc_tid());
    annot_store_relaxed(&own_start_ticks, UINT64_C(0));
    annot_store_relaxed(&own_namespace, UINT64_C(0));
}

enum { FIRST_REALTIME = 32, KERNEL_SET_SIZE = 8 };

/* The bit of a signal in the kernel's set. */
#define BIT(number) (UINT64_C(1) << ((number)-1))

/* Excludes the C library's internal signals: from the kernel's first real-time one to its own. */
static uint64_t blockable(void)
{
    const uint64_t synchronous = BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) |
                                 BIT(SIGTRAP) | BIT(SIGSYS) | BIT(SIGABRT);
    return ~synchronous & ~(BIT(SIGRTMIN) - BIT(FIRST_REALTIME));
}

uint64_t proc_block_signals(void)
{
    uint64_t blocked = blockable(), before = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &before, (size_t)KERNEL_SET_SIZE);
    return before;
}

void proc_restore_signals(uint64_t before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, (size_t)KERNEL_SET_SIZE);
}

pid_t proc_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

int proc_thread_alive(pid_t pid, pid_t tid)
{
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

int proc_task_alive(pid_t tid)
{
    return syscall(SYS_tkill, tid, 0) == 0 || errno != ESRCH;
}

/* The C library exposes a thread's tid only in the id of the thread's clock: the tid, inverted,
 * above three bits. After a fork without its handlers it still has the parent's. */
int proc_owns_storage(void)
{
    clockid_t clock;
    pid_t tid = proc_tid();
    if (tid == annot_load_relaxed(&forked_tid) || pthread_getcpuclockid(pthread_self(), &clock))
        return 1;
    pid_t known = (pid_t) ~((int32_t)clock >> 3);
    return known == tid || known <= 0;
}

uint64_t proc_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
