/* SPDX-License-Identifier: MIT */
/* Shared by system tests in C: a private meeting directory, runs of annot, and the contents of a
 * recording. Paths of the programs come from the environment (ANNOT, KILL_TARGET). One per test. */
#ifndef ANNOT_SCENE_H
#define ANNOT_SCENE_H

#include "kill_counts.h"
#include "store.h"

#include <sys/types.h>

struct scene {
    char directory[128]; /* ANNOT_DIR of all programs; must be removed at the end */
    char counts_path[256];
    struct kill_counts *counts;
};

struct scene_recording {
    uint64_t record_count; /* pushes, pops, starts, ends, marks, counters */
    uint64_t lost_count;   /* by EVENT_LOST */
    uint64_t told_count;   /* lost, by the processes' own counts */
    uint32_t process_count, thread_count, refusal_count;
    uint32_t ends[8];         /* processes by enum process_end */
    uint32_t other_pid_count; /* processes that see themselves under another pid */
    uint32_t orphan_count;    /* processes without a recorded parent */
    bool complete;
    char nested[512];
};

void scene_begin(struct scene *scene);

/* Checks that the directory is as before. */
void scene_end(struct scene *scene);

/* Starts annot with these arguments (NULL-terminated, without argv[0]). */
pid_t scene_annot(const char *const *arguments);

/* Its wait status. */
int scene_wait(pid_t pid);
int scene_run(const char *const *arguments);

/* The same for `annot record -o FILE -- kill_target MODE END`. */
pid_t scene_record(const char *file, const char *mode, const char *end);

/* Waits until so many processes of the target hold; scene_go_on() continues them. */
void scene_await(const struct scene *scene, uint32_t count);
void scene_go_on(struct scene *scene);

uint64_t scene_committed(const struct scene *scene);

/* A file in the test's directory. */
const char *scene_path(const char *name);

struct scene_recording scene_read(const char *path);

/* Records of the processes with these identities only. */
uint64_t scene_read_some(const char *path, const uint64_t *identities, unsigned count);

#endif
