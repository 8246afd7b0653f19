/* SPDX-License-Identifier: MIT */
/* Implements memory_group.h. A container may see its own group as the root, or a path outside of
 * the mount: then the mount's folder stands for the group. */
#include "memory_group.h"

#include "file_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 16, LEVELS_MAX = 64 };

/* A limit from here on stands for none: version 1 writes the largest whole page. */
#define NO_LIMIT (UINT64_C(1) << 62)

/* ---- Texts of /proc -------------------------------------------------------------------------- */

/* True if `list`, "cpu,memory" up to its end, has the word "memory". */
static bool has_memory(const char *list, size_t length)
{
    static const char word[] = "memory";
    const char *end = list + length;
    for (const char *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma ? comma : end) - at);
        if (size == sizeof(word) - 1 && memcmp(at, word, size) == 0)
            return true;
        at += size + 1;
    }
    return false;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* The path in "4:memory:/path" of version 1, or in "0::/path". False: neither. */
static bool find_path(const char *groups, bool unified, char path[PATH_MAX])
{
    for (const char *line = groups; *line; line = next_line(line)) {
        const char *list = strchr(line, ':');
        const char *colon = list ? strchr(list + 1, ':') : NULL;
        size_t length = strcspn(line, "\n");
        if (!colon || colon > line + length)
            continue;
        size_t words = (size_t)(colon - list - 1), size = length - (size_t)(colon + 1 - line);
        bool wanted = unified ? words == 0 : has_memory(list + 1, words);
        if (!wanted || size >= PATH_MAX)
            continue;
        memcpy(path, colon + 1, size);
        path[size] = 0;
        return true;
    }
    return false;
}

/* A line of mountinfo: "ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE OPTIONS". */
struct mount_line {
    char root[PATH_MAX], point[PATH_MAX], type[16], options[256];
};

static bool parse_mount(const char *line, struct mount_line *ret_mount)
{
    char text[2 * PATH_MAX];
    size_t length = strcspn(line, "\n");
    if (length >= sizeof(text))
        return false;
    memcpy(text, line, length);
    text[length] = 0;
    const char *dash = strstr(text, " - ");
    return dash &&
           sscanf(text, "%*s %*s %*s %4095s %4095s", ret_mount->root, ret_mount->point) == 2 &&
           sscanf(dash, " - %15s %*s %255s", ret_mount->type, ret_mount->options) == 2;
}

static bool find_mount(const char *mounts, bool unified, struct mount_line *ret_mount)
{
    for (const char *line = mounts; *line; line = next_line(line)) {
        if (!parse_mount(line, ret_mount))
            continue;
        const char *options = ret_mount->options;
        if (unified
                ? strcmp(ret_mount->type, "cgroup2") == 0
                : strcmp(ret_mount->type, "cgroup") == 0 && has_memory(options, strlen(options)))
            return true;
    }
    return false;
}

/* The folder of the group: its path below the mount's root. */
static void set_folder(struct memory_group *group, const struct mount_line *mount, const char *path)
{
    size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    bool inside = strncmp(path, mount->root, root) == 0 && (path[root] == '/' || !path[root]) &&
                  !strstr(path, "/..");
    const char *below = inside && strcmp(path + root, "/") != 0 ? path + root : "";
    int length = snprintf(group->own, PATH_MAX, "%s%s", mount->point, below);
    if (length < 0 || length >= PATH_MAX)
        group->own[0] = 0;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int read_number(const char *folder, const char *name, uint64_t *ret_number)
{
    char path[PATH_MAX], text[64], *end;
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (length < 0 || length >= PATH_MAX)
        return -ENAMETOOLONG;
    ssize_t size = file_read_text(path, text, sizeof(text));
    if (size < 0)
        return (int)size;
    *ret_number = strtoull(text, &end, 10);
    return end > text ? 0 : -ENODATA; /* "max" */
}

static int read_limit(const struct memory_group *group, const char *folder, uint64_t *ret_limit)
{
    const char *name = group->unified ? "memory.max" : "memory.limit_in_bytes";
    int error = read_number(folder, name, ret_limit);
    return error ? error : *ret_limit >= NO_LIMIT ? -ENODATA : 0;
}

/* Goes up to the mount's folder. The nearest of equal limits counts. */
static void find_limit(struct memory_group *group, size_t top)
{
    char folder[PATH_MAX];
    uint64_t limit = 0;
    snprintf(folder, sizeof(folder), "%s", group->own);
    for (int level = 0; level < LEVELS_MAX && strlen(folder) >= top; level++) {
        if (read_limit(group, folder, &limit) == 0 &&
            (!group->limiting[0] || limit < group->limit_bytes)) {
            group->limit_bytes = limit;
            memcpy(group->limiting, folder, sizeof(folder));
        }
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = 0;
    }
}

void memory_group_find(const char *groups, const char *mounts, struct memory_group *ret_group)
{
    char path[PATH_MAX];
    struct mount_line mount;
    *ret_group = (struct memory_group){0};
    for (int unified = 0; unified < 2; unified++) {
        if (!find_path(groups, unified, path) || !find_mount(mounts, unified, &mount))
            continue;
        ret_group->unified = unified;
        set_folder(ret_group, &mount, path);
        find_limit(ret_group, strlen(mount.point));
        return;
    }
}

int memory_group_of(int32_t pid, struct memory_group *ret_group)
{
    char path[64], groups[4096];
    char *mounts = malloc(TEXT_SIZE);
    *ret_group = (struct memory_group){0};
    if (!mounts)
        return -ENOMEM;
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    ssize_t size = file_read_text(path, groups, sizeof(groups));
    if (size >= 0)
        size = file_read_text("/proc/self/mountinfo", mounts, TEXT_SIZE);
    if (size >= 0)
        memory_group_find(groups, mounts, ret_group);
    free(mounts);
    return size < 0 ? (int)size : 0;
}

/* ---- Use ------------------------------------------------------------------------------------- */

int memory_group_use(const struct memory_group *group, uint64_t *ret_used_bytes,
                     uint64_t *ret_limit_bytes)
{
    const char *name = group->unified ? "memory.current" : "memory.usage_in_bytes";
    if (!group->limiting[0])
        return -ENODATA;
    int error = read_number(group->limiting, name, ret_used_bytes);
    return error ? error : read_limit(group, group->limiting, ret_limit_bytes);
}

/* The number after the word at the start of a line. */
static int number_after(const char *path, const char *word, uint64_t *ret_number)
{
    char text[1 << 14];
    ssize_t size = file_read_text(path, text, sizeof(text));
    size_t length = strlen(word);
    if (size < 0)
        return (int)size;
    for (const char *line = text; *line; line = next_line(line))
        if (strncmp(line, word, length) == 0 && line[length] == ' ') {
            *ret_number = strtoull(line + length, NULL, 10);
            return 0;
        }
    return -ENODATA;
}

int memory_group_kills(const struct memory_group *group, uint64_t *ret_kills)
{
    char path[PATH_MAX];
    const char *name = group->unified ? "memory.events" : "memory.oom_control";
    int length = snprintf(path, sizeof(path), "%s/%s", group->own, name);
    if (!group->own[0] || length < 0 || length >= PATH_MAX)
        return -ENODATA;
    return number_after(path, "oom_kill", ret_kills);
}

int memory_kills(uint64_t *ret_kills)
{
    return number_after("/proc/vmstat", "oom_kill", ret_kills);
}
