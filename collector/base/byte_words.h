/* SPDX-License-Identifier: MIT */
/* Searches texts for kinds of bytes, eight bytes at a time. Thread-safety: no state. */
#ifndef ANNOT_BYTE_WORDS_H
#define ANNOT_BYTE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BYTE_WORDS_ONES UINT64_C(0x0101010101010101)

/* Not 0 if one of the eight bytes is less than `limit`, at most 128; equals `byte`. */
static inline uint64_t byte_word_less(uint64_t word, uint8_t limit)
{
    return (word - BYTE_WORDS_ONES * limit) & ~word & BYTE_WORDS_ONES << 7;
}

static inline uint64_t byte_word_has(uint64_t word, uint8_t byte)
{
    return byte_word_less(word ^ BYTE_WORDS_ONES * byte, 1);
}

/* Word made of a text of one to seven bytes; some appear several times. */
static inline uint64_t byte_word_short(const char *bytes, size_t length)
{
    uint32_t first, last;
    if (length < sizeof(first)) {
        first = (uint8_t)bytes[0] * 0x01010101u;
        last = (uint8_t)bytes[length / 2] << 8 | (uint8_t)bytes[length - 1];
        return first | (uint64_t)(last | last << 16) << 32;
    }
    memcpy(&first, bytes, sizeof(first));
    memcpy(&last, bytes + length - sizeof(last), sizeof(last));
    return first | (uint64_t)last << 32;
}

/* True if `test`, one of the above or a combination, holds for any byte. */
static inline bool byte_words_any(const char *bytes, size_t length, uint64_t (*test)(uint64_t))
{
    uint64_t word;
    if (length < sizeof(word))
        return length > 0 && test(byte_word_short(bytes, length));
    const char *last = bytes + length - sizeof(word);
    for (; bytes < last; bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        if (test(word))
            return true;
    }
    memcpy(&word, last, sizeof(word));
    return test(word) != 0;
}

#endif
