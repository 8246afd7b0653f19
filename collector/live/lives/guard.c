/* SPDX-License-Identifier: MIT */
/* The SIGBUS handler and the per-thread way out of it. The state is thread-local and written
 * around the guarded call only, so that the handler, which runs on the same thread, sees it. */
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

struct guard {
    volatile uintptr_t begin, end; /* 0, 0: not armed */
    sigjmp_buf way_out;
};

static __thread struct guard guard;
static struct sigaction previous;
static int install_error;

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    if (address >= guard.begin && address < guard.end) {
        guard.begin = guard.end = 0;
        siglongjmp(guard.way_out, 1);
    }
    if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(signal_number, info, context);
    else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
        previous.sa_handler(signal_number);
    else
        sigaction(SIGBUS, &previous, NULL); /* the access repeats and gets the default action */
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &previous) != 0)
        install_error = -errno;
}

int guard_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    return install_error;
}

int guard_call(const struct guard_range *range, int (*work)(void *context), void *context)
{
    if (sigsetjmp(guard.way_out, 0) != 0)
        return -EFAULT;
    guard.begin = (uintptr_t)range->address;
    guard.end = guard.begin + range->size;
    int result = work(context);
    guard.begin = guard.end = 0;
    return result;
}

struct copy {
    void *to;
    const void *from;
    size_t size;
};

static int copy_work(void *context)
{
    const struct copy *copy = context;
    memcpy(copy->to, copy->from, copy->size);
    return 0;
}

int guard_copy(const struct guard_range *range, void *to, const void *from, size_t size)
{
    struct copy copy = {to, from, size};
    return guard_call(range, copy_work, &copy);
}
