/* SPDX-License-Identifier: MIT */
/* The table of blocking system calls. A call not in it waits for a disk if the kernel accounts the
 * task as waiting for I/O, else for something unknown. Thread-safety: pure functions. */
#include "wait_class.h"

#include "sampler_abi.h"

#include <sys/stat.h>
#include <sys/syscall.h>

enum wait_class {
    CLASS_UNKNOWN = 0,
    CLASS_FILE, /* by its file's kind */
    CLASS_DISK,
    CLASS_SOCKET,
    CLASS_LOCK,
    CLASS_MEMORY, /* the kernel's lock of the address space */
    CLASS_SLEEP,
    CLASS_POLL,
    CLASS_CHILD,
    CLASS_SIGNAL,
    CLASS_OTHER,
};

/* By number: arch/x86/entry/syscalls/syscall_64.tbl. */
static const uint8_t classes[512] = {
    [0] = CLASS_FILE,     /* read            */
    [1] = CLASS_FILE,     /* write           */
    [2] = CLASS_DISK,     /* open            */
    [3] = CLASS_FILE,     /* close           */
    [4] = CLASS_DISK,     /* stat            */
    [5] = CLASS_DISK,     /* fstat           */
    [6] = CLASS_DISK,     /* lstat           */
    [7] = CLASS_POLL,     /* poll            */
    [9] = CLASS_MEMORY,   /* mmap            */
    [10] = CLASS_MEMORY,  /* mprotect        */
    [11] = CLASS_MEMORY,  /* munmap          */
    [12] = CLASS_MEMORY,  /* brk             */
    [16] = CLASS_OTHER,   /* ioctl           */
    [17] = CLASS_FILE,    /* pread64         */
    [18] = CLASS_FILE,    /* pwrite64        */
    [19] = CLASS_FILE,    /* readv           */
    [20] = CLASS_FILE,    /* writev          */
    [21] = CLASS_DISK,    /* access          */
    [23] = CLASS_POLL,    /* select          */
    [25] = CLASS_MEMORY,  /* mremap          */
    [26] = CLASS_DISK,    /* msync           */
    [28] = CLASS_MEMORY,  /* madvise         */
    [34] = CLASS_SIGNAL,  /* pause           */
    [35] = CLASS_SLEEP,   /* nanosleep       */
    [40] = CLASS_FILE,    /* sendfile        */
    [42] = CLASS_SOCKET,  /* connect         */
    [43] = CLASS_SOCKET,  /* accept          */
    [44] = CLASS_SOCKET,  /* sendto          */
    [45] = CLASS_SOCKET,  /* recvfrom        */
    [46] = CLASS_SOCKET,  /* sendmsg         */
    [47] = CLASS_SOCKET,  /* recvmsg         */
    [48] = CLASS_SOCKET,  /* shutdown        */
    [56] = CLASS_CHILD,   /* clone: vfork    */
    [58] = CLASS_CHILD,   /* vfork           */
    [59] = CLASS_DISK,    /* execve          */
    [60] = CLASS_MEMORY,  /* exit            */
    [61] = CLASS_CHILD,   /* wait4           */
    [65] = CLASS_LOCK,    /* semop           */
    [69] = CLASS_OTHER,   /* msgsnd          */
    [70] = CLASS_OTHER,   /* msgrcv          */
    [72] = CLASS_LOCK,    /* fcntl: F_SETLKW */
    [73] = CLASS_LOCK,    /* flock           */
    [74] = CLASS_DISK,    /* fsync           */
    [75] = CLASS_DISK,    /* fdatasync       */
    [76] = CLASS_DISK,    /* truncate        */
    [77] = CLASS_DISK,    /* ftruncate       */
    [78] = CLASS_DISK,    /* getdents        */
    [82] = CLASS_DISK,    /* rename          */
    [83] = CLASS_DISK,    /* mkdir           */
    [84] = CLASS_DISK,    /* rmdir           */
    [85] = CLASS_DISK,    /* creat           */
    [86] = CLASS_DISK,    /* link            */
    [87] = CLASS_DISK,    /* unlink          */
    [89] = CLASS_DISK,    /* readlink        */
    [128] = CLASS_SIGNAL, /* rt_sigtimedwait */
    [130] = CLASS_SIGNAL, /* rt_sigsuspend   */
    [162] = CLASS_DISK,   /* sync            */
    [187] = CLASS_DISK,   /* readahead       */
    [202] = CLASS_LOCK,   /* futex           */
    [208] = CLASS_POLL,   /* io_getevents    */
    [209] = CLASS_DISK,   /* io_submit       */
    [217] = CLASS_DISK,   /* getdents64      */
    [220] = CLASS_LOCK,   /* semtimedop      */
    [230] = CLASS_SLEEP,  /* clock_nanosleep */
    [231] = CLASS_MEMORY, /* exit_group      */
    [232] = CLASS_POLL,   /* epoll_wait      */
    [242] = CLASS_OTHER,  /* mq_timedsend    */
    [243] = CLASS_OTHER,  /* mq_timedreceive */
    [247] = CLASS_CHILD,  /* waitid          */
    [257] = CLASS_DISK,   /* openat          */
    [258] = CLASS_DISK,   /* mkdirat         */
    [262] = CLASS_DISK,   /* newfstatat      */
    [263] = CLASS_DISK,   /* unlinkat        */
    [264] = CLASS_DISK,   /* renameat        */
    [270] = CLASS_POLL,   /* pselect6        */
    [271] = CLASS_POLL,   /* ppoll           */
    [275] = CLASS_FILE,   /* splice          */
    [276] = CLASS_FILE,   /* tee             */
    [277] = CLASS_DISK,   /* sync_file_range */
    [278] = CLASS_FILE,   /* vmsplice        */
    [281] = CLASS_POLL,   /* epoll_pwait     */
    [285] = CLASS_DISK,   /* fallocate       */
    [288] = CLASS_SOCKET, /* accept4         */
    [295] = CLASS_FILE,   /* preadv          */
    [296] = CLASS_FILE,   /* pwritev         */
    [299] = CLASS_SOCKET, /* recvmmsg        */
    [306] = CLASS_DISK,   /* syncfs          */
    [307] = CLASS_SOCKET, /* sendmmsg        */
    [316] = CLASS_DISK,   /* renameat2       */
    [322] = CLASS_DISK,   /* execveat        */
    [326] = CLASS_FILE,   /* copy_file_range */
    [327] = CLASS_FILE,   /* preadv2         */
    [328] = CLASS_FILE,   /* pwritev2        */
    [332] = CLASS_DISK,   /* statx           */
    [426] = CLASS_POLL,   /* io_uring_enter  */
    [435] = CLASS_CHILD,  /* clone3: vfork   */
    [437] = CLASS_DISK,   /* openat2         */
    [441] = CLASS_POLL,   /* epoll_pwait2    */
    [449] = CLASS_LOCK,   /* futex_waitv     */
    [455] = CLASS_LOCK,   /* futex_wait      */
    [456] = CLASS_LOCK,   /* futex_requeue   */
};

static enum wait_reason file_reason(uint32_t mode, bool io_wait)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return WAIT_PIPE;
    case S_IFSOCK:
        return WAIT_SOCKET;
    case S_IFREG:
    case S_IFBLK:
    case S_IFDIR:
        return WAIT_DISK;
    case S_IFCHR:
        return WAIT_TERMINAL;
    default:
        return io_wait ? WAIT_DISK : WAIT_OTHER_FILE;
    }
}

static enum wait_reason class_reason(enum wait_class class, const struct wait_facts *facts)
{
    bool io_wait = facts->flags & SAMPLER_IO_WAIT;
    switch (class) {
    case CLASS_FILE:
        return file_reason(facts->file_mode, io_wait);
    case CLASS_DISK:
        return WAIT_DISK;
    case CLASS_SOCKET:
        return WAIT_SOCKET;
    case CLASS_LOCK:
        return WAIT_LOCK;
    case CLASS_MEMORY:
        return io_wait ? WAIT_DISK : WAIT_LOCK;
    case CLASS_SLEEP:
        return WAIT_SLEEP;
    case CLASS_POLL:
        return WAIT_POLL;
    case CLASS_CHILD:
        return WAIT_CHILD;
    case CLASS_SIGNAL:
        return WAIT_SIGNAL;
    case CLASS_OTHER:
        return io_wait ? WAIT_DISK : WAIT_OTHER_FILE;
    default:
        return io_wait ? WAIT_DISK : WAIT_UNKNOWN;
    }
}

/* select(0, ...) only waits for time: Python's time.sleep() before 3.11. */
static bool selects_nothing(const struct wait_facts *facts)
{
    return (facts->syscall == SYS_select || facts->syscall == SYS_pselect6) &&
           (int32_t)facts->argument == 0;
}

/* Bits of the kernel's __state: the thread is stopped by a signal, or a debugger. */
enum { STATE_STOPPED = 4, STATE_TRACED = 8 };

enum wait_reason wait_classify(const struct wait_facts *facts)
{
    if (facts->flags & SAMPLER_PREEMPTED)
        return WAIT_PREEMPTED;
    if (facts->state & (STATE_STOPPED | STATE_TRACED)) /* in any system call: SIGCONT ends it */
        return WAIT_SIGNAL;
    if (facts->flags & SAMPLER_GIL_WAIT)
        return WAIT_GIL;
    if (facts->flags & SAMPLER_FAULTED)
        return WAIT_PAGE_FAULT;
    size_t count = sizeof(classes);
    enum wait_class class = CLASS_UNKNOWN;
    if (facts->syscall >= 0 && (size_t)facts->syscall < count)
        class = classes[facts->syscall];
    return selects_nothing(facts) ? WAIT_SLEEP : class_reason(class, facts);
}
