/* SPDX-License-Identifier: MIT */
/* The environment of a command for Python: see record_options.h. */
#include "python_environment.h"

#include "record_options.h"
#include "tracing_options.h"

#include "cmd.h"
#include "hash.h"
#include "look_embedded.h"
#include "text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files below a folder of annot with the package: the package itself, and the library to preload.
 * The latter's path has a detour through a folder for its name: pyannot/preload/preload.c. */
#define PACKAGE_FILE "/pyannot/observe/__init__.py"
#define PRELOAD_FILE "/pyannot/preload/libasan.so/../annot-preload.so"

/* ---- Paths that lists can contain ------------------------------------------------------------ */

/* The dynamic linker ends a path at blanks and colons and expands $; lists of folders are separated
 * by colons. */
static bool is_plain(const char *path)
{
    return !strpbrk(path, " \t\n:$;");
}

/* Returns true for a folder that only this user can write, creating it if missing. */
static bool make_private(const char *folder)
{
    struct stat status;
    (void)mkdir(folder, 0700);
    return is_plain(folder) && lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* Finds a folder for links, which must outlive annot, as programs started by it may. */
static bool find_private(char folder[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/' && snprintf(folder, PATH_MAX, "%s/annot", cache) < PATH_MAX &&
        make_private(folder))
        return true;
    if (home && home[0] == '/' && snprintf(folder, PATH_MAX, "%s/.cache/annot", home) < PATH_MAX) {
        char above[PATH_MAX];
        memcpy(above, folder, PATH_MAX);
        *strrchr(above, '/') = 0;
        (void)mkdir(above, 0700);
        if (make_private(folder))
            return true;
    }
    snprintf(folder, PATH_MAX, "/tmp/annot-%u", (unsigned)geteuid());
    return make_private(folder);
}

static bool leads_to(const char *link, const char *path)
{
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof(target));
    return length == (ssize_t)strlen(path) && memcmp(target, path, (size_t)length) == 0;
}

/* Replaces the path by one without such characters. Returns false on failure. */
static bool make_plain(char path[PATH_MAX])
{
    char folder[PATH_MAX], link[2 * PATH_MAX];
    if (is_plain(path))
        return true;
    if (!find_private(folder))
        return false;
    struct hash128 hash = hash128_bytes(path, strlen(path), (struct hash128){0});
    snprintf(link, sizeof(link), "%s/python-%016llx", folder, (unsigned long long)hash.low);
    if (strlen(link) >= PATH_MAX || (!leads_to(link, path) && symlink(path, link) != 0))
        return false;
    memcpy(path, link, strlen(link) + 1);
    return true;
}

/* ---- Folders with pyannot -------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *file)
{
    char path[PATH_MAX];
    return (size_t)snprintf(path, sizeof(path), "%s%s", folder, file) < sizeof(path) &&
           access(path, R_OK) == 0;
}

static void add_folder(const char *folder, struct text *folders, char preload[PATH_MAX])
{
    char path[PATH_MAX];
    if (!realpath(folder, path) || !has_file(path, PACKAGE_FILE) || !make_plain(path))
        return;
    text_format(folders, "%s%s", folders->length > 0 ? ":" : "", path);
    if (preload[0] == 0 && has_file(path, PRELOAD_FILE) &&
        strlen(path) + sizeof(PRELOAD_FILE) <= PATH_MAX) {
        memcpy(preload, path, strlen(path) + 1);
        memcpy(preload + strlen(preload), PRELOAD_FILE, sizeof(PRELOAD_FILE));
    }
}

static void add_matching(const char *self, const char *pattern, struct text *folders,
                         char preload[PATH_MAX])
{
    char path[2 * PATH_MAX];
    glob_t found;
    snprintf(path, sizeof(path), "%s%s", self, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_folder(found.gl_pathv[i], folders, preload);
    globfree(&found);
}

/* Escapes a path for glob, which would otherwise take it as a pattern. */
static bool escape(const char *path, char escaped[PATH_MAX])
{
    size_t length = 0;
    for (; *path && length + 2 < PATH_MAX; path++) {
        if (strchr("*?[\\", *path))
            escaped[length++] = '\\';
        escaped[length++] = *path;
    }
    escaped[length] = 0;
    return *path == 0;
}

static void find_packages(struct text *folders, char preload[PATH_MAX])
{
    static const char *const patterns[] = {
        "/../pyannot",
        "/../lib*/python3*/site-packages",
        "/../lib*/python3*/dist-packages",
    };
    char self[PATH_MAX], escaped[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = 0;
    if (!escape(self, escaped))
        return;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        add_matching(escaped, patterns[i], folders, preload);
}

/* ---- Variables ------------------------------------------------------------------------------- */

/* Libraries preloaded by the user come first: AddressSanitizer's must. */
static bool add_preload(char *all, size_t size, const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    if (library[0] == 0 || (before && strstr(before, library)))
        return false;
    int length =
        snprintf(all, size, "%s%s%s", before ? before : "", before && *before ? ":" : "", library);
    return length >= 0 && (size_t)length < size;
}

size_t python_environment(const struct python_values *values,
                          struct python_environment *environment)
{
    size_t count = 0;
    char library[PATH_MAX] = "";
    struct text folders = text_init(environment->folders, sizeof(environment->folders));
    const char *given = getenv("ANNOT_PYTHON_PATH"), *parts = values->parts;
    if (!parts)
        parts = getenv("ANNOT_PYTHON");
    if (!parts || !*parts)
        parts = "default";
    environment->variables[count++] = (struct child_variable){"ANNOT_PYTHON", parts};
    environment->has_library = false;
    if (strcmp(parts, "none") == 0)
        return count;
    if (given)
        text_format(&folders, "%s", given);
    find_packages(&folders, library);
    environment->has_library = library[0] != 0;
    if (folders.length > 0)
        environment->variables[count++] =
            (struct child_variable){"ANNOT_PYTHON_PATH", environment->folders};
    if (!values->no_preload &&
        add_preload(environment->preload, sizeof(environment->preload), library))
        environment->variables[count++] =
            (struct child_variable){"LD_PRELOAD", environment->preload};
    return count;
}

/* ---- Requested options ----------------------------------------------------------------------- */

static const char *write_option(char *text, size_t size, const char *option, const char *value)
{
    snprintf(text, size, "--%s%s%.200s", option, value ? " " : "", value ? value : "");
    return text;
}

void asked_describe(const struct tracing_values *trace, const struct python_values *python,
                    const char *capture, struct asked_texts *texts,
                    struct collector_requested *asked)
{
    *asked = (struct collector_requested){0};
    if (trace->functions)
        asked->calls =
            write_option(texts->calls, sizeof(texts->calls),
                         trace->select ? "trace-select" : "trace-functions", trace->select);
    if (trace->lines)
        asked->lines =
            write_option(texts->lines, sizeof(texts->lines), "trace-lines", trace->lines);
    if (python->parts && strcmp(python->parts, "none") != 0)
        asked->python = write_option(texts->python, sizeof(texts->python), "python", python->parts);
    if (capture)
        asked->capture =
            write_option(texts->capture, sizeof(texts->capture), "capture-range", capture);
}

void python_warn(const struct python_environment *environment, const struct python_values *values,
                 const struct collector_requested *asked, const char *program)
{
    char path[PATH_MAX];
    const char *option = asked->calls ? asked->calls : asked->lines ? asked->lines : asked->python;
    if (option && strncmp(text_base_name(program), "pypy", 4) == 0) {
        cmd_note("option %s: PyPy cannot load pyannot; only CPython 3.9 and later can", option);
        return;
    }
    if (option && child_find(program, path) == 0 && look_embedded(path))
        cmd_note("option %s: %s embeds Python, and an embedded interpreter loads pyannot only "
                 "where it is installed for it\nin annot's source: pip install . for that Python",
                 option, text_base_name(program));
    if (!option || environment->has_library || values->no_preload)
        return;
    cmd_note("option %s: there is no pyannot beside annot that Python programs could load: only "
             "those that import pyannot themselves take part\ninstall annot with Python, or to a "
             "folder that links can lead to",
             option);
}
