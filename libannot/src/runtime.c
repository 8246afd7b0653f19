/* SPDX-License-Identifier: MIT */
/* Constructor, destructor and the anchor: see runtime.h. */
#include "runtime.h"

#include "directory.h"
#include "emit.h"
#include "process.h"

#include <annot_barrier.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>

const struct runtime_table *runtime_other;

/* First word: the serving copy's table. In assembler because C has no word for "unique". */
__asm__(".pushsection .bss.annot_anchor_v1,\"aw\",@nobits\n"
        ".balign 64\n"
        ".weak annot_anchor_v1\n"
        ".type annot_anchor_v1, @gnu_unique_object\n"
        ".size annot_anchor_v1, 64\n"
        "annot_anchor_v1:\n"
        ".zero 64\n"
        ".popsection\n");
extern ANNOT_API const struct runtime_table *annot_anchor_v1;

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
    const struct runtime_table *none = NULL;
    int error = errno; /* 0 when main begins, says the C standard */
    int secure = getauxval(AT_SECURE) != 0;
    /* Partner: the same swap in another copy. */
    if (!annot_cas_acq_rel(&annot_anchor_v1, &none, &runtime_own) && none != &runtime_own) {
        struct refusal ignored;
        runtime_other = none;
        if (!secure)
            directory_setup(&ignored); /* this copy's own gate */
        errno = error;
        return;
    }
    process_setup(secure);
    emit_setup();
    pthread_atfork(process_fork_prepare, process_fork_parent, process_fork_child);
    pin();
    errno = error;
}

__attribute__((destructor(101))) static void runtime_end(void)
{
    if (!runtime_other)
        process_exit();
}
