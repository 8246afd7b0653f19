/* SPDX-License-Identifier: MIT */
/* Frames of the trace: of addresses, which are functions of files, of the kernel, of code made at
 * run time, and get their names later; and of Python code objects as the BPF program read them,
 * known by address, name's address and family of processes. Thread-safety: one thread per object.
 */
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

/* The name of an address in the kernel. 0; -ENOENT; -errno: it cannot say. */
typedef int (*address_kernel_name)(void *context, uint64_t address, char *ret_name, size_t size);

struct address_frames {
    struct trace *trace;
    struct symbolizer *symbolizer;
    address_kernel_name ask_kernel; /* NULL: nobody */
    void *ask_context;
    struct asked_source *kernel; /* made at the first question that `ask_kernel` cannot answer */
    bool kernel_hidden;          /* nor can that: all of it is one frame */
    struct map64 kernel_frames;  /* address -> ordinal of the frame */
    struct map64 collectors;     /* ordinals of frames inside an interpreter's collector */
    uint64_t collectors_learned; /* times that `collectors` changed for frames that were there */
    uint64_t refused;            /* names not asked for: too many questions waited */
    uint32_t kernel_unnamed, collector, anonymous, unmapped, code_unread; /* 0 = not made yet */
};

void address_frames_fini(struct address_frames *names);

/* Gives frames the names that were found since the last call. 0 or -ENOMEM. */
int frames_take_names(struct address_frames *names);

/* Waits for those that are still to come, for 2 s at most. 0 or -ENOMEM. */
int frames_await_names(struct address_frames *names);

/* Frames of the trace that have no name. */
uint32_t frames_unnamed(const struct address_frames *names);

/* Ordinals of frames, or -ENOMEM. Of callers, give the return address - 1. */
int64_t frame_native(struct address_frames *names, struct sampled *process,
                     const struct mapping_list *list, uint64_t address);
int64_t frame_kernel(struct address_frames *names, uint64_t address);
int64_t frame_collector(struct address_frames *names);
int64_t frame_code_unread(struct address_frames *names);

/* No frame, but a remark. */
int64_t frame_note(struct address_frames *names, const char *text);

/* Whether a frame is the function that collects an interpreter's garbage. */
bool frame_is_collector(const struct address_frames *names, uint32_t frame);

/* ---- Python code ---- */

struct code_names {
    struct wide_map by_code; /* code, key, family -> index in `codes`, plus 1 */
    VEC(struct code_name *) codes;
    uint64_t bytes;
    uint64_t swept_ns; /* when room was made last */
};

void code_names_fini(struct code_names *codes);

/* Keeps a code object; offsets: of the process's interpreter. 0, -EBADMSG: the record says more
 * than it holds, -ENOMEM. */
int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record);

/* The frame of an instruction of it: an ordinal; 0: not known; -ENOMEM. */
int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place);

#endif
