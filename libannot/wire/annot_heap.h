/* SPDX-License-Identifier: MIT */
/* The file in which a program counts each of its allocations: `annot record --memory=exact`.
 *
 * Each process has one, heap-SESSION-PID-RANDOM in the session's directory, sparse, written by
 * libannot-heap.so and read by the collector, also after the process or the collector was killed.
 * It has a header, a table of mapped files, places, and texts. A place is a node of a tree of
 * stacks, with the sums of the allocations that were made there. Numbers are append-only. */
#ifndef ANNOT_HEAP_H
#define ANNOT_HEAP_H

#include <stdint.h>

#define ANNOT_HEAP_MAGIC  UINT64_C(0x3170616568746e61) /* "antheap1" */
#define ANNOT_HEAP_PREFIX "heap-"

enum {
    ANNOT_HEAP_MODULES_AT = 4096,
    ANNOT_HEAP_MODULES_MAX = 1280,
    ANNOT_HEAP_PLACES_AT = 1 << 16,
    ANNOT_HEAP_PLACES_MAX = 1 << 19,
    ANNOT_HEAP_TEXTS_AT = ANNOT_HEAP_PLACES_AT + (64 << 19),
    ANNOT_HEAP_TEXTS_MAX = 1 << 24,
    ANNOT_HEAP_BYTES = ANNOT_HEAP_TEXTS_AT + ANNOT_HEAP_TEXTS_MAX,
    ANNOT_HEAP_EXTENT = 1 << 16, /* memory is reserved in units of this size */
};

enum annot_heap_state {
    ANNOT_HEAP_STARTING = 0,
    ANNOT_HEAP_COUNTS = 1,
    ANNOT_HEAP_NO_SPACE = 2, /* a limit of the address space: nothing is counted */
};

/* The start of the file. */
struct annot_heap {
    uint64_t magic, session;
    uint64_t pid_ns, created_ns; /* CLOCK_MONOTONIC */
    int32_t pid;
    uint32_t state;       /* enum annot_heap_state */
    uint32_t first_place; /* smaller numbers are those of the parent before the fork */
    uint32_t place_count; /* numbers up to this one, exclusive, are in use or being filled */
    uint32_t text_bytes, module_count;
    uint32_t thread_count;
    /* A peak is the largest value of `live`. While is_rising is set, every place is as it was at
     * the peak; afterwards those whose `generation` is this one have changed, and keep a copy. */
    uint32_t generation, is_rising;
    uint32_t python_version; /* of stacks with Python frames, PY_VERSION_HEX >> 16; 0: none */
    int64_t live, peak;      /* bytes */
    uint64_t peak_ns;        /* CLOCK_MONOTONIC, within some milliseconds; of a rising one: 0 */
    uint64_t last_ns;        /* the same: of an allocation, none of the last 256 of each thread */
    uint64_t inherited_frees, inherited_bytes; /* frees of blocks of the parent before the fork */
    uint64_t lost_blocks;                      /* not counted: no memory for the table of blocks */
    uint64_t unplaced_count;                   /* places that were not made for want of room */
    uint64_t deep_count;                       /* stacks with more frames than are kept */
    uint8_t comm[16];
};

/* Kinds of places, in the upper bits of `what`. */
enum annot_heap_kind {
    ANNOT_HEAP_NONE = 0,   /* not used: skip it */
    ANNOT_HEAP_THREAD = 1, /* where: tid in the process's own namespace, and above its 32 bits the
                            * milliseconds from the file's creation to its first allocation */
    ANNOT_HEAP_PYTHON = 2, /* what: text of a code object; where: line, or 0 */
    ANNOT_HEAP_NATIVE = 3, /* what: 1 + index of the file, or 0; where: return address */
    ANNOT_HEAP_KIND_SHIFT = 28,
    ANNOT_HEAP_WHAT_MASK = (1 << ANNOT_HEAP_KIND_SHIFT) - 1,
};

struct annot_heap_place {
    uint32_t parent; /* a smaller number; 0: none */
    uint32_t what;   /* kind and operand */
    uint64_t where;
    uint64_t allocs, alloc_bytes; /* written by the thread of the place */
    uint64_t frees, free_bytes;   /* by any thread */
    int64_t peak_bytes;           /* live bytes and blocks at the peak, if `generation` is that */
    uint32_t generation;          /* of the header */
    uint32_t peak_blocks;
};

/* A text, aligned to 8 bytes; its number is its offset / 8. */
struct annot_heap_text {
    uint32_t first_line;
    uint16_t file_size, name_size;
    /* file and name follow, without NUL */
};

/* A mapping of executable memory. */
struct annot_heap_module {
    uint64_t begin, end, offset;
    uint64_t inode;
    uint32_t major, minor;
    uint32_t path; /* text whose file is the path; 0: memory without a file */
    uint32_t unused;
};

_Static_assert(sizeof(struct annot_heap_place) == 64, "layout");
_Static_assert(sizeof(struct annot_heap_text) == 8, "layout");
_Static_assert(sizeof(struct annot_heap_module) == 48, "layout");
_Static_assert(ANNOT_HEAP_MODULES_AT + 48 * ANNOT_HEAP_MODULES_MAX <= ANNOT_HEAP_PLACES_AT,
               "layout");

#endif
