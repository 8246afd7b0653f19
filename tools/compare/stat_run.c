/* SPDX-License-Identifier: MIT */
/* See stat_parts.h. Each run is a process of its own; one that records tells through a pipe what
 * the command in it used, as its own times are none of the command's. */
#include "stat_parts.h"

#include "clock_now.h"
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t time_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static void set_usage(const struct rusage *usage, struct stat_usage *ret_usage)
{
    ret_usage->user_ns = time_ns(usage->ru_utime);
    ret_usage->system_ns = time_ns(usage->ru_stime);
    ret_usage->memory_bytes = (uint64_t)usage->ru_maxrss * 1024;
}

/* In the new process. */
static void redirect(bool shown)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    if (!shown)
        dup2(null, STDOUT_FILENO);
}

/* The keys of the terminal are for the command; this process goes on and cleans up. */
static pid_t begin(void)
{
    fflush(NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    return fork();
}

static int finish(pid_t pid, int64_t begin_ns, struct stat_usage *ret_usage)
{
    struct rusage usage;
    pid_t got;
    do {
        got = wait4(pid, &ret_usage->status, 0, &usage);
    } while (got < 0 && errno == EINTR);
    int error = errno;
    ret_usage->wall_ns = clock_now_ns() - begin_ns;
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (got < 0)
        return -error;
    set_usage(&usage, ret_usage);
    return 0;
}

int stat_run_command(char **argv, bool shown, struct stat_usage *ret_usage)
{
    int64_t begin_ns = clock_now_ns();
    pid_t pid = begin();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        redirect(shown);
        execvp(argv[0], argv);
        _exit(errno == ENOENT ? 127 : 126);
    }
    return finish(pid, begin_ns, ret_usage);
}

/* A process begins as large as the one that it is forked of: less memory than that cannot be told.
 */
static void run_annot(char **argv, bool shown, int fd)
{
    struct rusage usage = {0}, own = {0};
    int argc = 0;
    while (argv[argc])
        argc++;
    redirect(shown);
    int status = annot_main(argc, argv);
    fflush(NULL);
    int failed = getrusage(RUSAGE_SELF, &own) || getrusage(RUSAGE_CHILDREN, &usage);
    if (usage.ru_maxrss <= own.ru_maxrss)
        usage.ru_maxrss = 0;
    if (failed || write(fd, &usage, sizeof(usage)) < 0)
        status = status ? status : 125;
    _exit(status);
}

int stat_run_annot(char **argv, bool shown, struct stat_usage *ret_usage)
{
    struct rusage usage;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    int64_t begin_ns = clock_now_ns();
    pid_t pid = begin();
    int error = errno;
    if (pid == 0) {
        close(fds[0]);
        run_annot(argv, shown, fds[1]);
    }
    close(fds[1]);
    int rc = pid < 0 ? -error : finish(pid, begin_ns, ret_usage);
    if (rc == 0 && read(fds[0], &usage, sizeof(usage)) == (ssize_t)sizeof(usage))
        set_usage(&usage, ret_usage);
    close(fds[0]);
    return rc;
}
