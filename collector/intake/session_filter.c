/* SPDX-License-Identifier: MIT */
/* System calls on the session file are the order here: each is whole before the next begins. */
#include "session_filter.h"

#include "clock_now.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { READ_TRIES = 8 };

#define ODD_NS INT64_C(200000000) /* a writer that takes longer is dead, or as good as dead */

#define FILTER_AT ((off_t)offsetof(struct annot_session, filter_sequence))

_Static_assert(offsetof(struct annot_session, filter) ==
                   offsetof(struct annot_session, filter_sequence) +
                       offsetof(struct session_filter, text),
               "the file and the struct are alike");

static int read_sequence(int fd, uint32_t *ret_sequence)
{
    ssize_t got = pread(fd, ret_sequence, sizeof(*ret_sequence), FILTER_AT);
    return got < 0 ? -errno : got == sizeof(*ret_sequence) ? 0 : -EBADMSG;
}

static int read_once(int fd, struct session_filter *filter)
{
    uint32_t after;
    ssize_t got = pread(fd, filter, sizeof(*filter), FILTER_AT);
    if (got != sizeof(*filter))
        return got < 0 ? -errno : -EBADMSG;
    int error = read_sequence(fd, &after);
    if (error != 0)
        return error;
    if (after != filter->sequence || after % 2 != 0)
        return -EAGAIN;
    return filter->size <= ANNOT_FILTER_MAX ? 0 : -EBADMSG;
}

int session_filter_read(int fd, struct session_filter *ret_filter)
{
    int error = -EAGAIN;
    for (int i = 0; i < READ_TRIES && error == -EAGAIN; i++)
        error = read_once(fd, ret_filter);
    return error;
}

static int write_filter(int fd, const void *bytes, size_t size)
{
    ssize_t written = pwrite(fd, bytes, size, FILTER_AT);
    return written < 0 ? -errno : (size_t)written == size ? 0 : -ENOSPC;
}

int session_filter_write(int fd, const char *text, size_t size, uint32_t *ret_sequence)
{
    struct session_filter filter = {.size = (uint32_t)size};
    if (size > ANNOT_FILTER_MAX)
        return -E2BIG;
    memcpy(filter.text, text, size);
    int error = read_sequence(fd, &filter.sequence);
    if (error != 0)
        return error;
    filter.sequence |= 1; /* odd already: of one who died */
    error = write_filter(fd, &filter.sequence, sizeof(filter.sequence));
    if (error == 0)
        error = write_filter(fd, &filter, sizeof(filter));
    *ret_sequence = ++filter.sequence;
    return error != 0 ? error : write_filter(fd, &filter.sequence, sizeof(filter.sequence));
}

#define TOLD_AT ((off_t)offsetof(struct annot_session, filter_told))

int session_filter_told(int fd, uint32_t *ret_sequence)
{
    ssize_t got = pread(fd, ret_sequence, sizeof(*ret_sequence), TOLD_AT);
    return got < 0 ? -errno : got == sizeof(*ret_sequence) ? 0 : -EBADMSG;
}

int session_filter_set_told(int fd, uint32_t sequence)
{
    ssize_t written = pwrite(fd, &sequence, sizeof(sequence), TOLD_AT);
    return written < 0 ? -errno : written == sizeof(sequence) ? 0 : -ENOSPC;
}

/* If it is odd while we hold the lock, nobody is writing any more: the rules stay as they were. */
static int take_back(const struct directory *directory, int fd, const struct filter_rules *rules)
{
    uint32_t sequence;
    int lock_fd = directory_lock(directory);
    if (lock_fd < 0)
        return lock_fd;
    int error = read_sequence(fd, &sequence);
    if (error == 0 && sequence % 2 != 0)
        error = session_filter_write(fd, rules->text, rules->size, &sequence);
    close(lock_fd);
    return error;
}

static int wait_for_writer(struct session_filter_watch *watch, const struct directory *directory,
                           int fd, const struct filter_rules *rules)
{
    int64_t now_ns = clock_now_ns();
    if (watch->odd_since_ns == 0)
        watch->odd_since_ns = now_ns;
    if (now_ns - watch->odd_since_ns < ODD_NS)
        return 0;
    watch->odd_since_ns = 0;
    return take_back(directory, fd, rules);
}

int session_filter_poll(struct session_filter_watch *watch, const struct directory *directory,
                        int fd, struct filter_rules *rules)
{
    struct session_filter filter;
    uint32_t sequence;
    int error = read_sequence(fd, &sequence);
    if (error != 0 || sequence == watch->sequence)
        return error;
    error = sequence % 2 != 0 ? -EAGAIN : session_filter_read(fd, &filter);
    if (error == -EAGAIN)
        return wait_for_writer(watch, directory, fd, rules);
    if (error != 0)
        return error;
    watch->odd_since_ns = 0;
    watch->sequence = filter.sequence;
    if (filter.size == rules->size && memcmp(filter.text, rules->text, filter.size) == 0)
        return 0;
    memcpy(rules->text, filter.text, filter.size);
    rules->size = filter.size;
    rules->revision += rules->revision == UINT32_MAX ? 2 : 1;
    return 1;
}
