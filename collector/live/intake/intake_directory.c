/* SPDX-License-Identifier: MIT */
/* Opens the directory safely, changes the generation, and removes an unused directory. */
#include "intake_directory.h"

#include "annot_barrier.h"
#include "annot_places.h"
#include "annot_wire.h"
#include "clock_now.h"
#include "file_io.h"
#include "guard.h"
#include "proc_info.h"
#include "session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAKE_TRIES = 8, FOREIGN_LOCK_TRIES = 250 };

/* The longest time that programs wait for the lock while mappings of others are searched. */
#define SEARCH_LOCKED_NS INT64_C(200000000)

/* Takes the opened directory, or returns the error. */
static int take(struct directory *directory, int fd)
{
    struct stat status;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) != 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    directory->fd = fd;
    directory->uid = status.st_uid;
    directory->gid = status.st_gid;
    return 0;
}

static int open_named(struct directory *directory, const char *path)
{
    struct annot_place_refusal ignored;
    size_t length = strlen(path);
    int made = 0;
    if (length >= sizeof(directory->path))
        return -ENAMETOOLONG;
    memcpy(directory->path, path, length + 1);
    int error = take(directory, annot_place_make(path, &made, &ignored));
    directory->made = made;
    return error;
}

int directory_make_file(const struct directory *directory, const char *name, int flags)
{
    bool ours = directory->uid == geteuid();
    gid_t group = ours ? 0 : (gid_t)setfsgid(directory->gid);
    uid_t user = ours ? 0 : (uid_t)setfsuid(directory->uid);
    int fd = openat(directory->fd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd < 0 ? -errno : 0;
    if (!ours) {
        setfsuid(user);
        setfsgid(group);
    }
    return error != 0 ? error : fd;
}

/* The path of the caller or the environment, or NULL. */
static const char *named(const char *path)
{
    if (!path)
        path = getenv(ANNOT_ENV_DIR);
    return path && *path ? path : NULL;
}

int directory_open(const char *path, struct directory *ret)
{
    struct annot_place_refusal ignored;
    *ret = (struct directory){.fd = -1};
    path = named(path);
    if (path)
        return open_named(ret, path);
    ret->made = true;
    return take(ret, annot_places_open(ret->path, sizeof(ret->path), &ignored));
}

int directory_open_existing(const char *path, struct directory *ret)
{
    *ret = (struct directory){.fd = -1, .made = true};
    path = named(path);
    if (!path)
        return take(ret, annot_places_find(ret->path, sizeof(ret->path)));
    return access(path, F_OK) == 0 ? directory_open(path, ret) : -ENOENT;
}

bool directory_is_default(const char *path, uint32_t uid)
{
    char place[DIRECTORY_PATH_SIZE];
    for (int i = 0; i < ANNOT_PLACES; i++)
        if (annot_place_path(i, uid, place, sizeof(place)) && strcmp(place, path) == 0)
            return true;
    return false;
}

void directory_close(struct directory *directory)
{
    if (directory->fd >= 0)
        close(directory->fd);
    directory->fd = -1;
}

/* Programs hold the lock for microseconds. Waiting for another user's program is limited. */
static int lock_wake(const struct directory *directory, int fd)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; directory->foreign && i < FOREIGN_LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        nanosleep(&pause, NULL);
    }
    return directory->foreign ? -EWOULDBLOCK : flock(fd, LOCK_EX);
}

/* Opens and locks the wake file; retries if it was unlinked meanwhile. */
static int open_wake(const struct directory *directory, int flags)
{
    struct stat status;
    for (int i = 0; i < WAKE_TRIES; i++) {
        int fd = openat(directory->fd, ANNOT_WAKE_NAME,
                        O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
        if (fd < 0)
            return -errno;
        if (lock_wake(directory, fd) == 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
            status.st_uid == directory->uid && status.st_nlink > 0)
            return fd;
        close(fd);
    }
    return -EAGAIN;
}

int directory_lock(const struct directory *directory)
{
    return open_wake(directory, 0);
}

struct wake_change {
    struct annot_wake *wake;
    bool open;
    int64_t generation;
};

/* Allocates the slots of programs that cannot take part: some of them may not extend the file. No
 * program maps it yet, as they do that under the lock. On failure the recording says so. */
static void fill_refusals(int fd)
{
    static const struct annot_refusals none;
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size >= ANNOT_REFUSALS_OFFSET + (off_t)sizeof(none) ||
        fallocate(fd, 0, ANNOT_REFUSALS_OFFSET, sizeof(none)) == 0 || errno != EOPNOTSUPP)
        return;
    if (pwrite(fd, &none, sizeof(none), ANNOT_REFUSALS_OFFSET) != sizeof(none))
        (void)!ftruncate(fd, ANNOT_REFUSALS_OFFSET);
}

/* Fills a page that was never written whole, so that it is no hole. */
static int fill_wake(int fd, bool made)
{
    struct annot_wake wake = {0};
    ssize_t got = pread(fd, &wake, sizeof(wake), 0);
    if (got < 0)
        return -errno;
    if (got == sizeof(wake) && wake.magic == ANNOT_WAKE_MAGIC && wake.major == ANNOT_WIRE_MAJOR)
        return 0;
    if (got == sizeof(wake) && ANNOT_MAGIC_IS_LIKE(wake.magic, ANNOT_WAKE_MAGIC))
        return -EPROTONOSUPPORT;
    if (got == sizeof(wake) && wake.magic != 0)
        return -EBADMSG;
    wake = (struct annot_wake){.magic = ANNOT_WAKE_MAGIC,
                               .major = ANNOT_WIRE_MAJOR,
                               .minor = ANNOT_WIRE_MINOR,
                               .flags = made ? ANNOT_WAKE_MADE_DIRECTORY : 0};
    return pwrite(fd, &wake, sizeof(wake), 0) == sizeof(wake) ? 0 : -ENOSPC;
}

/* Stores into a page that its owner may truncate. */
static int store_generation(void *context)
{
    struct wake_change *change = context;
    uint64_t generation = change->wake->last_generation + 1;
    change->wake->last_generation = generation;
    /* Partner: the gate of each program, which takes the slow path when it differs. */
    annot_store_release(&change->wake->generation, change->open ? generation : 0);
    change->generation = (int64_t)(generation & INT64_MAX);
    return 0;
}

static uint64_t read_last(int fd)
{
    uint64_t last;
    const size_t at = offsetof(struct annot_wake, last_generation);
    return file_read_at(fd, &last, sizeof(last), at) == sizeof(last) ? last : 0;
}

struct mapping {
    dev_t device;
    ino_t inode;
    int64_t deadline_ns;
    bool found;
};

/* Only processes of our uid can have opened a file in a directory that is ours and 0700. A search
 * that exceeds its time counts as found. */
static void look_for_mapping(void *context, pid_t pid, uid_t uid)
{
    struct mapping *mapping = context;
    if (!mapping->found && uid == geteuid())
        mapping->found = clock_now_ns() > mapping->deadline_ns ||
                         proc_has_mapped(pid, mapping->device, mapping->inode) == 1;
}

static bool is_mapped(int fd, int64_t deadline_ns)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return true;
    struct mapping mapping = {status.st_dev, status.st_ino, deadline_ns, false};
    proc_each(look_for_mapping, &mapping);
    return mapping.found;
}

/* True if the directory contains only the wake page. */
static bool is_bare(const struct directory *directory)
{
    DIR *stream = file_list_folder(directory->fd);
    bool bare = stream != NULL;
    for (const struct dirent *entry; bare && (entry = readdir(stream));)
        bare = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               strcmp(entry->d_name, ANNOT_WAKE_NAME) == 0;
    if (stream)
        closedir(stream);
    return bare;
}

/* True for the wake page and for sessions of this version. */
static bool is_ours(const struct directory *directory, const char *name)
{
    uint64_t magic = 0;
    if (name[0] == '.' || strcmp(name, ANNOT_WAKE_NAME) == 0)
        return true;
    int fd = openat(directory->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool read = fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic);
    if (fd >= 0)
        close(fd);
    return read && magic == ANNOT_SESSION_MAGIC;
}

/* True if the directory has no sessions and programs of another version. */
static bool is_ours_alone(const struct directory *directory)
{
    DIR *stream = file_list_folder(directory->fd);
    bool alone = stream != NULL;
    for (const struct dirent *entry; alone && (entry = readdir(stream));)
        alone = is_ours(directory, entry->d_name);
    if (stream)
        closedir(stream);
    return alone;
}

/* Replaces the page of another version that is left over: no process maps it. Call with the
 * lock. */
static int renew_wake(const struct directory *directory, int fd)
{
    if (directory->foreign || !is_ours_alone(directory) ||
        is_mapped(fd, clock_now_ns() + SEARCH_LOCKED_NS))
        return -EPROTONOSUPPORT;
    return ftruncate(fd, 0) == 0 ? fill_wake(fd, directory->made) : -errno;
}

static int64_t wake(struct directory *directory, bool last)
{
    int fd = open_wake(directory, directory->foreign ? 0 : O_CREAT);
    if (fd < 0)
        return fd;
    int64_t result = fill_wake(fd, directory->made);
    if (result == -EPROTONOSUPPORT)
        result = renew_wake(directory, fd);
    if (result == 0)
        fill_refusals(fd);
    struct wake_change change = {.wake = MAP_FAILED};
    if (result == 0) {
        change.wake = mmap(NULL, sizeof(*change.wake), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        result = change.wake == MAP_FAILED ? -errno : 0;
    }
    if (result == 0) {
        const struct guard_range range = {change.wake, sizeof(*change.wake)};
        /* Counted under the lock: the last of two sessions that end at once finds zero live ones.
         * If counting fails (no memory, no descriptor), programs check themselves. */
        change.open = last || session_count_live(directory) != 0;
        result = guard_install();
        if (result == 0)
            session_note_leaving(directory, read_last(fd) + 1);
        result = result == 0 ? guard_call(&range, store_generation, &change) : result;
        result = result == 0 ? change.generation : result;
        munmap(change.wake, sizeof(*change.wake));
    }
    close(fd);
    return result;
}

int64_t directory_wake(struct directory *directory)
{
    return wake(directory, false);
}

int64_t directory_wake_last(struct directory *directory)
{
    return wake(directory, true);
}

/* Checks without the lock, which starting programs wait for: most results need nothing further. */
static bool is_used(const struct directory *directory)
{
    int fd = openat(directory->fd, ANNOT_WAKE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool used = fd >= 0 && is_mapped(fd, INT64_MAX);
    if (fd >= 0)
        close(fd);
    return used;
}

int directory_remove_unused(struct directory *directory)
{
    if (directory->foreign || !is_bare(directory) || is_used(directory))
        return 0;
    int fd = open_wake(directory, 0);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    int error = fd >= 0 ? fill_wake(fd, directory->made) : 0;
    if (error != 0) { /* another version's page is not ours to remove */
        close(fd);
        return error;
    }
    uint32_t flags = 0;
    bool made = directory->made;
    if (fd >= 0 && pread(fd, &flags, sizeof(flags), offsetof(struct annot_wake, flags)) ==
                       (ssize_t)sizeof(flags))
        made = made || (flags & ANNOT_WAKE_MADE_DIRECTORY);
    bool unused =
        fd < 0 || (is_bare(directory) && !is_mapped(fd, clock_now_ns() + SEARCH_LOCKED_NS));
    if (unused && fd >= 0)
        unlinkat(directory->fd, ANNOT_WAKE_NAME, 0);
    if (fd >= 0)
        close(fd);
    if (!unused || !made)
        return unused;
    return rmdir(directory->path) == 0 ? 1 : -errno;
}
