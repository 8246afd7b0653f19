/* SPDX-License-Identifier: MIT */
/* Matches "FILE:FUNCTION": finds the existing files, and checks the files that a process maps.
 * Thread-safety: any thread. */
#include "probe.h"
#include "probe_args.h"
#include "text.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const library_folders[] = {
    "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib",
};

/* The first colon that is not half of a "::". */
static const char *find_colon(const char *text)
{
    const char *colon = strchr(text, ':');
    while (colon && colon[1] == ':')
        colon = strchr(colon + 2, ':');
    return colon;
}

/* Parses "handle@1,name=str". False: invalid. */
static bool take_args(char *function, unsigned number_max, struct arg_wishes *ret_wishes)
{
    char *at = strrchr(function, '@');
    if (!at)
        return true;
    *at = '\0';
    return *function && probe_args_parse(at + 1, number_max, ret_wishes);
}

bool probe_wish_parse(const char *text, struct probe_wish *ret_wish)
{
    const char *colon = find_colon(text);
    *ret_wish = (struct probe_wish){0};
    if (!colon || colon == text || colon[1] == 0)
        return false;
    const char *name = colon + 1, *second = find_colon(name);
    if (second && (second == name || second[1] == 0))
        return false;
    ret_wish->text = strdup(text);
    ret_wish->file = strndup(text, (size_t)(colon - text));
    ret_wish->provider = second ? strndup(name, (size_t)(second - name)) : NULL;
    name = second ? second + 1 : name;
    const char *dots = second ? strstr(name, "..") : NULL;
    ret_wish->function = dots ? strndup(name, (size_t)(dots - name)) : strdup(name);
    ret_wish->last = dots ? strdup(dots + 2) : NULL;
    return take_args(ret_wish->last ? ret_wish->last : ret_wish->function,
                     second ? PROBE_ARGS_OF_STATIC : PROBE_ARGS_OF_FUNCTION, &ret_wish->args);
}

void probe_wish_fini(struct probe_wish *wish)
{
    free(wish->text);
    free(wish->file);
    free(wish->provider);
    free(wish->function);
    free(wish->last);
    *wish = (struct probe_wish){0};
}

int probe_paths_add(struct probe_paths *paths, const char *path)
{
    char real[PATH_MAX];
    struct stat status;
    if (!realpath(path, real) || stat(real, &status) != 0 || !S_ISREG(status.st_mode))
        return 0; /* a folder of libraries may have a program's name */
    for (size_t i = 0; i < paths->items.count; i++)
        if (strcmp(paths->items.items[i], real) == 0)
            return 0;
    char *copy = strdup(real);
    if (copy && vec_push(&paths->items, copy) == 0)
        return 0;
    free(copy);
    return -ENOMEM;
}

static int add_matching(struct probe_paths *paths, const char *folder, const char *pattern)
{
    char whole[2 * PATH_MAX];
    glob_t found;
    int error = 0;
    snprintf(whole, sizeof(whole), "%s%s%s", folder, *folder ? "/" : "", pattern);
    if (glob(whole, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && error == 0; i++)
        error = probe_paths_add(paths, found.gl_pathv[i]);
    globfree(&found);
    return error;
}

/* Searches folders separated by colons. */
static int add_in_folders(struct probe_paths *paths, const char *folders, const char *pattern)
{
    char folder[PATH_MAX];
    int error = 0;
    while (folders && *folders && error == 0) {
        size_t length = strcspn(folders, ":");
        if (length > 0 && length < sizeof(folder)) {
            memcpy(folder, folders, length);
            folder[length] = 0;
            error = add_matching(paths, folder, pattern);
        }
        folders += length + (folders[length] == ':');
    }
    return error;
}

int probe_paths_find(const char *file, const char *program, struct probe_paths *ret_paths)
{
    int error = 0;
    *ret_paths = (struct probe_paths){0};
    if (strchr(file, '/'))
        return add_matching(ret_paths, "", file);
    if (program && fnmatch(file, text_base_name(program), 0) == 0)
        error = probe_paths_add(ret_paths, program);
    if (error == 0)
        error = add_in_folders(ret_paths, getenv("LD_LIBRARY_PATH"), file);
    for (size_t i = 0; i < sizeof(library_folders) / sizeof(*library_folders) && error == 0; i++)
        error = add_matching(ret_paths, library_folders[i], file);
    return error;
}

void probe_paths_fini(struct probe_paths *paths)
{
    for (size_t i = 0; i < paths->items.count; i++)
        free(paths->items.items[i]);
    vec_free(&paths->items);
}

bool probe_wish_means(const struct probe_wish *wish, const char *path)
{
    return fnmatch(wish->file, strchr(wish->file, '/') ? path : text_base_name(path), 0) == 0;
}
