/* SPDX-License-Identifier: MIT */
/* Choosing and opening the default directory: see annot_places.h. */
#include "annot_places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 8, /* a collector may remove it, or its maker may not have finished */
    PAUSE_NS = 1000 * 1000,
    PRIVATE = 0700,
    ALL_BITS = 07777,
};

static int refuse(struct annot_place_refusal *ret, enum annot_refusal reason, int error,
                  uint64_t detail)
{
    *ret = (struct annot_place_refusal){(uint16_t)reason, (uint16_t)error, detail};
    return -error;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

struct path {
    char *text;
    size_t size, length; /* a length of `size` or more: too long */
};

static void append(struct path *path, const char *text)
{
    for (; *text; text++, path->length++)
        if (path->length < path->size)
            path->text[path->length] = *text;
}

static void append_number(struct path *path, uint32_t number)
{
    char text[12], *at = text + sizeof(text) - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    append(path, at);
}

size_t annot_place_path(int place, uint32_t uid, char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct path built = {path, size, 0};
    if (place < ANNOT_PLACES_SHARED) {
        append(&built, "/dev/shm/annot-");
        append_number(&built, uid);
        append(&built, place > 0 ? "." : "");
        if (place > 0)
            append_number(&built, (uint32_t)place);
    } else if (place < ANNOT_PLACES && runtime && *runtime == '/') {
        append(&built, runtime);
        append(&built, "/annot");
    }
    if (built.length >= size)
        built.length = 0;
    if (size > 0)
        path[built.length] = 0;
    return built.length;
}

/* ---- One place ------------------------------------------------------------------------------- */

/* A directory of another user may deny opening; a link or a file there cannot be opened. */
static int refuse_unopened(const char *path, int error, struct annot_place_refusal *ret_refusal)
{
    struct stat status;
    if (error != ENOENT && lstat(path, &status) == 0 && status.st_uid != geteuid())
        return refuse(ret_refusal, ANNOT_REFUSAL_DIR_OWNER, EACCES, status.st_uid);
    return refuse(ret_refusal, ANNOT_REFUSAL_NO_DIRECTORY, error, 0);
}

int annot_place_open(const char *path, struct annot_place_refusal *ret_refusal)
{
    struct stat status;
    int error = 0, fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret_refusal = (struct annot_place_refusal){0};
    if (fd < 0)
        return refuse_unopened(path, errno, ret_refusal);
    if (fstat(fd, &status) != 0)
        error = refuse(ret_refusal, ANNOT_REFUSAL_SYSTEM, errno, 0);
    else if (status.st_uid != geteuid())
        error = refuse(ret_refusal, ANNOT_REFUSAL_DIR_OWNER, EACCES, status.st_uid);
    else if ((status.st_mode & ALL_BITS) != PRIVATE)
        error = refuse(ret_refusal, ANNOT_REFUSAL_DIR_MODE, EACCES, status.st_mode & ALL_BITS);
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

/* True for the state between mkdir under a narrow umask and chmod, in another process of ours. */
static int is_half_made(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & ALL_BITS) != PRIVATE && (status.st_mode & ALL_BITS & ~PRIVATE) == 0;
}

int annot_place_make(const char *path, int *ret_made, struct annot_place_refusal *ret_refusal)
{
    const struct timespec pause = {0, PAUSE_NS};
    int fd = -1;
    *ret_made = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        int unmade = mkdir(path, PRIVATE) == 0 ? 0 : errno;
        if (!unmade)
            *ret_made = chmod(path, PRIVATE) == 0; /* the umask may have been narrower */
        fd = annot_place_open(path, ret_refusal);
        if (fd == -ENOENT && unmade && unmade != EEXIST)
            return refuse(ret_refusal, ANNOT_REFUSAL_NO_DIRECTORY, unmade, 0);
        if (fd >= 0 || (fd != -ENOENT && !is_half_made(path)))
            return fd;
        if (fd != -ENOENT)
            nanosleep(&pause, NULL);
    }
    return fd;
}

/* ---- The choice ------------------------------------------------------------------------------ */

int annot_places_find(char *path, size_t size)
{
    struct annot_place_refusal ignored;
    for (int place = 0; place < ANNOT_PLACES; place++) {
        int fd = annot_place_path(place, geteuid(), path, size) ? annot_place_open(path, &ignored)
                                                                : -ENOENT;
        if (fd >= 0)
            return fd;
    }
    annot_place_path(0, geteuid(), path, size);
    return -ENOENT;
}

int annot_places_open(char *path, size_t size, struct annot_place_refusal *ret_refusal)
{
    struct annot_place_refusal other;
    int made, error = -ENOENT, fd = annot_places_find(path, size);
    for (int place = 0; fd < 0 && place < ANNOT_PLACES; place++) {
        if (!annot_place_path(place, geteuid(), path, size))
            continue;
        fd = annot_place_make(path, &made, place == 0 ? ret_refusal : &other);
        if (place == 0)
            error = fd;
    }
    if (fd >= 0) {
        *ret_refusal = (struct annot_place_refusal){0};
        return fd;
    }
    annot_place_path(0, geteuid(), path, size);
    return error;
}
