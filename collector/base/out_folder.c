/* SPDX-License-Identifier: MIT */
/* See out_folder.h. The files are written into a folder with a temporary name, in the same place as
 * the final one. */
#include "out_folder.h"

#include "out_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct out_folder {
    char *path, *temporary;
    const char *const *names;
    struct out_stream *streams[OUT_FOLDER_FILES];
    bool replaces; /* a folder of this path exists */
};

static void destroy(struct out_folder *folder)
{
    free(folder->path);
    free(folder->temporary);
    free(folder);
}

static bool is_ours(const char *const *names, const char *name)
{
    bool found = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    for (; *names && !found; names++)
        found = strcmp(*names, name) == 0;
    return found;
}

/* Checks that the folder has only files of these names. 0, -ENOTEMPTY, -errno. */
static int check_contents(const char *path, const char *const *names)
{
    const struct dirent *entry;
    int error = 0;
    DIR *list = opendir(path);
    if (!list)
        return -errno;
    while (!error && (entry = readdir(list)))
        error = is_ours(names, entry->d_name) ? 0 : -ENOTEMPTY;
    closedir(list);
    return error;
}

static void remove_files(const char *path, const char *const *names)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (; fd >= 0 && *names; names++)
        unlinkat(fd, *names, 0);
    if (fd >= 0)
        close(fd);
    rmdir(path);
}

/* Removes slashes at the end of the path; of an existing folder, resolves links. */
static int find_place(struct out_folder *folder, const char *path, bool overwrite)
{
    struct stat status;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->replaces = stat(path, &status) == 0;
    if (folder->replaces && !overwrite)
        return -EEXIST;
    if (folder->replaces && !S_ISDIR(status.st_mode))
        return -ENOTDIR;
    folder->path = folder->replaces ? realpath(path, NULL) : strndup(path, length);
    if (!folder->path)
        return -errno;
    return folder->replaces ? check_contents(folder->path, folder->names) : 0;
}

static int make_temporary(struct out_folder *folder)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        free(folder->temporary);
        if (asprintf(&folder->temporary, "%s.part-%d-%d", folder->path, (int)getpid(), attempt) <
            0) {
            folder->temporary = NULL;
            return -ENOMEM;
        }
        if (mkdir(folder->temporary, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int error = -errno;
    free(folder->temporary);
    folder->temporary = NULL;
    return error;
}

static int open_files(struct out_folder *folder)
{
    const struct out_stream_options options = {0};
    int error = 0;
    for (unsigned i = 0; folder->names[i] && !error; i++) {
        char *path;
        if (i == OUT_FOLDER_FILES)
            return -E2BIG;
        if (asprintf(&path, "%s/%s", folder->temporary, folder->names[i]) < 0)
            return -ENOMEM;
        error = out_stream_open(path, &options, &folder->streams[i]);
        free(path);
    }
    return error;
}

int out_folder_open(const char *path, const char *const *names, bool overwrite,
                    struct out_folder **ret_folder)
{
    struct out_folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return -ENOMEM;
    folder->names = names;
    int error = find_place(folder, path, overwrite);
    if (!error)
        error = make_temporary(folder);
    if (!error)
        error = open_files(folder);
    if (error) {
        out_folder_abandon(folder);
        return error;
    }
    *ret_folder = folder;
    return 0;
}

struct out_stream *out_folder_stream(const struct out_folder *folder, unsigned file)
{
    return folder->streams[file];
}

/* Exchanges the folders and removes the old one, unless it has gained other files meanwhile. On
 * file systems that cannot exchange names, the path is missing for a moment. */
static int replace(const struct out_folder *folder)
{
    int error = check_contents(folder->path, folder->names);
    if (error)
        return error;
    if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_EXCHANGE) == 0) {
        remove_files(folder->temporary, folder->names);
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    remove_files(folder->path, folder->names);
    return rename(folder->temporary, folder->path) == 0 ? 0 : -errno;
}

static int take_final_name(const struct out_folder *folder)
{
    if (folder->replaces)
        return replace(folder);
    if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (access(folder->path, F_OK) == 0)
        return -EEXIST;
    return rename(folder->temporary, folder->path) == 0 ? 0 : -errno;
}

int out_folder_close(struct out_folder *folder)
{
    int error = 0;
    for (unsigned i = 0; i < OUT_FOLDER_FILES; i++) {
        int closed = folder->streams[i] ? out_stream_close(folder->streams[i]) : 0;
        error = error ? error : closed;
        folder->streams[i] = NULL;
    }
    if (!error)
        error = take_final_name(folder);
    if (error)
        out_folder_abandon(folder);
    else
        destroy(folder);
    return error;
}

void out_folder_abandon(struct out_folder *folder)
{
    if (!folder)
        return;
    for (unsigned i = 0; i < OUT_FOLDER_FILES; i++)
        out_stream_abandon(folder->streams[i]);
    if (folder->temporary)
        remove_files(folder->temporary, folder->names);
    destroy(folder);
}
