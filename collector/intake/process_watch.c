/* SPDX-License-Identifier: MIT */
/* By pidfd where one is left, else by /proc. */
#include "process_watch.h"

#include "proc_info.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

/* Inode of the first pid namespace, fixed by the kernel. */
#define FIRST_PID_NS UINT64_C(0xeffffffc)

/* Whether every process of the machine has a pid in our namespace. */
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
        watch->ended = sees_all(); /* else it may live where we cannot see it */
        return;
    }
    watch->pidfd = proc_end_open(watch->pid); /* without, /proc tells the end, too */
    int error = proc_stat(watch->pid, &stat);
    bool same = error == 0 ? who->start_ticks == 0 || stat.start_ticks == who->start_ticks
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
    return watch->pidfd >= 0 ? proc_end_status(watch->pidfd, watch->pid, ret_wait_status) : 0;
}
