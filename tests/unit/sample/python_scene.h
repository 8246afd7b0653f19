/* SPDX-License-Identifier: MIT */
/* A real interpreter, sampled by the real BPF program, and its samples with names: for tests.
 *
 * Failures end the test. Thread-safety: one thread. */
#ifndef ANNOT_PYTHON_SCENE_H
#define ANNOT_PYTHON_SCENE_H

#include "bpf_scene.h"
#include "hash_map.h"
#include "interpreters.h"
#include "python_runtime.h"
#include "python_stack.h"

struct python_scene {
    struct bpf_scene bpf;
    struct interpreter_run run;
    struct python_runtime runtime;
    struct sampler_process process; /* as loaded */
    char ready[256];                /* the first line that the program printed */
    struct map64 codes, parts;      /* hash -> 1 + index of the record; built at the end */
};

/* Starts the program, waits for its first line, loads its tables, and starts sampling. The
 * environment variable ANNOT_TEST_PLANT names an offset to falsify ("frame_previous", ...) or a
 * precaution to omit ("guard"), to demonstrate that the test then fails. */
void python_scene_begin(struct python_scene *scene, const struct interpreter *interpreter,
                        const char *const arguments[], const struct bpf_program_options *options);
/* Ends the program and takes the remaining records. */
void python_scene_end(struct python_scene *scene);
void python_scene_close(struct python_scene *scene);

struct named_frame {
    char name[256], file[512];
    int first_line, line;
    uint64_t address; /* of native frames, which have no other fields */
};

enum { NAMED_MAX = 1024 };

/* A stack joined from two parts, leaf first. */
struct named_stack {
    struct named_frame frames[NAMED_MAX];
    uint32_t count, python_count, unplaced;
    uint32_t evals; /* remaining native frames of the eval function */
    bool known;     /* both parts were received */
};

/* Joins the stacks with the hashes of a sample or switch. */
void python_scene_stack(const struct python_scene *scene, uint64_t native, uint64_t python,
                        struct named_stack *ret_stack);

/* Index of the first frame with that name, from `from` on; -1: missing. */
int named_find(const struct named_stack *stack, const char *name, int from);

#endif
