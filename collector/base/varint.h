/* SPDX-License-Identifier: MIT */
/* Integers of variable length, and protocol buffer messages, which consist of them. */
#ifndef ANNOT_VARINT_H
#define ANNOT_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Integers -------------------------------------------------------------------------------- */

/* Integers of variable length: seven bits a byte, least significant first, the top bit set on all
 * but the last (LEB128); signed ones in zigzag order. Thread-safety: pure functions. */

enum { VARINT_MAX = 10 };

static inline uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Writes at most VARINT_MAX bytes; returns the end. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* A position in foreign bytes. Reading past the end gives 0 and sets `at` to NULL, which sticks. */
struct varint_reader {
    const uint8_t *at, *end;
};

static inline uint64_t varint_get(struct varint_reader *reader)
{
    uint64_t value = 0;
    if (!reader->at)
        return 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    reader->at = NULL;
    return 0;
}

static inline int64_t varint_get_signed(struct varint_reader *reader)
{
    return unzigzag(varint_get(reader));
}

static inline uint8_t varint_get_byte(struct varint_reader *reader)
{
    if (reader->at && reader->at < reader->end)
        return *reader->at++;
    reader->at = NULL;
    return 0;
}

/* Skips a size and that many bytes. */
static inline void varint_skip_sized(struct varint_reader *reader)
{
    uint64_t size = varint_get(reader);
    if (reader->at && size <= (uint64_t)(reader->end - reader->at))
        reader->at += size;
    else
        reader->at = NULL;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Protocol buffer messages, built in memory one at a time. proto_begin and proto_end nest; lengths
 * are put in when a message ends, in as few bytes as possible.
 *
 * Errors (out of memory) stick in `error`. Thread-safety: one thread per writer. Hot paths use
 * varint_put, which writes at a cursor. */

enum { PROTO_DEPTH_MAX = 8 }; /* messages within messages */

/* All zero is an empty writer. */
struct proto_writer {
    uint8_t *bytes; /* the message so far */
    size_t size, capacity;
    size_t begins[PROTO_DEPTH_MAX]; /* start of the contents of each open message */
    unsigned depth;
    int error; /* 0 or -ENOMEM */
};

/* Empties the writer and keeps its memory; destroy frees it. */
void proto_reset(struct proto_writer *writer);
void proto_destroy(struct proto_writer *writer);

/* Opens a message as field `field` of the current one, until proto_end. */
void proto_begin(struct proto_writer *writer, uint32_t field);
void proto_end(struct proto_writer *writer);

void proto_uint(struct proto_writer *writer, uint32_t field, uint64_t value);
void proto_int(struct proto_writer *writer, uint32_t field, int64_t value); /* int32, int64 */
void proto_double(struct proto_writer *writer, uint32_t field, double value);
void proto_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value);
void proto_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t size);
void proto_text(struct proto_writer *writer, uint32_t field, const char *text);

/* Appends whole fields from another writer. */
void proto_fields(struct proto_writer *writer, const void *bytes, size_t size);

/* ---- Reading messages ------------------------------------------------------------------------ */

/* Fields of a protocol buffer message, in the order of the bytes, which are foreign. Fields are not
 * copied. Thread-safety: one thread per message. */

struct proto {
    const uint8_t *at, *end;
    bool bad; /* the rest is malformed and was not read */
};

struct proto_field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;     /* of numbers of all widths */
    struct proto bytes; /* of other types */
};

static inline double proto_as_double(const struct proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

/* The next field; false at the end. */
bool proto_next(struct proto *message, struct proto_field *ret_field);

/* The next number of a packed field: of 7 bits a byte; of `size` bytes. False: too short. */
bool proto_varint(struct proto *message, uint64_t *ret_value);
bool proto_fixed(struct proto *message, size_t size, uint64_t *ret_value);

#endif
