/* SPDX-License-Identifier: MIT */
/* A position in foreign call frame information. Reading past the end gives 0 and sets `failed`
 * permanently, so a caller checks once at the end of a sequence. Encodings: LSB core 5.0, 10.5.1.
 * Thread-safety: a value.
 *
 * The entries of .eh_frame: common ones (CIE) parsed once each, descriptions of functions (FDE)
 * sorted by the code they describe. LSB core 5.0, 10.6.1. Foreign bytes, which must outlive the
 * index: it points into them. Thread-safety: immutable once built. */
#ifndef ANNOT_CFI_INDEX_H
#define ANNOT_CFI_INDEX_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct elf_file;

/* ---- State ----------------------------------------------------------------------------------- */

/* The state described by call frame instructions: the places of the caller's registers. DWARF 5,
 * section 6.4.1. Of the registers only RBX, RBP and the return address are tracked.
 * Thread-safety: values. */

/* DWARF's numbers of x86-64 registers (System V ABI, AMD64 supplement, figure 3.36). */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RETURN = 16 };

enum cfi_how {
    CFI_UNSPECIFIED = 0, /* for a callee-saved register: the caller's value */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,   /* in memory at CFA + offset */
    CFI_IS_CFA,   /* is CFA + offset */
    CFI_REGISTER, /* in another register */
    CFI_EXPRESSION,
    CFI_VALUE_EXPRESSION,
};

struct cfi_place {
    enum cfi_how how;
    uint32_t expression_size;
    int64_t offset;
    const uint8_t *expression;
};

enum cfi_tracked { CFI_TRACKED_RBX, CFI_TRACKED_RBP, CFI_TRACKED_RETURN, CFI_TRACKED_COUNT };

struct cfi_state {
    uint64_t cfa_register; /* + cfa_offset, unless there is an expression */
    int64_t cfa_offset;
    const uint8_t *cfa_expression; /* NULL: not an expression */
    uint32_t cfa_expression_size;
    bool cfa_known;
    struct cfi_place saved[CFI_TRACKED_COUNT];
};

/* ---- Positions and entries ------------------------------------------------------------------- */

struct cfi_reader {
    const uint8_t *at, *end;
    bool failed;
};

/* DW_EH_PE_*: the form of a pointer, and its base. */
enum {
    CFI_POINTER_FORM = 0x0f,
    CFI_POINTER_BASE = 0x70,
    CFI_POINTER_PCREL = 0x10,
    CFI_POINTER_DATAREL = 0x30,
    CFI_POINTER_INDIRECT = 0x80,
    CFI_POINTER_OMIT = 0xff,
};

static inline bool cfi_has(struct cfi_reader *reader, uint64_t size)
{
    if (size <= (uint64_t)(reader->end - reader->at))
        return true;
    reader->failed = true;
    reader->at = reader->end;
    return false;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static inline uint64_t cfi_number(struct cfi_reader *reader, unsigned size)
{
    uint64_t value = 0;
    if (!cfi_has(reader, size))
        return 0;
    memcpy(&value, reader->at, size);
    reader->at += size;
    return value;
}

static inline void cfi_skip(struct cfi_reader *reader, uint64_t size)
{
    if (cfi_has(reader, size))
        reader->at += size;
}

static inline uint64_t cfi_leb(struct cfi_reader *reader, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = (uint8_t)cfi_number(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (is_signed && (byte & 0x40) && shift + 7 < 64)
            value |= ~UINT64_C(0) << (shift + 7);
        return value;
    }
    reader->failed = true;
    return 0;
}

static inline uint64_t cfi_uleb(struct cfi_reader *reader)
{
    return cfi_leb(reader, false);
}

static inline int64_t cfi_sleb(struct cfi_reader *reader)
{
    return (int64_t)cfi_leb(reader, true);
}

/* The number of an encoded pointer, without its base. */
uint64_t cfi_pointer_number(struct cfi_reader *reader, uint8_t encoding);

/* `place`: the address of the pointer itself; `data`: the base of DATAREL. */
struct cfi_bases {
    uint64_t place, data;
};

uint64_t cfi_pointer(struct cfi_reader *reader, uint8_t encoding, struct cfi_bases bases);

/* The bytes of a section, and its address in the module. */
struct cfi_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    bool open;  /* unknown size: it ends at the first terminator or invalid entry */
    bool owned; /* the bytes are a copy, else the file's */
};

/* Opens the .eh_frame of a file, which must stay open and untrimmed until it is closed. 0,
 * -ENODATA: no such section, -EBADMSG: unreadable. */
int cfi_section_open(struct elf_file *file, struct cfi_section *ret_section);
void cfi_section_close(struct cfi_section *section);

struct cfi_common {
    uint32_t offset; /* in the section */
    bool usable, augmented, signal;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    struct cfi_state initial;
};

struct cfi_function {
    uint64_t begin, end;
    uint32_t entry; /* offset of its CIE; from cfi_index_build on, the index in `common` */
    uint32_t program, program_size;
};

struct cfi_index {
    struct cfi_section section;
    VEC(struct cfi_common) common;
    VEC(struct cfi_function) functions; /* begin < end, inside executable segments */
    uint32_t skipped_count;
};

/* 0, -ENOMEM, -EFBIG (4 GiB). On failure *ret_index is empty. */
int cfi_index_build(const struct cfi_section *section, const struct elf_file *file,
                    struct cfi_index *ret_index);
void cfi_index_fini(struct cfi_index *index);

#endif
