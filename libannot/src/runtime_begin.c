/* SPDX-License-Identifier: MIT */
/* Constructor and destructor of a copy of libannot. */
#include "directory.h"
#include "entry.h"
#include "process.h"
#include "runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>

/* Events after dlclose, and the exit of threads, still need this code. */
static void pin(void)
{
    Dl_info info;
    if (dladdr((const void *)&runtime_other, &info) && info.dli_fname && info.dli_fname[0])
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Before other constructors of the same image, so that they can be recorded. */
__attribute__((constructor(101))) static void runtime_begin(void)
{
    int error = errno; /* the C standard requires 0 when main begins */
    int secure = getauxval(AT_SECURE) != 0;
    runtime_take_anchor(&runtime_own);
    if (runtime_other) {
        struct refusal ignored;
        if (!secure)
            directory_setup(&ignored); /* maps this copy's own gate */
        errno = error;
        return;
    }
    process_setup(secure);
    entry_setup();
    pthread_atfork(entry_fork_prepare, entry_fork_parent, process_fork_child);
    pin();
    errno = error;
}

__attribute__((destructor(101))) static void runtime_end(void)
{
    if (!runtime_other)
        process_exit();
}
