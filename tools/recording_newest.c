/* SPDX-License-Identifier: MIT */
/* Which recording is meant if none is named: the one that was written last, here. */
#include "recording.h"

#include "cmd.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_recording_name(const char *name)
{
    size_t length = strlen(name), ending = strlen(".annot");
    return name[0] != '.' && length > ending && strcmp(name + length - ending, ".annot") == 0;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* False: there is none. Of equally new ones the last by name. */
static bool find_newest(char name[RECORDING_NAME_SIZE])
{
    DIR *folder = opendir(".");
    struct timespec best = {0};
    const struct dirent *entry;
    name[0] = '\0';
    while (folder && (entry = readdir(folder))) {
        struct stat status;
        if (!is_recording_name(entry->d_name) || stat(entry->d_name, &status) != 0 ||
            !S_ISREG(status.st_mode) || (name[0] && is_later(&best, &status.st_mtim)))
            continue;
        if (name[0] && !is_later(&status.st_mtim, &best) && strcmp(entry->d_name, name) < 0)
            continue;
        best = status.st_mtim;
        snprintf(name, RECORDING_NAME_SIZE, "%s", entry->d_name);
    }
    if (folder)
        closedir(folder);
    return name[0] != '\0';
}

const char *recording_choose(const struct cmd_call *call, char name[RECORDING_NAME_SIZE])
{
    if (call->operand_count > 0)
        return call->operands[0];
    if (find_newest(name)) {
        cmd_note("the newest recording here is %s", name);
        return name;
    }
    cmd_fail(0,
             "no recording is named, and none is in this directory\n\"annot record -- COMMAND\" "
             "makes one here; to open another one: annot %s FILE",
             call->cmd->name);
    return NULL;
}
