/* SPDX-License-Identifier: MIT */
/* The texts of source files of samples, so that a report shows them on any machine.
 *
 * They are read when the recording ends. A file that changed since the first program began is not
 * the one that ran, and is left out; the recording names some of these. Paths are foreign: only
 * regular files are opened, with a size limit. */
#include "collector_sources.h"

#include "file_io.h"
#include "hash.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20, ALL_BYTES_MAX = 16 << 20, ROOTS_MAX = 16, NAMED_MAX = 5 };

/* The start of a process is rounded down to such a tick: a file written just before it would seem
 * to have changed since. No program loads its code that fast. */
enum { START_TICK_NS = 10000000 };

#define CHANGED_FACT                                                                               \
    "source files that changed after the program began; their text is not in the recording: "
#define NO_ROOM_FACT                                                                               \
    "source files whose text is not in the recording: larger than 1 MiB, or more than 16 MiB in "  \
    "all"

struct source_reading {
    struct trace *trace;
    int roots[ROOTS_MAX]; /* of containers that still run, searched first */
    unsigned root_count;
    int64_t begin_realtime_ns; /* of the first program */
    size_t bytes;              /* kept */
    uint64_t changed, no_room;
    char names[1024]; /* of changed ones */
    struct text named;
    char *buffer;
};

static bool is_other_root(int fd)
{
    struct stat here, there;
    return stat("/", &here) != 0 || fstat(fd, &there) != 0 || here.st_dev != there.st_dev ||
           here.st_ino != there.st_ino;
}

static void add_root(struct source_reading *reading, const struct trace_process *process)
{
    char path[64];
    if (process->end_ns != 0 || reading->root_count == ROOTS_MAX)
        return;
    snprintf(path, sizeof(path), "/proc/%d/root", process->pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && is_other_root(fd))
        reading->roots[reading->root_count++] = fd;
    else if (fd >= 0)
        close(fd);
}

static void look_at_processes(struct source_reading *reading)
{
    const struct trace_session *session = trace_session_get(reading->trace);
    int64_t first_ns = session->begin_ns;
    for (uint32_t i = 0; i < trace_process_count(reading->trace); i++) {
        const struct trace_process *process = trace_process_get(reading->trace, i);
        if (process->start_ns != 0 && process->start_ns + START_TICK_NS < first_ns)
            first_ns = process->start_ns + START_TICK_NS;
        add_root(reading, process);
    }
    reading->begin_realtime_ns = session->begin_realtime_ns + (first_ns - session->begin_ns);
}

/* A descriptor, or -errno. */
static int open_source(const struct source_reading *reading, const char *path, struct stat *status)
{
    char whole[PATH_MAX];
    const struct trace_session *session = trace_session_get(reading->trace);
    if (path[0] != '/') {
        const char *folder = trace_string(reading->trace, session->directory)->bytes;
        int length = snprintf(whole, sizeof(whole), "%s/%s", folder, path);
        if (length < 0 || (size_t)length >= sizeof(whole))
            return -ENAMETOOLONG;
        return file_open_regular(AT_FDCWD, whole, O_RDONLY, status);
    }
    for (unsigned i = 0; i < reading->root_count; i++) {
        int fd = file_open_regular(reading->roots[i], path + strspn(path, "/"), O_RDONLY, status);
        if (fd >= 0)
            return fd;
    }
    return file_open_regular(AT_FDCWD, path, O_RDONLY, status);
}

static int keep_text(struct source_reading *reading, uint32_t ordinal, size_t size)
{
    struct hash128 hash = hash128_bytes(reading->buffer, size, (struct hash128){0});
    int64_t content = trace_string_add(reading->trace, reading->buffer, size);
    if (content <= 0)
        return (int)content;
    reading->bytes += size;
    uint8_t bytes[sizeof(hash)];
    memcpy(bytes, &hash, sizeof(hash));
    stacks_keep_source(trace_stacks(reading->trace), ordinal, (uint32_t)content, bytes);
    return 0;
}

/* Adds the path to the list, relative to the folder where the command was started. */
static void name_changed(struct source_reading *reading, uint32_t ordinal)
{
    const struct source *source = stacks_get_source(trace_stacks_get(reading->trace), ordinal);
    const char *path = trace_string(reading->trace, source->path)->bytes;
    const struct trace_session *session = trace_session_get(reading->trace);
    const char *folder = trace_string(reading->trace, session->directory)->bytes;
    size_t length = strlen(folder);
    if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
        path += length + 1;
    if (reading->changed++ < NAMED_MAX)
        text_format(&reading->named, "%s%s", reading->changed > 1 ? ", " : "", path);
}

static int read_source(struct source_reading *reading, uint32_t ordinal, int fd,
                       const struct stat *status)
{
    int64_t changed_ns =
        (int64_t)status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
    if (changed_ns > reading->begin_realtime_ns) {
        name_changed(reading, ordinal);
        return 0;
    }
    if (status->st_size > FILE_BYTES_MAX ||
        status->st_size > (off_t)(ALL_BYTES_MAX - reading->bytes)) {
        reading->no_room++;
        return 0;
    }
    ssize_t size = file_read_at(fd, reading->buffer, FILE_BYTES_MAX, 0);
    return size > 0 ? keep_text(reading, ordinal, (size_t)size) : 0;
}

/* Python's own modules are on every machine, and would be most of a small recording. */
static bool is_wanted(const char *path)
{
    static const char *const folders[] = {"/lib/python3", "/lib64/python3"};
    if (path[0] == '\0' || path[0] == '<')
        return false;
    if (strstr(path, "/site-packages/") || strstr(path, "/dist-packages/"))
        return true;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (strstr(path, folders[i]))
            return false;
    return true;
}

/* 0, also for an unreadable file; -ENOMEM. */
static int take_source(struct source_reading *reading, uint32_t ordinal)
{
    const struct source *source = stacks_get_source(trace_stacks_get(reading->trace), ordinal);
    const char *path = trace_string(reading->trace, source->path)->bytes;
    struct stat status;
    if (source->content != 0 || !is_wanted(path))
        return 0;
    int fd = open_source(reading, path, &status);
    if (fd < 0)
        return 0;
    int error = read_source(reading, ordinal, fd, &status);
    close(fd);
    return error;
}

static int note(struct trace *trace, const char *text, uint64_t count)
{
    return count ? trace_fact_set(trace, FACT_NOTE, text, count) : 0;
}

static int note_changed(struct source_reading *reading)
{
    char fact[sizeof(CHANGED_FACT) + sizeof(reading->names) + 32];
    struct text text = text_init(fact, sizeof(fact));
    text_format(&text, "%s%s", CHANGED_FACT, reading->named.buffer);
    if (reading->changed > NAMED_MAX)
        text_format(&text, ", %" PRIu64 " more", reading->changed - NAMED_MAX);
    return note(reading->trace, fact, reading->changed > 0);
}

int sources_keep(struct trace *trace)
{
    struct source_reading reading = {.trace = trace, .buffer = malloc(FILE_BYTES_MAX)};
    uint32_t count = stacks_source_count(trace_stacks_get(trace));
    int error = reading.buffer ? 0 : -ENOMEM;
    reading.named = text_init(reading.names, sizeof(reading.names));
    if (!error)
        look_at_processes(&reading);
    for (uint32_t i = 1; i < count && !error; i++)
        error = take_source(&reading, i);
    for (unsigned i = 0; i < reading.root_count; i++)
        close(reading.roots[i]);
    free(reading.buffer);
    if (!error)
        error = note_changed(&reading);
    return error ? error : note(trace, NO_ROOM_FACT, reading.no_room);
}
