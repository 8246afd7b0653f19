/* SPDX-License-Identifier: MIT */
/* pidfd, and two ways to an exit status: the kernel's memory of it, and a zombie's stat. */
#include "proc_end.h"

#include "proc_info.h"

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPARE_FILES = 16 }; /* for other work, however many processes there are */

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
