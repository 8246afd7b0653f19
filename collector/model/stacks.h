/* SPDX-License-Identifier: MIT */
/* Modules, sources, labels, frames, stacks and range paths of a recording, each kept once.
 *
 * A frame is a place in code, and its label the function that the place belongs to. A stack is a
 * tree node: a frame and the stack that called it; so is a range path: a name and the path around
 * it. Ordinal 0 of each is the empty entry and the parent of every root. Entries never change,
 * except labels of frames, which may come late. The store writes new entries at each of its turns;
 * after that stacks may be forgotten. Thread-safety: none. */
#ifndef ANNOT_MODEL_STACKS_H
#define ANNOT_MODEL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum frame_kind {
    FRAME_NATIVE = 1,
    FRAME_PYTHON = 2,
    FRAME_KERNEL = 3,
    FRAME_JIT = 4,       /* named by /tmp/perf-PID.map, or anonymous code */
    FRAME_COLLECTOR = 5, /* an interpreter's garbage collector */
    FRAME_NOTE = 6,      /* no frame: describes a gap, "[stack cut: no unwind table]" */
};

enum module_kind {
    MODULE_ELF = 1,
    MODULE_VDSO = 2, /* the kernel's own library: in no file */
};

/* A file of code, as it was when it was mapped. A file that was replaced has several of one
 * path. */
struct code_module {
    uint32_t path; /* string */
    uint8_t kind;  /* enum module_kind */
    uint8_t build_id_size;
    uint8_t build_id[20];
    uint8_t unused[2];
};

/* A file of source code that was run. */
struct source {
    uint32_t content; /* string; 0: not kept. Set at most once: the store's revision */
    uint32_t path;    /* string */
    uint8_t hash[16]; /* hash of the content by its writer; zeros: unknown */
};

enum label_flags {
    LABEL_PLACE = 1u << 0, /* a place instead of a function: "libfoo.so+0x1230", "[anonymous
                            * code]" */
    LABEL_WORK = 1u << 1,  /* work of a queue, as the leaf of its launcher (profile/gpu_stacks.h);
                            * not stored */
    LABEL_TASK = 1u << 2,  /* a task's step, as the context of calls: "task fetch" */
    LABEL_RANGE = 1u << 3, /* a range, as the context of calls: "range query" */
};

#define LABEL_TASK_PREFIX "task " /* prefix of its text */

/* Name and place of a function: all frames of one function share it. Modules of one path but
 * different builds have separate labels. */
struct label {
    uint32_t text;      /* string: demangled or qualified name */
    uint32_t source;    /* ordinal; 0 = unknown */
    uint32_t module;    /* ordinal; 0 = no module */
    int32_t first_line; /* 0 = unknown */
    uint8_t kind;       /* enum frame_kind */
    uint8_t flags;      /* enum label_flags */
    uint8_t unused[2];
};

/* Position in a source: columns in bytes from 1, end_column just after the expression; 0 =
 * unknown. */
struct source_place {
    int32_t line;
    uint16_t column, end_column;
};

struct frame {
    uint64_t address; /* native: in the module's own address space; kernel, JIT: absolute; else 0 */
    uint32_t module;  /* ordinal; 0 = no module */
    uint8_t kind;     /* enum frame_kind */
    uint8_t reserved[3];
    uint32_t label;      /* ordinal; 0 = not yet known */
    int32_t line;        /* of the instruction, 0 = unknown */
    uint16_t column;     /* in bytes from 1; 0 = unknown */
    uint16_t end_column; /* just after the expression */
    uint32_t caller; /* for inlined code: the frame that it lies in; 0 = not inlined. That frame has
                      * no address */
};

/* Name that a frame gets later. */
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

/* Owner of a range in a path. Numbers are those of the recording format. */
enum range_path_kind {
    RANGE_PATH_THREAD = 0,
    RANGE_PATH_TRACK = 1,      /* of a track that the thread ran: its outermost shown range */
    RANGE_PATH_INSIDE = 2,     /* of the same track as the next such range around it */
    RANGE_PATH_INHERITED = 3,  /* open in the parent at the fork: not the process's own */
    RANGE_PATH_UNRECORDED = 4, /* its begin was lost; deduced by read/lane_samples.c, not stored */
    RANGE_PATH_PROBED = 5,     /* a span that an outside observer reports of the thread; absent from
                                * its live stack; not stored */
};

struct range_path {
    uint32_t parent; /* the path around it; 0 = outermost */
    uint32_t name;   /* string */
    uint32_t kind;   /* enum range_path_kind */
    uint32_t scope;  /* in a recording, of tracks only: for threads, the events have it */
};

struct stacks; /* of one trace: trace_stacks() */

struct stacks *stacks_create(void);
void stacks_destroy(struct stacks *stacks);

/* The ordinal of the entry, added if new; -ENOMEM. A parent must exist. */
int64_t stacks_module(struct stacks *stacks, const struct code_module *module);
int64_t stacks_source(struct stacks *stacks, const struct source *source);
/* The source of a path, with its text if that is known. */
int64_t stacks_source_of(struct stacks *stacks, uint32_t path);
/* Sets the text of a file after it was read; no effect on an unknown ordinal. */
void stacks_keep_source(struct stacks *stacks, uint32_t ordinal, uint32_t content,
                        const uint8_t hash[16]);
int64_t stacks_label(struct stacks *stacks, const struct label *label);
int64_t stacks_frame(struct stacks *stacks, const struct frame *frame);
int64_t stacks_push(struct stacks *stacks, uint32_t parent, uint32_t frame);
int64_t stacks_path(struct stacks *stacks, uint32_t parent, uint32_t name); /* of scope 0 */
int64_t stacks_path_add(struct stacks *stacks, const struct range_path *path);

/* True if its label is stored apart from the frame, because it may come later. */
bool frame_is_named_late(const struct frame *frame);
/* Names or renames such a frame. 0, -ENOMEM; -EINVAL: unknown frame or label. */
int stacks_name_frame(struct stacks *stacks, const struct frame_name *name);
/* Labels an unnamed frame by its place; stacks_get_name() does not list it. */
void stacks_place_frame(struct stacks *stacks, uint32_t ordinal, uint32_t label);
/* All names given to frames, in that order. Never NULL. */
uint32_t stacks_name_count(const struct stacks *stacks);
const struct frame_name *stacks_get_name(const struct stacks *stacks, uint32_t index);

/* For readers, which get ordinals from the file: appended without look-up. -EBADMSG: a parent or
 * frame that does not exist before it. */
int64_t stacks_append_module(struct stacks *stacks, const struct code_module *module);
int64_t stacks_append_source(struct stacks *stacks, const struct source *source);
/* Replaces the text of an existing source. NULL: an unknown source. */
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

/* For readers, after all entries are known: inlined functions become separate stacks below the one
 * that holds their code. Ordinals change: *ret_map has the new one of each; NULL: all are
 * unchanged. 0 or -ENOMEM. */
int stacks_expand(struct stacks *stacks, uint32_t **ret_map);

/* For writers of long recordings: forgets stacks below `before`, which are in the file and needed
 * no more. A forgotten stack that is pushed again gets a new ordinal. */
void stacks_forget(struct stacks *stacks, uint32_t before);
uint32_t stacks_kept_count(const struct stacks *stacks); /* not forgotten */

/* Never NULL: an unknown ordinal gives entry 0 (all zero). Valid until the next add. */
const struct code_module *stacks_get_module(const struct stacks *stacks, uint32_t ordinal);
const struct source *stacks_get_source(const struct stacks *stacks, uint32_t ordinal);
const struct label *stacks_get_label(const struct stacks *stacks, uint32_t ordinal);
const struct label *stacks_label_of(const struct stacks *stacks, uint32_t frame);
const struct frame *stacks_get_frame(const struct stacks *stacks, uint32_t ordinal);
const struct stack *stacks_get_stack(const struct stacks *stacks, uint32_t ordinal);
const struct range_path *stacks_get_path(const struct stacks *stacks, uint32_t ordinal);

/* Frames from the root (index 0) to the leaf; if there are more than `size`, those next to the
 * leaf. Returns the number written. */
uint32_t stacks_frames(const struct stacks *stacks, uint32_t stack, uint32_t *frames,
                       uint32_t size);
uint32_t stacks_names(const struct stacks *stacks, uint32_t path, uint32_t *names, uint32_t size);
/* The path itself and those around it. */
uint32_t stacks_paths(const struct stacks *stacks, uint32_t path, uint32_t *paths, uint32_t size);

#endif
