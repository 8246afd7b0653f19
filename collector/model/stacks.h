/* SPDX-License-Identifier: MIT */
/* Modules, sources, labels, frames, stacks and range paths of a recording, each kept once.
 *
 * A frame is a place in code, and its label the function that the place belongs to. A stack is a
 * tree node: a frame and the stack that called it; so is a range path: a name and the path around
 * it. Ordinal 0 of each is "nothing" and the parent of every root. Entries never change, but for
 * the labels of frames, which may come late; the store writes what was added since its last look,
 * and then stacks may be forgotten. Thread-safety: none. */
#ifndef ANNOT_MODEL_STACKS_H
#define ANNOT_MODEL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum frame_kind {
    FRAME_NATIVE = 1,
    FRAME_PYTHON = 2,
    FRAME_KERNEL = 3,
    FRAME_JIT = 4,       /* named by /tmp/perf-PID.map, or anonymous code          */
    FRAME_COLLECTOR = 5, /* an interpreter's garbage collector                      */
    FRAME_NOTE = 6,      /* no frame: says what is missing, "[stack cut: no unwind table]" */
};

enum module_kind {
    MODULE_ELF = 1,
    MODULE_VDSO = 2, /* the kernel's own library: in no file */
};

/* A file of code, as it was when it was mapped. Several of one path: it was replaced. */
struct code_module {
    uint32_t path; /* string */
    uint8_t kind;  /* enum module_kind */
    uint8_t build_id_size;
    uint8_t build_id[20];
    uint8_t unused[2];
};

/* A file of source code that was run. */
struct source {
    uint32_t content; /* string; 0: not kept. It comes once at most: the store's revision */
    uint32_t path;    /* string */
    uint8_t hash[16]; /* of the content, as its writer made it; zeros: not known */
};

enum label_flags {
    LABEL_PLACE = 1u << 0, /* no function: says where the code lies, "libfoo.so+0x1230",
                              "[anonymous code]" */
    LABEL_WORK = 1u << 1,  /* no function: what a queue did, as the leaf of who launched it
                              (profile/gpu_stacks.h); not stored */
    LABEL_TASK =
        1u << 2, /* no function, but what calls were made for: a task's step, "task fetch" */
    LABEL_RANGE = 1u << 3, /* the same: a range, "range query" */
};

#define LABEL_TASK_PREFIX "task " /* what its text begins with */

/* What a function is called and where it is: all frames of one function have the same. Modules of
 * one path but different builds have functions of their own. */
struct label {
    uint32_t text;      /* string: demangled or qualified name */
    uint32_t source;    /* ordinal; 0 = not known */
    uint32_t module;    /* ordinal; 0 = none */
    int32_t first_line; /* 0 = not known */
    uint8_t kind;       /* enum frame_kind */
    uint8_t flags;      /* enum label_flags */
    uint8_t unused[2];
};

/* What of a source ran: columns in bytes from 1, the last one behind the expression; 0 = unknown.
 */
struct source_place {
    int32_t line;
    uint16_t column, end_column;
};

struct frame {
    uint64_t address; /* native: in the module's own address space; kernel, JIT: absolute; else 0 */
    uint32_t module;  /* ordinal; 0 = none */
    uint8_t kind;     /* enum frame_kind */
    uint8_t reserved[3];
    uint32_t label;      /* ordinal; 0 = not known yet */
    int32_t line;        /* of the instruction, 0 = unknown */
    uint16_t column;     /* in bytes from 1; 0 = unknown */
    uint16_t end_column; /* behind the expression that ran */
    uint32_t caller; /* its code was inlined: the frame that it lies in; 0 = it was not. That has
                        no address of its own */
};

/* What a frame is called. */
struct frame_name {
    uint32_t frame, label;
    int32_t line;
    uint16_t column, end_column;
    uint32_t caller; /* as struct frame */
};

struct stack {
    uint32_t parent; /* the caller's stack; 0 = this is the root */
    uint32_t frame;
};

/* Whose a range of a path is. Numbers are those of the recording format. */
enum range_path_kind {
    RANGE_PATH_THREAD = 0,
    RANGE_PATH_TRACK = 1,      /* of a track that the thread ran: its outermost that is shown */
    RANGE_PATH_INSIDE = 2,     /* of the same track as the next such range around it */
    RANGE_PATH_INHERITED = 3,  /* open in the parent at the fork: none of the process's own */
    RANGE_PATH_UNRECORDED = 4, /* its begin was lost; found out (read/lane_samples.c), not stored */
    RANGE_PATH_PROBED = 5,     /* a span that an outside observer reports of the thread; its live
                                  stack does not have it; not stored */
};

struct range_path {
    uint32_t parent; /* the path around it; 0 = outermost */
    uint32_t name;   /* string */
    uint32_t kind;   /* enum range_path_kind */
    uint32_t scope;  /* in a recording, of tracks only: the events tell the threads' */
};

struct stacks; /* of one trace: trace_stacks() */

struct stacks *stacks_create(void);
void stacks_destroy(struct stacks *stacks);

/* The ordinal of what is given, added if new; -ENOMEM. A parent must exist. */
int64_t stacks_module(struct stacks *stacks, const struct code_module *module);
int64_t stacks_source(struct stacks *stacks, const struct source *source);
/* That of a path, with its text if that is known. */
int64_t stacks_source_of(struct stacks *stacks, uint32_t path);
/* The file's text, once it was read; nothing if there is no such source. */
void stacks_keep_source(struct stacks *stacks, uint32_t ordinal, uint32_t content,
                        const uint8_t hash[16]);
int64_t stacks_label(struct stacks *stacks, const struct label *label);
int64_t stacks_frame(struct stacks *stacks, const struct frame *frame);
int64_t stacks_push(struct stacks *stacks, uint32_t parent, uint32_t frame);
int64_t stacks_path(struct stacks *stacks, uint32_t parent, uint32_t name); /* of scope 0 */
int64_t stacks_path_add(struct stacks *stacks, const struct range_path *path);

/* Whether its label is told apart from it, because it may come later. */
bool frame_is_named_late(const struct frame *frame);
/* Names such a frame, perhaps anew. 0, -ENOMEM; -EINVAL: there is none of that ordinal, or no such
 * label. */
int stacks_name_frame(struct stacks *stacks, const struct frame_name *name);
/* Calls one that has no name by its place; that is none of those that it got. */
void stacks_place_frame(struct stacks *stacks, uint32_t ordinal, uint32_t label);
/* All names that frames got, in that order. Never NULL. */
uint32_t stacks_name_count(const struct stacks *stacks);
const struct frame_name *stacks_get_name(const struct stacks *stacks, uint32_t index);

/* For readers, whose ordinals are given: appended unseen. -EBADMSG: a parent or frame that does
 * not exist before it. */
int64_t stacks_append_module(struct stacks *stacks, const struct code_module *module);
int64_t stacks_append_source(struct stacks *stacks, const struct source *source);
/* One that is there gets the text of the later one. NULL: nothing is known of it. */
int64_t stacks_put_source(struct stacks *stacks, uint32_t ordinal, const struct source *source);
int64_t stacks_append_label(struct stacks *stacks, const struct label *label);
int64_t stacks_append_frame(struct stacks *stacks, const struct frame *frame);
int64_t stacks_append_stack(struct stacks *stacks, const struct stack *stack);
int64_t stacks_append_path(struct stacks *stacks, const struct range_path *path);

uint32_t stacks_module_count(const struct stacks *stacks); /* these with ordinal 0 */
uint32_t stacks_source_count(const struct stacks *stacks);
uint32_t stacks_label_count(const struct stacks *stacks);
uint32_t stacks_frame_count(const struct stacks *stacks);
uint32_t stacks_stack_count(const struct stacks *stacks);
uint32_t stacks_path_count(const struct stacks *stacks);

/* Once all is known, for who reads: functions that were inlined become stacks of their own below
 * the one that their code lies in. Ordinals change: *ret_map has the new one of each; NULL: all are
 * as they were. 0 or -ENOMEM. */
int stacks_expand(struct stacks *stacks, uint32_t **ret_map);

/* For who writes them for days: stacks with smaller ordinals are in the file and asked for no more.
 * They are not known any more; the same stack pushed again gets another ordinal. */
void stacks_forget(struct stacks *stacks, uint32_t before);
uint32_t stacks_kept_count(const struct stacks *stacks); /* not forgotten yet */

/* Never NULL: an unknown ordinal gives entry 0 (all zero). Valid until the next add. */
const struct code_module *stacks_get_module(const struct stacks *stacks, uint32_t ordinal);
const struct source *stacks_get_source(const struct stacks *stacks, uint32_t ordinal);
const struct label *stacks_get_label(const struct stacks *stacks, uint32_t ordinal);
const struct label *stacks_label_of(const struct stacks *stacks, uint32_t frame);
const struct frame *stacks_get_frame(const struct stacks *stacks, uint32_t ordinal);
const struct stack *stacks_get_stack(const struct stacks *stacks, uint32_t ordinal);
const struct range_path *stacks_get_path(const struct stacks *stacks, uint32_t ordinal);

/* Frames from the root (index 0) to the leaf; at most `size`, the leaf's end if there are more.
 * Returns how many were written. */
uint32_t stacks_frames(const struct stacks *stacks, uint32_t stack, uint32_t *frames,
                       uint32_t size);
uint32_t stacks_names(const struct stacks *stacks, uint32_t path, uint32_t *names, uint32_t size);
/* The path itself and those around it. */
uint32_t stacks_paths(const struct stacks *stacks, uint32_t path, uint32_t *paths, uint32_t size);

#endif
