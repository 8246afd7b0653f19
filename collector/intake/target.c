/* SPDX-License-Identifier: MIT */
/* Looking at a running program. What its mappings say are paths as it names them: they are resolved
 * inside of its own root, where a link leads to what it leads to for the program. */
#include "target.h"

#include "file_io.h"
#include "proc_info.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char removed[] = " (deleted)";

/* ---- Mappings ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}

/* "DIRECTORY/wake", one page: the first one counts. */
static void take_wake(struct target *target, const struct maps_line *line)
{
    size_t length = strlen(line->path);
    bool gone = ends_with(line->path, length, removed);
    length -= gone ? strlen(removed) : 0;
    if (!ends_with(line->path, length, "/" ANNOT_WAKE_NAME))
        return;
    length -= strlen("/" ANNOT_WAKE_NAME);
    if (length >= sizeof(target->path) || length == 0)
        return;
    memcpy(target->path, line->path, length);
    target->path[length] = 0;
    target->wake_inode = line->inode;
    target->state = gone ? TARGET_STRAY : TARGET_READY;
}

static int take_mapping(void *context, const struct maps_line *line)
{
    struct target *target = context;
    const char *name = strrchr(line->path, '/');
    if (line->path[0] != '/' || target->path[0])
        return 0;
    if (line->offset == 0 && line->end - line->begin == ANNOT_PAGE_SIZE)
        take_wake(target, line);
    if (target->state == TARGET_PLAIN &&
        (strncmp(name, "/libannot.so", 12) == 0 || strstr(line->path, "/pyannot/_native.")))
        target->state = TARGET_SHUT; /* unless its wake page comes yet */
    return 0;
}

/* ---- Who it is ---- */

static int read_owner(struct target *target)
{
    char path[64], text[4096];
    unsigned real, effective;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)target->pid);
    ssize_t size = file_read_text(path, text, sizeof(text));
    if (size <= 0)
        return -ESRCH;
    const char *line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u", &real, &effective) != 2)
        return -ESRCH;
    target->uid = effective;
    target->ns_pid = proc_innermost(text);
    return target->ns_pid > 0 ? 0 : -ESRCH;
}

/* Whether a namespace of the process is ours; unknown is not. */
static bool shares(int32_t pid, const char *kind)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
    if (stat(path, &theirs) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
    return stat(path, &ours) == 0 && theirs.st_ino == ours.st_ino;
}

int target_look(int32_t pid, struct target *ret)
{
    struct proc_stat stat;
    struct directory directory;
    *ret = (struct target){.pid = pid, .state = TARGET_PLAIN};
    int error = proc_stat(pid, &stat);
    if (error == 0 && stat.state == 'Z' && stat.thread_count <= 1)
        error = -ESRCH;
    if (error == 0)
        error = read_owner(ret);
    if (error != 0)
        return error;
    memcpy(ret->comm, stat.comm, sizeof(ret->comm));
    ret->pid_ns = proc_pid_namespace(pid);
    ret->start_ticks = shares(pid, "time") ? stat.start_ticks : 0; /* counted from another boot */
    ret->elsewhere = !shares(pid, "mnt");
    error = maps_each(pid, take_mapping, ret);
    if (error == -EACCES || error == -EPERM) {
        ret->state = TARGET_HIDDEN;
        return 0;
    }
    if (error == 0 && ret->state == TARGET_READY) {
        if (target_open_directory(ret, &directory) != 0)
            ret->state = TARGET_STRAY;
        else
            directory_close(&directory);
    }
    return error;
}

/* ---- Its directory ---- */

static int open_inside(const struct target *target)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root", (int)target->pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    int fd = (int)syscall(SYS_openat2, root, target->path, &how, sizeof(how));
    fd = fd < 0 ? -errno : fd;
    close(root);
    return fd;
}

static int open_path(const struct target *target)
{
    int fd = open_inside(target);
    if (fd >= 0 || target->elsewhere)
        return fd;
    fd = open(target->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Private to its user, and with the very page that the program has mapped. */
static int check_directory(const struct target *target, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    if (status.st_uid != target->uid || (status.st_mode & 0777) != 0700)
        return -EACCES;
    if (fstatat(fd, ANNOT_WAKE_NAME, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    return S_ISREG(status.st_mode) && status.st_ino == target->wake_inode &&
                   status.st_uid == target->uid
               ? 0
               : -ESTALE;
}

int target_open_directory(const struct target *target, struct directory *ret)
{
    char standard[64];
    *ret = (struct directory){
        .fd = -1, .uid = target->uid, .foreign = target->elsewhere || target->uid != geteuid()};
    int fd = open_path(target);
    if (fd < 0)
        return fd;
    int error = check_directory(target, fd);
    if (error != 0) {
        close(fd);
        return error;
    }
    snprintf(standard, sizeof(standard), "/dev/shm/annot-%u", (unsigned)target->uid);
    memcpy(ret->path, target->path, sizeof(ret->path));
    ret->made = strcmp(target->path, standard) == 0;
    ret->fd = fd;
    return 0;
}
