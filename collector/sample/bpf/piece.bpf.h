/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Pieces of the user's memory, read at once and looked at word by word.
 *
 * A read of the user's memory costs some 30 ns whatever its size, up to 128 bytes, and 45 ns for a
 * kilobyte: what lies side by side is read together. A piece stays within its page where that is
 * possible, for the next one may not be there. */
#ifndef ANNOT_PIECE_BPF_H
#define ANNOT_PIECE_BPF_H

#include "maps.bpf.h"

enum { PIECE_BYTES = 1024, PIECE_PAGE = 4096 };

struct piece {
    uint64_t at;
    uint64_t size; /* 0: nothing is at hand */
    uint8_t bytes[PIECE_BYTES + 8];
};

/* Keeps the compiler from forgetting what the verifier must know of a value. */
#define BOUND(value, limit)                                                                        \
    do {                                                                                           \
        __asm__ volatile("" : "+r"(value));                                                        \
        if ((value) > (limit))                                                                     \
            (value) = (limit);                                                                     \
    } while (0)

/* Reads the user's memory: 0, or not readable now. */
static __always_inline int read_user(void *to, uint32_t size, uint64_t address)
{
    return bpf_probe_read_user(to, size, (const void *)address) ? -1 : 0;
}

static __always_inline bool piece_has(const struct piece *piece, uint64_t address, uint64_t size)
{
    uint64_t place = address - piece->at;

    return place < piece->size && place + size <= piece->size;
}

/* What piece_has(); else any of its words. */
static __always_inline uint64_t piece_word(const struct piece *piece, uint64_t address)
{
    return *(const uint64_t *)(piece->bytes + ((address - piece->at) & (PIECE_BYTES - 1)));
}

static __always_inline int piece_read(struct piece *piece, uint64_t at, uint32_t size)
{
    piece->size = 0;
    BOUND(size, PIECE_BYTES);
    if (read_user(piece->bytes, size, at))
        return -1;
    piece->at = at;
    piece->size = size;
    return 0;
}

/* From `address` on: `least` bytes, and what else the page has. */
static __always_inline int piece_read_on(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t size = PIECE_PAGE - (address & (PIECE_PAGE - 1));

    return piece_read(piece, address, size < least ? least : size);
}

/* `least` bytes from `address` on, and what the page has before them. */
static __always_inline int piece_read_back(struct piece *piece, uint64_t address, uint32_t least)
{
    uint32_t before = address & (PIECE_PAGE - 1);

    if (before > PIECE_BYTES - least)
        before = PIECE_BYTES - least;
    return piece_read(piece, address - before, before + least);
}

#endif
