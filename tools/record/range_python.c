/* SPDX-License-Identifier: MIT */
/* Checks, before the program starts, that the source of a Python module defines the functions of
 * --probe. Only files that are certain to be the module are read: the script, or one below the
 * working directory. See range_python.h. */
#include "range_python.h"

#include "record_options.h"

#include "cmd.h"
#include "file_io.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SOURCE_MAX = 4 << 20, NAME_SIZE = 128, NEAR_MAX = 3 };

/* ---- The source file ------------------------------------------------------------------------- */

static bool is_source(const char *path)
{
    struct stat status;
    return text_ends_with(path, ".py") && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size <= SOURCE_MAX;
}

static bool take_path(char path[PATH_MAX], const char *text)
{
    return (size_t)snprintf(path, PATH_MAX, "%s", text) < PATH_MAX && is_source(path);
}

/* "pkg.mod" as "pkg/mod.py" or "pkg/mod/__init__.py". */
static bool find_below(const char *module, size_t length, char path[PATH_MAX])
{
    static const char *const ends[] = {".py", "/__init__.py"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if ((size_t)snprintf(path, PATH_MAX, "%.*s%s", (int)length, module, ends[i]) >= PATH_MAX)
            return false;
        for (size_t at = 0; at < length; at++)
            if (path[at] == '.')
                path[at] = '/';
        if (is_source(path))
            return true;
    }
    return false;
}

/* Finds the module's name among the command's scripts. */
static bool find_script(const char *module, size_t length, char **argv, char path[PATH_MAX])
{
    for (; *argv; argv++) {
        const char *base = text_base_name(*argv);
        bool is_it = strlen(base) == length + 3 && memcmp(base, module, length) == 0;
        if (is_it && text_ends_with(base, ".py"))
            return take_path(path, *argv);
    }
    return false;
}

/* The script's module name is that of its file, not __main__. */
static bool warn_of_main(const char *spec, size_t length, char **argv)
{
    if (length != strlen("__main__") || strncmp(spec, "__main__", length) != 0)
        return false;
    while (*argv && !is_source(*argv))
        argv++;
    const char *base = *argv ? text_base_name(*argv) : NULL;
    if (base)
        cmd_note("range %s: no module is called so\n--probe %.*s%s means the script's", spec,
                 (int)(strlen(base) - strlen(".py")), base, spec + length);
    return base != NULL;
}

/* ---- Functions in the source ----------------------------------------------------------------- */

struct functions {
    const char *wanted;
    bool found;
    char near[NEAR_MAX][NAME_SIZE];
    uint32_t near_count;
};

static void take_function(struct functions *functions, const char *name, size_t length)
{
    char text[NAME_SIZE];
    if (length == 0 || length >= sizeof(text))
        return;
    memcpy(text, name, length);
    text[length] = 0;
    functions->found = functions->found || strcmp(text, functions->wanted) == 0;
    bool inside = strlen(functions->wanted) >= 4 && strcasestr(text, functions->wanted);
    unsigned limit = options_near_limit(functions->wanted) - 1;
    if (functions->near_count == NEAR_MAX ||
        (!inside && options_distance(text, functions->wanted) > (limit > 0 ? limit : 1)))
        return;
    for (uint32_t i = 0; i < functions->near_count; i++)
        if (strcmp(functions->near[i], text) == 0)
            return;
    memcpy(functions->near[functions->near_count++], text, length + 1);
}

/* Matches "def NAME" anywhere, including methods, nested functions and strings. */
static void read_functions(struct functions *functions, const char *source)
{
    for (const char *at = source; (at = strstr(at, "def"));) {
        bool is_word = at == source || isspace((unsigned char)at[-1]) || at[-1] == ':';
        at += strlen("def");
        size_t blanks = strspn(at, " \t\\\r\n");
        if (!is_word || blanks == 0)
            continue;
        at += blanks;
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
               (unsigned char)at[length] >= 0x80)
            length++;
        take_function(functions, at, length);
    }
}

static void tell(const char *spec, const char *path, const struct functions *functions)
{
    char buffer[NEAR_MAX * NAME_SIZE + 64];
    struct text near = text_init(buffer, sizeof(buffer));
    for (uint32_t i = 0; i < functions->near_count; i++)
        text_format(&near, "%s%s", i == 0 ? "did you mean " : ", ", functions->near[i]);
    if (functions->near_count > 0)
        cmd_note("range %s: %s defines no function \"%s\"\n%s?", spec, path, functions->wanted,
                 buffer);
    else
        cmd_note("range %s: %s defines no function \"%s\"", spec, path, functions->wanted);
}

void range_warn_of_python(const char *spec, char **argv)
{
    size_t length = strcspn(spec, ":");
    const char *dot = strrchr(spec + length, '.');
    struct functions functions = {.wanted = dot ? dot + 1 : spec + length + 1};
    char path[PATH_MAX];
    if (warn_of_main(spec, length, argv))
        return;
    if (!find_script(spec, length, argv, path) && !find_below(spec, length, path))
        return;
    char *source = malloc(SOURCE_MAX + 1);
    ssize_t size = source ? file_read_text(path, source, SOURCE_MAX + 1) : -1;
    if (size > 0)
        read_functions(&functions, source);
    if (size > 0 && !functions.found)
        tell(spec, path, &functions);
    free(source);
}
