/* SPDX-License-Identifier: MIT */
/* A buffered output with a sticky error: write freely, ask once at the end.
 *
 * To a file, to standard output, into memory, or piece by piece to somebody else; gzip-compressed
 * if asked for. Thread-safety: one thread per stream. */
#ifndef ANNOT_OUT_STREAM_H
#define ANNOT_OUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out_stream;

struct out_stream_options {
    bool overwrite; /* replace an existing file; else -EEXIST */
    bool gzip;
    int gzip_level; /* 0 = default (fast) */
};

/* path "-" is standard output. 0 or -errno. A new file is written beside its final name and takes
 * it at close, so that a failed export leaves nothing half. */
int out_stream_open(const char *path, const struct out_stream_options *options,
                    struct out_stream **ret_out);

/* Into memory. NULL: out of memory. */
struct out_stream *out_stream_memory(void);
const uint8_t *out_stream_memory_bytes(const struct out_stream *out, size_t *ret_size);

/* Forgets them; those behind the first `size`. */
void out_stream_memory_reset(struct out_stream *out);
void out_stream_memory_cut(struct out_stream *out, size_t size);

/* To somebody who takes it in pieces: what was written up to each flush, and up to the close;
 * compressed, all of it as one. Pieces are never empty. `take`: 0 or -errno, the stream's error
 * from then on. Memory: a piece. 0 or -ENOMEM. */
struct out_taker {
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
};

int out_stream_pieces(const struct out_taker *taker, const struct out_stream_options *options,
                      struct out_stream **ret_out);

/* Errors stick and make later writes no-ops. */
void out_write(struct out_stream *out, const void *bytes, size_t size);
void out_text(struct out_stream *out, const char *text);

/* As contents or quoted attribute of XML: markup is escaped; what XML has no way to write, and what
 * is no UTF-8, comes out as U+FFFD. */
void out_xml(struct out_stream *out, const char *bytes, size_t length);

/* Room for `size` (at most 64 KiB) bytes to be written in place; then out_advance by what was
 * used. Never NULL: after an error it is scratch space. For encoders on hot paths. */
uint8_t *out_reserve(struct out_stream *out, size_t size);
void out_advance(struct out_stream *out, size_t size);

/* Hands on what was written so far; of a compressed stream nothing. */
void out_flush(struct out_stream *out);
int out_error(const struct out_stream *out);      /* 0 or the first -errno */
uint64_t out_bytes(const struct out_stream *out); /* accepted so far, before compression */

/* Flush, and rename into place. 0 or the first -errno. Destroys the stream. */
int out_stream_close(struct out_stream *out);

/* Destroys the stream and removes the unfinished file. Accepts NULL. */
void out_stream_abandon(struct out_stream *out);

/* ---- Folders --------------------------------------------------------------------------------- */

/* Files that make up one output. The folder is written beside its final name and takes it at close,
 * so that it is there as a whole or not at all. */
struct out_folder;

#endif
