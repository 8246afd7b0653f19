/* SPDX-License-Identifier: MIT */
/* The options --python and --no-preload of `record`: what pyannot observes in Python interpreters
 * below the command, and how it gets into them: by variables of the command's environment.
 * Thread-safety: none needed, no globals. */
#ifndef ANNOT_PYTHON_OPTIONS_H
#define ANNOT_PYTHON_OPTIONS_H

#include "child.h"
#include "options.h"

#include <limits.h>

struct python_values {
    const char *parts; /* NULL: $ANNOT_PYTHON, else the default */
    bool no_preload;
};

/* Lines of an option table; `at` is the offset of the struct python_values. */
#define PYTHON_OPTIONS(at)                                                                         \
    {"python",                                                                                     \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     (at) + offsetof(struct python_values, parts),                                                 \
     "LIST",                                                                                       \
     "observe these in Python: names,pools,asyncio,gc,imports,subprocess; -NAME,... excludes",     \
     NULL},                                                                                        \
    {                                                                                              \
        "no-preload", 0, OPTION_FLAG, (at) + offsetof(struct python_values, no_preload), NULL,     \
            "load nothing into programs; observe only Pythons with pyannot installed", NULL        \
    }

/* 0, or a message was printed: returns `status`. */
int python_check(const struct python_values *values, int status);

enum { PYTHON_VARIABLES_MAX = 3 };

struct python_environment {
    struct child_variable variables[PYTHON_VARIABLES_MAX];
    char folders[4 * PATH_MAX], preload[4 * PATH_MAX];
};

/* Fills in what the command gets; returns how many variables. They point into *environment. */
size_t python_environment(const struct python_values *values,
                          struct python_environment *environment);

#endif
