/* SPDX-License-Identifier: MIT */
/* Facts of the kernel about other processes, from /proc and system calls. */
#include "proc_info.h"

#include "clock_now.h"
#include "file_io.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Processes ------------------------------------------------------------------------------- */

/* Reading /proc. Its texts are foreign: a process chooses its own comm, so fields are counted from
 * the last parenthesis. */

/* Parses a decimal number written by the kernel. */
static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

enum {
    FIELD_STATE = 3, /* follows the last parenthesis */
    FIELD_PARENT = 4,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_STACK = 28,
    FIELD_CPU = 39,
    FIELD_EXIT = 52,
};

/* Field `wanted` of a text that begins with the state; 0 if the text is too short. */
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
        .start_ticks = clock_machine_ticks(field(state, FIELD_START)),
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

/* As proc_pid_inside, for one thread. */
static pid_t tid_inside(pid_t pid, pid_t tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    return file_read_text(path, text, sizeof(text)) > 0 ? proc_innermost(text) : 0;
}

pid_t proc_tid_outside(pid_t pid, pid_t ns_tid)
{
    char path[64];
    pid_t found = 0;
    const struct dirent *entry;
    if (proc_pid_inside(pid) == pid) /* both are in one namespace */
        return ns_tid;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    while (found == 0 && folder && (entry = readdir(folder))) {
        pid_t tid = number(entry->d_name);
        if (tid > 0 && tid_inside(pid, tid) == ns_tid)
            found = tid;
    }
    if (folder)
        closedir(folder);
    return found;
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

/* ---- Mappings -------------------------------------------------------------------------------- */

/* Reads "begin-end perms offset major:minor inode    path". Thread-safety: pure. */

/* Parses a number at *at that ends with `separator`; moves *at past both. */
static bool take_number(char **at, int base, char separator, uint64_t *ret_value)
{
    if (!isxdigit((unsigned char)**at))
        return false;
    char *end;
    *ret_value = strtoull(*at, &end, base);
    if (*end != separator)
        return false;
    *at = end + 1;
    return true;
}

bool maps_line_parse(char *line, struct maps_line *ret_line)
{
    struct maps_line parsed = {0};
    uint64_t major, minor;
    char *at = line;
    at[strcspn(at, "\n")] = 0;
    if (!take_number(&at, 16, '-', &parsed.begin) || !take_number(&at, 16, ' ', &parsed.end) ||
        strcspn(at, " ") != 4)
        return false;
    parsed.executable = at[2] == 'x';
    at += 5 - (at[4] == 0);
    if (!take_number(&at, 16, ' ', &parsed.offset) || !take_number(&at, 16, ':', &major) ||
        !take_number(&at, 16, ' ', &minor))
        return false;
    char *end;
    parsed.inode = strtoull(at, &end, 10);
    if (end == at || (*end != ' ' && *end != 0))
        return false;
    parsed.path = end + strspn(end, " ");
    parsed.major = (uint32_t)major;
    parsed.minor = (uint32_t)minor;
    *ret_line = parsed;
    return parsed.begin < parsed.end;
}

int maps_each(int32_t pid, maps_take *take, void *context)
{
    char path[64], *text = NULL;
    size_t size = 0;
    int result = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)(pid ? pid : getpid()));
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (result == 0 && getline(&text, &size, file) > 0) {
        struct maps_line line;
        if (maps_line_parse(text, &line))
            result = take(context, &line);
    }
    free(text);
    fclose(file);
    return result;
}

/* ---- Mappings of a file ---------------------------------------------------------------------- */

/* Since Linux 6.11 an ioctl finds the next shared mapping of a file, without writing the paths of
 * all others. Declared here, for headers may be older. */

enum {
    QUERY_SHARED = 0x08,
    QUERY_THIS_OR_NEXT = 0x10,
    QUERY_FILE = 0x20,
    TEXT_BUFFER = 32 << 10,
};

struct query {
    uint64_t size, flags, address;                              /* input */
    uint64_t begin, end, permissions, page_size, offset, inode; /* output */
    uint32_t major, minor, name_size, build_size;               /* sizes: 0 = not wanted */
    uint64_t name, build;
};

#define QUERY _IOWR('f', 17, struct query)

static int path_of(pid_t pid, char path[64])
{
    return snprintf(path, 64, "/proc/%d/maps", (int)pid);
}

/* 1, 0, -errno; -ENOTTY: not supported. */
static int query_mappings(int fd, dev_t device, ino_t inode)
{
    struct query query = {.size = sizeof(query),
                          .flags = QUERY_SHARED | QUERY_THIS_OR_NEXT | QUERY_FILE};
    while (ioctl(fd, QUERY, &query) == 0) {
        if (query.inode == inode && query.major == major(device) && query.minor == minor(device))
            return 1;
        if (query.end <= query.address)
            return -EIO;
        query.address = query.end;
    }
    return errno == ENOENT || errno == ESRCH ? 0 : -errno; /* no further mapping, or no memory */
}

int proc_has_mapped_by_text(pid_t pid, dev_t device, ino_t inode)
{
    char path[64], line[512], wanted[64], buffer[TEXT_BUFFER];
    snprintf(wanted, sizeof(wanted), " %02x:%02x %" PRIu64 " ", major(device), minor(device),
             (uint64_t)inode);
    path_of(pid, path);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    setvbuf(file, buffer, _IOFBF, sizeof(buffer));
    int found = 0;
    while (!found && fgets(line, sizeof(line), file))
        found = strstr(line, wanted) != NULL;
    if (!found && ferror(file))
        found = -EIO;
    fclose(file);
    return found;
}

int proc_has_mapped(pid_t pid, dev_t device, ino_t inode)
{
    char path[64];
    path_of(pid, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int found = query_mappings(fd, device, inode);
    close(fd);
    return found == -ENOTTY ? proc_has_mapped_by_text(pid, device, inode) : found;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* pidfd, and two sources of an exit status: the one kept by the kernel, and a zombie's stat. */

enum { SPARE_FILES = 16 }; /* left for other work, for any number of processes */

/* From linux/pidfd.h of 6.15; the headers of older systems lack it. */
struct pidfd_info_v1 {
    uint64_t mask;
    uint64_t cgroupid;
    uint32_t pid, tgid, ppid;
    uint32_t ids[8];
    int32_t exit_code;
};

#define PIDFD_GET_INFO_V1  _IOWR(0xFF, 11, struct pidfd_info_v1)
#define PIDFD_INFO_EXIT_V1 (UINT64_C(1) << 3)

int proc_end_open(pid_t pid)
{
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return -errno;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + SPARE_FILES >= limit.rlim_cur) {
        close(fd);
        return -EMFILE;
    }
    return fd;
}

int proc_end_status(int fd, pid_t pid, int *ret_wait_status)
{
    struct proc_stat stat;
    struct pidfd_info_v1 info = {.mask = PIDFD_INFO_EXIT_V1};
    if (ioctl(fd, PIDFD_GET_INFO_V1, &info) == 0 && (info.mask & PIDFD_INFO_EXIT_V1)) {
        *ret_wait_status = info.exit_code;
        return 1;
    }
    if (proc_stat(pid, &stat) != 0 || stat.state != 'Z')
        return 0;
    *ret_wait_status = stat.exit_code;
    return 1;
}

/* ---- Watches --------------------------------------------------------------------------------- */

/* By pidfd if descriptors are left, else by /proc. */

/* Inode of the first pid namespace, fixed by the kernel. */
#define FIRST_PID_NS UINT64_C(0xeffffffc)

/* True if every process of the machine has a pid in our namespace. */
static bool sees_all(void)
{
    return proc_pid_namespace(0) == FIRST_PID_NS;
}

void process_watch_open(struct process_watch *watch, const struct process_watched *who)
{
    struct proc_stat stat;
    bool ours = who->pid_ns == 0 || who->pid_ns == proc_pid_namespace(0);
    *watch = (struct process_watch){.pidfd = -1, .ended = true};
    watch->pid = ours ? who->pid : proc_find(who->pid_ns, who->pid);
    if (watch->pid <= 0) {
        watch->ended = sees_all(); /* else it may run where it is invisible */
        return;
    }
    watch->pidfd = proc_end_open(watch->pid); /* if this fails, /proc shows the end too */
    int error = proc_stat(watch->pid, &stat);
    bool same = error == 0
                    ? who->start_ticks == 0 || clock_same_ticks(stat.start_ticks, who->start_ticks)
                    : error != -ESRCH; /* an error of the read does not mean that it ended */
    if (same) {
        watch->ended = false;
        return;
    }
    process_watch_close(watch); /* the pid was reused */
    watch->pid = 0;
}

void process_watch_close(struct process_watch *watch)
{
    if (watch->pidfd >= 0)
        close(watch->pidfd);
    watch->pidfd = -1;
}

bool process_watch_poll(struct process_watch *watch)
{
    if (watch->ended || watch->pid == 0)
        return watch->ended;
    if (watch->pidfd >= 0) {
        struct pollfd poll_fd = {.fd = watch->pidfd, .events = POLLIN};
        watch->ended = poll(&poll_fd, 1, 0) == 1;
    } else {
        struct proc_stat stat;
        int error = proc_stat(watch->pid, &stat);
        watch->ended =
            error == -ESRCH || (error == 0 && stat.state == 'Z' && stat.thread_count <= 1);
    }
    return watch->ended;
}

int process_watch_status(const struct process_watch *watch, int *ret_wait_status)
{
    return watch->pidfd >= 0 ? proc_end_status(watch->pidfd, watch->pid, ret_wait_status) : 0;
}
