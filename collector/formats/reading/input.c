/* SPDX-License-Identifier: MIT */
/* The imported file: see input.h. Consecutive members of gzip and frames of zstd are one file. Up
 * to two layers convert the bytes: decompression, then UTF-16 to UTF-8. */
#include "input.h"

#include "file_io.h"
#include "text.h"

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

enum encoding { ENCODING_BYTES, ENCODING_UTF16_LE, ENCODING_UTF16_BE };

enum { UTF8_MAX = 4 }; /* bytes of a character */

struct import_input {
    int fd;       /* -1: all is in `raw` */
    char *buffer; /* bytes available to the caller: [at, end) */
    size_t at, end, size;
    uint8_t *raw; /* bytes of the file; only if compressed */
    size_t raw_at, raw_end;
    uint64_t taken;
    enum packing packing;
    bool raw_ended, ended; /* at the end */
    bool inside;           /* of a member or frame */
    bool broken;           /* the compressed data are cut or damaged here */
    enum encoding encoding;
    uint8_t *wide; /* waiting UTF-16: [wide_at, wide_end) */
    size_t wide_at, wide_end;
    bool wide_ended;
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

/* Returns the bytes written to `bytes`; or -errno. */
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
            got = -EBADMSG; /* the file is cut */
        input->broken = got == -EBADMSG;
        if (got != 0)
            return input->broken ? 0 : got;
    }
}

static int64_t read_plain(struct import_input *input, void *bytes, size_t size)
{
    return input->packing == PACKING_NONE ? read_raw(input, bytes, size)
           : input->broken                ? 0
                                          : unpack(input, bytes, size);
}

/* ---- UTF-16 ---------------------------------------------------------------------------------- */

static uint32_t unit_at(const struct import_input *input, size_t at)
{
    const uint8_t *bytes = input->wide + at;
    return input->encoding == ENCODING_UTF16_LE ? (uint32_t)(bytes[0] | bytes[1] << 8)
                                                : (uint32_t)(bytes[1] | bytes[0] << 8);
}

/* The next character; unpaired halves of a pair are U+FFFD. False: more bytes are needed. */
static bool next_character(struct import_input *input, uint32_t *ret_character)
{
    size_t rest = input->wide_end - input->wide_at;
    if (rest < 2)
        return false;
    uint32_t first = unit_at(input, input->wide_at);
    bool high = first >= 0xd800 && first < 0xdc00, low = first >= 0xdc00 && first < 0xe000;
    if (high && rest < 4 && !input->wide_ended)
        return false;
    uint32_t second = high && rest >= 4 ? unit_at(input, input->wide_at + 2) : 0;
    bool pair = second >= 0xdc00 && second < 0xe000;
    *ret_character = pair          ? 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                     : high || low ? 0xfffd
                                   : first;
    input->wide_at += pair ? 4 : 2;
    return true;
}

static int fill_wide(struct import_input *input)
{
    size_t rest = input->wide_end - input->wide_at;
    memmove(input->wide, input->wide + input->wide_at, rest);
    int64_t got = read_plain(input, input->wide + rest, INPUT_READ - rest);
    if (got < 0)
        return (int)got;
    input->wide_at = 0;
    input->wide_end = rest + (size_t)got;
    input->wide_ended = got == 0;
    return 0;
}

/* Bytes of UTF-8; 0 at the end; -errno. */
static int64_t read_wide(struct import_input *input, char *bytes, size_t size)
{
    char *at = bytes;
    uint32_t character;
    for (;;) {
        while (size - (size_t)(at - bytes) >= UTF8_MAX && next_character(input, &character))
            at = utf8_put(at, character);
        if (at > bytes || input->wide_ended)
            return at - bytes;
        int error = fill_wide(input);
        if (error)
            return error;
    }
}

static int64_t read_text(struct import_input *input, char *bytes, size_t size)
{
    return input->encoding == ENCODING_BYTES ? read_plain(input, bytes, size)
                                             : read_wide(input, bytes, size);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Reads more after `end`: up to `want`, or one piece. A buffer that was enlarged once is not filled
 * again for smaller pieces. 0 or -errno. */
static int read_more(struct import_input *input, size_t want)
{
    size_t room = input->size - input->end, missing = want - input->end;
    size_t most = missing > INPUT_BUFFER ? missing : INPUT_BUFFER;
    room = room < most ? room : most;
    int64_t got = read_text(input, input->buffer + input->end, room);
    if (got < 0)
        return (int)got;
    input->ended = got == 0;
    input->end += (size_t)got;
    return 0;
}

/* Makes room for `want` bytes. */
static int make_room(struct import_input *input, size_t want)
{
    if (want > INPUT_PIECE_MAX)
        return -EMSGSIZE;
    if (input->at) {
        memmove(input->buffer, input->buffer + input->at, input->end - input->at);
        input->end -= input->at;
        input->at = 0;
    }
    want += UTF8_MAX;
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
    bool is_empty = input->broken && input->end == input->at && input->taken == 0;
    return is_empty ? -EBADMSG : (int64_t)(input->end - input->at);
}

bool import_input_is_broken(const struct import_input *input)
{
    return input->broken;
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
    bool plain = input->packing == PACKING_NONE && input->encoding == ENCODING_BYTES;
    if (input->fd < 0 || !plain || fstat(input->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    input->taken = (uint64_t)status.st_size;
    return input->fd;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* Turns the bytes in the buffer into raw input. */
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

/* Turns the bytes in the buffer into UTF-16 input. */
static int begin_wide(struct import_input *input, enum encoding encoding)
{
    size_t have = input->end - input->at;
    input->wide = malloc(have > INPUT_READ ? have : INPUT_READ);
    if (!input->wide)
        return -ENOMEM;
    memcpy(input->wide, input->buffer + input->at, have);
    input->encoding = encoding;
    input->wide_end = have;
    input->end = input->at = 0;
    input->ended = false;
    return 0;
}

/* By the byte order mark; JSON in UTF-16 may lack one. The mark is not part of the text. */
static int begin_encoding(struct import_input *input)
{
    const char *bytes;
    int64_t got = import_input_peek(input, 4, &bytes);
    if (got < 3)
        return got < 0 && got != -EBADMSG ? (int)got : 0;
    bool utf8 = memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    bool little = memcmp(bytes, "\xff\xfe", 2) == 0, big = memcmp(bytes, "\xfe\xff", 2) == 0;
    bool json = (bytes[0] == '{' || bytes[0] == '[') && bytes[1] == 0 && got >= 4 && bytes[3] == 0;
    if (utf8 || little || big)
        import_input_take(input, utf8 ? 3 : 2);
    return little || json ? begin_wide(input, ENCODING_UTF16_LE)
           : big          ? begin_wide(input, ENCODING_UTF16_BE)
                          : 0;
}

static int begin_packing(struct import_input *input)
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

static int begin(struct import_input *input)
{
    int error = begin_packing(input);
    return error ? error : begin_encoding(input);
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
    free(input->wide);
    free(input->buffer);
    free(input);
}
