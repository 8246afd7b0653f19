/* SPDX-License-Identifier: MIT */
/* The process's file of places, see annot_heap.h: places and texts are added without a lock, each
 * once. A forked child makes a file of its own at its first allocation; its numbers begin after
 * those of its parent, so blocks that it inherited are recognized by their places.
 *
 * Threads: any. Nothing here allocates or keeps a descriptor; errno is preserved. */
#ifndef ANNOT_HEAP_PLACES_H
#define ANNOT_HEAP_PLACES_H

#include "annot_heap.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed in a forked child. */
struct heap_process {
    _Atomic uint32_t phase;  /* enum heap_phase */
    _Atomic bool is_reading; /* a thread reads the list of mappings */
    uint32_t epoch;          /* differs between a process and its ancestors */
    uint32_t first_place;
    uint8_t *file; /* of ANNOT_HEAP_BYTES */
    _Atomic uint64_t extents[ANNOT_HEAP_BYTES / ANNOT_HEAP_EXTENT / 64 + 1];
};

enum heap_phase { HEAP_NEW = 0, HEAP_OPENING = 1, HEAP_OPEN = 2, HEAP_FAILED = 3, HEAP_ENDED = 4 };

extern struct heap_process *heap_process;

/* Once, in the program's constructor: files go into that directory, and the first is made. False:
 * no memory, or no file. */
bool heap_places_begin(const char *session, size_t session_length, const char *directory);

/* After a failure of this or another part: the file says that nothing is counted. */
void heap_places_refuse(void);

/* The slow part of heap_places_ready. */
bool heap_places_open(void);

/* True if this process has its file; makes it. */
static inline bool heap_places_ready(void)
{
    return __builtin_expect(
               atomic_load_explicit(&heap_process->phase, memory_order_acquire) == HEAP_OPEN, 1) ||
           heap_places_open();
}

/* The process is about to end: nothing is counted any more. */
void heap_places_end(void);

/* The rest is for a process that is ready. */
static inline struct annot_heap *heap_header(void)
{
    return (struct annot_heap *)(void *)heap_process->file;
}

static inline struct annot_heap_place *heap_place(uint32_t number)
{
    return (struct annot_heap_place *)(void *)(heap_process->file + ANNOT_HEAP_PLACES_AT) + number;
}

/* The number of the place below `parent`; that of `parent` if there is no room. */
uint32_t heap_places_child(uint32_t parent, uint32_t what, uint64_t where);

struct heap_text {
    const char *file, *name;
    uint32_t file_size, name_size, first_line;
};

/* The number of a text; 0: no room. */
uint32_t heap_places_text(const struct heap_text *text);

/* The operand of a native place at that address. */
uint32_t heap_places_module(uint64_t address);

#endif
