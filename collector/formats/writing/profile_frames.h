/* SPDX-License-Identifier: MIT */
/* Frames of stacks and timelines for other viewers, numbered in order of first use: functions,
 * ranges, reasons of waits. Memory: 16 bytes each. Thread-safety: one thread per object. */
#ifndef ANNOT_PROFILE_FRAMES_H
#define ANNOT_PROFILE_FRAMES_H

#include "call_label.h"
#include "chosen_frames.h"
#include "export.h"
#include "hash_map.h"
#include "vec.h"

enum profile_frame_kind {
    PROFILE_FUNCTION = 0, /* id: label */
    PROFILE_RANGE,        /* id: string; domain: string */
    PROFILE_REASON,       /* id: enum wait_reason */
    PROFILE_RUNNABLE,
    PROFILE_NO_STACK,
};

struct profile_frame {
    uint32_t kind; /* enum profile_frame_kind */
    uint32_t id, domain;
};

struct profile_frames {
    const struct trace *trace;
    const char *prefixes; /* of file names: profile/call_label.h */
    struct chosen_frames chosen;
    uint32_t *of_label; /* frame + 1; 0: not yet numbered */
    uint32_t *of_name;  /* the same of ranges without a domain */
    uint32_t label_count, name_count;
    struct wide_map others;
    VEC(struct profile_frame) frames;
};

enum { PROFILE_DEPTH_MAX = 2048 };

/* `job` outlives it. 0 or -ENOMEM; then fini all the same. */
int profile_frames_init(struct profile_frames *frames, const struct export_job *job);
void profile_frames_fini(struct profile_frames *frames);

/* The number of a frame, added if new, or -ENOMEM. */
int64_t profile_frames_add(struct profile_frames *frames, const struct profile_frame *frame);
int64_t profile_frames_range(struct profile_frames *frames, const struct event *event);

/* The shown frames of a stack, from the root; room for PROFILE_DEPTH_MAX. Their count, at least 1,
 * or -ENOMEM. */
int64_t profile_frames_stack(struct profile_frames *frames, uint32_t stack, uint32_t *ret_frames);

/* Name and place of a frame. Valid until the next call. */
struct profile_frame_text {
    const char *name, *file; /* file: NULL: unknown */
    size_t name_length;
    int32_t line; /* 0: unknown */
    char buffer[CALL_LABEL_SIZE];
    char *owned;
};

void profile_frame_describe(const struct trace *trace, const char *prefixes,
                            const struct profile_frame *frame, struct profile_frame_text *text);
void profile_frame_text_fini(struct profile_frame_text *text);

/* "python job.py 4000"; "reader 4001"; both, "python job.py 4000 / reader 4001". Room for
 * PROFILE_TITLE_SIZE; unknown parts are left out. */
enum { PROFILE_TITLE_SIZE = 2400 };

void profile_process_title(const struct trace *trace, uint32_t process, char *buffer);
void profile_thread_title(const struct trace *trace, uint32_t thread, char *buffer);
void profile_full_title(const struct trace *trace, uint32_t thread, char *buffer);

#endif
