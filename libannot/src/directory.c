/* SPDX-License-Identifier: MIT */
/* Choosing and opening the directory, mapping the wake page: see directory.h. */
#include "directory.h"

#include "proc.h"
#include "refused.h"

#include <annot/annot.h>
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

APART int directory_open(struct refusal *refusal)
{
    struct stat status;
    if (directory_path[0] == 0)
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, ENOENT, 0);
    int fd = open(directory_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && stat(directory_path, &status) == 0 &&
        status.st_uid != geteuid())
        return refuse(refusal, ANNOT_REFUSAL_DIR_OWNER, EACCES, status.st_uid);
    if (fd < 0)
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, errno, 0);
    int error = 0;
    if (fstat(fd, &status) != 0)
        error = refuse(refusal, ANNOT_REFUSAL_SYSTEM, errno, 0);
    else if (status.st_uid != geteuid())
        error = refuse(refusal, ANNOT_REFUSAL_DIR_OWNER, EACCES, status.st_uid);
    else if ((status.st_mode & 07777) != 0700)
        error = refuse(refusal, ANNOT_REFUSAL_DIR_MODE, EACCES, status.st_mode & 07777);
    if (error) {
        close(fd);
        return error;
    }
    return fd;
}

/* Makes sure of a whole page: a hole or a short file would be a SIGBUS later. */
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

/* A collector holds the lock exclusively for microseconds; when it takes leave, for 50 ms at
 * most. */
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

/* A collector that takes leave unlinks the page under its lock: then the next one is opened. */
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
            close(fd); /* with the lock */
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
        flock(fd, LOCK_UN); /* the mapping keeps the file open: closing would not do it */
        close(fd);
        return error;
    }
    return refuse(refusal, ANNOT_REFUSAL_SYSTEM, EAGAIN, 0);
}

/* Tries what directory_path holds up to `at`, and `name`. Returns 0 or negative errno. */
static int try_path(char *at, const char *name, struct refusal *refusal)
{
    const char *end = directory_path + sizeof(directory_path);
    at = text_append(at, end, name);
    if (at + 1 >= end) {
        directory_path[0] = 0;
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, ENAMETOOLONG, 0);
    }
    int error = -ENOENT;
    for (int i = 0; i < PLACE_ATTEMPTS && error == -ENOENT; i++) { /* a collector may remove it */
        if (mkdir(directory_path, 0700) == 0)
            chmod(directory_path, 0700); /* the umask may have been narrower */
        int fd = directory_open(refusal);
        error = fd < 0 ? fd : wake_map(fd, refusal);
        if (fd >= 0)
            close(fd);
    }
    if (error)
        directory_path[0] = 0;
    return error;
}

static int try_place(const char *parent, const char *name, struct refusal *refusal)
{
    const char *end = directory_path + sizeof(directory_path);
    return try_path(text_append(directory_path, end, parent), name, refusal);
}

/* A relative path must still mean the same place after chdir. */
static int try_environment(const char *path, struct refusal *refusal)
{
    const char *end = directory_path + sizeof(directory_path);
    if (path[0] == '/')
        return try_place(path, "", refusal);
    if (!getcwd(directory_path, sizeof(directory_path))) {
        directory_path[0] = 0;
        return refuse(refusal, ANNOT_REFUSAL_NO_DIRECTORY, errno, 0);
    }
    return try_path(text_append(directory_path + strlen(directory_path), end, "/"), path, refusal);
}

void directory_setup(struct refusal *refusal)
{
    struct refusal second = {0};
    char name[32] = "annot-";
    const char *path = getenv(ANNOT_ENV_DIR);
    if (path && *path) {
        if (try_environment(path, refusal) == 0)
            refusal->reason = ANNOT_REFUSAL_NONE;
        return;
    }
    text_append_decimal(name + strlen(name), name + sizeof(name), geteuid());
    if (try_place("/dev/shm/", name, refusal) == 0) {
        refusal->reason = ANNOT_REFUSAL_NONE;
        return;
    }
    path = getenv("XDG_RUNTIME_DIR");
    if (path && path[0] == '/' && try_place(path, "/annot", &second) == 0)
        refusal->reason = ANNOT_REFUSAL_NONE;
}
