/* SPDX-License-Identifier: MIT */
/* Folders of recordings, one for each command, as `annot diff` takes them. */
#include "stat_parts.h"

#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const sides[] = {"A", "B"};

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

int stat_folder_init(struct stat_folder *folder, const char *name, bool two)
{
    int status = name ? make_named(folder, name) : make_temporary(folder);
    for (unsigned i = 0; i < (two ? 2 : 1) && status == CMD_OK; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder->path, sides[i]);
        if (mkdir(path, 0777) == 0)
            continue;
        status = errno == EEXIST
                     ? cmd_fail(CMD_FAILED, "%s is there already\nname another folder", path)
                     : cmd_fail(CMD_FAILED, "cannot make %s: %s", path, strerror(errno));
    }
    return status;
}

void stat_folder_path(const struct stat_folder *folder, unsigned side, unsigned run,
                      char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s/%03u.annot", folder->path, sides[side], run + 1);
}

static void remove_side(const struct stat_folder *folder, const char *side)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct dirent *entry;
    snprintf(path, sizeof(path), "%s/%s", folder->path, side);
    DIR *listing = opendir(path);
    while (listing && (entry = readdir(listing))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s/%s", folder->path, side, entry->d_name);
        unlink(path);
    }
    if (listing)
        closedir(listing);
    snprintf(path, sizeof(path), "%s/%s", folder->path, side);
    rmdir(path);
}

void stat_folder_fini(struct stat_folder *folder)
{
    if (!folder->temporary)
        return;
    remove_side(folder, sides[0]);
    remove_side(folder, sides[1]);
    rmdir(folder->path);
}
