/* SPDX-License-Identifier: MIT */
/* Loops around read and write. SIGXFSZ is blocked in the calling thread while it writes, and
 * removed from the queue if the write raised it. Thread-safety: yes. */
#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int file_open_regular(int folder, const char *path, int flags, struct stat *ret_status)
{
    struct stat status;
    int follow = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
    if (fstatat(folder, path, &status, follow) != 0)
        return -errno;
    if (S_ISLNK(status.st_mode))
        return -ELOOP;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    int fd = openat(folder, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int error = fstat(fd, &status) != 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
    if (error != 0) {
        close(fd);
        return error;
    }
    if (ret_status)
        *ret_status = status;
    return fd;
}

static int write_loop(int fd, const char *at, size_t size)
{
    while (size > 0) {
        ssize_t count = write(fd, at, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? -errno : -EIO;
        at += count;
        size -= (size_t)count;
    }
    return 0;
}

static sigset_t limit_signal(void)
{
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    return limit;
}

void file_limit_hold(sigset_t *ret_before)
{
    const sigset_t limit = limit_signal();
    pthread_sigmask(SIG_BLOCK, &limit, ret_before);
}

bool file_limit_hit(const sigset_t *before)
{
    sigset_t pending;
    sigpending(&pending);
    return !sigismember(before, SIGXFSZ) && sigismember(&pending, SIGXFSZ);
}

void file_limit_release(const sigset_t *before)
{
    const sigset_t limit = limit_signal();
    if (file_limit_hit(before))
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int file_write_all(int fd, const void *bytes, size_t size)
{
    sigset_t before;
    file_limit_hold(&before);
    int error = write_loop(fd, bytes, size);
    file_limit_release(&before);
    return error;
}

ssize_t file_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t got = 0;
    while (got < size) {
        ssize_t count = pread(fd, (char *)bytes + got, size - got, (off_t)(offset + got));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        got += (size_t)count;
    }
    return (ssize_t)got;
}

ssize_t file_read_text(const char *path, char *text, size_t size)
{
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, text, size - 1);
    int error = errno;
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got < 0 ? -error : got;
}

DIR *file_list_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    int error = errno;
    if (!stream && fd >= 0)
        close(fd);
    errno = error;
    return stream;
}

int file_lock(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    if (S_ISREG(status.st_mode) && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return -EBUSY;
    return 0;
}

enum { TEMPORARY_FOLDERS = 3 };

static const char *temporary_folder(unsigned index)
{
    const char *chosen = getenv("TMPDIR");
    const char *const folders[TEMPORARY_FOLDERS] = {chosen ? chosen : "/var/tmp", "/var/tmp",
                                                    "/tmp"};
    return folders[index];
}

int file_open_temporary(void)
{
    int error = 0;
    for (unsigned i = 0; i < TEMPORARY_FOLDERS; i++) {
        int fd = open(temporary_folder(i), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        error = error ? error : -errno;
    }
    return error;
}

int file_open_named(char path[FILE_TEMPORARY_SIZE])
{
    int error = 0;
    for (unsigned i = 0; i < TEMPORARY_FOLDERS; i++) {
        int length = snprintf(path, FILE_TEMPORARY_SIZE, "%s/annot-XXXXXX", temporary_folder(i));
        int fd = length < FILE_TEMPORARY_SIZE ? mkostemp(path, O_CLOEXEC) : -1;
        if (fd >= 0)
            return fd;
        error = error ? error : length < FILE_TEMPORARY_SIZE ? -errno : -ENAMETOOLONG;
    }
    return error;
}
