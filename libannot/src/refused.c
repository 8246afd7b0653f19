/* SPDX-License-Identifier: MIT */
/* Slots of processes that cannot take part: see refused.h. */
#include "refused.h"

#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PROBES = 16 };

static struct annot_refusals *pages; /* W: constructor */

/* Reserved, so that a full file system is no SIGBUS later. Two programs at once write the same. */
static int extend(int fd)
{
    static const struct annot_refusals none;
    const off_t end = ANNOT_REFUSALS_OFFSET + sizeof(none);
    uint64_t limit;
    if (lseek(fd, 0, SEEK_END) >= end)
        return 0;
    if (!file_size_allowed((uint64_t)end, &limit))
        return -EFBIG;
    if (fallocate(fd, 0, ANNOT_REFUSALS_OFFSET, sizeof(none)) == 0)
        return 0;
    if (pwrite(fd, &none, sizeof(none), ANNOT_REFUSALS_OFFSET) != (ssize_t)sizeof(none))
        return -ENOSPC;
    return 0;
}

void refusals_map(int wake_fd)
{
    if (extend(wake_fd) != 0)
        return;
    void *memory = mmap(NULL, sizeof(*pages), PROT_READ | PROT_WRITE, MAP_SHARED, wake_fd,
                        ANNOT_REFUSALS_OFFSET);
    pages = memory == MAP_FAILED ? NULL : memory;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t owner_of(pid_t pid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)proc_pid_namespace();
}

/* Of an earlier recording, and its process is gone: at least none of this pid is there. */
static int is_left(const struct annot_refusal_slot *slot, uint64_t owner, uint64_t generation)
{
    return (uint32_t)owner == (uint32_t)proc_pid_namespace() &&
           annot_load_relaxed(&slot->generation) < generation &&
           kill((pid_t)(owner >> 32), 0) != 0 && errno == ESRCH;
}

/* 1 + the index of a slot that is now this process's, or 0. */
static uint32_t take(uint64_t mine, uint64_t generation)
{
    uint32_t first = (uint32_t)(mine >> 32);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t index = (first + probe) % ANNOT_REFUSAL_SLOTS;
        struct annot_refusal_slot *slot = &pages->slots[index];
        uint64_t owner = annot_load_relaxed(&slot->owner);
        if (owner != 0 && owner != mine && !is_left(slot, owner, generation))
            continue;
        if (!annot_cas_acq_rel(&slot->owner, &owner, mine)) /* partner: itself */
            continue;
        /* Partner: the collector's two loads of it, around its copy. */
        annot_store_release(&slot->generation, UINT64_C(0));
        annot_store_relaxed(&slot->lost, UINT64_C(0));
        annot_store_relaxed(&slot->pending, UINT64_C(0));
        annot_store_relaxed(&slot->time_ns, monotonic_ns());
        return index + 1;
    }
    return 0;
}

uint32_t refusals_note(uint32_t held, const struct refusal *refusal, uint64_t session_id,
                       uint64_t generation)
{
    char comm[16] = "";
    if (!pages)
        return 0;
    if (held == 0 || held == REFUSED_UNNAMED)
        held = take(owner_of(getpid()), generation);
    if (held == 0)
        return REFUSED_UNNAMED;
    struct annot_refusal_slot *slot = &pages->slots[(held - 1) % ANNOT_REFUSAL_SLOTS];
    prctl(PR_GET_NAME, comm);
    memcpy(slot->comm, comm, sizeof(slot->comm));
    slot->pid_ns = proc_pid_namespace();
    slot->session_id = session_id;
    slot->detail = refusal->detail;
    slot->pid = getpid();
    slot->ppid = getppid();
    slot->refusal = refusal->reason;
    slot->error = refusal->error;
    annot_store_release(&slot->generation, generation); /* partner: the collector's loads */
    return held;
}

void refusals_count(uint32_t held, int is_pending)
{
    if (!held || !pages)
        return;
    if (held == REFUSED_UNNAMED) {
        annot_fetch_add_relaxed(&pages->unnamed, UINT64_C(1));
        return;
    }
    struct annot_refusal_slot *slot = &pages->slots[(held - 1) % ANNOT_REFUSAL_SLOTS];
    annot_fetch_add_relaxed(is_pending ? &slot->pending : &slot->lost, UINT64_C(1));
}

void refusals_clear(uint32_t held)
{
    if (!held || held == REFUSED_UNNAMED || !pages)
        return;
    struct annot_refusal_slot *slot = &pages->slots[(held - 1) % ANNOT_REFUSAL_SLOTS];
    annot_store_release(&slot->generation, UINT64_C(0)); /* partner: the collector's loads */
    annot_store_release(&slot->owner, UINT64_C(0));      /* partner: take */
}

const char *refusals_text(uint16_t reason)
{
    static const char *const texts[] = {
        [ANNOT_REFUSAL_NONE] = "nobody records",
        [ANNOT_REFUSAL_SECURE_EXEC] = "set-uid program or file capabilities: off by design",
        [ANNOT_REFUSAL_NO_DIRECTORY] = "the annot directory can't be opened or made",
        [ANNOT_REFUSAL_DIR_OWNER] = "the annot directory belongs to another user",
        [ANNOT_REFUSAL_DIR_MODE] = "the annot directory's mode is not 0700",
        [ANNOT_REFUSAL_FILE_SIZE] = "the file size limit is smaller than a segment",
        [ANNOT_REFUSAL_NO_SPACE] = "the shared-memory file system is full or read-only",
        [ANNOT_REFUSAL_MAP] = "shared memory can't be mapped",
        [ANNOT_REFUSAL_VERSION] = "the session was made by another version of annot",
        [ANNOT_REFUSAL_OTHER_UID] = "this process changed its user",
        [ANNOT_REFUSAL_SYSTEM] = "a system call failed",
    };
    return texts[reason < sizeof(texts) / sizeof(*texts) ? reason : ANNOT_REFUSAL_NONE];
}
