/* SPDX-License-Identifier: MIT */
/* Addresses into frames of the trace: functions of files, of the kernel, of code made at run time.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_ADDRESS_FRAMES_H
#define ANNOT_ADDRESS_FRAMES_H

#include "processes.h"
#include "stacks.h"
#include "trace.h"

/* The name of an address in the kernel. 0; -ENOENT; -errno: it cannot say. */
typedef int (*address_kernel_name)(void *context, uint64_t address, char *ret_name, size_t size);

struct address_frames {
    struct trace *trace;
    address_kernel_name ask_kernel; /* NULL: nobody */
    void *ask_context;
    struct symbol_kernel *kernel; /* made at the first question that `ask_kernel` cannot answer */
    struct map64 kernel_frames;   /* address -> ordinal of the frame */
    struct map64 collectors;      /* ordinals of frames inside an interpreter's collector */
    uint32_t kernel_unnamed, collector, anonymous, unmapped, code_unread; /* 0 = not made yet */
};

void address_frames_fini(struct address_frames *names);

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

#endif
