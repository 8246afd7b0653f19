/* SPDX-License-Identifier: MIT */
/* Implements witness.h. A request for signals has a number, which its answer repeats. A late answer
 * is read with the next one: its signals are in no other. */
#include "witness.h"

#include "proc_info.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_MS = 20, PATIENCE_S = 2 };

/* number 0: watch a process */
struct request {
    uint32_t number;
    pid_t watched;
};

struct answer {
    uint32_t number;
    struct signal_sent sent[WITNESS_SIGNALS_MAX];
};

enum { ANSWER_HEAD = offsetof(struct answer, sent) };

bool witness_is_stopped(pid_t pid)
{
    struct proc_stat stat;
    return proc_stat(pid, &stat) == 0 && stat.state == 'T';
}

/* ---- The witness ----------------------------------------------------------------------------- */

static bool answer(int fd, int signal_fd, uint32_t number)
{
    struct answer answer = {.number = number};
    struct signalfd_siginfo info;
    size_t count = 0;
    while (count < WITNESS_SIGNALS_MAX && read(signal_fd, &info, sizeof(info)) == sizeof(info))
        answer.sent[count++] = (struct signal_sent){.number = (int)info.ssi_signo,
                                                    .code = info.ssi_code,
                                                    .value = info.ssi_ptr,
                                                    .sender = (pid_t)info.ssi_pid};
    return send(fd, &answer, ANSWER_HEAD + count * sizeof(*answer.sent), MSG_NOSIGNAL) > 0;
}

/* Also called right after a request to watch: the command may run again before annot stops. */
static void wake(pid_t annot, pid_t command)
{
    if (!witness_is_stopped(command) && witness_is_stopped(annot))
        kill(annot, SIGCONT);
}

static void serve(int fd, int signal_fd, pid_t annot)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    struct request request;
    pid_t watched = 0;
    for (;;) {
        if (poll(&ready, 1, watched ? WATCH_MS : -1) == 0) {
            wake(annot, watched);
            continue;
        }
        if (recv(fd, &request, sizeof(request), 0) != sizeof(request))
            return; /* annot has ended */
        if (request.number == 0)
            watched = request.watched;
        else if (!answer(fd, signal_fd, request.number))
            return;
    }
}

/* Closes annot's descriptors, so that the reader of a pipe waits only for annot. */
static void close_all_but(int fd)
{
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 0u, (unsigned)fd - 1, 0u);
    if (syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u) == 0)
        return;
#endif
    for (int other = 0, most = (int)sysconf(_SC_OPEN_MAX); other < most; other++)
        if (other != fd)
            close(other);
}

static void run(int fd, pid_t annot)
{
    pid_t own = getpid();
    sigset_t all;
    sigfillset(&all);
    if (fd > 0)
        close_all_but(fd);
    int signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd >= 0 && send(fd, &own, sizeof(own), MSG_NOSIGNAL) == sizeof(own))
        serve(fd, signal_fd, annot);
}

/* ---- annot ----------------------------------------------------------------------------------- */

/* Starts the witness as a grandchild: annot's only child is the command. */
static void start(int fd)
{
    pid_t annot = getpid(), pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            run(fd, annot);
        _exit(0);
    }
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

static int begin(struct witness *witness)
{
    int fds[2];
    pid_t pid;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
        return -errno;
    start(fds[1]);
    close(fds[1]);
    if (recv(fds[0], &pid, sizeof(pid), 0) != sizeof(pid)) {
        close(fds[0]);
        return -EAGAIN;
    }
    *witness = (struct witness){.pid = pid, .fd = fds[0]};
    return 0;
}

/* The witness starts with all signals blocked, since annot's handlers are not meant for it. */
int witness_begin(struct witness *witness)
{
    sigset_t all, before;
    *witness = (struct witness){.fd = -1};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int error = begin(witness);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool request(const struct witness *witness, struct request what)
{
    return witness->pid > 0 &&
           send(witness->fd, &what, sizeof(what), MSG_NOSIGNAL) == (ssize_t)sizeof(what);
}

/* Fault signals from other processes, which annot handles at once, do not end the wait. */
static bool wait_for_answer(const struct witness *witness)
{
    const struct timespec patience = {.tv_sec = PATIENCE_S};
    struct pollfd ready = {.fd = witness->fd, .events = POLLIN};
    sigset_t all;
    sigfillset(&all);
    return ppoll(&ready, 1, &patience, &all) > 0;
}

size_t witness_ask(struct witness *witness, struct signal_sent *sent, size_t room)
{
    struct answer answer = {0};
    size_t count = 0;
    witness->asked += witness->asked == UINT32_MAX ? 2 : 1;
    if (!request(witness, (struct request){.number = witness->asked}))
        return 0;
    while (answer.number != witness->asked && wait_for_answer(witness)) {
        ssize_t size = recv(witness->fd, &answer, sizeof(answer), MSG_DONTWAIT);
        if (size < (ssize_t)ANSWER_HEAD)
            break; /* the witness has ended */
        size_t got = ((size_t)size - ANSWER_HEAD) / sizeof(*sent);
        for (size_t i = 0; i < got && count < room; i++)
            sent[count++] = answer.sent[i];
    }
    return count;
}

void witness_watch(const struct witness *witness, pid_t pid)
{
    (void)request(witness, (struct request){.watched = pid});
}

void witness_end(struct witness *witness)
{
    if (witness->pid > 0)
        close(witness->fd);
    *witness = (struct witness){.fd = -1};
}
