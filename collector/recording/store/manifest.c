/* SPDX-License-Identifier: MIT */
/* Manifests: text, a line a recording (docs/recording-format.md, "Manifest"). Foreign bytes: sizes
 * and numbers are bounded, anything else is refused. Thread-safety: functions without state. */
#include "file_io.h"
#include "format.h"
#include "store.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char first_line[] = "annot manifest 1\n";

enum { MANIFEST_BYTES_MAX = 1 << 24 };

/* Drift is told in parts of 10^12. */
#define DRIFT_UNIT 1e12
#define DRIFT_MAX  INT64_C(1000000000)

void store_manifest_free(struct store_manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->parts[i].path);
    free(manifest->parts);
    *manifest = (struct store_manifest){0};
}

/* "KEY=NUMBER " at *at, which is behind it then. */
static bool take_number(const char **at, const char *end, const char *key, int64_t *ret_number)
{
    size_t length = strlen(key);
    char digits[24];
    const char *space = memchr(*at, ' ', (size_t)(end - *at));
    if (!space || (size_t)(space - *at) <= length || memcmp(*at, key, length) != 0)
        return false;
    size_t size = (size_t)(space - *at) - length;
    if (size >= sizeof(digits))
        return false;
    memcpy(digits, *at + length, size);
    digits[size] = 0;
    char *rest;
    errno = 0;
    *ret_number = strtoll(digits, &rest, 10);
    *at = space + 1;
    bool number = digits[0] == '-' || (digits[0] >= '0' && digits[0] <= '9');
    return number && *rest == 0 && errno == 0 && store_time(*ret_number) == *ret_number;
}

/* 0, -EBADMSG, -ENOMEM. */
static int take_line(const char *at, const char *end, struct store_manifest *manifest)
{
    struct store_time_map time;
    int64_t drift;
    bool whole = take_number(&at, end, "offset_ns=", &time.offset_ns) &&
                 take_number(&at, end, "error_ns=", &time.error_ns) &&
                 take_number(&at, end, "drift_ppt=", &drift) &&
                 take_number(&at, end, "since_ns=", &time.since_ns);
    static const char key[] = "path=";
    size_t length = sizeof(key) - 1;
    if (!whole || time.error_ns < 0 || drift > DRIFT_MAX || drift < -DRIFT_MAX ||
        (size_t)(end - at) <= length || (size_t)(end - at) >= PATH_MAX ||
        memcmp(at, key, length) != 0 || memchr(at, 0, (size_t)(end - at)) ||
        manifest->count >= STORE_PARTS_MAX)
        return -EBADMSG;
    time.drift = (double)drift / DRIFT_UNIT;
    struct store_part part = {strndup(at + length, (size_t)(end - at) - length), time};
    int error = part.path ? vec_grow((void **)&manifest->parts, &manifest->capacity,
                                     manifest->count + 1, sizeof(part))
                          : -ENOMEM;
    if (error)
        free(part.path);
    else
        manifest->parts[manifest->count++] = part;
    return error;
}

int store_manifest_parse(const char *text, size_t size, struct store_manifest *ret_manifest)
{
    size_t head = sizeof(first_line) - 1;
    *ret_manifest = (struct store_manifest){0};
    if (size < head || size > MANIFEST_BYTES_MAX || memcmp(text, first_line, head) != 0)
        return -EBADMSG;
    const char *at = text + head, *end = text + size;
    int error = 0;
    while (at < end && !error) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        error = line_end ? take_line(at, line_end, ret_manifest) : -EBADMSG;
        at = line_end ? line_end + 1 : end;
    }
    return error ? error : ret_manifest->count ? 0 : -EBADMSG;
}

/* 0, -EBADMSG, -ENOMEM, -EIO...; the text is the caller's. */
static int read_text(const char *path, char **ret_text, size_t *ret_size)
{
    struct stat status;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, &status);
    if (fd < 0)
        return fd;
    char head[sizeof(first_line) - 1];
    ssize_t size = file_read_at(fd, head, sizeof(head), 0);
    int error = size < 0 ? (int)size : 0;
    if (!error && (size < (ssize_t)sizeof(head) || memcmp(head, first_line, sizeof(head)) != 0 ||
                   status.st_size > MANIFEST_BYTES_MAX))
        error = -EBADMSG;
    *ret_text = error ? NULL : malloc((size_t)status.st_size + 1);
    if (*ret_text)
        size = file_read_at(fd, *ret_text, (size_t)status.st_size, 0);
    else if (!error)
        error = -ENOMEM;
    close(fd);
    *ret_size = size > 0 ? (size_t)size : 0;
    return error;
}

/* Relative paths begin at the manifest's folder. 0 or -ENOMEM. */
static int place_part(const char *path, struct store_part *part)
{
    const char *slash = strrchr(path, '/');
    char *placed = NULL;
    if (part->path[0] == '/' || !slash)
        return 0;
    if (asprintf(&placed, "%.*s%s", (int)(slash - path) + 1, path, part->path) < 0)
        return -ENOMEM;
    free(part->path);
    part->path = placed;
    return 0;
}

int store_manifest_read(const char *path, struct store_manifest *ret_manifest)
{
    char *text;
    size_t size;
    *ret_manifest = (struct store_manifest){0};
    int error = read_text(path, &text, &size);
    if (error)
        return error;
    error = store_manifest_parse(text, size, ret_manifest);
    free(text);
    for (size_t i = 0; i < ret_manifest->count && !error; i++)
        error = place_part(path, &ret_manifest->parts[i]);
    return error;
}

static int write_lines(int fd, const struct store_manifest *manifest)
{
    char line[PATH_MAX + 256];
    int error = file_write_all(fd, first_line, sizeof(first_line) - 1);
    for (size_t i = 0; i < manifest->count && !error; i++) {
        const struct store_part *part = &manifest->parts[i];
        int length =
            snprintf(line, sizeof(line),
                     "offset_ns=%" PRId64 " error_ns=%" PRId64 " drift_ppt=%" PRId64
                     " since_ns=%" PRId64 " path=%s\n",
                     part->time.offset_ns, part->time.error_ns,
                     (int64_t)(part->time.drift * DRIFT_UNIT), part->time.since_ns, part->path);
        bool fits = length < (int)sizeof(line) && !strchr(part->path, '\n');
        error = fits ? file_write_all(fd, line, (size_t)length) : -ENAMETOOLONG;
    }
    return error;
}

int store_manifest_write(const char *path, const struct store_manifest *manifest, bool overwrite)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0)
        return -errno;
    int error = write_lines(fd, manifest);
    if (close(fd) != 0 && !error)
        error = -errno;
    if (error && !overwrite)
        unlink(path);
    return error;
}
