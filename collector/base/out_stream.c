/* SPDX-License-Identifier: MIT */
/* Buffer, gzip and destination of out_stream.h. A regular file is written under a temporary name in
 * the same folder; other files (a pipe, a device) directly. After an error the buffer is recycled
 * as scratch space. Thread-safety: one thread per stream. */
#include "out_stream.h"

#include "file_io.h"
#include "text.h"
#include "vec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    RESERVE_MAX = 64 * 1024,
    BUFFER_SIZE = 256 * 1024,
    GZIP_SIZE = 256 * 1024,
    /* Measured on Chrome JSON of ranges of random length, by the deflate alone: level 1 2.9 M
     * slices/s of 15.7 bytes; 5 1.3 M of 13.5; 5 with Z_FILTERED, which prefers longer matches in
     * noisy digits, 1.4 M of 12.7; 6 with it 1.0 M of 12.6. */
    GZIP_LEVEL = 5,
    GZIP_WINDOW = 15 + 16,
    GZIP_MEMORY = 9,
};

struct out_stream {
    uint8_t *buffer;
    size_t used, capacity;
    uint64_t flushed; /* bytes that have left the buffer */
    int fd;           /* -1: memory, or a taker */
    int error;
    bool overwrite, to_stdout, gzip;
    char *path, *temporary; /* NULL: written in place */
    struct out_taker taker; /* its `take` NULL: not used */
    VEC(uint8_t) piece;     /* for the taker */
    z_stream z;
    uint8_t *z_buffer;
};

static bool is_memory(const struct out_stream *out)
{
    return out->fd < 0 && !out->taker.take;
}

static void destroy(struct out_stream *out)
{
    if (out->gzip)
        deflateEnd(&out->z);
    if (out->fd >= 0 && !out->to_stdout)
        close(out->fd);
    vec_free(&out->piece);
    free(out->z_buffer);
    free(out->path);
    free(out->temporary);
    free(out->buffer);
    free(out);
}

static int append_piece(struct out_stream *out, const void *bytes, size_t size)
{
    if (vec_reserve(&out->piece, size) != 0)
        return -ENOMEM;
    memcpy(out->piece.items + out->piece.count, bytes, size);
    out->piece.count += size;
    return 0;
}

static void write_out(struct out_stream *out, const void *bytes, size_t size)
{
    if (!out->error && size > 0)
        out->error =
            out->taker.take ? append_piece(out, bytes, size) : file_write_all(out->fd, bytes, size);
}

static void hand_on_piece(struct out_stream *out)
{
    if (!out->error && out->piece.count > 0)
        out->error = out->taker.take(out->taker.context, out->piece.items, out->piece.count);
    out->piece.count = 0;
}

static void deflate_out(struct out_stream *out, int flush)
{
    int status;
    out->z.next_in = out->buffer;
    out->z.avail_in = (uInt)out->used;
    do {
        out->z.next_out = out->z_buffer;
        out->z.avail_out = GZIP_SIZE;
        status = deflate(&out->z, flush);
        write_out(out, out->z_buffer, GZIP_SIZE - out->z.avail_out);
    } while (!out->error && status == Z_OK && out->z.avail_out == 0);
}

static void flush_buffer(struct out_stream *out, bool last)
{
    if (out->error)
        out->used = 0;
    else if (out->gzip)
        deflate_out(out, last ? Z_FINISH : Z_NO_FLUSH);
    else
        write_out(out, out->buffer, out->used);
    out->flushed += out->used;
    out->used = 0;
}

void out_flush(struct out_stream *out)
{
    if (is_memory(out) || out->gzip)
        return;
    flush_buffer(out, false);
    hand_on_piece(out);
}

static void grow_memory(struct out_stream *out, size_t size)
{
    size_t capacity = out->capacity * 2 + size;
    uint8_t *grown = out->error ? NULL : realloc(out->buffer, capacity);
    if (grown) {
        out->buffer = grown;
        out->capacity = capacity;
        return;
    }
    out->error = -ENOMEM;
    out->used = 0;
}

uint8_t *out_reserve(struct out_stream *out, size_t size)
{
    assert(size <= RESERVE_MAX);
    if (out->capacity - out->used < size) {
        if (is_memory(out))
            grow_memory(out, size);
        else
            flush_buffer(out, false);
    }
    return out->buffer + out->used;
}

void out_advance(struct out_stream *out, size_t size)
{
    assert(size <= out->capacity - out->used);
    if (!out->error)
        out->used += size;
}

void out_write(struct out_stream *out, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    if (size <= out->capacity - out->used && !out->error) { /* the usual case */
        memcpy(out->buffer + out->used, at, size);
        out->used += size;
        return;
    }
    while (size > 0 && !out->error) {
        size_t part = size < RESERVE_MAX ? size : RESERVE_MAX;
        memcpy(out_reserve(out, part), at, part);
        out_advance(out, part);
        at += part;
        size -= part;
    }
}

void out_text(struct out_stream *out, const char *text)
{
    out_write(out, text, strlen(text));
}

int out_error(const struct out_stream *out)
{
    return out->error;
}

uint64_t out_bytes(const struct out_stream *out)
{
    return out->flushed + out->used;
}

static struct out_stream *create(void)
{
    struct out_stream *out = calloc(1, sizeof(*out));
    if (!out)
        return NULL;
    out->fd = -1;
    out->capacity = BUFFER_SIZE;
    out->buffer = malloc(BUFFER_SIZE);
    if (out->buffer)
        return out;
    free(out);
    return NULL;
}

struct out_stream *out_stream_memory(void)
{
    return create();
}

const uint8_t *out_stream_memory_bytes(const struct out_stream *out, size_t *ret_size)
{
    *ret_size = out->used;
    return out->buffer;
}

void out_stream_memory_reset(struct out_stream *out)
{
    out->used = 0;
}

void out_stream_memory_cut(struct out_stream *out, size_t size)
{
    if (size < out->used)
        out->used = size;
}

static int start_gzip(struct out_stream *out, int level)
{
    out->z_buffer = malloc(GZIP_SIZE);
    if (!out->z_buffer)
        return -ENOMEM;
    if (deflateInit2(&out->z, level ? level : GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_FILTERED) != Z_OK)
        return -ENOMEM;
    out->gzip = true;
    return 0;
}

/* A unique temporary name in the folder of the final one; leftovers of killed processes are
 * skipped. */
static int open_temporary(struct out_stream *out)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        free(out->temporary);
        if (asprintf(&out->temporary, "%s.part-%d-%d", out->path, (int)getpid(), attempt) < 0) {
            out->temporary = NULL;
            return -ENOMEM;
        }
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int error = -errno;
    free(out->temporary);
    out->temporary = NULL;
    return error;
}

static int open_destination(struct out_stream *out, const char *path)
{
    struct stat status;
    if (strcmp(path, "-") == 0) {
        out->fd = STDOUT_FILENO;
        out->to_stdout = true;
        return 0;
    }
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(status.st_mode)) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? -errno : 0;
    }
    if (exists && !out->overwrite)
        return -EEXIST;
    out->path = exists ? realpath(path, NULL) : strdup(path);
    return out->path ? open_temporary(out) : -errno;
}

int out_stream_open(const char *path, const struct out_stream_options *options,
                    struct out_stream **ret_out)
{
    struct out_stream *out = create();
    if (!out)
        return -ENOMEM;
    out->overwrite = options->overwrite;
    int error = options->gzip ? start_gzip(out, options->gzip_level) : 0;
    if (!error)
        error = open_destination(out, path);
    if (error) {
        destroy(out);
        return error;
    }
    *ret_out = out;
    return 0;
}

int out_stream_pieces(const struct out_taker *taker, const struct out_stream_options *options,
                      struct out_stream **ret_out)
{
    struct out_stream *out = create();
    if (!out)
        return -ENOMEM;
    out->taker = *taker;
    int error = options->gzip ? start_gzip(out, options->gzip_level) : 0;
    if (error)
        destroy(out);
    else
        *ret_out = out;
    return error;
}

/* File systems without RENAME_NOREPLACE get a check and a rename. */
static int take_final_name(const struct out_stream *out)
{
    unsigned flags = out->overwrite ? 0 : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, out->temporary, AT_FDCWD, out->path, flags) == 0)
        return 0;
    if (flags == 0 || (errno != EINVAL && errno != ENOSYS))
        return -errno;
    if (access(out->path, F_OK) == 0)
        return -EEXIST;
    return rename(out->temporary, out->path) == 0 ? 0 : -errno;
}

int out_stream_close(struct out_stream *out)
{
    if (!is_memory(out))
        flush_buffer(out, true);
    hand_on_piece(out);
    if (out->temporary && !out->error)
        out->error = take_final_name(out);
    int error = out->error;
    if (out->temporary && error)
        unlink(out->temporary);
    destroy(out);
    return error;
}

void out_stream_abandon(struct out_stream *out)
{
    if (!out)
        return;
    if (out->temporary)
        unlink(out->temporary);
    destroy(out);
}

/* ---- XML ------------------------------------------------------------------------------------ */

/* One character at a time, as the five of markup are short and the others rare. */

#define REPLACEMENT "\xef\xbf\xbd"

/* NULL: no escape. `size` 0: invalid UTF-8. */
static const char *escape_of(const char *at, size_t size)
{
    if (size == 0)
        return REPLACEMENT;
    if (size == 3 && (memcmp(at, "\xef\xbf\xbe", 3) == 0 || memcmp(at, "\xef\xbf\xbf", 3) == 0))
        return REPLACEMENT; /* U+FFFE, U+FFFF */
    if (size == 2 && at[0] == '\xc2' && (unsigned char)at[1] < 0xa0)
        return REPLACEMENT; /* U+0080 to U+009F */
    switch (*at) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    default:
        return (unsigned char)*at < 0x20 || *at == 0x7f ? REPLACEMENT : NULL;
    }
}

void out_xml(struct out_stream *out, const char *bytes, size_t length)
{
    const char *plain = bytes, *end = bytes + length;
    while (bytes < end) {
        size_t size = utf8_character(bytes, (size_t)(end - bytes));
        const char *escape = escape_of(bytes, size);
        const char *next = bytes + (size ? size : 1);
        if (escape) {
            out_write(out, plain, (size_t)(bytes - plain));
            out_text(out, escape);
            plain = next;
        }
        bytes = next;
    }
    out_write(out, plain, (size_t)(end - plain));
}
