/* SPDX-License-Identifier: MIT */
/* A place in foreign call frame information. Reading past the end gives 0 and sets `failed`, which
 * sticks, so a caller checks once at the end of a sequence. Encodings: LSB core 5.0, 10.5.1.
 * Thread-safety: none needed, a value. */
#ifndef ANNOT_CFI_READER_H
#define ANNOT_CFI_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cfi_reader {
    const uint8_t *at, *end;
    bool failed;
};

/* DW_EH_PE_*: how a pointer is written, and what it is relative to. */
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

/* The number of an encoded pointer, not yet relative to anything. */
uint64_t cfi_pointer_number(struct cfi_reader *reader, uint8_t encoding);

/* `place`: the address of the pointer itself; `data`: what DATAREL is relative to. */
struct cfi_bases {
    uint64_t place, data;
};

uint64_t cfi_pointer(struct cfi_reader *reader, uint8_t encoding, struct cfi_bases bases);

#endif
