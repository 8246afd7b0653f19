/* SPDX-License-Identifier: MIT */
/* What libannot-gpu tells annot: the one place where the two meet (gpu_tell.c; tests have their
 * own). Threads: any, where nothing else is said. */
#ifndef ANNOT_GPU_TELL_H
#define ANNOT_GPU_TELL_H

#include <stddef.h>
#include <stdint.h>

/* Where and when something was caused; {0}: unknown. */
struct gpu_origin {
    uint64_t time; /* annot's */
    uint32_t thread;
};

enum gpu_kind {
    GPU_KERNEL = 1,
    GPU_COPY,
    GPU_SET,
    GPU_GRAPH,
    GPU_WAIT, /* of a thread, for the GPU */
    GPU_OVERHEAD,
    GPU_CALL,    /* of the program, on the lane of its thread */
    GPU_JIT,     /* the same: code is compiled, or found in a cache */
    GPU_MEMORY,  /* taken or given back: an instant */
    GPU_EVENT,   /* reached by a stream's work: when it was asked for */
    GPU_UNIFIED, /* memory that moved because it was touched */
    GPU_KIND_COUNT
};

/* Values of spans and of labels; their texts are those of annot/queues.h. */
enum gpu_key {
    GPU_KEY_GRID,
    GPU_KEY_BLOCK,
    GPU_KEY_CLUSTER,
    GPU_KEY_REGISTERS,
    GPU_KEY_SHARED,
    GPU_KEY_LOCAL,
    GPU_KEY_OCCUPANCY,
    GPU_KEY_PRIORITY,
    GPU_KEY_GRAPH,
    GPU_KEY_CAPTURED,
    GPU_KEY_BYTES,
    GPU_KEY_DIRECTION,
    GPU_KEY_SOURCE,
    GPU_KEY_DESTINATION,
    GPU_KEY_MEMORY,
    GPU_KEY_ADDRESS,
    GPU_KEY_POOL,
    GPU_KEY_HELD,
    GPU_KEY_FUNCTION,
    GPU_KEY_ERROR,
    GPU_KEY_CORRELATION,
    GPU_KEY_DEVICE,
    GPU_KEY_COMPUTE_CAPABILITY,
    GPU_KEY_MULTIPROCESSORS,
    GPU_KEY_DEVICE_MEMORY,
    GPU_KEY_CARD,
    GPU_KEY_PCI,
    GPU_KEY_UUID,
    GPU_KEY_COUNT
};

enum { GPU_VALUES_MAX = 12 };

struct gpu_value {
    uint8_t key;      /* enum gpu_key */
    const char *text; /* NULL: */
    double real;      /* 0: */
    int64_t number;
};

struct gpu_values {
    uint32_t count;
    struct gpu_value items[GPU_VALUES_MAX];
};

/* By which clock a span's times are. */
enum gpu_clock {
    GPU_CLOCK_MONOTONIC,
    GPU_CLOCK_ANNOT, /* as those of origins */
    GPU_CLOCK_CUPTI  /* CUPTI's own, by the anchors of gpu_tell_anchor() */
};

struct gpu_span {
    uint32_t name; /* of gpu_tell_name() or gpu_tell_label() */
    uint32_t device, context, stream;
    uint64_t begin_ns, end_ns; /* begin 0, or end before begin: counted, no span */
    struct gpu_origin origin;  /* of a call: its thread, as it was then */
    uint32_t system_thread;    /* of a call */
    uint8_t kind;              /* enum gpu_kind */
    uint8_t clock;             /* enum gpu_clock */
    uint8_t answers;           /* the first that is told of a launch that was counted */
    const struct gpu_values *values;
};

/* A window was opened, or shut; or, open, it keeps nothing of what is launched from here on, or
 * again all. */
enum gpu_switch_kind { GPU_SWITCH_SHUT, GPU_SWITCH_OPENED, GPU_SWITCH_RESTS, GPU_SWITCH_GOES_ON };

struct gpu_switch {
    uint8_t kind;              /* enum gpu_switch_kind */
    uint8_t by_program;        /* on a thread of the program, which waited for it */
    uint64_t begin_ns, end_ns; /* how long that took */
    uint64_t launches;         /* shut: that were counted in it */
    const char *cupti;         /* its version, as people call it; "": not known */
};

/* A place in a kernel at which warps were when they were sampled, and what each waited for. */
struct gpu_stall {
    const char *reason;
    uint32_t samples;
};

struct gpu_pc {
    const char *function;
    uint64_t cubin, offset; /* checksum of its code; bytes from the function's begin */
    uint32_t count;
    const struct gpu_stall *stalls;
};

struct gpu_pc_sums {
    uint64_t samples; /* all that were taken, also those that have no place */
    uint64_t dropped; /* by the device */
    uint64_t others;  /* in code that is not the program's */
    uint64_t full;    /* how often the device's buffer was full */
};

/* Wishes of a recording. */
enum gpu_wish { GPU_WISH_END = 1, GPU_WISH_OFF = 2, GPU_WISH_ON = 4 };

enum gpu_count {
    GPU_COUNT_LAUNCHED, /* kernels, graphs, copies and sets; outlives the process */
    GPU_COUNT_DROPPED,  /* records that CUPTI had no room for */
    GPU_COUNT_ORPHANS,  /* activities whose launch is not known */
    GPU_COUNT_UNKNOWN,  /* records that could not be read */
    GPU_COUNT_OUTSIDE,  /* activities that were launched while nothing was to be kept */
    GPU_COUNT_OPENED,   /* windows; */
    GPU_COUNT_SHUT,     /* and all that was in them is told */
    GPU_COUNTS
};

/* The calling thread, now. Cost: a time stamp. */
void gpu_tell_here(struct gpu_origin *ret_origin);
/* The ranges that the calling thread has open, "outer/inner"; of too many, the inner ones. */
void gpu_tell_open(char *text, size_t size);
/* While somebody records this process, the recording's number; 0 also where that is not known at
 * this instant. */
uint64_t gpu_tell_is_on(void);
/* What it wishes: a set of enum gpu_wish. */
uint32_t gpu_tell_wishes(void);
/* Calls back when a range of that name ("": of any domain) begins or ends: on its thread, just
 * after it began. Once. 0 or -errno. */
int gpu_tell_watch(const char *name, const char *domain,
                   void (*on_range)(void *context, int begins, uint64_t time));
void gpu_tell_count(enum gpu_count which, uint64_t by);
/* The thread of gpu_thread.c alone: */
uint32_t gpu_tell_name(const char *text);
/* A name with values that all its spans have; where there is no room for them, gpu_tell_name(). */
uint32_t gpu_tell_label(const char *text, const struct gpu_values *values);
void gpu_tell_span(const struct gpu_span *span);
/* What CUPTI's clock showed at an instant, at most error_ns apart; before the spans by it. */
void gpu_tell_anchor(uint64_t cupti_ns, uint64_t time, uint32_t error_ns);
/* An instant of the observation: category and name, with values. */
void gpu_tell_fact(const char *category, const char *text, const struct gpu_values *values);
/* Of samples since the last such call. Threads: one after the other. */
void gpu_tell_pc(const struct gpu_pc *pc);
void gpu_tell_pc_sums(const struct gpu_pc_sums *sums);
/* Queues have the names that are known by now. */
void gpu_tell_names(void);
/* Of one that was opened or shut. */
void gpu_tell_switch(const struct gpu_switch *window);
/* At the end of a window: what was counted that has no other place. */
void gpu_tell_counts(void);
/* A line for people: why nothing is recorded, or what is missing. */
void gpu_tell_note(const char *text);

#endif
