/* SPDX-License-Identifier: MIT */
/* The interface from libannot-gpu to annot, used for all its output (gpu_emit.c; tests have their
 * own). Threads: any, unless noted. */
#ifndef ANNOT_GPU_EMIT_H
#define ANNOT_GPU_EMIT_H

#include <stddef.h>
#include <stdint.h>

/* Thread and time that caused an activity; {0}: unknown. */
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
    GPU_MEMORY,  /* allocated or freed: an instant */
    GPU_EVENT,   /* a stream's event: the time of its request */
    GPU_UNIFIED, /* memory that migrated on access */
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
    const char *text; /* or, if NULL: */
    double real;      /* or, if 0: */
    int64_t number;
};

struct gpu_values {
    uint32_t count;
    struct gpu_value items[GPU_VALUES_MAX];
};

/* The clock of a span's times. */
enum gpu_clock {
    GPU_CLOCK_MONOTONIC,
    GPU_CLOCK_ANNOT, /* as those of origins */
    GPU_CLOCK_CUPTI  /* CUPTI's, converted by the anchors of gpu_emit_anchor() */
};

struct gpu_span {
    uint32_t name; /* of gpu_emit_name() or gpu_emit_label() */
    uint32_t device, context, stream;
    uint64_t begin_ns, end_ns; /* begin 0, or end before begin: counted, no span */
    struct gpu_origin origin;  /* of a call: its thread, with its number at that time */
    uint32_t system_thread;    /* of a call */
    uint8_t kind;              /* enum gpu_kind */
    uint8_t clock;             /* enum gpu_clock */
    uint8_t answers;           /* the first span of a counted launch */
    const struct gpu_values *values;
};

/* A window was opened or shut; or, while open, it rests (drops new launches) or resumes. */
enum gpu_switch_kind { GPU_SWITCH_SHUT, GPU_SWITCH_OPENED, GPU_SWITCH_RESTS, GPU_SWITCH_GOES_ON };

struct gpu_switch {
    uint8_t kind;              /* enum gpu_switch_kind */
    uint8_t by_program;        /* on a waiting thread of the program */
    uint64_t begin_ns, end_ns; /* of the switch */
    uint64_t launches;         /* shut: launches counted in the window */
    const char *cupti;         /* its CUDA release; "": unknown */
};

/* A place in a kernel at which warps were sampled, and the reasons of their stalls. */
struct gpu_stall {
    const char *reason;
    uint32_t samples;
};

struct gpu_pc {
    const char *function;
    uint64_t cubin, offset; /* checksum of its code; bytes from the function's start */
    uint32_t count;
    const struct gpu_stall *stalls;
};

struct gpu_pc_sums {
    uint64_t samples; /* all samples, also those without a place */
    uint64_t dropped; /* by the device */
    uint64_t others;  /* in code that is not the program's */
    uint64_t full;    /* how often the device's buffer was full */
};

/* Requests of a recording. */
enum gpu_wish { GPU_WISH_END = 1, GPU_WISH_OFF = 2, GPU_WISH_ON = 4 };

enum gpu_count {
    GPU_COUNT_LAUNCHED, /* kernels, graphs, copies and sets; survives the process */
    GPU_COUNT_DROPPED,  /* records that CUPTI had no room for */
    GPU_COUNT_ORPHANS,  /* activities of unknown launches */
    GPU_COUNT_UNKNOWN,  /* unreadable records */
    GPU_COUNT_OUTSIDE,  /* activities launched outside of windows */
    GPU_COUNT_OPENED,   /* windows opened */
    GPU_COUNT_SHUT,     /* windows shut, with all their spans emitted */
    GPU_COUNTS
};

/* Reads the calling thread and the current time. Cost: a time stamp. */
void gpu_emit_here(struct gpu_origin *ret_origin);
/* Writes the calling thread's open ranges, "outer/inner"; of too many, the inner ones. */
void gpu_emit_open(char *text, size_t size);
/* Returns the number of this process's recording; 0 without one, or if unknown at this instant. */
uint64_t gpu_emit_is_on(void);
/* Returns its requests: a set of enum gpu_wish. */
uint32_t gpu_emit_wishes(void);
/* Registers a callback for the begin and end of ranges of that name (domain "": any): on their
 * thread, right after the begin. Once. 0 or -errno. */
int gpu_emit_watch(const char *name, const char *domain,
                   void (*on_range)(void *context, int begins, uint64_t time));
void gpu_emit_count(enum gpu_count which, uint64_t by);
/* Only on the thread of gpu_thread.c: */
uint32_t gpu_emit_name(const char *text);
/* Returns a name with values common to all its spans; without room for them, as gpu_emit_name(). */
uint32_t gpu_emit_label(const char *text, const struct gpu_values *values);
void gpu_emit_span(const struct gpu_span *span);
/* Emits an anchor: CUPTI's and annot's clock at one instant, at most error_ns apart; before
 * spans. */
void gpu_emit_anchor(uint64_t cupti_ns, uint64_t time, uint32_t error_ns);
/* Emits an instant about the observation: category and name, with values. */
void gpu_emit_fact(const char *category, const char *text, const struct gpu_values *values);
/* Emit samples since the last such call. Threads: one at a time. */
void gpu_emit_pc(const struct gpu_pc *pc);
void gpu_emit_pc_sums(const struct gpu_pc_sums *sums);
/* Updates the names of queues. */
void gpu_emit_names(void);
/* Reports a window that was opened or shut. */
void gpu_emit_switch(const struct gpu_switch *window);
/* At the end of a window: reports counts that have no other output. */
void gpu_emit_counts(void);
/* Emits a line for people: why recording is off, or which data are missing. */
void gpu_emit_note(const char *text);

#endif
