/* SPDX-License-Identifier: MIT */
/* Work that others do for a program, such as the kernels and copies of a GPU's streams: reported as
 * a whole, when it is known, by code that watches the program on its behalf. Not part of annot.h.
 *
 * A queue is a timeline of its own. A span on it has its own begin and end, by whichever clock they
 * were measured, and the instant and thread that caused it. Spans may come late and in any order.
 *
 * Threads, signal handlers, forks, policies, losses: as annot.h. P is the cost of a push. */
#ifndef ANNOT_QUEUES_H
#define ANNOT_QUEUES_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t annot_queue;      /* 0: none */
typedef uint32_t annot_span_clock; /* of times of spans */

/* Times as annot_queue_time() gives them. */
#define ANNOT_SPAN_CLOCK_OWN ((annot_span_clock)0)
/* Nanoseconds of CLOCK_MONOTONIC. Any other one is made by annot_clock_create(). */
#define ANNOT_SPAN_CLOCK_MONOTONIC ((annot_span_clock)0xffffffffu)

/* In place of a queue: the span is what a thread of the program did, and lies between the ranges of
 * that thread, which is origin.thread. origin.time is any instant at which it had that number. */
#define ANNOT_QUEUE_OWN_LANE ((annot_queue)0xffffffffu)

/* Numbers are those of the recording. */
enum annot_queue_kind {
    ANNOT_QUEUE_QUEUE = 4, /* id: context << 32 | stream, as streams are numbered per context */
    /* id: its number; the parent of its queues. Its own parent may be a label whose values PCI,
     * UUID and CARD say which device of the machine it is. */
    ANNOT_QUEUE_DEVICE = 6
};

/* What a span was to its observer (annot_category_observed with ANNOT_OBSERVER_CUPTI). */
enum annot_queue_role {
    ANNOT_QUEUE_KERNEL = 1,
    ANNOT_QUEUE_COPY = 2,
    ANNOT_QUEUE_SET = 3,
    ANNOT_QUEUE_SYNC = 4,
    ANNOT_QUEUE_GRAPH = 5, /* a graph as a whole */
    ANNOT_QUEUE_API = 6,   /* a call of the program, on its own thread */
    ANNOT_QUEUE_EVENT = 7,
    ANNOT_QUEUE_MEMORY = 8,
    ANNOT_QUEUE_OVERHEAD = 9, /* of the observation */
    ANNOT_QUEUE_JIT = 10,     /* code for a device is compiled, or taken from a cache */
    ANNOT_QUEUE_PC = 32,      /* a mark, named as a kernel: where in it warps were sampled */
    ANNOT_QUEUE_PC_SUMS = 33  /* a mark: of all such samples since the last one */
};

/* Keys by which readers find the values of spans: of labels, and of each span. What has no value
 * is left out. Of kernels: */
#define ANNOT_QUEUE_KEY_GRID      "grid"    /* "64,1,1" */
#define ANNOT_QUEUE_KEY_BLOCK     "block"   /* the same */
#define ANNOT_QUEUE_KEY_CLUSTER   "cluster" /* of blocks, the same */
#define ANNOT_QUEUE_KEY_REGISTERS "registers"
#define ANNOT_QUEUE_KEY_SHARED    "shared memory [bytes]"
#define ANNOT_QUEUE_KEY_LOCAL     "local memory per thread [bytes]"
#define ANNOT_QUEUE_KEY_OCCUPANCY                                                                  \
    "occupancy [%]" /* theoretical: warps that fit of those that may */
#define ANNOT_QUEUE_KEY_PRIORITY "priority"
/* The number of the graph that it is part of, or is. */
#define ANNOT_QUEUE_KEY_GRAPH "graph"
/* The ranges that were open when it became part of that, "outer/inner". */
#define ANNOT_QUEUE_KEY_CAPTURED "captured in"
/* Of copies and sets; of memory that is taken or given back. */
#define ANNOT_QUEUE_KEY_BYTES       "size [bytes]"
#define ANNOT_QUEUE_KEY_DIRECTION   "direction" /* "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" */
#define ANNOT_QUEUE_KEY_SOURCE      "source"    /* "pageable", "pinned", "device", "managed", ... */
#define ANNOT_QUEUE_KEY_DESTINATION "destination"
#define ANNOT_QUEUE_KEY_MEMORY      "memory" /* the same words */
#define ANNOT_QUEUE_KEY_ADDRESS     "address"
#define ANNOT_QUEUE_KEY_POOL        "pool" /* its address */
/* How much of this kind and device the process holds then, of what was taken in the recording. */
#define ANNOT_QUEUE_KEY_HELD "held [bytes]"
/* Of calls of the program. */
#define ANNOT_QUEUE_KEY_FUNCTION "function" /* exact, where the name leaves a version out */
#define ANNOT_QUEUE_KEY_ERROR    "error"    /* what it returned, if not 0 */
/* Of calls, and of what they led to. */
#define ANNOT_QUEUE_KEY_CORRELATION "correlation"
#define ANNOT_QUEUE_KEY_EXTERNAL    "external id"
/* Of the mark of category "device" that tells of a device when it is first seen; its name is that
 * of the device's lane. */
#define ANNOT_QUEUE_KEY_DEVICE             "device"             /* its number */
#define ANNOT_QUEUE_KEY_COMPUTE_CAPABILITY "compute capability" /* "9.0" */
#define ANNOT_QUEUE_KEY_MULTIPROCESSORS    "multiprocessors"
#define ANNOT_QUEUE_KEY_DEVICE_MEMORY      "device memory [bytes]"
#define ANNOT_QUEUE_KEY_PCI                "PCI"  /* "0000:1a:00.0" */
#define ANNOT_QUEUE_KEY_UUID               "UUID" /* "GPU-...", of an instance of one "MIG-..." */
#define ANNOT_QUEUE_KEY_CARD               "UUID of the whole GPU" /* of an instance */

/* Of PC: the checksum of the kernel's code and the place in that, in bytes. Each further key is why
 * warps did not go on, as CUPTI calls it ("smsp__pcsamp_warps_issue_stalled_barrier"; one that ends
 * in "_not_issued" counts samples in which no other warp went on either), and how many samples
 * found them so. One place may have several marks. */
#define ANNOT_QUEUE_KEY_CUBIN "cubin"
#define ANNOT_QUEUE_KEY_PC    "pc"
/* Of PC_SUMS: all samples; those that the device dropped; those in code that is not the program's;
 * how often the device's buffer was full. */
#define ANNOT_QUEUE_KEY_SAMPLES "samples"
#define ANNOT_QUEUE_KEY_DROPPED "dropped"
#define ANNOT_QUEUE_KEY_OTHERS  "other code"
#define ANNOT_QUEUE_KEY_FULL    "buffer full"

/* What caused a span: the launching call. {0}: not known. */
struct annot_origin {
    uint64_t time; /* annot_queue_time() */
    uint32_t thread;
    uint32_t reserved;
};

enum annot_span_flags {
    ANNOT_SPAN_LAUNCHED = 1 /* one of those that annot_queue_count counts as LAUNCHED */
};

struct annot_span {
    annot_name name;        /* or a label */
    annot_queue queue;      /* 0: counted as lost */
    uint64_t begin, end;    /* begin 0, or end before begin: counted as untimed, else left out */
    annot_span_clock clock; /* of these two */
    struct annot_origin origin;
    annot_domain domain;
    annot_category category;
    uint8_t level;
    uint8_t flags; /* enum annot_span_flags */
    uint16_t reserved;
    const struct annot_value *values; /* key-values of this span alone: 16 bytes each */
    size_t value_count;
};

/* Counts of the process that stand in shared memory, so they survive a kill. */
enum annot_queue_count {
    ANNOT_QUEUE_LAUNCHED = 0, /* handed over: as many spans with ANNOT_SPAN_LAUNCHED will come */
    ANNOT_QUEUE_TOLD = 1,     /* spans with that flag; annot_emit_spans counts them */
    ANNOT_QUEUE_DROPPED = 2,  /* the driver says that it kept no record of so many */
    ANNOT_QUEUE_UNTIMED = 3,  /* spans without usable times; annot_emit_spans counts them, too */
    ANNOT_QUEUE_OPENED = 4,   /* somebody began to watch queues; */
    ANNOT_QUEUE_SHUT = 5      /* and has told all that he saw */
};

/* What the recording asks of those who watch queues. */
enum annot_queue_wish {
    ANNOT_QUEUE_END =
        1, /* it ends: half a second is left to tell everything and count it as SHUT */
    ANNOT_QUEUE_OFF = 2, /* watch nothing until this is taken back */
    ANNOT_QUEUE_ON = 4   /* watch, whatever was agreed when the program began */
};

/* What both clocks showed at one instant. */
struct annot_clock_anchor {
    uint64_t raw;      /* by the clock, in nanoseconds by its own count; rises */
    uint64_t time;     /* annot_queue_time() */
    uint32_t error_ns; /* how far apart they may have been read */
    uint32_t reserved;
};

#ifndef ANNOT_DISABLE

/* A queue or a device; the same arguments give the same value. Made again with another name it is
 * the same queue, and the last name holds. 0: the table of names is full. Cost: as
 * annot_name_intern. */
ANNOT_API annot_queue annot_queue_create(enum annot_queue_kind kind, uint64_t id,
                                         annot_queue parent, const char *name);

/* A name with key-values that all spans of this label have (kinds up to ANNOT_PAYLOAD_STRING): kept
 * once, so they take no room in the spans. Where it is too long, the name is cut. 0 as above. */
ANNOT_API annot_name annot_queue_label(const char *name, const struct annot_value *values,
                                       size_t count);

/* A clock whose times are converted by anchors: between two neighbours it runs straight. Who emits
 * spans by it gives an anchor before them from the same thread, so that they lie between two.
 * 0xffffffff, where the table is full: take ANNOT_SPAN_CLOCK_MONOTONIC instead. */
ANNOT_API annot_span_clock annot_clock_create(const char *name);
ANNOT_API void annot_clock_anchor(annot_span_clock clock, const struct annot_clock_anchor *anchor);

/* Now. Cost: an instruction on most machines. */
ANNOT_API uint64_t annot_queue_time(void);

/* Here and now, for what the calling thread launches; {0} while nobody records. The thread is known
 * by it even if it emits nothing and ends. Cost: 0.5 P. */
ANNOT_API struct annot_origin annot_origin_here(void);

/* Cost: 2 P each, and 0.5 P for each key-value. Nothing while nobody records. */
ANNOT_API void annot_emit_spans(const struct annot_span *spans, size_t count);

/* Adds to a count. Cost: an atomic addition. */
ANNOT_API void annot_queue_count(enum annot_queue_count which, uint64_t count);

/* A set of enum annot_queue_wish; 0 also while nobody records. It changes at any time: whoever
 * watches asks several times a second. Cost: a load. */
ANNOT_API uint32_t annot_queue_wishes(void);

#endif

#ifdef __cplusplus
}
#endif

#endif
