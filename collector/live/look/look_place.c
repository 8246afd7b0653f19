/* SPDX-License-Identifier: MIT */
/* Finds a place in a running process where one of its threads can call functions.
 *
 * It stops a thread where a call is as safe as one of its own: it is in code of the program itself,
 * or waits in a system call, and no frame of its stack is of the dynamic linker, of an allocator,
 * or of the C library (except the wait itself and the start of threads). The other threads go on,
 * so they release their locks.
 *
 * A child process does all of this: however it ends, the kernel releases its tracees. */
#include "look_place.h"
#include "clock_now.h"
#include "elf_symbols.h"
#include "file_io.h"
#include "look_enter.h"
#include "look_space.h"
#include "proc_info.h"
#include "text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
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

/* One thread of another process under ptrace: stopped, made to call functions, and resumed in its
 * old state.
 *
 * During calls its signals are blocked, except those raised by its own instructions, and it runs on
 * a separate stack. System calls interrupted by the stop are restarted by the kernel; those that it
 * would let fail (epoll_wait and others), here. */

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

/* Stops a thread and saves its registers. 0, -EPERM, -ESRCH, -ETIMEDOUT (it sleeps
 * uninterruptibly), -EBUSY (the whole process is stopped). */
static int look_traced_stop(struct look_traced *traced, pid_t pid, pid_t tid)
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

/* Restores its state and resumes it. */
static void look_traced_go(struct look_traced *traced)
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

/* Allocates the stack for calls; frees it. 0 or negative errno. */
static int look_traced_begin(struct look_traced *traced)
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

static void look_traced_end(struct look_traced *traced)
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

/* Calls and waits without a limit: it can only be held up by a lock that others will release. 0,
 * -EFAULT or -ESRCH. */
static int look_traced_call(struct look_traced *traced, uint64_t function,
                            const uint64_t arguments[2], uint64_t *ret_value)
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

#ifdef __x86_64__

enum {
    PATIENCE_MS = 2000, /* until a thread is at a safe place */
    PAUSE_NS = 5000000,
    THREADS_MAX = 4096,
    ENTRY_SIZE = 64,
};

int look_refuse(struct look_reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof(reason->text), format, arguments);
    va_end(arguments);
    return -ECANCELED;
}

/* ---- The process ----------------------------------------------------------------------------- */

static int check_machine(pid_t pid, struct look_reason *reason)
{
    char path[64];
    Elf64_Ehdr head = {0};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd < 0)
        return look_refuse(reason, "its program cannot be read: %s", strerror(-fd));
    bool whole = file_read_at(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
    close(fd);
    if (!whole || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
        return look_refuse(reason, "it is a program for another architecture");
    return 0;
}

static unsigned long long field_of(const char *status, const char *name, int base)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static int check_status(pid_t pid, struct look_reason *reason)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return look_refuse(reason, "it is gone");
    unsigned long long tracer = field_of(text, "\nTracerPid:", 10);
    if (tracer)
        return look_refuse(reason, "process %llu debugs it", tracer);
    if (field_of(text, "\nSeccomp:", 10))
        return look_refuse(
            reason, "it has a seccomp filter, which may end it for a call that is not its own");
    if (strstr(text, "shstk"))
        return look_refuse(reason, "it uses a shadow stack, on which no call can be put");
    if (field_of(text, "\nSigIgn:", 16) >> (SIGTRAP - 1) & 1)
        return look_refuse(reason, "it ignores the signal SIGTRAP, which is needed for that");
    const char *state = strstr(text, "\nState:\t");
    if (state && strchr("TtZX", state[8]))
        return look_refuse(reason, state[8] == 'T' ? "it is stopped" : "it is ending or is traced");
    return 0;
}

static int check_secure(pid_t pid, struct look_reason *reason)
{
    Elf64_auxv_t entries[64];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t size = fd < 0 ? fd : file_read_at(fd, entries, sizeof(entries), 0);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return look_refuse(reason, "its rights cannot be read: %s", strerror((int)-size));
    for (size_t i = 0; i < (size_t)size / sizeof(entries[0]); i++)
        if (entries[i].a_type == AT_SECURE && entries[i].a_un.a_val)
            return look_refuse(reason, "it is set-uid or has capabilities of its file");
    return 0;
}

/* ---- Code of the process --------------------------------------------------------------------- */

enum code { CODE_OWN = 0, CODE_LINKER = 1, CODE_LIBRARY = 2, CODE_ALLOCATOR = 3, CODE_NONE = 4 };

static enum code code_of(const char *path)
{
    static const char *const allocators[] = {"jemalloc", "tcmalloc", "mimalloc", "hoard", NULL};
    const char *name = text_base_name(path);
    if (strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0)
        return CODE_LINKER;
    if (strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
        strncmp(name, "libpthread", 10) == 0 || strncmp(name, "libdl", 5) == 0 ||
        strcmp(name, "[vdso]") == 0 || strcmp(name, "[vsyscall]") == 0)
        return CODE_LIBRARY;
    for (const char *const *known = allocators; *known; known++)
        if (strstr(name, *known))
            return CODE_ALLOCATOR;
    return CODE_OWN;
}

uint64_t look_place_function(struct look_place *place, const char *name, bool of_any)
{
    for (size_t i = 0; i < place->space.modules.count; i++) {
        struct look_module *module =
            look_space_find(&place->space, place->space.modules.items[i].begin);
        struct elf_symbol symbol;
        enum code code = module ? code_of(module->path) : CODE_NONE;
        bool may_be = code == CODE_LIBRARY || code == CODE_LINKER || (of_any && code == CODE_OWN);
        if (may_be && module->file && elf_file_find_exported(module->file, name, &symbol))
            return module->bias + symbol.address;
    }
    return 0;
}

/* The first place of these bytes in the C library's code, even inside another instruction. */
static uint64_t find_bytes(const struct look_space *space, const void *bytes, size_t size)
{
    static uint8_t page[1 << 16];
    for (size_t i = 0; i < space->modules.count; i++) {
        const struct look_module *module = &space->modules.items[i];
        if (code_of(module->path) != CODE_LIBRARY || module->path[0] != '/')
            continue;
        for (uint64_t at = module->begin; at < module->end; at += sizeof(page)) {
            int64_t got = proc_read_memory(space->pid, at, page, sizeof(page));
            const uint8_t *found = got > 0 ? memmem(page, (size_t)got, bytes, size) : NULL;
            if (found && at + (uint64_t)(found - page) + size <= module->end)
                return at + (uint64_t)(found - page);
        }
    }
    return 0;
}

static int find_code(struct look_place *place, const struct look_use *use)
{
    struct look_space *space = &place->space;
    if (look_space_open(space, place->pid, place->pid) != 0)
        return look_refuse(place->reason, "its mappings may not be read");
    place->errno_at = look_place_function(place, "__errno_location", false);
    place->traced.syscall_at = find_bytes(space, "\x0f\x05", 2);
    place->traced.trap_at = find_bytes(space, "\xcc", 1);
    int error = use->find(place, use->context);
    if (error != 0)
        return error;
    if (!place->errno_at || !place->traced.syscall_at || !place->traced.trap_at)
        return look_refuse(place->reason, "its C library is not of a kind that annot knows");
    return 0;
}

/* ---- A safe place ---------------------------------------------------------------------------- */

/* True for waits that hold no lock needed by such a call. */
static bool is_plain_wait(uint64_t number)
{
    static const uint16_t waits[] = {SYS_read,
                                     SYS_pread64,
                                     SYS_readv,
                                     SYS_recvfrom,
                                     SYS_recvmsg,
                                     SYS_recvmmsg,
                                     SYS_accept,
                                     SYS_accept4,
                                     SYS_poll,
                                     SYS_ppoll,
                                     SYS_select,
                                     SYS_pselect6,
                                     SYS_epoll_wait,
                                     SYS_epoll_pwait,
                                     SYS_epoll_pwait2,
                                     SYS_nanosleep,
                                     SYS_wait4,
                                     SYS_waitid,
                                     SYS_clock_nanosleep,
                                     SYS_futex,
                                     SYS_rt_sigsuspend,
                                     SYS_pause,
                                     SYS_io_getevents,
                                     SYS_rt_sigtimedwait,
                                     SYS_restart_syscall,
                                     SYS_msgrcv,
                                     SYS_semop,
                                     SYS_semtimedop};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        if (waits[i] == number)
            return true;
    return false;
}

static bool is_allocating(struct look_place *place, uint32_t index)
{
    static const char *const words[] = {"alloc", "free", "operator new", "operator delete", NULL};
    struct look_name name;
    look_space_name(&place->space, place->walk.frames[index].address, index > 0, &name);
    for (const char *const *word = words; *word; word++)
        if (strstr(name.function, *word))
            return true;
    return false;
}

static enum code code_at(struct look_place *place, uint32_t index)
{
    const struct look_module *module =
        look_space_find(&place->space, place->walk.frames[index].address);
    return module ? code_of(module->path) : CODE_NONE;
}

/* True for a program's entry code: it calls the C library, which calls main. */
static bool is_entry(struct look_place *place, uint32_t index)
{
    uint64_t address = place->walk.frames[index].address;
    const struct look_module *module = look_space_find(&place->space, address);
    return module && module->file &&
           address - module->bias - elf_file_entry(module->file) < ENTRY_SIZE;
}

/* NULL, or the reason why a call is unsafe. The C library's frames inside of a plain wait are
 * allowed. */
static const char *find_danger(struct look_place *place)
{
    uint32_t count = place->walk.count, first = 0, last = count;
    bool is_in_call = place->traced.call >= 0;
    bool waits = is_in_call && is_plain_wait((uint64_t)place->traced.call);
    if (place->walk.end != STACK_COMPLETE || count == 0)
        return "its stack cannot be walked";
    if (is_in_call && !waits)
        return "it is in a system call that changes something";
    while (waits && first < count && code_at(place, first) == CODE_LIBRARY)
        first++;
    if (last > first && is_entry(place, last - 1))
        last--;
    while (last > first && code_at(place, last - 1) == CODE_LIBRARY)
        last--;
    if (!waits && last < count && last == first)
        return "it is in the C library";
    for (uint32_t i = first; i < last; i++) {
        enum code code = code_at(place, i);
        if (code == CODE_LINKER)
            return "it is in the dynamic linker";
        if (code == CODE_LIBRARY)
            return "it is in the C library";
        if (code != CODE_OWN || is_allocating(place, i))
            return "it is in an allocator, or in code of no file";
    }
    return NULL;
}

/* Walks the thread's stack. NULL, or the reason why a call is unsafe. */
static const char *judge(struct look_place *place)
{
    const struct user_regs_struct *own = &place->traced.registers;
    const struct unwind_registers registers = {
        .rip = own->rip, .rsp = own->rsp, .rbp = own->rbp, .rbx = own->rbx};
    look_space_unwind(&place->space, &registers, &place->walk);
    return find_danger(place);
}

int look_place_call(struct look_place *place, uint64_t function, const uint64_t arguments[2],
                    uint64_t *ret_value)
{
    int error = look_traced_call(&place->traced, function, arguments, ret_value);
    if (error == -ESRCH)
        return look_refuse(place->reason, "it ended meanwhile");
    return error ? look_refuse(place->reason, "the call failed in it") : 0;
}

/* Runs use->work with a stack for calls, and restores the thread's state. */
static int work(struct look_place *place, const struct look_use *use)
{
    const uint64_t none[2] = {0, 0};
    uint64_t errno_at = 0;
    int32_t before = 0;
    int error = look_traced_begin(&place->traced);
    if (error != 0)
        return look_refuse(place->reason, "no memory can be had in it: %s", strerror(-error));
    error = look_place_call(place, place->errno_at, none, &errno_at);
    bool known = error == 0 && proc_read_memory(place->pid, errno_at, &before, sizeof(before)) ==
                                   (int64_t)sizeof(before);
    if (error == 0)
        error = use->work(place, use->context);
    if (known)
        look_traced_write(&place->traced, errno_at, &before, sizeof(before));
    look_traced_end(&place->traced);
    return error;
}

/* 0: done; 1: not here and now; negative: never. */
static int try_thread(struct look_place *place, const struct look_use *use, pid_t tid)
{
    const char *danger;
    int error = look_traced_stop(&place->traced, place->pid, tid);
    if (error == -EPERM)
        return look_refuse(place->reason, "the kernel does not permit to trace it "
                                          "(kernel.yama.ptrace_scope, a container, another user)");
    if (error != 0) {
        look_refuse(place->reason, "thread %d: %s", (int)tid,
                    error == -ETIMEDOUT ? "it sleeps where nothing wakes it" : strerror(-error));
        return 1;
    }
    danger = judge(place);
    if (!danger)
        error = work(place, use);
    look_traced_go(&place->traced);
    if (danger)
        look_refuse(place->reason, "thread %d: %s", (int)tid, danger);
    return danger ? 1 : error;
}

static uint32_t list_threads(pid_t pid, pid_t *tids)
{
    char path[64];
    uint32_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    for (const struct dirent *entry;
         directory && count < THREADS_MAX && (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            tids[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (directory)
        closedir(directory);
    return count;
}

/* Tries threads in turn, until one is at a safe place. */
static int use_threads(struct look_place *place, const struct look_use *use)
{
    static pid_t tids[THREADS_MAX];
    const struct timespec pause = {0, PAUSE_NS};
    int64_t end_ns = clock_now_ns() + PATIENCE_MS * INT64_C(1000000);
    int error = find_code(place, use);
    while (error == 0) {
        uint32_t count = list_threads(place->pid, tids);
        for (uint32_t i = 0; i < count; i++) {
            struct proc_stat stat;
            if (proc_thread_stat(place->pid, tids[i], &stat) != 0 || strchr("DTtZX", stat.state))
                continue;
            int done = try_thread(place, use, tids[i]);
            if (done <= 0)
                return done;
            if (clock_now_ns() > end_ns)
                break;
        }
        if (count == 0)
            return look_refuse(place->reason, "it ended meanwhile");
        if (clock_now_ns() > end_ns)
            return -EAGAIN;
        nanosleep(&pause, NULL);
    }
    return error;
}

/* ---- Child process --------------------------------------------------------------------------- */

struct answer {
    int32_t error;
    uint64_t value;
    struct look_reason reason;
};

__attribute__((noreturn)) static void be_child(int fd, pid_t pid, const struct look_use *use)
{
    static struct look_place place;
    static struct answer answer;
    place.pid = pid;
    place.reason = &answer.reason;
    setpgid(0, 0); /* Ctrl-C would leave a call unfinished */
    snprintf(answer.reason.text, sizeof(answer.reason.text),
             "none of its threads could be stopped");
    answer.error = use_threads(&place, use);
    answer.value = place.value;
    _exit(write(fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? 0 : 1);
}

static int ask_child(pid_t pid, const struct look_use *use, struct answer *ret_answer)
{
    int ends[2];
    struct look_reason *reason = &ret_answer->reason;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return look_refuse(reason, "%s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        be_child(ends[1], pid, use);
    close(ends[1]);
    ssize_t got = child > 0 ? read(ends[0], ret_answer, sizeof(*ret_answer)) : -1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (got != (ssize_t)sizeof(*ret_answer))
        return look_refuse(reason, "the attempt ended unexpectedly");
    return ret_answer->error;
}

int look_place_use(pid_t pid, const struct look_use *use, uint64_t *ret_value,
                   struct look_reason *ret_reason)
{
    static struct answer answer;
    int error = check_status(pid, ret_reason);
    if (error == 0)
        error = check_machine(pid, ret_reason);
    if (error == 0)
        error = check_secure(pid, ret_reason);
    if (error != 0)
        return error;
    error = ask_child(pid, use, &answer);
    *ret_reason = answer.reason;
    *ret_value = answer.value;
    return error;
}

#endif
