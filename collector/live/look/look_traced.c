/* SPDX-License-Identifier: MIT */
/* One thread of another process under ptrace: stopped, made to call functions, and resumed in its
 * old state.
 *
 * During calls its signals are blocked, except those raised by its own instructions, and it runs on
 * a separate stack. System calls interrupted by the stop are restarted by the kernel; those that it
 * would let fail (epoll_wait and others), here. */
#include "look_traced.h"

#include "clock_now.h"
#include "file_io.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__

enum { STOP_MS = 500, CALL_STACK = 1 << 20, RED_ZONE = 128 };

/* ---- Stops ----------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    return clock_now_ns() / 1000000;
}

/* Waits for the next stop. 1; 0: not until then; -ESRCH: the thread is gone. `until_ms` 0: no
 * limit. */
static int wait_stop(pid_t tid, int64_t until_ms, int *ret_status)
{
    const struct timespec pause = {0, 200000};
    for (;;) {
        pid_t got = waitpid(tid, ret_status, __WALL | (until_ms ? WNOHANG : 0));
        if (got == tid)
            return WIFSTOPPED(*ret_status) ? 1 : -ESRCH;
        if (got < 0 && errno != EINTR)
            return -ESRCH;
        if (until_ms && now_ms() >= until_ms)
            return 0;
        if (until_ms)
            nanosleep(&pause, NULL);
    }
}

/* Waits for the interrupt; delivers pending signals. */
static int wait_interrupt(pid_t tid, int64_t until_ms)
{
    int status;
    for (;;) {
        int got = wait_stop(tid, until_ms, &status);
        if (got <= 0)
            return got;
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_STOP)
            return signal == SIGTRAP ? 1 : -EBUSY; /* else the whole process is stopped */
        if (ptrace(PTRACE_CONT, tid, NULL, event ? 0 : (long)signal) != 0)
            return -ESRCH;
    }
}

static bool is_signal_pending(pid_t pid, pid_t tid)
{
    char path[64], text[4096];
    unsigned long long own = 0, shared = 0, blocked = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return true;
    const char *at = strstr(text, "\nSigPnd:");
    if (!at || sscanf(at, "\nSigPnd: %llx ShdPnd: %llx SigBlk: %llx", &own, &shared, &blocked) != 3)
        return true;
    return ((own | shared) & ~blocked) != 0;
}

/* Restarts calls that the stop made fail, since a program without handlers never sees that
 * failure. */
static void make_again(struct look_traced *traced)
{
    struct user_regs_struct *registers = &traced->registers;
    int again = registers->orig_rax == SYS_epoll_wait || registers->orig_rax == SYS_epoll_pwait ||
                registers->orig_rax == SYS_epoll_pwait2 || registers->orig_rax == SYS_semop ||
                registers->orig_rax == SYS_semtimedop ||
                registers->orig_rax == SYS_rt_sigtimedwait || registers->orig_rax == SYS_msgrcv ||
                registers->orig_rax == SYS_msgsnd || registers->orig_rax == SYS_io_getevents;
    if (!again || (int64_t)registers->rax != -EINTR || is_signal_pending(traced->pid, traced->tid))
        return;
    registers->rax = registers->orig_rax;
    registers->rip -= 2; /* the length of the instruction */
    registers->orig_rax = UINT64_MAX;
}

static int save(struct look_traced *traced)
{
    struct iovec vector = {traced->extended, sizeof(traced->extended)};
    if (ptrace(PTRACE_GETREGS, traced->tid, NULL, &traced->registers) != 0 ||
        ptrace(PTRACE_GETSIGMASK, traced->tid, sizeof(traced->mask), &traced->mask) != 0 ||
        ptrace(PTRACE_GETREGSET, traced->tid, (void *)NT_X86_XSTATE, &vector) != 0)
        return -errno;
    traced->extended_size = vector.iov_len;
    traced->call = (int64_t)traced->registers.orig_rax;
    make_again(traced);
    return 0;
}

int look_traced_stop(struct look_traced *traced, pid_t pid, pid_t tid)
{
    traced->pid = pid;
    traced->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return -errno;
    int stopped = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0
                      ? -ESRCH
                      : wait_interrupt(tid, now_ms() + STOP_MS);
    if (stopped == 0)
        return -ETIMEDOUT; /* it is released when this process ends */
    int error = stopped < 0 ? stopped : save(traced);
    if (error != 0)
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return error;
}

void look_traced_go(struct look_traced *traced)
{
    struct iovec vector = {traced->extended, traced->extended_size};
    ptrace(PTRACE_SETREGSET, traced->tid, (void *)NT_X86_XSTATE, &vector);
    ptrace(PTRACE_SETSIGMASK, traced->tid, sizeof(traced->mask), &traced->mask);
    ptrace(PTRACE_SETREGS, traced->tid, NULL, &traced->registers);
    ptrace(PTRACE_DETACH, traced->tid, NULL, NULL);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Runs it until our trap. 0, -EFAULT (it crashed) or -ESRCH. */
static int run_to_trap(struct look_traced *traced, enum __ptrace_request how)
{
    int status;
    if (ptrace(how, traced->tid, NULL, NULL) != 0)
        return -ESRCH;
    for (;;) {
        int got = wait_stop(traced->tid, 0, &status);
        if (got < 0)
            return got;
        int signal = WSTOPSIG(status);
        if (status >> 16 == 0 && signal == SIGTRAP)
            return 0;
        if (status >> 16 == 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
                                  signal == SIGFPE || signal == SIGSYS))
            return -EFAULT;
        if (ptrace(PTRACE_CONT, traced->tid, NULL, status >> 16 ? 0 : (long)signal) != 0)
            return -ESRCH;
    }
}

static int set_and_run(struct look_traced *traced, struct user_regs_struct *registers,
                       enum __ptrace_request how)
{
    if (ptrace(PTRACE_SETREGS, traced->tid, NULL, registers) != 0)
        return -ESRCH;
    int error = run_to_trap(traced, how);
    if (error == 0 && ptrace(PTRACE_GETREGS, traced->tid, NULL, registers) != 0)
        error = -ESRCH;
    return error;
}

static int64_t system_call(struct look_traced *traced, const uint64_t words[7])
{
    struct user_regs_struct registers = traced->registers;
    registers.orig_rax = UINT64_MAX;
    registers.rax = words[0];
    registers.rdi = words[1];
    registers.rsi = words[2];
    registers.rdx = words[3];
    registers.r10 = words[4];
    registers.r8 = words[5];
    registers.r9 = words[6];
    registers.rip = traced->syscall_at;
    int error = set_and_run(traced, &registers, PTRACE_SINGLESTEP);
    return error ? error : (int64_t)registers.rax;
}

int look_traced_begin(struct look_traced *traced)
{
    const uint64_t make[7] = {
        SYS_mmap,   0, CALL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        UINT64_MAX, 0};
    uint64_t mask = ~(UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSEGV - 1) |
                      UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGILL - 1) |
                      UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGSYS - 1));
    if (ptrace(PTRACE_SETSIGMASK, traced->tid, sizeof(mask), &mask) != 0)
        return -errno;
    int64_t at = system_call(traced, make);
    if (at < 0)
        return (int)at;
    traced->stack = (uint64_t)at;
    return 0;
}

void look_traced_end(struct look_traced *traced)
{
    const uint64_t remove[7] = {SYS_munmap, traced->stack, CALL_STACK, 0, 0, 0, 0};
    if (traced->stack)
        (void)system_call(traced, remove);
    traced->stack = 0;
}

int look_traced_write(const struct look_traced *traced, uint64_t at, const void *bytes, size_t size)
{
    const struct iovec from = {(void *)bytes, size}, to = {(void *)at, size};
    return process_vm_writev(traced->pid, &from, 1, &to, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

int look_traced_call(struct look_traced *traced, uint64_t function, const uint64_t arguments[2],
                     uint64_t *ret_value)
{
    struct user_regs_struct registers = traced->registers;
    uint64_t sp = traced->stack + CALL_STACK - RED_ZONE - sizeof(uint64_t);
    registers.orig_rax = UINT64_MAX;
    registers.rax = 0;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rip = function;
    registers.rsp = sp;
    registers.rbp = 0;
    registers.eflags &= ~UINT64_C(0x400); /* direction flag, by the calling convention */
    if (look_traced_write(traced, sp, &traced->trap_at, sizeof(traced->trap_at)) != 0)
        return -EFAULT;
    int error = set_and_run(traced, &registers, PTRACE_CONT);
    if (error == 0 && registers.rip != traced->trap_at + 1)
        error = -EFAULT;
    *ret_value = registers.rax;
    return error;
}

#endif
