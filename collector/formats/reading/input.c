/* SPDX-License-Identifier: MIT */
/* The file that is imported: see import_parts.h. Members of gzip and frames of zstd that follow one
 * another are one file. */
#include "import_parts.h"

#include "file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { INPUT_BUFFER = 1 << 20, INPUT_READ = 256 << 10 };

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct import_input {
    int fd;       /* -1: all is in `raw` */
    char *buffer; /* what may be looked at: [at, end) */
    size_t at, end, size;
    uint8_t *raw; /* as it is in the file; of compressed ones */
    size_t raw_at, raw_end;
    uint64_t taken;
    enum packing packing;
    bool raw_ended, ended; /* nothing more comes */
    bool inside;           /* of a member or frame */
    z_stream gzip;
    ZSTD_DStream *zstd;
};

static int64_t read_raw(struct import_input *input, void *bytes, size_t size)
{
    ssize_t got;
    if (input->fd < 0)
        return 0;
    do
        got = read(input->fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

static int fill_raw(struct import_input *input)
{
    if (input->raw_at < input->raw_end || input->raw_ended)
        return 0;
    int64_t got = read_raw(input, input->raw, INPUT_READ);
    if (got < 0)
        return (int)got;
    input->raw_at = 0;
    input->raw_end = (size_t)got;
    input->raw_ended = got == 0;
    return 0;
}

/* Bytes that came out, at `bytes`; or -errno. */
static int64_t unpack_gzip(struct import_input *input, char *bytes, size_t size)
{
    z_stream *z = &input->gzip;
    if (!input->inside && inflateReset(z) != Z_OK)
        return -EBADMSG;
    z->next_in = input->raw + input->raw_at;
    z->avail_in = (uInt)(input->raw_end - input->raw_at);
    z->next_out = (uint8_t *)bytes;
    z->avail_out = (uInt)size;
    int status = inflate(z, Z_NO_FLUSH);
    input->raw_at = input->raw_end - z->avail_in;
    input->inside = status != Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return -EBADMSG;
    return (int64_t)(size - z->avail_out);
}

static int64_t unpack_zstd(struct import_input *input, char *bytes, size_t size)
{
    ZSTD_inBuffer in = {input->raw, input->raw_end, input->raw_at};
    ZSTD_outBuffer out = {bytes, size, 0};
    size_t status = ZSTD_decompressStream(input->zstd, &out, &in);
    input->raw_at = in.pos;
    if (ZSTD_isError(status))
        return -EBADMSG;
    input->inside = status != 0;
    return (int64_t)out.pos;
}

static int64_t unpack(struct import_input *input, char *bytes, size_t size)
{
    for (;;) {
        int error = fill_raw(input);
        if (error)
            return error;
        if (input->raw_at == input->raw_end && !input->inside)
            return 0;
        bool dry = input->raw_at == input->raw_end;
        int64_t got = input->packing == PACKING_GZIP ? unpack_gzip(input, bytes, size)
                                                     : unpack_zstd(input, bytes, size);
        if (got == 0 && dry && input->inside)
            return -EBADMSG; /* cut */
        if (got != 0)
            return got;
    }
}

/* More behind `end`: what is wanted, or one piece. A buffer that was large once is not filled again
 * for less. 0 or -errno. */
static int read_more(struct import_input *input, size_t want)
{
    size_t room = input->size - input->end, missing = want - input->end;
    size_t most = missing > INPUT_BUFFER ? missing : INPUT_BUFFER;
    room = room < most ? room : most;
    int64_t got = input->packing == PACKING_NONE ? read_raw(input, input->buffer + input->end, room)
                                                 : unpack(input, input->buffer + input->end, room);
    if (got < 0)
        return (int)got;
    input->ended = got == 0;
    input->end += (size_t)got;
    return 0;
}

/* So that `want` bytes have room. */
static int make_room(struct import_input *input, size_t want)
{
    if (want > INPUT_PIECE_MAX)
        return -EMSGSIZE;
    if (input->at) {
        memmove(input->buffer, input->buffer + input->at, input->end - input->at);
        input->end -= input->at;
        input->at = 0;
    }
    if (want < input->size)
        return 0;
    char *grown = realloc(input->buffer, 2 * want);
    if (!grown)
        return -ENOMEM;
    input->buffer = grown;
    input->size = 2 * want;
    return 0;
}

int64_t import_input_peek(struct import_input *input, size_t want, const char **ret_bytes)
{
    *ret_bytes = input->buffer;
    if (input->end - input->at < want && !input->ended) {
        int error = make_room(input, want);
        while (!error && input->end < want && !input->ended)
            error = read_more(input, want);
        if (error)
            return error;
    }
    *ret_bytes = input->buffer + input->at;
    return (int64_t)(input->end - input->at);
}

void import_input_take(struct import_input *input, size_t count)
{
    input->at += count;
    input->taken += count;
}

uint64_t import_input_offset(const struct import_input *input)
{
    return input->taken;
}

int import_input_line(struct import_input *input, const char **ret_line, size_t *ret_length)
{
    size_t want = 1, seen = 0;
    for (;;) {
        const char *bytes;
        int64_t got = import_input_peek(input, want, &bytes);
        if (got <= 0)
            return (int)got;
        const char *found = memchr(bytes + seen, '\n', (size_t)got - seen);
        bool last = (size_t)got < want || input->ended;
        if (found || last) {
            size_t length = found ? (size_t)(found - bytes) : (size_t)got;
            import_input_take(input, length + (found != NULL));
            *ret_line = bytes;
            *ret_length = length - (length && bytes[length - 1] == '\r');
            return 1;
        }
        seen = (size_t)got;
        want = seen + 1;
    }
}

int import_input_file(struct import_input *input)
{
    struct stat status;
    if (input->fd < 0 || input->packing != PACKING_NONE || fstat(input->fd, &status) != 0 ||
        !S_ISREG(status.st_mode))
        return -1;
    input->taken = (uint64_t)status.st_size;
    return input->fd;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* What is in the buffer so far is raw after all. */
static int begin_unpacking(struct import_input *input)
{
    size_t raw_size = input->end > INPUT_READ ? input->end : INPUT_READ;
    input->raw = malloc(raw_size);
    if (!input->raw)
        return -ENOMEM;
    memcpy(input->raw, input->buffer, input->end);
    input->raw_end = input->end;
    input->raw_ended = input->ended;
    input->end = 0;
    input->ended = false;
    if (input->packing == PACKING_GZIP)
        return inflateInit2(&input->gzip, 15 + 16) == Z_OK ? 0 : -ENOMEM;
    input->zstd = ZSTD_createDStream();
    return input->zstd ? 0 : -ENOMEM;
}

static int begin(struct import_input *input)
{
    static const char gzip[] = "\x1f\x8b", zstd[] = "\x28\xb5\x2f\xfd";
    const char *bytes;
    int64_t got = import_input_peek(input, 4, &bytes);
    if (got < 0)
        return (int)got;
    if (got >= 2 && memcmp(bytes, gzip, 2) == 0)
        input->packing = PACKING_GZIP;
    else if (got >= 4 && memcmp(bytes, zstd, 4) == 0)
        input->packing = PACKING_ZSTD;
    return input->packing == PACKING_NONE ? 0 : begin_unpacking(input);
}

static struct import_input *create(int fd, size_t size)
{
    struct import_input *input = calloc(1, sizeof(*input));
    if (!input)
        return NULL;
    input->fd = fd;
    input->size = size;
    input->buffer = malloc(size);
    if (input->buffer)
        return input;
    free(input);
    return NULL;
}

int import_input_open(const char *path, struct import_input **ret_input)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct import_input *input = create(fd, INPUT_BUFFER);
    if (!input) {
        close(fd);
        return -ENOMEM;
    }
    int error = begin(input);
    if (error) {
        import_input_close(input);
        return error;
    }
    *ret_input = input;
    return 0;
}

struct import_input *import_input_memory(const uint8_t *bytes, size_t size)
{
    struct import_input *input = create(-1, size + 1);
    if (!input)
        return NULL;
    if (size)
        memcpy(input->buffer, bytes, size);
    input->end = size;
    if (begin(input) == 0)
        return input;
    import_input_close(input);
    return NULL;
}

void import_input_close(struct import_input *input)
{
    if (!input)
        return;
    if (input->packing == PACKING_GZIP)
        inflateEnd(&input->gzip);
    ZSTD_freeDStream(input->zstd);
    if (input->fd >= 0)
        close(input->fd);
    free(input->raw);
    free(input->buffer);
    free(input);
}
