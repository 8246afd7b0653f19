/* SPDX-License-Identifier: MIT */
/* The cache's directory. Its files' modification times tell when they were used last: the cache
 * sets them when it reads. */
#include "cache_folder.h"
#include "file_io.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEFTOVER_SECONDS = 600 };

struct cached {
    char name[NAME_MAX + 1];
    time_t used;
    uint64_t size;
};

static int default_path(char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && cache[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/annot/unwind", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/.cache/annot/unwind", home);
    return length > 0 && length < PATH_MAX ? 0 : -ENOENT;
}

/* All parts of an absolute path that are not there yet. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    mkdir(path, 0700);
}

int cache_folder_open(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    int error = default_path(path);
    if (directory)
        error = snprintf(path, sizeof(path), "%s", directory) < (int)sizeof(path) ? 0 : -ENOENT;
    if (error)
        return error;
    make_folders(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return folder;
    close(folder);
    return -EPERM;
}

static int by_use(const void *a, const void *b)
{
    const struct cached *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

typedef VEC(struct cached) cached_list;

static uint64_t list_files(DIR *stream, cached_list *list)
{
    uint64_t sum = 0;
    struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        struct cached file;
        struct stat status;
        if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        snprintf(file.name, sizeof(file.name), "%s", entry->d_name);
        file.used = status.st_mtime;
        file.size = (uint64_t)status.st_size;
        if (file.name[0] == '.' && file.used + LEFTOVER_SECONDS < time(NULL)) {
            unlinkat(dirfd(stream), file.name, 0);
            continue;
        }
        sum += file.size;
        if (vec_push(list, file) < 0)
            break;
    }
    return sum;
}

void cache_folder_trim(int folder, uint64_t size_max)
{
    cached_list list = {0};
    DIR *stream = file_list_folder(folder);
    if (!stream)
        return;
    uint64_t sum = list_files(stream, &list);
    if (sum > size_max)
        qsort(list.items, list.count, sizeof(*list.items), by_use);
    for (size_t i = 0; i < list.count && sum > size_max; i++) {
        if (unlinkat(folder, list.items[i].name, 0) == 0)
            sum -= list.items[i].size;
    }
    vec_free(&list);
    closedir(stream);
}
