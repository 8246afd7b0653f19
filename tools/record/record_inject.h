/* SPDX-License-Identifier: MIT */
/* What makes programs that are annotated for NVTX or ITT tell annot: variables that name the
 * injection library, which their loaders read at the first call. Main thread only. */
#ifndef ANNOT_RECORD_INJECT_H
#define ANNOT_RECORD_INJECT_H

#include "child.h"

#include <limits.h>
#include <stdbool.h>

struct inject_values {
    bool none; /* --no-nvtx */
};

/* Lines of an option table; `at` is the offset of the struct inject_values. */
#define INJECT_OPTIONS(at)                                                                         \
    {                                                                                              \
        "no-nvtx", 0, OPTION_FLAG, (at) + offsetof(struct inject_values, none), NULL,              \
            "load nothing into programs that are annotated for NVTX or ITT", NULL                  \
    }

/* Where the C library is told how much room there is in threads for libraries that come late. */
#define INJECT_ROOM_VARIABLE "GLIBC_TUNABLES"
#define INJECT_ROOM_KEY      "glibc.rtld.optional_static_tls"

/* Whether that value of it, or NULL, gives the injection library the room that it may need. */
bool inject_has_room(const char *tunables);

/* With this value of its variable, NVTX loads nothing. */
#define INJECT_NONE "./."

enum { INJECT_VARIABLES_MAX = 5, INJECT_ROOM_SIZE = 1024 }; /* two of each loader, and the room */

struct inject_environment {
    struct child_variable variables[INJECT_VARIABLES_MAX];
    char library[PATH_MAX];
    char room[INJECT_ROOM_SIZE]; /* a setting of the C library */
};

/* Fills in what the command gets; returns how many variables. They point into *environment. */
size_t inject_environment(const struct inject_values *values,
                          struct inject_environment *environment);

/* A tool of the user's that a loader's variable names now, which is to go on behind annot; NULL:
 * none. */
const char *inject_next_tool(const char *variable);

/* The path of a library that programs load and that belongs to this annot. False: there is none. */
bool library_of_annot(const char *name, char path[PATH_MAX]);

/* The path of the injection library that belongs to this annot. False: there is none. */
bool inject_library(char path[PATH_MAX]);

#endif
