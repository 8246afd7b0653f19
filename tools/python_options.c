/* SPDX-License-Identifier: MIT */
/* Where pyannot lies is told from annot's own place: in a build tree, a virtual environment, or
 * below a prefix. Interpreters look on their own paths first. */
#include "python_options.h"

#include "cmd.h"
#include "text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As pyannot.observe has them; a test compares. */
static const char *const part_names[] = {"names",   "pools",      "asyncio", "gc",
                                         "imports", "subprocess", NULL};
static const char *const option_names[] = {"asyncio-steps", "asyncio-slow", NULL};

/* A folder below annot's own that holds the package, and in the package what is preloaded. The
 * second way leads through a folder for the sake of its name: pyannot/preload/preload.c. */
#define PACKAGE_FILE "/pyannot/observe/__init__.py"
#define PRELOAD_FILE "/pyannot/preload/libasan.so/../annot-preload.so"

static bool is_one_of(const char *const *names, const char *word, size_t length)
{
    for (; *names; names++)
        if (strlen(*names) == length && memcmp(*names, word, length) == 0)
            return true;
    return false;
}

static bool is_known(const char *word, size_t length)
{
    const char *value = memchr(word, '=', length);
    if (is_one_of(option_names, word, value ? (size_t)(value - word) : length))
        return true;
    if (is_one_of((const char *const[]){"default", "none", "", NULL}, word, length))
        return true;
    bool without = length > 0 && word[0] == '-';
    return is_one_of(part_names, word + without, length - without);
}

int python_check(const struct python_values *values, int status)
{
    for (const char *word = values->parts ? values->parts : ""; *word;) {
        size_t length = strcspn(word, ",");
        if (!is_known(word, length))
            return cmd_fail(status,
                            "option --python: \"%.*s\" is nothing that pyannot observes\n"
                            "names, pools, asyncio, gc, imports, subprocess; asyncio-steps, "
                            "asyncio-slow=TIME; -NAME takes one off; none",
                            (int)length, word);
        word += length + (word[length] == ',');
    }
    return 0;
}

static bool has_file(const char *folder, const char *file)
{
    char path[PATH_MAX];
    return (size_t)snprintf(path, sizeof(path), "%s%s", folder, file) < sizeof(path) &&
           access(path, R_OK) == 0;
}

static void add_folder(const char *folder, struct text *folders, char preload[PATH_MAX])
{
    char path[PATH_MAX];
    if (!realpath(folder, path) || strchr(path, ':') || !has_file(path, PACKAGE_FILE))
        return;
    text_format(folders, "%s%s", folders->length > 0 ? ":" : "", path);
    /* The dynamic linker takes a blank for the end of a path, and $ for its own. */
    if (preload[0] == 0 && has_file(path, PRELOAD_FILE) && !strpbrk(path, " $") &&
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

static void find_packages(struct text *folders, char preload[PATH_MAX])
{
    static const char *const patterns[] = {
        "/../pyannot",
        "/../lib*/python3*/site-packages",
        "/../lib*/python3*/dist-packages",
    };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash || strpbrk(self, "*?[\\"))
        return;
    *slash = 0;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        add_matching(self, patterns[i], folders, preload);
}

/* Those that were preloaded before come first: AddressSanitizer's own must. */
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
    if (strcmp(parts, "none") == 0)
        return count;
    if (given)
        text_format(&folders, "%s", given);
    find_packages(&folders, library);
    if (folders.length > 0)
        environment->variables[count++] =
            (struct child_variable){"ANNOT_PYTHON_PATH", environment->folders};
    if (!values->no_preload &&
        add_preload(environment->preload, sizeof(environment->preload), library))
        environment->variables[count++] =
            (struct child_variable){"LD_PRELOAD", environment->preload};
    return count;
}
