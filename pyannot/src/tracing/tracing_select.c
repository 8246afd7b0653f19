/* SPDX-License-Identifier: MIT */
/* Selects the functions that are traced.
 *
 * A pattern has `*` and `?`. With a "/" or ".py" at its end it matches files; "MODULE:FUNCTION"
 * matches functions of a module; any other is the name of a module, of a package, or of a function,
 * qualified or not. A module is identified by the end of its file's path, so "pkg.mod" is
 * ".../pkg/mod.py". Code that was compiled from a text has no path but a name, "<string>", which is
 * its module. A leading "-" excludes. If there is a pattern without "-", only matching functions
 * are traced; the last pattern that matches decides.
 *
 * Threads: written while tracing is off. */
#include "tracing_select.h"
#include "tracing.h"
#include "tracing_code.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATTERNS_MAX = 64, PATTERN_SIZE = 512, FOLDER_SIZE = 4096 };

struct patterns {
    char *text; /* the patterns, each terminated by NUL */
    const char *items[PATTERNS_MAX];
    int count;
    bool any_wanted;
};

static struct patterns of_calls, of_lines;
static char library[FOLDER_SIZE], own[FOLDER_SIZE];

static int keep_folder(char *kept, const char *folder)
{
    size_t length = strlen(folder);
    if (length + 2 > FOLDER_SIZE) {
        PyErr_SetString(PyExc_ValueError, "the path of a folder is too long");
        return -1;
    }
    memcpy(kept, folder, length + 1);
    if (length > 0 && kept[length - 1] != '/')
        memcpy(kept + length, "/", 2);
    return 0;
}

static int keep_patterns(struct patterns *kept, const char *text)
{
    free(kept->text);
    *kept = (struct patterns){.text = strdup(text)};
    if (kept->text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    char *rest = NULL;
    for (char *word = strtok_r(kept->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (kept->count == PATTERNS_MAX || strlen(word) >= PATTERN_SIZE) {
            PyErr_Format(PyExc_ValueError, "more than %d patterns, or one that is too long",
                         PATTERNS_MAX);
            return -1;
        }
        kept->any_wanted = kept->any_wanted || word[0] != '-';
        kept->items[kept->count++] = word;
    }
    return 0;
}

int trace_select(const char *text, const char *library_folder, const char *own_folder)
{
    if (keep_folder(library, library_folder) < 0 || keep_folder(own, own_folder) < 0)
        return -1;
    return keep_patterns(&of_calls, text);
}

static bool begins_with(const char *text, const char *prefix)
{
    return prefix[0] && strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool fits(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}

/* Matches `text` against before, pattern and after, concatenated. */
static bool fits_between(const char *before, const char *pattern, const char *after,
                         const char *text)
{
    char whole[PATTERN_SIZE + 32];
    if (strlen(before) + strlen(pattern) + strlen(after) >= sizeof(whole))
        return false;
    (void)snprintf(whole, sizeof(whole), "%s%s%s", before, pattern, after);
    return fits(whole, text);
}

/* Any folder may have this name; one with __init__.py is a package. */
static bool is_in_package(const char *folder, const char *file)
{
    static const char init[] = "/__init__.py";
    char path[2048];
    size_t length = strlen(folder);
    if (strpbrk(folder, "*?["))
        return fits_between("*/", folder, "/*", file);
    for (const char *at = file; (at = strstr(at, folder)) != NULL; at++) {
        size_t end = (size_t)(at - file) + length;
        bool is_whole = at > file && at[-1] == '/' && file[end] == '/';
        if (!is_whole || end + sizeof(init) > sizeof(path))
            continue;
        (void)snprintf(path, sizeof(path), "%.*s%s", (int)end, file, init);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static bool fits_module(const char *module, const char *file)
{
    char path[PATTERN_SIZE];
    size_t length = strlen(module);
    if (length == 0 || length >= sizeof(path))
        return false;
    if (file[0] == '<')
        return fits(module, file);
    for (size_t i = 0; i <= length; i++)
        path[i] = (char)(module[i] == '.' ? '/' : module[i]);
    return fits_between("*/", path, ".py", file) || fits_between("", path, ".py", file) ||
           is_in_package(path, file);
}

static bool fits_function(const char *pattern, const char *qualname)
{
    const char *last = strrchr(qualname, '.');
    return fits(pattern, qualname) || (last != NULL && fits(pattern, last + 1)) ||
           fits_between("", pattern, ".*", qualname);
}

static bool fits_any(const char *pattern, const char *file, const char *qualname)
{
    char module[PATTERN_SIZE];
    size_t length = strlen(pattern);
    const char *colon = strchr(pattern, ':');
    if (colon != NULL) {
        memcpy(module, pattern, (size_t)(colon - pattern));
        module[colon - pattern] = 0;
        return fits_module(module, file) && fits_function(colon + 1, qualname);
    }
    if (strchr(pattern, '/') || (length > 3 && strcmp(pattern + length - 3, ".py") == 0))
        return fits(pattern, file) || fits_between("*/", pattern, "", file) ||
               fits_between("", pattern, pattern[length - 1] == '/' ? "*" : "/*", file);
    return fits_module(pattern, file) || fits_function(pattern, qualname);
}

static bool is_of_library(const char *file)
{
    if (begins_with(file, "<frozen "))
        return true;
    return begins_with(file, library) && !strstr(file + strlen(library), "site-packages/") &&
           !strstr(file + strlen(library), "dist-packages/");
}

int trace_select_lines(const char *text)
{
    return keep_patterns(&of_lines, text);
}

bool trace_judge_lines(const char *file, const char *qualname)
{
    for (int i = of_lines.count; i-- > 0;) {
        bool is_not = of_lines.items[i][0] == '-';
        if (fits_any(of_lines.items[i] + is_not, file, qualname))
            return !is_not;
    }
    return false;
}

enum trace_verdict trace_judge(const char *file, const char *qualname, bool *ret_is_library)
{
    *ret_is_library = is_of_library(file);
    if (begins_with(file, own) || trace_now.options.mode == TRACE_OFF)
        return TRACE_IGNORED;
    if (*ret_is_library && trace_now.options.library == TRACE_LIBRARY_OFF)
        return TRACE_IGNORED;
    for (int i = of_calls.count; i-- > 0;) {
        bool is_not = of_calls.items[i][0] == '-';
        if (fits_any(of_calls.items[i] + is_not, file, qualname))
            return is_not ? TRACE_IGNORED : TRACE_WANTED;
    }
    return of_calls.any_wanted ? TRACE_IGNORED : TRACE_WANTED;
}
