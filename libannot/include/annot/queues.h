/* SPDX-License-Identifier: MIT */
/* Work that devices do for a program, such as the kernels and copies of a GPU's streams: reported
 * in whole spans after completion, by code that watches the program on its behalf. Not part of
 * annot.h.
 *
 * A queue is a separate timeline. A span on it has begin and end, in the clock that measured them,
 * and the instant and thread that caused it. Spans may come late and in any order.
 *
 * Threads, signal handlers, forks, policies, losses: as annot.h. P is the cost of a push. */
#ifndef ANNOT_QUEUES_H
#define ANNOT_QUEUES_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t annot_queue;      /* 0: none */
typedef uint32_t annot_span_clock; /* of the times of spans */

/* Times as annot_queue_time() gives them. */
#define ANNOT_SPAN_CLOCK_OWN ((annot_span_clock)0)
/* Nanoseconds of CLOCK_MONOTONIC. Make other clocks with annot_clock_create(). */
#define ANNOT_SPAN_CLOCK_MONOTONIC ((annot_span_clock)0xffffffffu)

/* In place of a queue: the span is an action of the thread origin.thread and lies between its
 * ranges. origin.time is any instant at which the thread had that number. */
#define ANNOT_QUEUE_OWN_LANE ((annot_queue)0xffffffffu)

/* The numbers are those of the recording format. */
enum annot_queue_kind {
    ANNOT_QUEUE_QUEUE = 4, /* id: context << 32 | stream, as streams are numbered per context */
    /* id: its number; the parent of its queues. The parent of a device may be a label with the
     * values PCI, UUID and CARD, which identify the device on the machine. */
    ANNOT_QUEUE_DEVICE = 6
};

/* The role of a span (annot_category_observed with ANNOT_OBSERVER_CUPTI). */
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
    ANNOT_QUEUE_PC = 32,      /* a mark, named as a kernel: samples of warps at one place in it */
    ANNOT_QUEUE_PC_SUMS = 33  /* a mark: totals of all such samples since the last one */
};

/* Keys by which readers find the values of spans: of labels, and of each span. Values that do not
 * apply are left out. Of kernels: */
#define ANNOT_QUEUE_KEY_GRID      "grid"    /* "64,1,1" */
#define ANNOT_QUEUE_KEY_BLOCK     "block"   /* the same */
#define ANNOT_QUEUE_KEY_CLUSTER   "cluster" /* of blocks, the same */
#define ANNOT_QUEUE_KEY_REGISTERS "registers"
#define ANNOT_QUEUE_KEY_SHARED    "shared memory [bytes]"
#define ANNOT_QUEUE_KEY_LOCAL     "local memory per thread [bytes]"
#define ANNOT_QUEUE_KEY_OCCUPANCY                                                                  \
    "occupancy [%]" /* theoretical: resident warps as a share of the maximum */
#define ANNOT_QUEUE_KEY_PRIORITY "priority"
/* The number of the graph that it is part of, or is. */
#define ANNOT_QUEUE_KEY_GRAPH "graph"
/* The ranges that were open at its capture into the graph, "outer/inner". */
#define ANNOT_QUEUE_KEY_CAPTURED "captured in"
/* Of copies and sets; of memory allocations and frees. */
#define ANNOT_QUEUE_KEY_BYTES       "size [bytes]"
#define ANNOT_QUEUE_KEY_DIRECTION   "direction" /* "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" */
#define ANNOT_QUEUE_KEY_SOURCE      "source"    /* "pageable", "pinned", "device", "managed", ... */
#define ANNOT_QUEUE_KEY_DESTINATION "destination"
#define ANNOT_QUEUE_KEY_MEMORY      "memory" /* the same words */
#define ANNOT_QUEUE_KEY_ADDRESS     "address"
#define ANNOT_QUEUE_KEY_POOL        "pool" /* its address */
/* Memory of this kind and device that the process holds then, if allocated in the recording. */
#define ANNOT_QUEUE_KEY_HELD "held [bytes]"
/* Of calls of the program. */
#define ANNOT_QUEUE_KEY_FUNCTION "function" /* exact, where the name omits a version */
#define ANNOT_QUEUE_KEY_ERROR    "error"    /* the returned value, if not 0 */
/* Of calls, and of the work that they launched. */
#define ANNOT_QUEUE_KEY_CORRELATION "correlation"
#define ANNOT_QUEUE_KEY_EXTERNAL    "external id"
/* Of the mark of category "device" that describes a device when it is first seen; its name is that
 * of the device's lane. */
#define ANNOT_QUEUE_KEY_DEVICE             "device"             /* its number */
#define ANNOT_QUEUE_KEY_COMPUTE_CAPABILITY "compute capability" /* "9.0" */
#define ANNOT_QUEUE_KEY_MULTIPROCESSORS    "multiprocessors"
#define ANNOT_QUEUE_KEY_DEVICE_MEMORY      "device memory [bytes]"
#define ANNOT_QUEUE_KEY_PCI                "PCI"  /* "0000:1a:00.0" */
#define ANNOT_QUEUE_KEY_UUID               "UUID" /* "GPU-...", of an instance of one "MIG-..." */
#define ANNOT_QUEUE_KEY_CARD               "UUID of the whole GPU" /* of an instance */

/* Of PC: the checksum of the kernel's code and the offset in it, in bytes. Each further key is the
 * reason of a stall in CUPTI's spelling ("smsp__pcsamp_warps_issue_stalled_barrier"; one that ends
 * in "_not_issued" counts samples in which no other warp was issued either), and its value the
 * number of samples with it. One place may have several marks. */
#define ANNOT_QUEUE_KEY_CUBIN "cubin"
#define ANNOT_QUEUE_KEY_PC    "pc"
/* Of PC_SUMS: all samples; those that the device dropped; those in code that is not the program's;
 * how often the device's buffer was full. */
#define ANNOT_QUEUE_KEY_SAMPLES "samples"
#define ANNOT_QUEUE_KEY_DROPPED "dropped"
#define ANNOT_QUEUE_KEY_OTHERS  "other code"
#define ANNOT_QUEUE_KEY_FULL    "buffer full"

/* The cause of a span: the launching call. {0}: unknown. */
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
    uint64_t begin, end;    /* begin 0, or end before begin: dropped and counted as untimed */
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

/* Counters of the process in shared memory, so they survive a kill. */
enum annot_queue_count {
    ANNOT_QUEUE_LAUNCHED = 0, /* launches: as many spans with ANNOT_SPAN_LAUNCHED will come */
    ANNOT_QUEUE_TOLD = 1,     /* spans with that flag; annot_emit_spans counts them */
    ANNOT_QUEUE_DROPPED = 2,  /* records that the driver reports as dropped */
    ANNOT_QUEUE_UNTIMED = 3,  /* spans without usable times; annot_emit_spans counts them, too */
    ANNOT_QUEUE_OPENED = 4,   /* observers of queues that began to watch */
    ANNOT_QUEUE_SHUT = 5      /* observers that have emitted all their spans */
};

/* Requests of the recording to observers of queues. */
enum annot_queue_wish {
    ANNOT_QUEUE_END =
        1, /* it ends: half a second is left to emit everything and count it as SHUT */
    ANNOT_QUEUE_OFF = 2, /* stop watching until this is cleared */
    ANNOT_QUEUE_ON = 4   /* watch, regardless of the setting at the program's start */
};

/* The readings of both clocks at one instant. */
struct annot_clock_anchor {
    uint64_t raw;      /* by the clock, in nanoseconds by its own count; rises */
    uint64_t time;     /* annot_queue_time() */
    uint32_t error_ns; /* the largest time between the two readings */
    uint32_t reserved;
};

#ifndef ANNOT_DISABLE

/* Returns a queue or a device; the same arguments give the same value. A second call with another
 * name renames it, and the last name holds. Returns 0 if the table of names is full. Cost: as
 * annot_name_intern. */
ANNOT_API annot_queue annot_queue_create(enum annot_queue_kind kind, uint64_t id,
                                         annot_queue parent, const char *name);

/* Returns a name with key-values common to all spans of this label (kinds up to
 * ANNOT_PAYLOAD_STRING): stored once, taking no room in the spans. A name that is too long is
 * cut. 0 as above. */
ANNOT_API annot_name annot_queue_label(const char *name, const struct annot_value *values,
                                       size_t count);

/* Makes a clock that is converted by anchors, linearly between two neighbours. An emitter of spans
 * in that clock gives an anchor before them from the same thread, so that they lie between two.
 * Returns 0xffffffff if the table is full: use ANNOT_SPAN_CLOCK_MONOTONIC instead. */
ANNOT_API annot_span_clock annot_clock_create(const char *name);
ANNOT_API void annot_clock_anchor(annot_span_clock clock, const struct annot_clock_anchor *anchor);

/* Returns the current time. Cost: an instruction on most machines. */
ANNOT_API uint64_t annot_queue_time(void);

/* Returns the calling thread and the current time, as the origin of its next launch; {0} without a
 * recording. Registers the thread, even if it never emits an event and ends. Cost: 0.5 P. */
ANNOT_API struct annot_origin annot_origin_here(void);

/* Emits spans; does nothing without a recording. Cost: 2 P each, and 0.5 P for each key-value. */
ANNOT_API void annot_emit_spans(const struct annot_span *spans, size_t count);

/* Adds to a count. Cost: an atomic addition. */
ANNOT_API void annot_queue_count(enum annot_queue_count which, uint64_t count);

/* Returns a set of enum annot_queue_wish; 0 also without a recording. It changes at any time:
 * observers poll it several times a second. Cost: a load. */
ANNOT_API uint32_t annot_queue_wishes(void);

#endif

#ifdef __cplusplus
}
#endif

#endif
