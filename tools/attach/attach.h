/* SPDX-License-Identifier: MIT */
/* The programs of `annot attach`: finds those with annotations and prints notes about the others.
 * Thread-safety: main thread only. */
#ifndef ANNOT_ATTACH_H
#define ANNOT_ATTACH_H

#include "collector.h"
#include "operands.h"

#include <stdbool.h>
#include <stdint.h>

struct attach_program {
    struct target target;
    int pidfd;      /* closed by attach_programs_fini */
    bool annotated; /* asked to join the session */
};

/* Treatment of a program without annotations. */
enum attach_rest {
    ATTACH_SAMPLED,
    ATTACH_LEFT_OUT, /* the other programs are recorded */
    ATTACH_NOTHING,  /* the recording fails */
};

struct attach_programs {
    struct attach_program *items;
    uint32_t count;
    int64_t begin_ns;
    enum attach_rest rest;
    bool verbose; /* print a note for each program without annotations */
};

/* Inspects each process while its pidfd is held. 0, or the exit status after a printed message.
 * fini accepts a zeroed object. */
int attach_programs_init(struct attach_programs *programs, const struct pid_list *pids,
                         enum attach_rest rest);
void attach_programs_fini(struct attach_programs *programs);

/* The program whose directory the session uses; NULL: no program has annotations. */
const struct target *attach_programs_leader(const struct attach_programs *programs);

/* Makes the programs with libannot join the session and prints a note for each other one. Returns
 * the number that joined. */
uint32_t attach_programs_annotate(struct attach_programs *programs, struct collector *collector);

/* Prints the programs without an event so far; `last`: without an event in the whole recording. */
void attach_programs_note_silent(struct attach_programs *programs,
                                 const struct collector *collector, bool last);

/* Checks the variables of a program's environment that configure the loaders of NVTX, ITT and CUDA.
 * Prints problems and adds them to the recording. */
struct attach_loaders {
    const struct target *target;
    struct collector *collector;
    bool verbose; /* also print libraries that are not loaded */
};

void attach_look_at_loaders(const struct attach_loaders *look);

/* Returns true if the process has a file of that name mapped as code. */
bool attach_has_mapped(int32_t pid, const char *library);

/* The environment at the program's start: each variable ends with NUL, the last one with two. The
 * caller frees it; NULL: unreadable. attach_environment_value returns the value of a variable in
 * it, or NULL. */
char *attach_environment(int32_t pid);
const char *attach_environment_value(const char *environment, const char *name);

/* Returns true if the process has published events of its own. */
bool attach_has_joined(const struct trace *trace, int32_t pid);

/* Loads the injection library into each process without it. 0, or the exit status after a printed
 * message; earlier processes of the list then have it. Unless `needed`, a failure is only
 * printed. */
int attach_inject(const struct pid_list *pids, bool needed);

/* A note for the recording. */
#define ATTACH_INJECT_NOTE                                                                         \
    "annot's library was loaded while the program ran (--inject): libraries that had called NVTX " \
    "or ITT before are not recorded"

/* Prints why a process cannot be attached to, and returns the exit status. `error` is positive. */
int attach_programs_fail(int32_t pid, int error);

/* Searches the files that a program has mapped. */

enum { ATTACH_IMAGE_SIZE = 256 };

/* Returns true if a mapped file contains the name of the variable, as code compiled with NVTX or
 * ITT does, and the first such file's name in `name`. */
bool attach_image_with(int32_t pid, const char *variable, char name[ATTACH_IMAGE_SIZE]);

#endif
