/* SPDX-License-Identifier: MIT */
/* See volumes.h. A file belongs to the recording if its name matches, and its header has the same
 * set and the right number. Thread-safety: none. */
#include "volumes.h"

#include "chunk.h"
#include "fields.h"
#include "file_io.h"
#include "format.h"
#include "store.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".annot";

/* ---- Names ----------------------------------------------------------------------------------- */

/* Length of the path before the number: up to the suffix, or all of it. */
static size_t stem_length(const char *path)
{
    size_t length = strlen(path), end = sizeof(suffix) - 1;
    return length > end && strcmp(path + length - end, suffix) == 0 ? length - end : length;
}

char *store_volume_path(const char *path, uint32_t number)
{
    size_t stem = stem_length(path);
    char *text = NULL;
    if (number == 0)
        return strdup(path);
    return asprintf(&text, "%.*s.%u%s", (int)stem, path, number, path + stem) < 0 ? NULL : text;
}

/* "run.2.annot" as number 2 gives "run.annot". NULL: another number in its name; or out of
 * memory. */
static char *first_path(const char *path, uint32_t number)
{
    char digits[16];
    size_t stem = stem_length(path);
    size_t length = (size_t)snprintf(digits, sizeof(digits), ".%u", number);
    if (number == 0)
        return strdup(path);
    if (stem <= length || memcmp(path + stem - length, digits, length) != 0)
        return NULL;
    char *text = NULL;
    return asprintf(&text, "%.*s%s", (int)(stem - length), path, path + stem) < 0 ? NULL : text;
}

/* The number in the name of a file; 0: not a later volume. */
static uint32_t number_of(const char *name, const char *first, size_t stem)
{
    char *end;
    if (strncmp(name, first, stem) != 0 || name[stem] != '.' || name[stem + 1] < '1' ||
        name[stem + 1] > '9')
        return 0;
    unsigned long number = strtoul(name + stem + 1, &end, 10);
    return strcmp(end, first + stem) == 0 && number <= VOLUME_NUMBER_MAX ? (uint32_t)number : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int volume_numbers(const char *path, struct volume_numbers *ret_numbers)
{
    const char *slash = strrchr(path, '/');
    const char *first = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *stream = folder ? opendir(folder) : NULL;
    size_t stem = stem_length(first);
    const struct dirent *entry;
    int error = folder ? 0 : -ENOMEM;
    while (!error && stream && (entry = readdir(stream))) {
        uint32_t number = number_of(entry->d_name, first, stem);
        if (number)
            error = vec_push(&ret_numbers->items, number);
    }
    if (ret_numbers->items.count)
        qsort(ret_numbers->items.items, ret_numbers->items.count, sizeof(uint32_t),
              compare_numbers);
    if (stream)
        closedir(stream);
    free(folder);
    return error;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void free_volume(struct volume *volume)
{
    if (volume->fd >= 0)
        close(volume->fd);
    free(volume->path);
    *volume = (struct volume){.fd = -1};
}

/* The session id in the first definitions, if the file's header is unreadable; 0: unknown. */
static uint64_t defined_session(const struct volume *volume)
{
    struct damage_list damage = {0};
    struct scan scan = volume->scan;
    struct chunk_buffer buffer = {0};
    struct definitions_holes holes = {0};
    struct chunk_place chunk;
    struct trace *trace = trace_create();
    const uint8_t *payload;
    const char *reason;
    scan.damage = &damage;
    bool known = trace && scan_next(&scan, &chunk) == 1 &&
                 chunk.header.type == STORE_CHUNK_DEFINITIONS &&
                 chunk_load(&buffer, scan.fd, &chunk, &payload, &reason) == 0 &&
                 definitions_apply(trace, &holes, payload, chunk.header.raw_size) == 0;
    uint64_t id = known ? trace_session_get(trace)->id : 0;
    trace_destroy(trace);
    chunk_buffer_free(&buffer);
    vec_free(&damage);
    return id;
}

/* Takes `path`. 0, -ENOMEM, or as scan_start. */
static int open_volume(struct volumes *volumes, char *path, struct volume *ret_volume)
{
    *ret_volume = (struct volume){.path = path, .fd = -1};
    if (!path)
        return -ENOMEM;
    ret_volume->fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    int error = ret_volume->fd < 0 ? ret_volume->fd : 0;
    if (!error)
        error = scan_start(&ret_volume->scan, ret_volume->fd, path, &volumes->damage);
    struct store_file_header *header = &ret_volume->scan.header;
    if (!error && header->set_id == 0)
        header->session_id = defined_session(ret_volume);
    ret_volume->number = header->volume;
    return error;
}

/* True if the header matches the name. Another file may have the name of a volume. */
static bool is_ours(const struct volumes *volumes, const struct volume *volume, uint32_t number)
{
    const struct store_file_header *header = &volume->scan.header;
    const struct store_file_header *our = &volumes->items.items[0].scan.header;
    if (header->set_id && header->volume != number)
        return false;
    if (header->set_id && our->set_id)
        return header->set_id == our->set_id;
    return header->session_id != 0 && header->session_id == our->session_id;
}

/* 0 or -ENOMEM. */
static int add_other(struct volumes *volumes, const char *first, uint32_t number)
{
    struct volume volume;
    size_t damage_count = volumes->damage.count;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the volume has its path */
    int error = open_volume(volumes, store_volume_path(first, number), &volume);
    bool ours = !error && is_ours(volumes, &volume, number);
    volumes->next_begun |= error == -ENODATA;
    volume.number = number;
    if (ours && vec_push(&volumes->items, volume) == 0) {
        volumes->open_count++;
        return 0;
    }
    volumes->damage.count = damage_count;
    free_volume(&volume);
    return ours || error == -ENOMEM ? -ENOMEM : 0;
}

static int compare_volumes(const void *a, const void *b)
{
    const struct volume *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Keeps the descriptors of all open up to VOLUMES_OPEN_MAX. */
static void close_some(struct volumes *volumes)
{
    for (size_t i = 0; i < volumes->items.count && volumes->open_count > VOLUMES_OPEN_MAX; i++) {
        struct volume *volume = &volumes->items.items[volumes->next_closed++];
        volumes->next_closed %= volumes->items.count;
        if (volume->fd < 0)
            continue;
        close(volume->fd);
        volume->fd = -1;
        volumes->open_count--;
    }
}

static int add_others(struct volumes *volumes, const char *first, uint32_t own)
{
    struct volume_numbers numbers = {0};
    int error = volume_numbers(first, &numbers);
    if (!error && own != 0)
        error = add_other(volumes, first, 0);
    for (size_t i = 0; i < numbers.items.count && !error; i++) {
        if (numbers.items.items[i] != own)
            error = add_other(volumes, first, numbers.items.items[i]);
        close_some(volumes);
    }
    vec_free(&numbers.items);
    return error;
}

int volumes_open(struct volumes *volumes, const char *path, bool follow)
{
    struct volume volume;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the volume has its path */
    int error = open_volume(volumes, strdup(path), &volume);
    uint32_t number = volume.number;
    if (error || vec_push(&volumes->items, volume) != 0) {
        free_volume(&volume);
        return error ? error : -ENOMEM;
    }
    volumes->open_count = 1;
    char *first = first_path(path, number);
    if (first)
        error = add_others(volumes, first, number);
    free(first);
    if (volumes->items.count > 1)
        qsort(volumes->items.items, volumes->items.count, sizeof(volume), compare_volumes);
    for (size_t i = 0; i < volumes->items.count; i++)
        volumes->items.items[i].scan.follow = follow;
    return error;
}

void volumes_close(struct volumes *volumes)
{
    for (size_t i = 0; i < volumes->items.count; i++)
        free_volume(&volumes->items.items[i]);
    vec_free(&volumes->items);
    vec_free(&volumes->damage);
    for (size_t i = 0; i < volumes->missing.count; i++)
        free(volumes->missing.items[i]);
    vec_free(&volumes->missing);
}

char *volumes_next_path(const struct volumes *volumes)
{
    const struct volume *last = &volumes->items.items[volumes->items.count - 1];
    char *first = first_path(last->path, last->number);
    char *path = first ? store_volume_path(first, last->number + 1) : NULL;
    free(first);
    return path;
}

int volumes_look_on(struct volumes *volumes)
{
    const struct volume *last = &volumes->items.items[volumes->items.count - 1];
    bool follow = last->scan.follow;
    char *first = first_path(last->path, last->number);
    size_t count = volumes->items.count;
    int error = first ? add_other(volumes, first, last->number + 1) : 0;
    free(first);
    if (error || volumes->items.count == count)
        return error;
    volumes->items.items[count].scan.follow = follow;
    return 1;
}

/* ---- Reading --------------------------------------------------------------------------------- */

int volume_fd(struct volumes *volumes, uint32_t index)
{
    struct volume *volume = &volumes->items.items[index];
    if (volume->fd >= 0)
        return volume->fd;
    int fd = file_open_regular(AT_FDCWD, volume->path, O_RDONLY, NULL);
    if (fd < 0)
        return fd;
    volume->fd = volume->scan.fd = fd;
    volumes->open_count++;
    volumes->next_closed = index + 1 < volumes->items.count ? index + 1 : 0;
    close_some(volumes);
    return fd;
}

int volumes_load(struct volumes *volumes, struct chunk_buffer *buffer,
                 const struct chunk_place *chunk, const uint8_t **ret_payload,
                 const char **ret_reason)
{
    int fd = volume_fd(volumes, chunk->volume);
    return fd < 0 ? fd : chunk_load(buffer, fd, chunk, ret_payload, ret_reason);
}

int volumes_add_damage(struct volumes *volumes, const struct chunk_place *chunk, const char *reason)
{
    return scan_add_damage(&volumes->items.items[chunk->volume].scan, chunk->offset,
                           sizeof(chunk->header) + chunk->header.stored_size, reason);
}

/* Volumes [begin, end). */
static int note_missing(struct volumes *volumes, uint32_t begin, uint32_t end)
{
    const struct volume *any = &volumes->items.items[0];
    char *first = first_path(any->path, any->number);
    char *path = first ? store_volume_path(first, begin) : strdup(any->path);
    const struct store_damage damage = {
        .path = path,
        .volume = begin,
        .missing_count = end - begin,
        .renamed = !first,
        .reason = !first ? "this file was renamed, so its neighbours are not known"
                  : path && access(path, F_OK) == 0
                      ? "the file of that name is not part of this recording"
                      : "no such file",
    };
    free(first);
    if (path && vec_push(&volumes->missing, path) == 0)
        return vec_push(&volumes->damage, damage);
    free(path);
    return -ENOMEM;
}

void store_damage_text(const struct store_damage *damage, char text[STORE_DAMAGE_TEXT_SIZE])
{
    uint32_t first = damage->volume + 1, last = damage->volume + damage->missing_count;
    const char *from = damage->renamed ? "of" : "from", *on = damage->renamed ? "" : " on";
    if (damage->missing_count > 1)
        snprintf(text, STORE_DAMAGE_TEXT_SIZE, "volumes %u to %u (%s %s%s) are missing: %s", first,
                 last, from, damage->path, on, damage->reason);
    else if (damage->missing_count)
        snprintf(text, STORE_DAMAGE_TEXT_SIZE, "volume %u (%s%s) is missing: %s", first,
                 damage->renamed ? "of " : "", damage->path, damage->reason);
    else
        snprintf(text, STORE_DAMAGE_TEXT_SIZE, "%s is damaged at byte %llu: %s", damage->path,
                 (unsigned long long)damage->offset, damage->reason);
}

int volumes_note_missing(struct volumes *volumes)
{
    const struct volume *last = &volumes->items.items[volumes->items.count - 1];
    uint32_t expected = 0;
    int error = 0;
    for (size_t i = 0; i < volumes->items.count && !error; i++) {
        uint32_t number = volumes->items.items[i].number;
        if (number > expected)
            error = note_missing(volumes, expected, number);
        expected = number + 1;
    }
    if (!error && last->follows && !volumes->next_begun)
        error = note_missing(volumes, expected, expected + 1);
    return error;
}

/* ---- Manifest -------------------------------------------------------------------------------- */

/* Manifests: text, a line a recording (docs/recording-format.md, "Manifest"). Foreign bytes: sizes
 * and numbers are bounded, malformed ones rejected. Thread-safety: functions without state. */

static const char first_line[] = "annot manifest 1\n";

enum { MANIFEST_BYTES_MAX = 1 << 24 };

/* The unit of drift is 10^-12. */
#define DRIFT_UNIT 1e12

#define DRIFT_MAX INT64_C(1000000000)

void store_manifest_free(struct store_manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->parts[i].path);
    free(manifest->parts);
    *manifest = (struct store_manifest){0};
}

/* Parses "KEY=NUMBER " at *at and moves *at past it. */
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

/* 0, -EBADMSG, -ENOMEM, -EIO...; the caller frees the text. */
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
