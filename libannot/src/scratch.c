/* SPDX-License-Identifier: MIT */
/* A thread's own memory for texts: see scratch.h. */
#include "scratch.h"

#include "entry.h"
#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>

static APART struct control *make_control(void)
{
    int error = errno;
    uint64_t before = proc_block_signals();
    struct control *control = entry_take_control();
    proc_restore_signals(before);
    errno = error;
    return control;
}

/* What siglongjmp left taken is free again. */
static int try_take(uintptr_t *taken, uintptr_t frame)
{
    uintptr_t by = annot_load_relaxed(taken);
    if (by && !entry_is_stale(by, frame))
        return 0;
    annot_store_relaxed(taken, frame); /* partner: signal handlers of this thread */
    annot_signal_fence();
    return 1;
}

char *scratch_take(void)
{
    struct control *control = annot_control;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (control == &control_dummy || !annot_load_relaxed(&control->owner))
        control = make_control();
    for (int i = 0; control && i < SCRATCHES; i++)
        if (try_take(&control->keep->scratch_frames[i], frame))
            return control->keep->scratch[i];
    return NULL;
}

void scratch_give(char *text)
{
    struct keep *keep = annot_control->keep;
    annot_signal_fence();
    if (text && keep) /* none in a child by _Fork, made by a handler meanwhile */
        annot_store_relaxed(&keep->scratch_frames[(text - keep->scratch[0]) / SCRATCH_SIZE],
                            (uintptr_t)0);
}
