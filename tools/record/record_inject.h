/* SPDX-License-Identifier: MIT */
/* Variables that make programs annotated for NVTX or ITT load the injection library; their loaders
 * read them at the first call. Main thread only. */
#ifndef ANNOT_RECORD_INJECT_H
#define ANNOT_RECORD_INJECT_H

#include "child.h"

#include <limits.h>
#include <stdbool.h>

struct inject_values {
    bool none; /* --no-nvtx */
};

/* Entries of an option table; `at` is the offset of the struct inject_values. */
#define INJECT_OPTIONS(at)                                                                         \
    {                                                                                              \
        "no-nvtx", 0, OPTION_FLAG, (at) + offsetof(struct inject_values, none), NULL,              \
            "load nothing into programs that are annotated for NVTX or ITT", NULL                  \
    }

/* Setting of the C library for the TLS space of libraries loaded later. */
#define INJECT_ROOM_VARIABLE "GLIBC_TUNABLES"
#define INJECT_ROOM_KEY      "glibc.rtld.optional_static_tls"

/* Returns true if this value of the variable, or NULL, leaves the injection library enough
 * space. */
bool inject_has_room(const char *tunables);

/* The value of NVTX's variable that makes it load no library. */
#define INJECT_NONE "./."

enum { INJECT_VARIABLES_MAX = 5, INJECT_ROOM_SIZE = 1024 }; /* two per loader, and the TLS space */

struct inject_environment {
    struct child_variable variables[INJECT_VARIABLES_MAX];
    char library[PATH_MAX];
    char room[INJECT_ROOM_SIZE]; /* a setting of the C library */
};

/* Fills in the command's variables and returns their number. They point into *environment. */
size_t inject_environment(const struct inject_values *values,
                          struct inject_environment *environment);

/* The user's tool that a loader's variable names at present, to be chained after annot; NULL:
 * unset. */
const char *inject_next_tool(const char *variable);

/* The path of this annot's library `name`, for loading into programs. False: missing. */
bool library_of_annot(const char *name, char path[PATH_MAX]);

/* The path of this annot's injection library. False: missing. */
bool inject_library(char path[PATH_MAX]);

#endif
