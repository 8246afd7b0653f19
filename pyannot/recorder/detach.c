/* SPDX-License-Identifier: MIT */
/* Two clones that share our memory, one inside the other, as vfork does it: nothing is copied,
 * however large we are, and no handler of fork runs. The outer one has no exit signal, so that
 * wait() passes it by (but with __WALL or __WCLONE); it ends at once and leaves the inner one,
 * which becomes the program, to the reaper of orphans. Each waits for the one inside.
 *
 * Until exec the clones run on our memory: system calls only. */
#include "detach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024, FIRST_SPARE = 3, CLOSE_MAX = 1 << 20 };

struct start {
    const struct detach *detach;
    char *stacks; /* one for each clone */
    pid_t pid;
    int error; /* positive; W: the clones, while we wait */
};

static void reset_signals(void)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL); /* fails for a few that cannot be changed */
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, FIRST_SPARE, ~0u, 0) == 0)
        return;
#endif
    struct rlimit limit;
    rlim_t count = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : CLOSE_MAX;
    for (int fd = FIRST_SPARE; (rlim_t)fd < count && fd < CLOSE_MAX; fd++)
        close(fd);
}

/* They may be 0, 1 and 2 in another order, so they first go where they do not disturb. */
static int take_descriptors(const int descriptors[3])
{
    int spare[3];
    for (int i = 0; i < 3; i++) {
        spare[i] = fcntl(descriptors[i], F_DUPFD, FIRST_SPARE);
        if (spare[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(spare[i], i) < 0)
            return -1;
    }
    return 0;
}

static int inner(void *context)
{
    struct start *start = context;
    const struct detach *detach = start->detach;
    reset_signals();
    if (take_descriptors(detach->descriptors) == 0 && chdir("/") == 0) {
        close_others();
        execve(detach->path, detach->arguments, detach->environment);
    }
    start->error = errno;
    _exit(127);
}

static int outer(void *context)
{
    struct start *start = context;
    setsid();
    /* Its exit signal counts only if exec fails; then the reaper of orphans wants one. */
    pid_t pid =
        clone(inner, start->stacks + (size_t)STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, start);
    if (pid < 0)
        start->error = errno;
    start->pid = pid;
    _exit(0);
}

static int start_both(struct start *start)
{
    sigset_t all, before;
    int status;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* no handler of ours runs in a clone */
    pid_t pid = clone(outer, start->stacks + 2 * (size_t)STACK_SIZE, CLONE_VM | CLONE_VFORK, start);
    int error = pid < 0 ? errno : start->error;
    while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int detach_start(const struct detach *detach, pid_t *ret_pid)
{
    struct start start = {.detach = detach, .pid = -1};
    void *stacks = mmap(NULL, 2 * (size_t)STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -errno;
    start.stacks = stacks;
    int error = start_both(&start);
    munmap(stacks, 2 * (size_t)STACK_SIZE);
    *ret_pid = start.pid;
    return error;
}
