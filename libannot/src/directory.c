/* SPDX-License-Identifier: MIT */
/* Choosing and opening the directory, mapping the wake page: see directory.h. */
#include "directory.h"

#include "proc.h"
#include "refused.h"

#include <annot/annot.h>
#include <annot_places.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOCK_ATTEMPTS = 40, /* a quarter of a second: much longer than a collector holds it */
    LOCK_PAUSE_NS = 250 * 1000,
    LOCK_PAUSE_MAX_NS = 8 * 1000 * 1000,
    PLACE_ATTEMPTS = 4,
};

/* Page-aligned, so that the wake page can be mapped over it. */
ANNOT_API __attribute__((aligned(ANNOT_GATE_SIZE))) struct annot_gate annot_gate_v1;

static char directory_path[512]; /* W: constructor */

static int refuse(struct refusal *refusal, enum annot_refusal reason, int error, uint64_t detail)
{
    refusal->reason = (uint16_t)reason;
    refusal->error = (uint16_t)error;
    refusal->detail = detail;
    return error ? -error : -EACCES;
}

int file_size_allowed(uint64_t size, uint64_t *ret_limit)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    *ret_limit = limit.rlim_cur;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size;
}

int directory_open_any(int directory_fd, const char *name, int flags)
{
    int fd = openat(directory_fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    return fd < 0 ? -errno : fd;
}

APART int directory_only_file(int fd)
{
    struct stat status;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
        return fd;
    close(fd);
    return -EBADMSG;
}

int directory_open_file(int directory_fd, const char *name, int flags)
{
    return directory_only_file(directory_open_any(directory_fd, name, flags));
}

static int refuse_place(struct refusal *refusal, const struct annot_place_refusal *from)
{
    return refuse(refusal, from->reason, from->error, from->detail);
}

APART int directory_open(struct refusal *refusal)
{
    struct annot_place_refusal why;
    if (directory_path[0] == 0)
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, ENOENT, 0);
    int fd = annot_place_open(directory_path, &why);
    return fd < 0 ? refuse_place(refusal, &why) : fd;
}

/* Ensures a whole page: a hole or a short file would cause SIGBUS later. */
static APART int wake_prepare(int fd, struct refusal *refusal)
{
    static const struct annot_wake fresh = {
        .magic = ANNOT_WAKE_MAGIC, .major = ANNOT_WIRE_MAJOR, .minor = ANNOT_WIRE_MINOR};
    uint64_t limit = 0, magic;
    uint32_t major;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0)
        return refuse(refusal, ANNOT_REFUSAL_SYSTEM, errno, 0);
    if (size < (off_t)sizeof(fresh)) {
        if (!file_size_allowed(sizeof(fresh), &limit))
            return refuse(refusal, ANNOT_REFUSAL_FILE_SIZE, EFBIG, limit);
        if (pwrite(fd, &fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh))
            return refuse(refusal, ANNOT_REFUSAL_NO_SPACE, errno ? errno : ENOSPC, 0);
    }
    if (pread(fd, &magic, sizeof(magic), offsetof(struct annot_wake, magic)) != sizeof(magic) ||
        pread(fd, &major, sizeof(major), offsetof(struct annot_wake, major)) != sizeof(major))
        return refuse(refusal, ANNOT_REFUSAL_SYSTEM, EIO, 0);
    if (magic != ANNOT_WAKE_MAGIC || major != ANNOT_WIRE_MAJOR)
        return refuse(refusal, ANNOT_REFUSAL_VERSION, EPROTO, major);
    return 0;
}

/* A collector holds the lock exclusively for microseconds; when it leaves, for 50 ms at most. */
static int lock_shared(int fd)
{
    struct timespec pause = {0, LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_ATTEMPTS; i++) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            return 0;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LOCK_PAUSE_MAX_NS)
            pause.tv_nsec *= 2;
    }
    return -EWOULDBLOCK;
}

static int wake_open(int directory_fd)
{
    int fd = directory_open_file(directory_fd, ANNOT_WAKE_NAME, O_RDWR);
    if (fd == -ENOENT)
        fd = directory_open_file(directory_fd, ANNOT_WAKE_NAME, O_RDWR | O_CREAT);
    if (fd == -EROFS || fd == -EACCES)
        fd = directory_open_file(directory_fd, ANNOT_WAKE_NAME, O_RDONLY);
    return fd;
}

/* A collector that leaves unlinks the page under its lock: then the next one is opened. */
static APART int wake_is_linked(int directory_fd, int fd)
{
    struct stat by_name, by_fd;
    return fstatat(directory_fd, ANNOT_WAKE_NAME, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino;
}

static int wake_map(int directory_fd, struct refusal *refusal)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        int fd = wake_open(directory_fd);
        if (fd < 0)
            return refuse(refusal,
                          fd == -ENOSPC || fd == -EROFS ? ANNOT_REFUSAL_NO_SPACE
                                                        : ANNOT_REFUSAL_NO_DIRECTORY,
                          -fd, 0);
        int error = lock_shared(fd);
        if (error == 0 && !wake_is_linked(directory_fd, fd)) {
            close(fd); /* releases the lock */
            continue;
        }
        if (error)
            refuse(refusal, ANNOT_REFUSAL_SYSTEM, -error, 0);
        else
            error = wake_prepare(fd, refusal);
        if (error == 0 && mmap(&annot_gate_v1, sizeof(annot_gate_v1), PROT_READ,
                               MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
            error = refuse(refusal, ANNOT_REFUSAL_MAP, errno, 0);
        if (error == 0)
            refusals_map(fd);
        flock(fd, LOCK_UN); /* the mapping keeps the file open: closing would not unlock it */
        close(fd);
        return error;
    }
    return refuse(refusal, ANNOT_REFUSAL_SYSTEM, EAGAIN, 0);
}

/* Writes the path that the environment names. A relative one must still mean the same place after
 * chdir. Returns 0 or negative errno with the refusal filled. */
static int spell_named(const char *named, struct refusal *refusal)
{
    const char *end = directory_path + sizeof(directory_path);
    char *at = directory_path;
    if (named[0] != '/') {
        if (!getcwd(directory_path, sizeof(directory_path)))
            return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, errno, 0);
        at = text_append(at + strlen(at), end, "/");
    }
    if (text_append(at, end, named) + 1 >= end)
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, ENAMETOOLONG, 0);
    return 0;
}

/* Opens or makes the directory named by directory_path, or chooses one and writes its path. */
static APART int open_chosen(int named, struct refusal *refusal)
{
    struct annot_place_refusal why;
    int made;
    int fd = named ? annot_place_make(directory_path, &made, &why)
                   : annot_places_open(directory_path, sizeof(directory_path), &why);
    return fd < 0 ? refuse_place(refusal, &why) : fd;
}

static int setup(struct refusal *refusal)
{
    const char *path = getenv(ANNOT_ENV_DIR);
    int named = path && *path, error = named ? spell_named(path, refusal) : 0;
    for (int i = 0; i < PLACE_ATTEMPTS && (i == 0 ? !error : error == -ENOENT); i++) {
        int fd = open_chosen(named, refusal);
        error = fd < 0 ? fd : wake_map(fd, refusal); /* a collector may remove both */
        if (fd >= 0)
            close(fd);
    }
    return error;
}

void directory_setup(struct refusal *refusal)
{
    if (setup(refusal) == 0)
        refusal->reason = ANNOT_REFUSAL_NONE;
    else
        directory_path[0] = 0;
}
