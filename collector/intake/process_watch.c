/* SPDX-License-Identifier: MIT */
/* pidfd, and three ways to an exit status: a zombie's /proc/PID/stat, the kernel's memory of it
 * (PIDFD_GET_INFO, Linux 6.15), and, in the collector, its own children. */
#include "process_watch.h"

#include "proc_info.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPARE_FILES = 16 }; /* to open segments with, however many processes there are */

/* From linux/pidfd.h of 6.15; the headers of older systems lack it. */
struct pidfd_info_v1 {
    uint64_t mask;
    uint64_t cgroupid;
    uint32_t pid, tgid, ppid;
    uint32_t ids[8];
    int32_t exit_code;
};

/* Inode of the first pid namespace, fixed by the kernel. */
#define FIRST_PID_NS UINT64_C(0xeffffffc)

#define PIDFD_GET_INFO_V1  _IOWR(0xFF, 11, struct pidfd_info_v1)
#define PIDFD_INFO_EXIT_V1 (UINT64_C(1) << 3)

static bool has_spare_files(int fd)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd + SPARE_FILES < limit.rlim_cur;
}

/* Whether every process of the machine has a pid in our namespace. */
static bool sees_all(void)
{
    return proc_pid_namespace(0) == FIRST_PID_NS;
}

void process_watch_open(struct process_watch *watch, const struct annot_segment_info *info)
{
    struct proc_stat stat;
    bool ours = info->pid_ns == 0 || info->pid_ns == proc_pid_namespace(0);
    *watch = (struct process_watch){.pidfd = -1, .ended = true};
    watch->pid = ours ? info->pid : proc_find(info->pid_ns, info->pid);
    if (watch->pid <= 0) {
        watch->ended = sees_all(); /* else it may live where we cannot see it */
        return;
    }
    watch->pidfd = (int)syscall(SYS_pidfd_open, watch->pid, 0);
    if (watch->pidfd >= 0 && !has_spare_files(watch->pidfd))
        process_watch_close(watch); /* /proc tells the end, too */
    int error = proc_stat(watch->pid, &stat);
    bool same = error == 0
                    ? info->start_time_ticks == 0 || stat.start_ticks == info->start_time_ticks
                    : error != -ESRCH; /* not to be found out now is not dead */
    if (same) {
        watch->ended = false;
        return;
    }
    process_watch_close(watch); /* the pid belongs to somebody else by now */
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
    struct proc_stat stat;
    if (watch->pidfd < 0)
        return 0;
    struct pidfd_info_v1 info = {.mask = PIDFD_INFO_EXIT_V1};
    if (ioctl(watch->pidfd, PIDFD_GET_INFO_V1, &info) == 0 && (info.mask & PIDFD_INFO_EXIT_V1)) {
        *ret_wait_status = info.exit_code;
        return 1;
    }
    if (proc_stat(watch->pid, &stat) == 0 && stat.state == 'Z') {
        *ret_wait_status = stat.exit_code;
        return 1;
    }
    return 0;
}
