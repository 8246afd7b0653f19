/* SPDX-License-Identifier: MIT */
/* Another process's interpreter: found, read, its threads listed.
 *
 * Which kernel thread a thread state belongs to is told by the interpreter from 3.11 on; before, by
 * the C library's own record of the thread, whose tid lies as far from its begin as in our own
 * process, if both have the same library: what is read there must be a thread of the process.
 * Thread-safety: one thread per object. */
#include "python_remote_private.h"

#include "proc_info.h"
#include "python_locate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    THREAD_RECORD_SIZE = 2048, /* searched of our own */
    INTERPRETERS_LOOKED_AT = 64,
    THREADS_LOOKED_AT = 1 << 16,
};

bool remote_read(const struct python_remote *remote, uint64_t address, void *buffer, size_t size)
{
    return proc_read_memory(remote->pid, address, buffer, size) == (int64_t)size;
}

/* Where this process's C library keeps the tid of a thread, from pthread_self(). */
static int32_t own_tid_offset(void)
{
    const char *record = (const char *)pthread_self();
    int32_t tid = gettid();
    for (int32_t at = 0; at < THREAD_RECORD_SIZE; at += (int32_t)sizeof(tid))
        if (memcmp(record + at, &tid, sizeof(tid)) == 0)
            return at;
    return -1;
}

static int explain(int error, char reason[PYTHON_REMOTE_REASON_MAX])
{
    const char *text = error == -EPERM    ? "not allowed to read its memory"
                       : error == -ENOENT ? "no CPython interpreter in it"
                       : error == -ESRCH  ? "no such process"
                       : error == -EAGAIN ? "its interpreter is not initialised yet"
                                          : strerror(-error);
    snprintf(reason, PYTHON_REMOTE_REASON_MAX, "%s", text);
    return error;
}

static int find_runtime(struct python_remote *remote, char reason[PYTHON_REMOTE_REASON_MAX])
{
    struct python_location location;
    struct python_memory memory = python_memory_of(&remote->pid);
    uint8_t byte;
    int result = python_locate(remote->pid, &location);
    if (result)
        return explain(result == -EACCES ? -EPERM : result, reason);
    int64_t got = proc_read_memory(remote->pid, location.image.runtime + location.bias, &byte, 1);
    if (got < 0)
        return explain((int)got, reason);
    result = python_runtime_find(&location.image, location.bias, &memory,
                                 location.published ? &location.offsets : NULL, &remote->runtime);
    if (result)
        return explain(result, reason);
    snprintf(reason, PYTHON_REMOTE_REASON_MAX, "%s", remote->runtime.reason);
    return remote->runtime.offsets.version ? 0 : -ENOTSUP;
}

int python_remote_open(int32_t pid, struct python_remote **ret_remote,
                       char reason[PYTHON_REMOTE_REASON_MAX])
{
    struct python_remote *remote = calloc(1, sizeof(*remote));
    *ret_remote = NULL;
    if (!remote)
        return explain(-ENOMEM, reason);
    remote->pid = pid;
    remote->tid_offset = own_tid_offset();
    int result = find_runtime(remote, reason);
    if (result)
        python_remote_close(remote);
    else
        *ret_remote = remote;
    return result;
}

void python_remote_close(struct python_remote *remote)
{
    if (!remote)
        return;
    remote_codes_free(remote);
    free(remote);
}

const struct python_runtime *python_remote_runtime(const struct python_remote *remote)
{
    return &remote->runtime;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static bool is_task(const struct python_remote *remote, int32_t tid)
{
    return tid > 0 && proc_thread_exists(remote->pid, tid);
}

static int32_t thread_tid(const struct python_remote *remote, uint64_t tstate, uint64_t record)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint64_t native = 0;
    int32_t tid = 0;
    if (o->tstate_native_thread_id != PYTHON_OFFSET_NONE &&
        remote_read(remote, tstate + o->tstate_native_thread_id, &native, sizeof(native)) &&
        native <= INT32_MAX && is_task(remote, (int32_t)native))
        return (int32_t)native;
    if (remote->tid_offset >= 0 &&
        remote_read(remote, record + (uint64_t)remote->tid_offset, &tid, sizeof(tid)) &&
        is_task(remote, tid))
        return tid;
    return 0;
}

struct listing {
    struct python_remote *remote;
    struct python_remote_thread *threads;
    size_t size, count, seen;
};

/* One interpreter's list. 0, or -EAGAIN: it led astray. */
static int list_threads(struct listing *listing, uint64_t interp)
{
    const struct python_offsets *o = &listing->remote->runtime.offsets;
    uint64_t tstate;
    if (!remote_read(listing->remote, interp + o->interp_threads_head, &tstate, sizeof(tstate)))
        return -EAGAIN;
    while (tstate && listing->count < listing->size && listing->seen++ < THREADS_LOOKED_AT) {
        uint64_t owner, record, next;
        if (!remote_read(listing->remote, tstate + o->tstate_interp, &owner, sizeof(owner)) ||
            !remote_read(listing->remote, tstate + o->tstate_thread_id, &record, sizeof(record)) ||
            !remote_read(listing->remote, tstate + o->tstate_next, &next, sizeof(next)) ||
            (owner && owner != interp))
            return -EAGAIN;
        if (owner && record) /* else it is just being made */
            listing->threads[listing->count++] =
                (struct python_remote_thread){tstate, thread_tid(listing->remote, tstate, record)};
        tstate = next;
    }
    return 0;
}

int python_remote_threads(struct python_remote *remote, struct python_remote_thread *threads,
                          size_t size)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    struct listing listing = {.remote = remote, .threads = threads, .size = size};
    uint64_t interp;
    int64_t got =
        proc_read_memory(remote->pid, remote->runtime.runtime + o->runtime_interpreters_head,
                         &interp, sizeof(interp));
    if (got != sizeof(interp))
        return got < 0 ? (int)got : -EAGAIN;
    for (int i = 0; interp && i < INTERPRETERS_LOOKED_AT; i++) {
        int result = list_threads(&listing, interp);
        if (result)
            return result;
        if (!remote_read(remote, interp + o->interp_next, &interp, sizeof(interp)))
            return -EAGAIN;
    }
    return (int)listing.count;
}
