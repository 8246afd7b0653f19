/* SPDX-License-Identifier: MIT */
/* Names and lines of code objects; the join of Python and native frames into one stack.
 *
 * Inputs are the BPF program's records (sampler_abi.h has their layout in memory) or data from the
 * remote reader. Foreign bytes: bounded. Thread-safety: any thread, no state. */
#ifndef ANNOT_PYTHON_STACK_H
#define ANNOT_PYTHON_STACK_H

#include "python_offsets.h"
#include "stacks.h"

#include <stdbool.h>
#include <stddef.h>

/* Converts a unicode object's bytes as in memory (header first) to UTF-8. Returns the length
 * written (NUL not counted), at most size - 1; a truncated text ends in U+2026. */
size_t python_text(const struct python_offsets *offsets, const uint8_t *object, size_t object_size,
                   char *text, size_t size);

/* The total size of such an object in bytes; 0: invalid. */
size_t python_text_bytes(const struct python_offsets *offsets, const uint8_t *object,
                         size_t object_size);

/* Instances of subclasses of str have their characters elsewhere: their address and size in bytes;
 * 0: they follow the object's header. */
size_t python_text_apart(const struct python_offsets *offsets, const uint8_t *object,
                         size_t object_size, uint64_t *ret_data);

struct python_characters {
    const uint8_t *bytes;
    size_t size;
};

/* As python_text, for such an object's header (unicode_compact_data bytes) and characters. */
size_t python_text_of_apart(const struct python_offsets *offsets, const uint8_t *header,
                            struct python_characters characters, char *text, size_t size);

/* The source place of a bytecode offset, from co_lnotab/co_linetable of that version (3.9: lnotab;
 * 3.10: PEP 626; 3.11 on: PEP 657 locations, with columns); before the first instruction: the
 * function's first line. Code without a line has that of the code before it. The end column is
 * unknown if the end is on another line. */
struct source_place python_source_place(uint32_t version, const uint8_t *lines, size_t size,
                                        int first_line, int instruction);

/* One frame of the joined stack. */
struct python_joint {
    bool python;    /* else native */
    uint32_t index; /* in the array of its kind */
};

struct python_native {
    uint64_t address, cfa; /* as struct sampler_native */
};

/* The numbers of enum sampler_python_flags. */
enum python_frame_flags {
    PYTHON_FRAME_ENTRY = 1u << 0, /* the outermost frame of a call of the eval function */
    PYTHON_FRAME_SHIM = 1u << 1,  /* not a frame: marks the start of such a call */
};

struct python_frame {
    uint64_t anchor; /* as struct sampler_python */
    uint8_t flags;   /* enum python_frame_flags */
};

enum { PYTHON_JOIN_MAX = 1024 }; /* limit of native frames, and of Python frames */

struct python_join {
    const struct python_offsets *offsets;
    uint64_t eval, eval_end;             /* of the eval function */
    const struct python_native *natives; /* leaf first */
    uint32_t native_count;
    uint64_t native_begin;             /* stack pointer of the leaf, 0 = unknown */
    const struct python_frame *frames; /* leaf first, shims included */
    uint32_t frame_count;
};

/* Joins both, leaf first, by the addresses of shims and cframes on the C stack; each eval
 * function's native frame is replaced by the Python frames it runs; one without any yet stays. 3.9
 * has no such addresses: there each frame is a separate call, and order is exact as long as the
 * counts agree. `ret` has room for native_count + frame_count. Returns the number written;
 * *ret_unplaced = Python frames placed by a guess from their order (0 = exact). */
uint32_t python_stack_join(const struct python_join *join, struct python_joint *ret,
                           uint32_t *ret_unplaced);

#endif
