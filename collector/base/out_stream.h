/* SPDX-License-Identifier: MIT */
/* A buffered output with a sticky error, to be checked once at the end.
 *
 * Writes to a file, to standard output, into memory, or in pieces to a callback; gzip-compressed on
 * request. Thread-safety: one thread per stream. */
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

/* path "-" is standard output. 0 or -errno. A new file is written under a temporary name in the
 * same folder and renamed at close, so that a failed export leaves no partial file. */
int out_stream_open(const char *path, const struct out_stream_options *options,
                    struct out_stream **ret_out);

/* Into memory. NULL: out of memory. */
struct out_stream *out_stream_memory(void);
const uint8_t *out_stream_memory_bytes(const struct out_stream *out, size_t *ret_size);

/* Empties the buffer; cuts it to the first `size` bytes. */
void out_stream_memory_reset(struct out_stream *out);
void out_stream_memory_cut(struct out_stream *out, size_t size);

/* To a callback, in pieces: the bytes written up to each flush, and up to the close; compressed,
 * all of it as one piece. Pieces are never empty. `take`: 0 or -errno, the stream's error from then
 * on. Memory: a piece. 0 or -ENOMEM. */
struct out_taker {
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
};

int out_stream_pieces(const struct out_taker *taker, const struct out_stream_options *options,
                      struct out_stream **ret_out);

/* Errors stick and make later writes no-ops. */
void out_write(struct out_stream *out, const void *bytes, size_t size);
void out_text(struct out_stream *out, const char *text);

/* As contents or quoted attribute of XML: markup is escaped; characters that XML cannot represent,
 * and invalid UTF-8, become U+FFFD. */
void out_xml(struct out_stream *out, const char *bytes, size_t length);

/* Room for `size` (at most 64 KiB) bytes to be written in place; then out_advance by the number
 * used. Never NULL: after an error it is scratch space. For encoders on hot paths. */
uint8_t *out_reserve(struct out_stream *out, size_t size);
void out_advance(struct out_stream *out, size_t size);

/* Passes on the bytes written so far; no effect on a compressed stream. */
void out_flush(struct out_stream *out);
int out_error(const struct out_stream *out);      /* 0 or the first -errno */
uint64_t out_bytes(const struct out_stream *out); /* accepted so far, before compression */

/* Flushes, and renames into place. 0 or the first -errno. Destroys the stream. */
int out_stream_close(struct out_stream *out);

/* Destroys the stream and removes the unfinished file. Accepts NULL. */
void out_stream_abandon(struct out_stream *out);

/* ---- Folders --------------------------------------------------------------------------------- */

/* An output that is a folder of files, written under a temporary name and renamed at close, so that
 * it appears complete or not at all. Thread-safety: one thread per folder. */
struct out_folder;

enum { OUT_FOLDER_FILES = 4 };

/* `names`: of its files, at most OUT_FOLDER_FILES, and NULL; they outlive the folder. 0 or -errno.
 * For a path that exists: -EEXIST, or with `overwrite` -ENOTDIR: not a folder; -ENOTEMPTY: it has
 * other files too and is kept. */
int out_folder_open(const char *path, const char *const *names, bool overwrite,
                    struct out_folder **ret_folder);

/* The stream of the file `names[file]`; owned by the folder. */
struct out_stream *out_folder_stream(const struct out_folder *folder, unsigned file);

/* Moves the folder into place: 0 or the first -errno. Destroys the folder and its streams. */
int out_folder_close(struct out_folder *folder);

/* Destroys the folder and its streams and removes the files written. Accepts NULL. */
void out_folder_abandon(struct out_folder *folder);

#endif
