/* SPDX-License-Identifier: MIT */
/* The three ways to a mapped file. The device number of a mapping may differ from that of stat
 * (overlay and btrfs file systems): the inode decides. Thread-safety: pure. */
#include "module_file.h"

#include "file_io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_it(const struct module_place *place, const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_ino == place->inode;
}

static int open_path(const struct module_place *place, const char *path, struct stat *ret_status)
{
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, ret_status);
    if (fd < 0 || is_it(place, ret_status))
        return fd;
    close(fd);
    return -ENOENT;
}

/* True if trying another way is useless. */
static bool is_settled(int fd)
{
    return fd >= 0 || fd == -EMFILE || fd == -ENFILE;
}

/* Its path in the process's mount namespace, reachable from ours. */
static void root_path(const struct module_place *place, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)place->pid, place->path);
}

int module_file_open(const struct module_place *place, struct stat *ret_status)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)place->pid,
             place->begin, place->end);
    int fd = open_path(place, path, ret_status);
    if (is_settled(fd) || place->path[0] != '/')
        return fd;
    root_path(place, path);
    fd = open_path(place, path, ret_status);
    return is_settled(fd) ? fd : open_path(place, place->path, ret_status);
}

bool module_file_is_memory(const struct module_place *place)
{
    static const char *const names[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(place->path, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

bool module_file_is_elf(int fd)
{
    char magic[SELFMAG];
    return file_read_at(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

int module_file_look(const struct module_place *place, struct stat *ret_status)
{
    char path[PATH_MAX];
    if (place->path[0] != '/')
        return -ENOENT;
    root_path(place, path);
    if (stat(path, ret_status) == 0 && is_it(place, ret_status))
        return 0;
    return stat(place->path, ret_status) == 0 && is_it(place, ret_status) ? 0 : -ENOENT;
}
