/* SPDX-License-Identifier: MIT */
/* The real BPF program, with the real tables of a process, and all records it sent: for tests.
 *
 *     scene_open; child = scene_start(work); scene_load(child); scene_go; ...; scene_drain; checks
 *
 * Failures end the test. Thread-safety: one thread. */
#ifndef ANNOT_BPF_SCENE_H
#define ANNOT_BPF_SCENE_H

#include "bpf_program.h"
#include "modules.h"
#include "test.h"

#include <sys/types.h>

struct bpf_scene {
    struct sampler_bpf *program;
    struct row_memory rows;
    uint32_t mapping_count;

    struct {
        struct sampler_head **items; /* copies, in order */
        size_t count, capacity;
    } records;
};

/* Skips the test if this machine forbids BPF. */
void scene_open(struct bpf_scene *scene, const struct bpf_program_options *options);
void scene_close(struct bpf_scene *scene);

/* A forked child that runs `work` after scene_go(), and then exits with its result. */
struct scene_child {
    pid_t pid;
    int gate; /* written to by scene_go */
};

struct scene_child scene_start(int (*work)(void *context), void *context);
void scene_go(const struct scene_child *child);
/* Waits for the child; returns its exit status. */
int scene_wait(const struct scene_child *child);
/* false: it has ended and was reaped. */
bool scene_running(const struct scene_child *child);

/* Zeroed memory shared with children. */
void *scene_shared(size_t size);

/* Loads rows for all executable mappings of the process, and starts sampling it. `process`: further
 * fields of its entry; NULL: zeros. */
void scene_load(struct bpf_scene *scene, pid_t pid, const struct sampler_process *process);

/* Takes the records in the ring. */
void scene_drain(struct bpf_scene *scene);
/* The same, discarding them. */
void scene_drop(struct bpf_scene *scene);

size_t scene_count(const struct bpf_scene *scene, enum sampler_record_kind kind, pid_t pid);
/* The body of a hash. NULL: not received. */
const struct sampler_part *scene_part(const struct bpf_scene *scene, enum sampler_record_kind kind,
                                      uint64_t hash);

uint64_t scene_now_ns(void);
/* Spins for this much CPU time of the thread. */
void scene_spin(uint64_t ns);

#endif
