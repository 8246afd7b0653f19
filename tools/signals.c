/* SPDX-License-Identifier: MIT */
/* Implements signals.h. */
#include "signals.h"

#include "clock_now.h"
#include "proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A request for signals has a number, which its answer repeats. A late answer is read with the next
 * one: its signals are in no other. */

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

static bool witness_is_stopped(pid_t pid)
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

/* Requires blocked signals and a single thread. 0 or -errno. The witness starts with all signals
 * blocked, since annot's handlers are not meant for it. */
static int witness_begin(struct witness *witness)
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

/* Reads at most `room` signals that the witness received and did not report yet; returns their
 * number. Waits two seconds for an answer; a later answer is returned by the next call. Costs two
 * context switches. */
static size_t witness_ask(struct witness *witness, struct signal_sent *sent, size_t room)
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

/* From now on, continues annot when the process `pid` is not stopped; 0: stops watching. */
static void witness_watch(const struct witness *witness, pid_t pid)
{
    (void)request(witness, (struct request){.watched = pid});
}

static void witness_end(struct witness *witness)
{
    if (witness->pid > 0)
        close(witness->fd);
    *witness = (struct witness){.fd = -1};
}

static const int faults[SIGNALS_FAULTS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Fault signals are not blocked: otherwise a fault of annot's own code would kill it without
 * running its handlers, such as those of guarded copies and of sanitizers. */
static struct {
    int fd;
    const struct sigaction *before;
} fault_way = {.fd = -1};

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0) {
        const struct signal_sent sent = {.number = number,
                                         .code = info->si_code,
                                         .sender = info->si_pid,
                                         .value = (uintptr_t)info->si_value.sival_ptr};
        (void)!write(fault_way.fd, &sent, sizeof(sent));
        return;
    }
    for (size_t i = 0; i < SIGNALS_FAULTS; i++)
        if (faults[i] == number)
            sigaction(number, &fault_way.before[i],
                      NULL); /* the access is repeated and reaches the previous handler */
}

static int catch_faults(struct signals *signals)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    signals->fault_fd = fds[0];
    fault_way.fd = fds[1];
    fault_way.before = signals->faults_before;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS_FAULTS; i++)
        sigaction(faults[i], &action, &signals->faults_before[i]);
    return 0;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* One descriptor for both sources: poll also sees a fault signal that arrived just before it. */
static int open_both(struct signals *signals)
{
    const int ways[] = {signals->queue_fd, signals->fault_fd};
    struct epoll_event event = {.events = EPOLLIN};
    signals->fd = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < 2; i++)
        if ((i == 0 || ways[i] >= 0) && epoll_ctl(signals->fd, EPOLL_CTL_ADD, ways[i], &event) != 0)
            return -errno;
    return 0;
}

int signals_begin(struct signals *signals, bool command)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    int error = 0;
    sigset_t all;
    *signals = (struct signals){
        .begun = true, .fd = -1, .queue_fd = -1, .fault_fd = -1, .witness = {.fd = -1}};
    sigfillset(&all);
    for (size_t i = 0; i < SIGNALS_FAULTS; i++)
        sigdelset(&all, faults[i]);
    if (!command)
        sigdelset(&all, SIGABRT); /* requests a core file */
    sigprocmask(SIG_BLOCK, &all, &signals->mask_before);
    sigaction(SIGCHLD, &normal,
              &signals->ended_before); /* if ignored, ends would not be reported */
    if (command)
        error = catch_faults(signals);
    signals->queue_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (!error)
        error = open_both(signals);
    if (!error && command)
        (void)witness_begin(&signals->witness); /* without it, some signals arrive twice */
    return error;
}

void signals_restore_in_child(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->ended_before, NULL);
    for (size_t i = 0; i < SIGNALS_FAULTS && signals->fault_fd >= 0; i++)
        sigaction(faults[i], &signals->faults_before[i], NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

void signals_end(struct signals *signals)
{
    struct signal_sent sent;
    if (!signals->begun)
        return;
    while (signals_take(signals, &sent))
        ;
    witness_end(&signals->witness);
    signals_restore_in_child(signals);
    close(signals->fd);
    close(signals->queue_fd);
    if (signals->fault_fd >= 0) {
        close(signals->fault_fd);
        close(fault_way.fd);
    }
    fault_way.fd = -1;
    signals->begun = false;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

bool signals_is_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* True for signals that annot caused itself: a closed pipe, a full file, its limit of CPU time; or
 * sent by the witness to wake it. */
static bool is_own(const struct signals *signals, const struct signal_sent *sent)
{
    return sent->sender == getpid() || (sent->number == SIGXCPU && sent->code == SI_KERNEL) ||
           (signals->witness.pid > 0 && sent->sender == signals->witness.pid);
}

static bool read_next(struct signals *signals, struct signal_sent *ret_sent)
{
    struct signalfd_siginfo info;
    if (signals->continued.number != 0) {
        *ret_sent = signals->continued;
        signals->continued.number = 0;
        return true;
    }
    if (signals->fault_fd >= 0 &&
        read(signals->fault_fd, ret_sent, sizeof(*ret_sent)) == sizeof(*ret_sent))
        return true;
    if (read(signals->queue_fd, &info, sizeof(info)) != sizeof(info))
        return false;
    *ret_sent = (struct signal_sent){.number = (int)info.ssi_signo,
                                     .code = info.ssi_code,
                                     .value = info.ssi_ptr,
                                     .sender = (pid_t)info.ssi_pid};
    return true;
}

bool signals_take(struct signals *signals, struct signal_sent *ret_sent)
{
    while (read_next(signals, ret_sent))
        if (ret_sent->number == SIGCHLD || !is_own(signals, ret_sent))
            return true;
    return false;
}

/* ---- Passing on ------------------------------------------------------------------------------ */

/* The time that a sender needs to signal the processes of a group or container one by one. */
#define ONE_BY_ONE_NS INT64_C(10000000)
#define SHARED_FOR_NS INT64_C(1000000000)

static void ask_witness(struct signals *signals)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns - signals->shared_ns > SHARED_FOR_NS)
        signals->shared_count = 0;
    signals->shared_count += witness_ask(&signals->witness, signals->shared + signals->shared_count,
                                         WITNESS_SIGNALS_MAX - signals->shared_count);
    signals->shared_ns = clock_now_ns();
}

static bool find_shared(struct signals *signals, const struct signal_sent *sent)
{
    for (size_t i = 0; i < signals->shared_count; i++) {
        const struct signal_sent *other = &signals->shared[i];
        if (other->number != sent->number || other->code != sent->code ||
            other->sender != sent->sender || other->value != sent->value)
            continue;
        signals->shared[i] = signals->shared[--signals->shared_count];
        return true;
    }
    return false;
}

static bool is_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* A stop signal discards a SIGCONT pending in the witness, and vice versa. The pending one came
 * later, to the whole group, and must not be undone by the missing one. */
static bool is_undone(const struct signals *signals, const struct signal_sent *sent)
{
    for (size_t i = 0; i < signals->shared_count; i++) {
        int other = signals->shared[i].number;
        if ((sent->number == SIGCONT && is_stop(other)) ||
            (is_stop(sent->number) && other == SIGCONT))
            return true;
    }
    return false;
}

static void wait_one_by_one(void)
{
    const struct timespec patience = {.tv_nsec = ONE_BY_ONE_NS};
    sigset_t all;
    sigfillset(&all);
    (void)ppoll(NULL, 0, &patience, &all);
}

static bool has_group_got(struct signals *signals, const struct signal_sent *sent)
{
    if (signals->witness.pid <= 0)
        return sent->code == SI_KERNEL;
    if (find_shared(signals, sent))
        return true;
    ask_witness(signals);
    if (find_shared(signals, sent))
        return true;
    wait_one_by_one();
    ask_witness(signals);
    return find_shared(signals, sent) || is_undone(signals, sent);
}

void signals_expect_command(struct signals *signals)
{
    ask_witness(signals);
    signals->shared_count = 0;
}

void signals_pass(struct signals *signals, const struct signal_sent *sent, pid_t pid)
{
    pid_t group = getpgid(pid), own = getpgrp();
    if (group < 0 || (group == own && has_group_got(signals, sent)))
        return;
    bool terminal = sent->code == SI_KERNEL && group == pid && group != own;
    if (sent->code == SI_QUEUE)
        (void)sigqueue(pid, sent->number,
                       (union sigval){.sival_ptr = (void *)(uintptr_t)sent->value});
    else
        (void)kill(terminal ? -pid : pid, sent->number);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

/* Returns true if the witness continued annot. The SIGCONT is returned later by signals_take. */
static bool is_woken(struct signals *signals)
{
    const struct timespec now = {0};
    siginfo_t info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    if (sigtimedwait(&set, &info, &now) != SIGCONT)
        return false;
    signals->continued = (struct signal_sent){.number = SIGCONT,
                                              .code = info.si_code,
                                              .value = (uintptr_t)info.si_value.sival_ptr,
                                              .sender = info.si_pid};
    return is_own(signals, &signals->continued);
}

bool signals_stop(struct signals *signals, int number, pid_t with)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t mask;
    bool woken;
    if (with > 0)
        witness_watch(&signals->witness, with);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    sigaction(number, &normal, &before);
    do {
        raise(number);
        sigprocmask(SIG_UNBLOCK, &mask, NULL); /* annot stops here */
        sigprocmask(SIG_BLOCK, &mask, NULL);
        woken = is_woken(signals);
        /* The witness checks, then wakes annot: the command may have stopped again in between. */
    } while (woken && with > 0 && witness_is_stopped(with));
    sigaction(number, &before, NULL);
    if (with > 0)
        witness_watch(&signals->witness, 0);
    return woken;
}
