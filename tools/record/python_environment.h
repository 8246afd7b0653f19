/* SPDX-License-Identifier: MIT */
/* The environment of a command for Python. Main thread only. */
#ifndef ANNOT_PYTHON_ENVIRONMENT_H
#define ANNOT_PYTHON_ENVIRONMENT_H

#include "child.h"
#include "collector.h"
#include "record_options.h"
#include "tracing_options.h"

#include <stdbool.h>
#include <stddef.h>

struct python_values;

enum { PYTHON_VARIABLES_MAX = 3 };

/* The text of requested options: the recording states which of them had no effect. */
struct asked_texts {
    char calls[512], lines[512], python[256], capture[512];
};

void asked_describe(const struct tracing_values *trace, const struct python_values *python,
                    const char *capture, struct asked_texts *texts,
                    struct collector_requested *asked);

struct python_environment {
    struct child_variable variables[PYTHON_VARIABLES_MAX];
    char folders[4 * PATH_MAX], preload[4 * PATH_MAX];
    bool has_library; /* it is preloaded, by annot or by the user */
};

/* Call before the command starts: prints a note if an option for Python will have no effect,
 * because `program` is PyPy or embeds Python, or because the library to preload is missing: then
 * only programs that import pyannot themselves take part. */
void python_warn(const struct python_environment *environment, const struct python_values *values,
                 const struct collector_requested *asked, const char *program);

/* Fills in the command's variables and returns their number. They point into *environment. */
size_t python_environment(const struct python_values *values,
                          struct python_environment *environment);

#endif
