/* SPDX-License-Identifier: MIT */
/* Folders of recordings, one per command, in the layout that `annot diff` takes. */

#include "stat_folder.h"

#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_temporary(struct stat_folder *folder)
{
    const char *base = getenv("TMPDIR");
    int length = snprintf(folder->path, sizeof(folder->path), "%s/annot-stat-XXXXXX",
                          base && base[0] ? base : "/tmp");
    if (length >= (int)sizeof(folder->path) || !mkdtemp(folder->path))
        return cmd_fail(CMD_FAILED, "cannot make a folder in %s: %s\nTMPDIR names another one",
                        base && base[0] ? base : "/tmp", strerror(errno));
    folder->temporary = true;
    return CMD_OK;
}

static int make_named(struct stat_folder *folder, const char *name)
{
    int length = snprintf(folder->path, sizeof(folder->path), "%s", name);
    if (length >= (int)sizeof(folder->path))
        return cmd_fail(CMD_FAILED, "cannot make %s: %s", name, strerror(ENAMETOOLONG));
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        return cmd_fail(CMD_FAILED, "cannot make %s: %s", name, strerror(errno));
    return CMD_OK;
}

/* "DIR/size=a_b" for "size=a/b" */
static void variant_path(const struct stat_folder *folder, size_t variant, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/", folder->path);
    snprintf(path + length, (size_t)(PATH_MAX - length), "%s", folder->names[variant]);
    for (char *at = path + length; *at; at++)
        if (*at == '/')
            *at = '_';
}

int stat_folder_init(struct stat_folder *folder, const char *name, const char *const *variants,
                     size_t count)
{
    int status = name ? make_named(folder, name) : make_temporary(folder);
    const char **names = calloc(count, sizeof(*names));
    if (!names)
        return cmd_fail(CMD_FAILED, "out of memory");
    memcpy(names, variants, count * sizeof(*names));
    folder->names = names;
    folder->count = count;
    for (size_t i = 0; i < count && status == CMD_OK; i++) {
        char path[PATH_MAX];
        variant_path(folder, i, path);
        if (mkdir(path, 0777) == 0)
            continue;
        status = errno == EEXIST
                     ? cmd_fail(CMD_FAILED, "%s is there already\nname another folder", path)
                     : cmd_fail(CMD_FAILED, "cannot make %s: %s", path, strerror(errno));
    }
    return status;
}

void stat_folder_path(const struct stat_folder *folder, size_t variant, unsigned run,
                      char path[PATH_MAX])
{
    char base[PATH_MAX];
    path[0] = '\0';
    if (folder->count == 0)
        return;
    variant_path(folder, variant, base);
    if (snprintf(path, PATH_MAX, "%s/%03u.annot", base, run + 1) >= PATH_MAX)
        path[0] = '\0';
}

static void remove_variant(const struct stat_folder *folder, size_t variant)
{
    char path[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
    struct dirent *entry;
    variant_path(folder, variant, path);
    DIR *listing = opendir(path);
    while (listing && (entry = readdir(listing))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (listing)
        closedir(listing);
    rmdir(path);
}

void stat_folder_fini(struct stat_folder *folder)
{
    for (size_t i = 0; i < folder->count && folder->temporary; i++)
        remove_variant(folder, i);
    if (folder->temporary)
        rmdir(folder->path);
    free((void *)folder->names);
}
