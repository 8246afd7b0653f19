/* SPDX-License-Identifier: MIT */
/* Texts: of bounded size, UTF-8, command lines, searches for kinds of bytes. */
#ifndef ANNOT_TEXT_H
#define ANNOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Of bounded size ------------------------------------------------------------------------- */

/* Text of bounded size, built piece by piece; an overflow is cut at a character. The buffer always
 * ends with NUL. Thread-safety: none. */

struct text {
    char *buffer;
    size_t size, length;
};

/* `size` >= 1. */
struct text text_init(char *buffer, size_t size);
void text_add(struct text *text, const char *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void text_format(struct text *text, const char *format, ...);

/* The part of a path after its last slash; all of it, if the slash is its last character. */
const char *text_base_name(const char *path);

/* True if the text ends so and has a character before the ending. */
bool text_ends_with(const char *text, const char *ending);

/* True if the pattern equals the text, or matches it with *, ? and [] as in a shell. */
bool text_matches(const char *pattern, const char *text);

/* Two hexadecimal digits for each byte, and NUL: 2 * size + 1 bytes at `at`. Returns the NUL. */
char *text_hex(char *at, const uint8_t *bytes, size_t size);

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Checks and repairs UTF-8. Thread-safety: pure functions. */

/* Bytes of the well-formed character at the start (1..4), or 0. NUL counts as a character. Follows
 * table 3-7 of the Unicode standard: no overlong forms, no surrogates, at most U+10FFFF. */
size_t utf8_character(const char *bytes, size_t size);

/* Bytes of the control character at the start of a text that ends with NUL: 1 of C0 and DEL, 2 of
 * C1; 0 for another character. */
size_t utf8_control(const char *text);

/* True for well-formed text without NUL. */
bool utf8_is_text(const char *bytes, size_t size);

/* Replaces NUL and each byte that does not start a well-formed character by U+FFFD. `out` has room
 * for 3 * size bytes. Returns the bytes written. */
size_t utf8_repair(const char *bytes, size_t size, char *out);

/* The largest number of bytes, at most `limit`, at which `bytes` may be cut without splitting a
 * character. */
size_t utf8_cut(const char *bytes, size_t size, size_t limit);

/* The size without an incomplete character at the end. */
size_t utf8_whole(const char *bytes, size_t size);

/* Writes a character, of 1 to 4 bytes. Returns the position after it. */
char *utf8_put(char *at, uint32_t character);

/* ---- Command lines --------------------------------------------------------------------------- */

/* A command line as one text, in one form for all sources, so that equal command lines compare
 * equal. Thread-safety: pure functions. */

enum { COMMAND_TEXT_SIZE = 8192 };

/* `arguments` as in /proc/PID/cmdline: each ends with NUL. At most COMMAND_TEXT_SIZE - 1 bytes and
 * NUL; returns the length. */
size_t command_text(const char *arguments, size_t size, char *buffer);

/* ---- Kinds of bytes -------------------------------------------------------------------------- */

/* Searches for bytes of a kind, eight at a time. Thread-safety: pure functions. */

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
