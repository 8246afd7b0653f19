/* SPDX-License-Identifier: MIT */
/* What libannot-gpu tells annot: the one place where the two meet (gpu_tell.c). */
#ifndef ANNOT_GPU_TELL_H
#define ANNOT_GPU_TELL_H

#include <stddef.h>
#include <stdint.h>

/* Where and when something was caused. */
struct gpu_origin {
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: unknown */
    uint32_t thread;  /* annot's number of it; 0: unknown */
};

struct gpu_span {
    uint32_t name;
    uint32_t device, context, stream;
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    struct gpu_origin origin;
    uint64_t bytes; /* of copies and sets, else 0 */
    uint8_t kind;   /* enum gpu_kind */
};

/* What was counted in this process, since it began. */
struct gpu_counts {
    uint64_t launches;   /* kernels, graphs, copies and sets that the program launched */
    uint64_t answered;   /* of these, with an activity */
    uint64_t activities; /* records */
    uint64_t dropped;    /* records that CUPTI had no room for */
    uint64_t untimed;    /* records without a begin or an end */
    uint64_t violating;  /* began before their launch */
    uint64_t orphans;    /* their launch is not known */
    uint64_t unknown;    /* records that could not be read */
};

/* Those of this process, where they outlive it. Written by any thread, by gpu_count(). */
extern struct gpu_counts *gpu_counts;

#define gpu_count(what, by) __atomic_add_fetch(&gpu_counts->what, (uint64_t)(by), __ATOMIC_RELAXED)

/* The calling thread, now. Any thread. */
void gpu_tell_here(struct gpu_origin *ret_origin);
/* Nonzero while somebody records. */
int gpu_tell_is_on(void);
/* A text as a name. */
uint32_t gpu_tell_name(const char *text);
void gpu_tell_span(const struct gpu_span *span);
/* Once a second, and at the end: what was counted. */
void gpu_tell_counts(void);
/* A line for people: why nothing is recorded, or what is known to be missing. */
void gpu_tell_note(const char *text);

#endif
