/* SPDX-License-Identifier: MIT */
/* Slots of processes that cannot take part: see refused.h. */
#include "refused.h"

#include "clock.h"
#include "proc.h"

#include <annot_barrier.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A place: the generation, above the slot's index + 1 or UNNAMED (without a slot). */
enum { INDEX_BITS = 8, UNNAMED = (1 << INDEX_BITS) - 1 };

_Static_assert((int)ANNOT_REFUSAL_SLOTS < (int)UNNAMED, "a place holds any index");

/* The file-size limit needed for an append: other processes may have appended just now. */
enum { APPEND_ALLOWED = 1 << 20 };

static struct annot_refusals *pages; /* W: constructor */

/* Reserved, so that a full file system does not cause SIGBUS later. Other processes may do the same
 * concurrently, and count already: an append, the fallback, erases no counts. */
static int extend(int fd)
{
    static const struct annot_refusals zeros;
    const off_t end = ANNOT_REFUSALS_OFFSET + sizeof(zeros);
    uint64_t limit;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size >= end)
        return 0;
    if (!file_size_allowed((uint64_t)end, &limit))
        return -EFBIG;
    if (fallocate(fd, 0, ANNOT_REFUSALS_OFFSET, sizeof(zeros)) == 0)
        return 0;
    if (errno != EOPNOTSUPP || !file_size_allowed(APPEND_ALLOWED, &limit))
        return -ENOSPC;
    if (fcntl(fd, F_SETFL, O_APPEND) != 0) /* this descriptor is used for no other write */
        return -errno;
    return write(fd, &zeros, (size_t)(end - size)) == end - size ? 0 : -ENOSPC;
}

void refusals_map(int wake_fd)
{
    if (extend(wake_fd) != 0)
        return;
    void *memory = mmap(NULL, sizeof(*pages), PROT_READ | PROT_WRITE, MAP_SHARED, wake_fd,
                        ANNOT_REFUSALS_OFFSET);
    pages = memory == MAP_FAILED ? NULL : memory;
}

/* Returns NULL for a place without a slot. */
static struct annot_refusal_slot *slot_of(uint64_t place)
{
    uint32_t index = (uint32_t)place & UNNAMED;
    return pages && index != 0 && index != UNNAMED
               ? &pages->slots[(index - 1) % ANNOT_REFUSAL_SLOTS]
               : NULL;
}

/* Takes a slot for this process. Returns 1 + its index, or UNNAMED. */
static uint32_t take(uint32_t first)
{
    const uint64_t mine = (uint64_t)first << 32 | (uint32_t)proc_pid_namespace();
    for (uint32_t probe = 0; probe < ANNOT_REFUSAL_SLOTS; probe++) {
        uint32_t index = (first + probe) % ANNOT_REFUSAL_SLOTS;
        uint64_t *owner = &pages->slots[index].owner, unowned = 0;
        /* Partner: itself; the collector that freed it. */
        if (annot_load_relaxed(owner) == 0 && annot_cas_acq_rel(owner, &unowned, mine))
            return index + 1;
    }
    return UNNAMED;
}

static void fill(struct annot_refusal_slot *slot, const struct refusal *refusal,
                 uint64_t session_id)
{
    char comm[16] = "";
    uint64_t late = __atomic_exchange_n(&slot->lost, 0, __ATOMIC_RELAXED);
    if (late) /* counted too late by its last owner */
        annot_fetch_add_relaxed(&pages->unnamed, late);
    prctl(PR_GET_NAME, comm);
    memcpy(slot->comm, comm, sizeof(slot->comm));
    slot->time_ns = clock_machine_ns(clock_monotonic_ns());
    slot->pid_ns = proc_pid_namespace();
    slot->session_id = session_id;
    slot->detail = refusal->detail;
    slot->pid = getpid();
    slot->ppid = getppid();
    slot->refusal = refusal->reason;
    slot->error = refusal->error;
    slot->over = 0;
}

int refusals_is_place(uint64_t place, uint64_t generation)
{
    return place != 0 && place >> INDEX_BITS == generation;
}

uint64_t refusals_note(uint64_t place, const struct refusal *refusal, uint64_t session_id,
                       uint64_t generation)
{
    const struct annot_refusal_slot *held = slot_of(place);
    if (!pages)
        return 0;
    if (refusals_is_place(place, generation) &&
        (!held || refusals_may_pass(refusal->error) || held->refusal == refusal->reason))
        return place;
    uint32_t index = take((uint32_t)getpid());
    place = generation << INDEX_BITS | index;
    struct annot_refusal_slot *slot = slot_of(place);
    if (slot) {
        fill(slot, refusal, session_id);
        annot_store_release(&slot->generation, generation); /* partner: the collector's loads */
    }
    return place;
}

void refusals_count(uint64_t place, uint64_t count)
{
    struct annot_refusal_slot *slot = slot_of(place);
    if (pages && place && count)
        annot_fetch_add_relaxed(slot ? &slot->lost : &pages->unnamed, count);
}

void refusals_end(uint64_t place, int is_member)
{
    struct annot_refusal_slot *slot = slot_of(place);
    if (!slot)
        return;
    if (!is_member) /* events that no session wants */
        annot_store_relaxed(&slot->lost, UINT64_C(0));
    annot_store_relaxed(&slot->over, 1u);
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
