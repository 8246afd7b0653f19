/* SPDX-License-Identifier: MIT */
/* The imported file: bytes in order, decompressed if they are gzip or zstd, UTF-8 if they are
 * UTF-16, without a byte order mark. A peeked piece is contiguous. Cut or damaged compressed data
 * end where they become unreadable. Thread-safety: one thread per object. */
#ifndef ANNOT_INPUT_H
#define ANNOT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_input;

enum { INPUT_PIECE_MAX = 64 << 20 }; /* largest piece of a peek */

/* "-" is standard input. 0 or -errno. memory: bytes owned by the caller, for tests: NULL: out of
 * memory. */
int import_input_open(const char *path, struct import_input **ret_input);
struct import_input *import_input_memory(const uint8_t *bytes, size_t size);

/* Accepts NULL. */
void import_input_close(struct import_input *input);

/* The next bytes: at least `want`, fewer only at the end. Valid until the next call. Their number;
 * 0: the end; -EMSGSIZE: `want` is too large; -EBADMSG: decompression failed at the first byte;
 * -errno of the read. */
int64_t import_input_peek(struct import_input *input, size_t want, const char **ret_bytes);

/* Consumes `count` bytes. */
void import_input_take(struct import_input *input, size_t count);

/* At its end: true if the compressed data are cut or damaged. */
bool import_input_is_broken(const struct import_input *input);

/* Bytes consumed, after decompression and conversion to UTF-8. */
uint64_t import_input_offset(const struct import_input *input);

/* Consumes the next line, without its end: 1; 0 at the end; as peek. */
int import_input_line(struct import_input *input, const char **ret_line, size_t *ret_length);

/* The descriptor of an uncompressed file, all of which then counts as consumed; -1: another kind of
 * input. */
int import_input_file(struct import_input *input);

#endif
