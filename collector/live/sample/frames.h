/* SPDX-License-Identifier: MIT */
/* Frames of the trace: of addresses, in functions of files, of the kernel, or of code made at run
 * time, with names that arrive later; and of Python code objects as the BPF program read them,
 * identified by address, name's address and family of processes. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_FRAMES_H
#define ANNOT_FRAMES_H

#include "hash_map.h"
#include "processes.h"
#include "sampler_abi.h"
#include "spaces.h"
#include "symbolizer.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Addresses ---- */

/* Gives the name of an address in the kernel. 0; -ENOENT; -errno: unsupported. */
typedef int (*address_kernel_name)(void *context, uint64_t address, char *ret_name, size_t size);

struct address_frames {
    struct trace *trace;
    struct symbolizer *symbolizer;
    address_kernel_name ask_kernel; /* NULL: unavailable */
    void *ask_context;
    struct requested_source *kernel; /* made when `ask_kernel` fails first */
    bool kernel_hidden;              /* that fails too: all of the kernel is one frame */
    struct map64 kernel_frames;      /* address -> ordinal of the frame */
    struct map64 collectors;         /* ordinals of frames inside an interpreter's collector */
    uint64_t collectors_learned;     /* number of changes of `collectors` for existing frames */
    uint64_t refused;                /* names not requested: the queue was full */
    uint32_t kernel_unnamed, collector, anonymous, unmapped, code_unread; /* 0 = not made yet */
};

void address_frames_fini(struct address_frames *names);

/* Sets names of frames found since the last call. 0 or -ENOMEM. */
int frames_take_names(struct address_frames *names);

/* Waits for outstanding names, for 2 s at most. 0 or -ENOMEM. */
int frames_await_names(struct address_frames *names);

/* The number of frames of the trace without a name. */
uint32_t frames_unnamed(const struct address_frames *names);

/* Ordinals of frames, or -ENOMEM. For callers, pass the return address - 1. */
int64_t frame_native(struct address_frames *names, struct sampled *process,
                     const struct mapping_list *list, uint64_t address);
int64_t frame_kernel(struct address_frames *names, uint64_t address);
int64_t frame_collector(struct address_frames *names);
int64_t frame_code_unread(struct address_frames *names);

/* A pseudo frame with a remark. */
int64_t frame_note(struct address_frames *names, const char *text);

/* True if a frame is the function that collects an interpreter's garbage. */
bool frame_is_collector(const struct address_frames *names, uint32_t frame);

/* ---- Python code ---- */

struct code_names {
    struct wide_map by_code; /* code, key, family -> index in `codes`, plus 1 */
    VEC(struct code_name *) codes;
    uint64_t bytes;
    uint64_t swept_ns; /* time of the last sweep */
};

void code_names_fini(struct code_names *codes);

/* Keeps a code object; offsets: of the process's interpreter. 0, -EBADMSG: the record's sizes
 * exceed it, -ENOMEM. */
int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record);

/* The frame of one of its instructions: an ordinal; 0: unknown; -ENOMEM. */
int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place);

#endif
