/* SPDX-License-Identifier: MIT */
/* Memory of control blocks: see control.h.
 *
 * Chunks of one wiped page with eight control blocks, followed by their keeps, which are not wiped.
 * Chunks are mapped on demand and never freed. */
#include "control.h"

#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    CONTROLS_PER_CHUNK = ANNOT_PAGE_SIZE / CONTROL_SIZE,
    KEEP_SIZE = (sizeof(struct keep) + ANNOT_PAGE_SIZE - 1) / ANNOT_PAGE_SIZE * ANNOT_PAGE_SIZE,
    CHUNK_SIZE = ANNOT_PAGE_SIZE + CONTROLS_PER_CHUNK * KEEP_SIZE,
    CHUNK_LIMIT = ANNOT_THREAD_COUNT_MAX / CONTROLS_PER_CHUNK,
};

union control_scrap control_scrap;
struct control control_dummy = {.generation = UINT64_MAX};
__thread struct control *annot_control = &control_dummy;
__thread const uint64_t *annot_mask;
__thread struct annot_thread *annot_live;

static uint8_t *chunks[CHUNK_LIMIT]; /* W: all, swapped in once */

int64_t control_tls_offset(void)
{
#if defined(__x86_64__)
    uintptr_t thread_pointer;
    __asm__("movq %%fs:0, %0" : "=r"(thread_pointer));
    return (int64_t)((uintptr_t)&annot_live - thread_pointer);
#elif defined(__aarch64__)
    return (int64_t)((uintptr_t)&annot_live - (uintptr_t)__builtin_thread_pointer());
#else
    return 0;
#endif
}

static uint8_t *chunk_make(uint32_t index)
{
    uint8_t *made = NULL;
    uint8_t *chunk = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED)
        return NULL;
    if (madvise(chunk, ANNOT_PAGE_SIZE, MADV_WIPEONFORK) != 0) {
        munmap(chunk, CHUNK_SIZE);
        return NULL;
    }
    /* Partner: the acquire loads of chunks[] below. */
    if (annot_cas_acq_rel(&chunks[index], &made, chunk))
        return chunk;
    munmap(chunk, CHUNK_SIZE);
    return made;
}

static struct control *control_at(uint8_t *chunk, uint32_t slot)
{
    return (struct control *)(chunk + (size_t)slot * CONTROL_SIZE);
}

static struct keep *keep_at(uint8_t *chunk, uint32_t slot)
{
    return (struct keep *)(chunk + ANNOT_PAGE_SIZE + (size_t)slot * KEEP_SIZE);
}

/* Marks all levels as not open. Writes only where needed: untouched pages stay untouched. */
static void levels_clear(struct keep *keep)
{
    uint64_t *words = (uint64_t *)keep->levels;
    for (uint32_t i = 0; i < LEVELS_KEPT / sizeof(uint64_t); i++)
        if (words[i])
            words[i] = 0;
}

int control_is_foreign(const struct control *control)
{
    uint32_t owner = annot_load_relaxed(&control->owner) & ~CONTROL_RECLAIMED;
    return owner ? owner != (uint32_t)proc_tid() : !proc_owns_storage();
}

void control_share(struct control *control)
{
    annot_store_relaxed(&control->sharer, (uint32_t)proc_tid());
    annot_signal_fence();
    control->limit = control->quick_limit = 0;
}

void control_unshare(struct control *control)
{
    uint32_t sharer = annot_load_relaxed(&control->sharer);
    if (sharer && !proc_task_alive((pid_t)sharer))
        annot_cas_acq_rel(&control->sharer, &sharer, 0u); /* partner: control_share */
}

/* A forked child finds its own control block wiped and takes it again, keep included. */
static struct control *find_wiped(struct control *control)
{
    for (uint32_t i = 0; i < CHUNK_LIMIT && chunks[i]; i++) {
        uintptr_t offset = (uintptr_t)control - (uintptr_t)chunks[i];
        uint32_t unowned = 0;
        if (offset >= ANNOT_PAGE_SIZE)
            continue;
        if (!annot_cas_acq_rel(&control->owner, &unowned,
                               (uint32_t)proc_tid())) /* partner: itself */
            return NULL;
        annot_store_relaxed(&control->pid, getpid());
        control->keep = keep_at(chunks[i], (uint32_t)offset / CONTROL_SIZE);
        if (!control->keep->forking)
            levels_clear(control->keep);
        return control;
    }
    return NULL;
}

static struct control *find_free(void)
{
    uint32_t tid = (uint32_t)proc_tid();
    for (uint32_t i = 0; i < CHUNK_LIMIT; i++) {
        uint8_t *chunk = annot_load_acquire(&chunks[i]); /* partner: chunk_make */
        if (!chunk)
            chunk = chunk_make(i);
        if (!chunk)
            return NULL;
        for (uint32_t slot = 0; slot < CONTROLS_PER_CHUNK; slot++) {
            struct control *control = control_at(chunk, slot);
            uint32_t unowned = 0;
            if (annot_load_relaxed(&control->owner) == 0 &&
                annot_cas_acq_rel(&control->owner, &unowned, tid)) { /* partner: control_give */
                annot_store_relaxed(&control->pid, getpid());
                control->keep = keep_at(chunk, slot);
                memset(control->keep, 0, offsetof(struct keep, levels));
                levels_clear(control->keep);
                return control;
            }
        }
    }
    return NULL;
}

struct control *control_take(void)
{
    struct control *control = annot_control;
    if (control != &control_dummy && annot_load_relaxed(&control->owner))
        return control;
    control = control != &control_dummy ? find_wiped(control) : NULL;
    if (!control)
        control = find_free();
    if (!control)
        return NULL;
    control->levels = control->keep->levels;
    annot_signal_fence();
    annot_control = control;
    return control;
}

void control_save_stack(struct control *control)
{
    struct keep *keep = control->keep;
    if (!control->thread)
        return;
    keep->fork_depth = control->depth;
    keep->fork_live_depth = control->live_depth;
    memcpy(keep->fork_live, control->thread->live, sizeof(keep->fork_live));
    keep->forking = 1;
}

void control_restore(struct control *control)
{
    struct keep *keep = control->keep;
    uint32_t owner = control->owner;
    keep->is_interrupted = 0;
    *control = keep->interrupted;
    control->owner = owner;
    control->pid = getpid();
    control->shadow = 1;
    control->limit = control->quick_limit = 0; /* sends the next event to emit_general */
    control->id_next = 0;                      /* the parent uses that batch */
    if (control->thread)
        memcpy(control->thread->live, keep->fork_live, sizeof(keep->fork_live));
}

static void zero(struct control *control)
{
    memset(control, 0, offsetof(struct control, owner));
    memset(&control->segment, 0, sizeof(*control) - offsetof(struct control, segment));
}

void control_wipe(struct control *control)
{
    struct keep *keep = control->keep;
    zero(control);
    control->keep = keep;
    control->levels = keep->levels;
}

void control_give(struct control *control)
{
    zero(control);
    annot_store_relaxed(&control->pid, 0);
    /* Partner: find_free. */
    annot_store_release(&control->owner, 0u);
}

void control_each(void (*visit)(struct control *control, void *context), void *context)
{
    for (uint32_t i = 0; i < CHUNK_LIMIT; i++) {
        uint8_t *chunk = annot_load_acquire(&chunks[i]); /* partner: chunk_make */
        for (uint32_t slot = 0; chunk && slot < CONTROLS_PER_CHUNK; slot++) {
            struct control *control = control_at(chunk, slot);
            if (annot_load_acquire(&control->owner)) /* partner: the swap that took it */
                visit(control, context);
        }
        if (!chunk)
            return;
    }
}

/* ---- Ends of threads ------------------------------------------------------------------------- */

enum { KEYS_WITHOUT_MEMORY = 32 }; /* glibc stores this many values in the thread itself */

static pthread_key_t exit_key;
static int exit_key_made;

/* For a later key the C library allocates memory at the thread's first event, which may be in a
 * signal handler. Without a key, dead threads are found when blocks or records run out. */
void control_watch_end(void (*end)(void *control))
{
    if (pthread_key_create(&exit_key, end) != 0)
        return;
    exit_key_made = exit_key < KEYS_WITHOUT_MEMORY;
    if (!exit_key_made)
        pthread_key_delete(exit_key);
}

struct control *control_take_with_end(void)
{
    struct control *control = control_take();
    if (control && exit_key_made && pthread_getspecific(exit_key) != control)
        pthread_setspecific(exit_key, control);
    return control;
}

int control_end_again(struct control *control)
{
    return pthread_setspecific(exit_key, control) == 0;
}

/* ---- Memory for texts ------------------------------------------------------------------------ */

static APART struct control *make_control(void)
{
    int error = errno;
    uint64_t before = proc_block_signals();
    struct control *control = control_take_with_end();
    proc_restore_signals(before);
    errno = error;
    return control;
}

/* A buffer whose owner was left by siglongjmp is free again. */
static int try_take(uintptr_t *taken, uintptr_t frame)
{
    uintptr_t by = annot_load_relaxed(taken);
    if (by && !control_is_stale(by, frame))
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
    if (text && keep) /* NULL in a child by _Fork, made by a handler meanwhile */
        annot_store_relaxed(&keep->scratch_frames[(text - keep->scratch[0]) / SCRATCH_SIZE],
                            (uintptr_t)0);
}
