/* SPDX-License-Identifier: MIT */
/* The file that is imported: bytes in order, decompressed if they are gzip or zstd, UTF-8 if they
 * are UTF-16, without a byte order mark. A piece that was looked at is contiguous. Compressed data
 * that are cut or damaged end where they cannot be read. Thread-safety: one thread per object. */
#ifndef ANNOT_INPUT_H
#define ANNOT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_input;

enum { INPUT_PIECE_MAX = 64 << 20 }; /* that may be looked at in one piece */

/* "-" is standard input. 0 or -errno. Bytes of the caller's, for tests: NULL: out of memory. */
int import_input_open(const char *path, struct import_input **ret_input);
struct import_input *import_input_memory(const uint8_t *bytes, size_t size);

/* Accepts NULL. */
void import_input_close(struct import_input *input);

/* What comes next: at least `want` bytes, fewer at the end only. Stays until the next call. The
 * number; 0: the end; -EMSGSIZE: `want` is too large; -EBADMSG: nothing can be decompressed; -errno
 * of the read. */
int64_t import_input_peek(struct import_input *input, size_t want, const char **ret_bytes);

/* So many of them are done with. */
void import_input_take(struct import_input *input, size_t count);

/* Whether the compressed data are cut or damaged, where it ends. */
bool import_input_is_broken(const struct import_input *input);

/* Bytes that were taken, as they are without compression and in UTF-8. */
uint64_t import_input_offset(const struct import_input *input);

/* The next line without its end, which is taken: 1; 0 at the end; as peek. */
int import_input_line(struct import_input *input, const char **ret_line, size_t *ret_length);

/* The descriptor of a file that is not compressed, all of which then counts as taken; -1: it is no
 * such file. */
int import_input_file(struct import_input *input);

#endif
