/* SPDX-License-Identifier: MIT */
/* Slots are given back under the lock of the wake page: by one at a time. */
#include "refusals.h"

#include "annot_barrier.h"
#include "clock_now.h"
#include "file_io.h"
#include "guard.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_pages(const struct directory *directory)
{
    return file_open_regular(directory->fd, ANNOT_WAKE_NAME, O_RDONLY | O_NOFOLLOW, NULL);
}

/* Whether it was the same while it was copied. */
static bool is_whole(int fd, int index, const struct annot_refusal_slot *slot)
{
    uint64_t after;
    const size_t at = ANNOT_REFUSALS_OFFSET + offsetof(struct annot_refusals, slots) +
                      (size_t)index * sizeof(*slot) +
                      offsetof(struct annot_refusal_slot, generation);
    return slot->generation != 0 && slot->pid > 0 &&
           (uint32_t)(slot->owner >> 32) == (uint32_t)slot->pid &&
           slot->time_ns <= (uint64_t)clock_now_ns() &&
           file_read_at(fd, &after, sizeof(after), at) == sizeof(after) &&
           after == slot->generation;
}

static int read_pages(int fd, struct annot_refusals *pages)
{
    ssize_t got = file_read_at(fd, pages, sizeof(*pages), ANNOT_REFUSALS_OFFSET);
    if (got != sizeof(*pages))
        return got < 0 ? (int)got : -ENOENT;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++)
        if (pages->slots[i].owner != 0 && !is_whole(fd, i, &pages->slots[i]))
            pages->slots[i].owner = 0;
    return 0;
}

int refusal_pages_read(const struct directory *directory, struct annot_refusals *ret_pages)
{
    int fd = open_pages(directory);
    if (fd < 0)
        return fd;
    int error = read_pages(fd, ret_pages);
    close(fd);
    return error;
}

int refusal_pages_begin(const struct directory *directory, const struct session_file *file)
{
    const size_t count_at = ANNOT_REFUSALS_OFFSET + offsetof(struct annot_refusals, unnamed);
    const size_t last_at = offsetof(struct annot_wake, last_generation);
    uint64_t last = 0, unnamed = 0;
    int fd = open_pages(directory);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    if (fd >= 0 && file_read_at(fd, &last, sizeof(last), last_at) != sizeof(last))
        last = 0;
    if (fd >= 0 && file_read_at(fd, &unnamed, sizeof(unnamed), count_at) != sizeof(unnamed))
        unnamed = 0;
    if (fd >= 0)
        close(fd);
    return session_file_begin(file, &(struct session_span){last + 1, 0, unnamed});
}

/* ---- Giving back ---- */

struct sweep {
    VEC(struct session_span) spans;
    struct annot_refusals pages;
    struct annot_refusals *shared;
};

static int list_spans(const struct directory *directory, struct sweep *sweep)
{
    int error = 0;
    DIR *stream = file_list_folder(directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; error == 0 && (entry = readdir(stream));) {
        struct annot_session session;
        uint64_t id;
        if (!session_name_parse(entry->d_name, &id))
            continue;
        error = session_file_peek(directory, entry->d_name, &session);
        if (error == 0)
            error = vec_push(&sweep->spans, ((struct session_span){session.begin_generation,
                                                                   session.end_generation, 0}));
        else if (error != -EMFILE && error != -ENFILE && error != -ENOMEM)
            error = 0; /* one that nobody can ask for */
    }
    closedir(stream);
    return error;
}

static bool is_wanted(const struct sweep *sweep, uint64_t generation)
{
    for (size_t i = 0; i < sweep->spans.count; i++) {
        const struct session_span *span = &sweep->spans.items[i];
        if (span->begin_generation != 0 && generation >= span->begin_generation &&
            (span->end_generation == 0 || generation < span->end_generation))
            return true;
    }
    return false;
}

static int give_back(void *context)
{
    struct sweep *sweep = context;
    for (int i = 0; i < ANNOT_REFUSAL_SLOTS; i++) {
        struct annot_refusal_slot *slot = &sweep->shared->slots[i];
        if (sweep->pages.slots[i].owner == 0 || is_wanted(sweep, sweep->pages.slots[i].generation))
            continue;
        annot_store_relaxed(&slot->lost, UINT64_C(0)); /* what comes later, its next owner finds */
        annot_store_release(&slot->generation, UINT64_C(0)); /* partner: readers' loads */
        annot_store_release(&slot->owner, UINT64_C(0));      /* partner: the swap of who takes it */
    }
    return 0;
}

static void sweep_locked(const struct directory *directory, int fd)
{
    struct sweep sweep = {.shared = MAP_FAILED};
    int error = read_pages(fd, &sweep.pages);
    if (error == 0)
        error = list_spans(directory, &sweep);
    if (error == 0)
        sweep.shared = mmap(NULL, sizeof(*sweep.shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                            ANNOT_REFUSALS_OFFSET);
    if (sweep.shared != MAP_FAILED) {
        const struct guard_range range = {sweep.shared, sizeof(*sweep.shared)};
        if (guard_install() == 0)
            (void)guard_call(&range, give_back, &sweep);
        munmap(sweep.shared, sizeof(*sweep.shared));
    }
    vec_free(&sweep.spans);
}

void refusal_pages_sweep(const struct directory *directory)
{
    int fd = directory_lock(directory);
    if (fd < 0)
        return;
    sweep_locked(directory, fd);
    close(fd);
}
