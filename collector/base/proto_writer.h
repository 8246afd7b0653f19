/* SPDX-License-Identifier: MIT */
/* Protocol buffer messages, built in memory one at a time.
 *
 * proto_begin and proto_end nest; lengths are put in when a message ends, in as few bytes as
 * possible. Errors (out of memory) stick in `error`. Thread-safety: one thread per writer.
 * For hot paths there is varint_put (varint.h), which writes at a cursor. */
#ifndef ANNOT_PROTO_WRITER_H
#define ANNOT_PROTO_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { PROTO_DEPTH_MAX = 8 }; /* messages within messages */

/* All zero is an empty writer. */
struct proto_writer {
    uint8_t *bytes; /* the message so far */
    size_t size, capacity;
    size_t begins[PROTO_DEPTH_MAX]; /* where the contents of the open messages start */
    unsigned depth;
    int error; /* 0 or -ENOMEM */
};

/* Empties the writer and keeps its memory; destroy frees it. */
void proto_reset(struct proto_writer *writer);
void proto_destroy(struct proto_writer *writer);

/* A message as field `field` of the one that is open, until proto_end. */
void proto_begin(struct proto_writer *writer, uint32_t field);
void proto_end(struct proto_writer *writer);

void proto_uint(struct proto_writer *writer, uint32_t field, uint64_t value);
void proto_int(struct proto_writer *writer, uint32_t field, int64_t value); /* int32, int64 */
void proto_double(struct proto_writer *writer, uint32_t field, double value);
void proto_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value);
void proto_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t size);
void proto_text(struct proto_writer *writer, uint32_t field, const char *text);

#endif
