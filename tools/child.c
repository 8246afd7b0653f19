/* SPDX-License-Identifier: MIT */
/* Starts a command and waits for it. One pair of sockets carries the permission to exec and, back,
 * the errno of a failed exec; a successful exec closes the child's end. */
#include "child.h"

#include "clock_now.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

int child_find(const char *command, char path[PATH_MAX])
{
    int error = -ENOENT;
    if (*command == 0)
        return -ENOENT;
    if (strchr(command, '/'))
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX ? check_file(command)
                                                                  : -ENAMETOOLONG;
    const char *at = getenv("PATH");
    for (at = at ? at : "/bin:/usr/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s%s%s", length, at, length > 0 ? "/" : "./", command);
        int found = check_file(path);
        if (found == 0)
            return 0;
        if (found == -EACCES)
            error = -EACCES;
    }
    return error;
}

int child_check(const char *command)
{
    char path[PATH_MAX];
    return child_find(command, path);
}

void child_prepare(struct child *child, struct signals *signals)
{
    struct rlimit files;
    *child = (struct child){.signals = signals};
    getrlimit(RLIMIT_NOFILE, &child->files_before);
    files = child->files_before;
    files.rlim_cur = files.rlim_max; /* one pidfd per process */
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphaned descendants are reparented to annot */
}

/* Runs in the forked child: restores the state from before annot and, once permitted, executes the
 * command. */
static void run(const struct child *child, const struct child_command *command, int fd)
{
    char leave;
    setrlimit(RLIMIT_NOFILE, &child->files_before);
    for (size_t i = 0; i < command->variable_count; i++)
        setenv(command->variables[i].name, command->variables[i].value, 1);
    if (command->forked && read(fd, &leave, 1) != 1)
        _exit(127); /* annot has ended */
    signals_restore_in_child(child->signals);
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
    signals_expect_command(child->signals);
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

/* ---- Stops ----------------------------------------------------------------------------------- */

/* A program that catches the terminal's stop signal usually stops itself within this time. */
#define STOP_SOON_NS INT64_C(2000000000)

static bool is_job_control(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static bool is_foreground(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool foreground = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
    if (terminal >= 0)
        close(terminal);
    return foreground;
}

/* Returns true if the terminal's job stopped, not only the command. Only then does a shell wait for
 * annot to stop, and continue it. `number`: the signal that stopped the command. */
static bool is_job_stop(const struct child *child, int number)
{
    bool asked = child->stop_asked_ns != 0 && clock_now_ns() - child->stop_asked_ns < STOP_SOON_NS;
    return !child->hidden && (asked || (is_job_control(number) && is_foreground()));
}

/* Stops annot. If the witness wakes it because the command runs, the job has still been asked to
 * stop: the shell considers it stopped, or a stop of the whole job reached annot before the
 * command. */
static void stop_with(struct child *child, int number)
{
    child->stop_asked_ns = signals_stop(child->signals, number, child->pid) ? clock_now_ns() : 0;
}

static void on_state(struct child *child, const siginfo_t *info)
{
    child->stopped = info->si_code == CLD_STOPPED;
    if (child->stopped && is_job_stop(child, info->si_status))
        stop_with(child, info->si_status);
}

static void on_job_control(struct child *child, const struct signal_sent *sent)
{
    child->stop_asked_ns = sent->number == SIGCONT ? 0 : clock_now_ns();
    if (child->stopped && sent->number != SIGCONT && !child->hidden)
        stop_with(child, sent->number);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static int wait_status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status, 0);
    return W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

static struct rusage last_usage;

struct rusage child_usage(void)
{
    return last_usage;
}

static void note_end(struct child *child, int wait_status, const struct rusage *usage)
{
    child->ended = true;
    child->wait_status = wait_status;
    last_usage = *usage;
}

static void reap(struct child *child, child_ended *ended, void *context)
{
    for (;;) {
        siginfo_t info = {0};
        struct rusage usage;
        if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG,
                    &usage) != 0 ||
            info.si_pid == 0)
            return;
        if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED) {
            if (info.si_pid == child->pid)
                on_state(child, &info);
            continue;
        }
        int status = wait_status_of(&info);
        if (info.si_pid == child->pid)
            note_end(child, status, &usage);
        ended(context, info.si_pid, status);
    }
}

void child_take_signal(struct child *child, const struct signal_sent *sent, child_ended *ended,
                       void *context)
{
    if (sent->number == SIGCHLD) {
        reap(child, ended, context);
        return;
    }
    if (!child->ended)
        signals_pass(child->signals, sent, child->pid);
    if (is_job_control(sent->number) || sent->number == SIGCONT)
        on_job_control(child, sent);
}

void child_take_signals(struct child *child, child_ended *ended, void *context)
{
    struct signal_sent sent;
    while (signals_take(child->signals, &sent))
        child_take_signal(child, &sent, ended, context);
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
