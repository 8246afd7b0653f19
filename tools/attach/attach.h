/* SPDX-License-Identifier: MIT */
/* The programs of `annot attach`: which of them have annotations, and what is said about them.
 * Thread-safety: main thread only. */
#ifndef ANNOT_ATTACH_H
#define ANNOT_ATTACH_H

#include "collector.h"
#include "operands.h"

struct attach_program {
    struct target target;
    int pidfd;      /* the caller's */
    bool annotated; /* told to join */
};

/* What becomes of a program whose annotations cannot be had. */
enum attach_rest {
    ATTACH_SAMPLED,
    ATTACH_LEFT_OUT, /* others are recorded */
    ATTACH_NOTHING,  /* then nothing is */
};

struct attach_programs {
    struct attach_program *items;
    uint32_t count;
    int64_t begin_ns;
    enum attach_rest rest;
    bool verbose; /* says of each that it has no annotations */
};

/* Looks at each while its pidfd is held. 0, or a message was printed: the exit status. fini accepts
 * a zeroed object. */
int attach_programs_init(struct attach_programs *programs, const struct pid_list *pids,
                         enum attach_rest rest);
void attach_programs_fini(struct attach_programs *programs);

/* One whose directory is to be used; NULL: no annotations can be had. */
const struct target *attach_programs_leader(const struct attach_programs *programs);

/* Switches on what can be, and says what cannot. How many there are. */
uint32_t attach_programs_annotate(struct attach_programs *programs, struct collector *collector);

/* Says which have not emitted an event yet; `last`: which never did. */
void attach_programs_note_silent(struct attach_programs *programs,
                                 const struct collector *collector, bool last);

/* Says what is wrong with what a program's environment tells loaders of NVTX, ITT and CUDA, here
 * and in the recording. */
struct attach_loaders {
    const struct target *target;
    struct collector *collector;
    bool verbose; /* and what is not loaded */
};

void attach_look_at_loaders(const struct attach_loaders *look);

/* Whether it has a file of that name mapped as code. */
bool attach_has_mapped(int32_t pid, const char *library);

/* The environment as the program got it when it started: NUL behind each variable, and two at the
 * end. The caller's; NULL: it cannot be known. And the value of a variable there, or NULL. */
char *attach_environment(int32_t pid);
const char *attach_environment_value(const char *environment, const char *name);

/* Whether a process of that number told events of its own. */
bool attach_has_joined(const struct trace *trace, int32_t pid);

/* Loads the injection library into each that has none. 0, or a message was printed: the exit
 * status; those before that one have it then. Not `needed`: who cannot have it is told, no more. */
int attach_inject(const struct pid_list *pids, bool needed);

/* For the recording. */
#define ATTACH_INJECT_NOTE                                                                         \
    "annot's library was loaded while the program ran (--inject): libraries that had called NVTX " \
    "or ITT before are not recorded"

/* Says why a process cannot be had, and returns the exit status. `error` is positive. */
int attach_programs_fail(int32_t pid, int error);

#endif
