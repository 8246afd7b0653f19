/* SPDX-License-Identifier: MIT */
/* Starting and waiting. Both ways through one pair of sockets: the leave to begin, and the exec's
 * errno back; a good exec closes the child's end. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HURRIED_NICE = -10 };

static int check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return access(path, X_OK) == 0 ? 0 : -EACCES;
}

int child_check(const char *command)
{
    char path[PATH_MAX];
    int error = -ENOENT;
    if (*command == 0)
        return -ENOENT;
    if (strchr(command, '/'))
        return check_file(command);
    const char *at = getenv("PATH");
    for (at = at ? at : "/bin:/usr/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s%s%s", length, at, length > 0 ? "/" : "./", command);
        int found = check_file(path);
        if (found == 0)
            return 0;
        if (found == -EACCES)
            error = -EACCES;
    }
    return error;
}

int child_prepare(struct child *child)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, normal = {.sa_handler = SIG_DFL};
    struct rlimit files;
    sigset_t mask;
    *child = (struct child){.signal_fd = -1};
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, &child->mask_before);
    sigaction(SIGINT, &ignore, &child->interrupt_before);
    sigaction(SIGQUIT, &ignore, &child->quit_before);
    sigaction(SIGTTOU, &ignore, &child->background_before);
    sigaction(SIGCHLD, &normal, &child->ended_before); /* ignored, no end would be told */
    getrlimit(RLIMIT_NOFILE, &child->files_before);
    files = child->files_before;
    files.rlim_cur = files.rlim_max; /* one pidfd per process */
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* who loses its parent stays our descendant */
    child->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return child->signal_fd < 0 ? -errno : 0;
}

/* In the forked child: everything as annot found it, then, with leave, the command. */
static void run(const struct child *child, const struct child_command *command, int fd)
{
    char leave;
    sigaction(SIGINT, &child->interrupt_before, NULL);
    sigaction(SIGQUIT, &child->quit_before, NULL);
    sigaction(SIGTTOU, &child->background_before, NULL);
    sigaction(SIGCHLD, &child->ended_before, NULL);
    setrlimit(RLIMIT_NOFILE, &child->files_before);
    for (size_t i = 0; i < command->variable_count; i++)
        setenv(command->variables[i].name, command->variables[i].value, 1);
    if (command->forked && read(fd, &leave, 1) != 1)
        _exit(127); /* annot is gone */
    sigprocmask(SIG_SETMASK, &child->mask_before, NULL);
    execvp(command->argv[0], command->argv);
    int error = errno;
    ssize_t written = write(fd, &error, sizeof(error));
    _exit(written == sizeof(error) ? 127 : 126);
}

int child_start(struct child *child, const struct child_command *command)
{
    int fds[2], error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return -errno;
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        close(fds[0]);
        run(child, command, fds[1]);
    }
    if (child->pid < 0)
        error = errno;
    close(fds[1]);
    if (child->pid > 0 && command->forked) {
        command->forked(command->context, child->pid);
        (void)!send(fds[0], "", 1, MSG_NOSIGNAL);
    }
    ssize_t got = child->pid < 0 ? 0 : recv(fds[0], &error, sizeof(error), 0);
    close(fds[0]);
    if (got == sizeof(error))
        waitpid(child->pid, NULL, 0);
    return -error;
}

void child_hurry(void)
{
    int priority = getpriority(PRIO_PROCESS, 0);
    if (priority > HURRIED_NICE)
        (void)setpriority(PRIO_PROCESS, 0, HURRIED_NICE);
}

/* The command was stopped: so are we, until somebody continues us. */
static void stop_with(const struct child *child)
{
    kill(getpid(), SIGSTOP);
    kill(child->pid, SIGCONT);
}

static int wait_status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status, 0);
    return W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

static void reap(struct child *child, void (*ended)(void *context, pid_t pid, int wait_status),
                 void *context)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG) != 0 || info.si_pid == 0)
            return;
        if (info.si_code == CLD_STOPPED) {
            if (info.si_pid == child->pid)
                stop_with(child);
            continue;
        }
        int status = wait_status_of(&info);
        if (info.si_pid == child->pid) {
            child->ended = true;
            child->wait_status = status;
        }
        ended(context, info.si_pid, status);
    }
}

void child_handle_signals(struct child *child,
                          void (*ended)(void *context, pid_t pid, int wait_status), void *context)
{
    struct signalfd_siginfo info;
    while (read(child->signal_fd, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD && !child->ended)
            kill(child->pid, (int)info.ssi_signo);
    reap(child, ended, context);
}

void child_restore(struct child *child)
{
    sigaction(SIGINT, &child->interrupt_before, NULL);
    sigaction(SIGQUIT, &child->quit_before, NULL);
    sigaction(SIGTTOU, &child->background_before, NULL);
    sigaction(SIGCHLD, &child->ended_before, NULL);
    sigprocmask(SIG_SETMASK, &child->mask_before, NULL);
    if (child->signal_fd >= 0)
        close(child->signal_fd);
    child->signal_fd = -1;
}

int child_mimic(const struct child *child)
{
    if (!WIFSIGNALED(child->wait_status))
        return WEXITSTATUS(child->wait_status);
    int number = WTERMSIG(child->wait_status);
    struct rlimit none = {0, 0};
    sigset_t mask;
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    raise(number);
    return 128 + number;
}
