/* SPDX-License-Identifier: MIT */
/* Accepts results of line_profiler in place of a recording: they are converted to one in memory,
 * with the source files of this machine, which all commands read. */
#include "collector_sources.h"
#include "lprof.h"
#include "reader.h"
#include "recording.h"

#include "cmd.h"
#include "collector.h"
#include "file_io.h"
#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_SIZE = 256 };

static const int64_t second_ns = INT64_C(1000000000);

static bool is_lprof(int fd)
{
    char head[HEAD_SIZE];
    ssize_t size = file_read_at(fd, head, sizeof(head), 0);
    return size > 0 && lprof_begins(head, (size_t)size);
}

/* Reads at most one byte above the limit, which lprof_read refuses. */
static int read_file(int fd, struct lprof_fault *fault, struct lprof **ret_lprof)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    size_t size =
        status.st_size > LPROF_SIZE_MAX ? (size_t)LPROF_SIZE_MAX + 1 : (size_t)status.st_size;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return -ENOMEM;
    ssize_t got = file_read_at(fd, bytes, size, 0);
    int error = got < 0 ? (int)got : lprof_read(bytes, (size_t)got, fault, ret_lprof);
    free(bytes);
    return error;
}

/* ---- The session ----------------------------------------------------------------------------- */

static int set_text(struct trace *trace, const char *text, uint32_t *ret_string)
{
    int64_t string = trace_string_add(trace, text, strlen(text));
    *ret_string = string < 0 ? 0 : (uint32_t)string;
    return string < 0 ? (int)string : 0;
}

/* The session's time is that of the results: sources changed later are not those that ran. */
static int add_session(struct trace *trace, int fd)
{
    struct trace_session *session = trace_session(trace);
    struct stat status;
    char folder[PATH_MAX];
    if (fstat(fd, &status) != 0)
        return -errno;
    session->begin_realtime_ns =
        (int64_t)status.st_mtim.tv_sec * second_ns + status.st_mtim.tv_nsec;
    if (!getcwd(folder, sizeof(folder)))
        folder[0] = '\0';
    int error = set_text(trace, folder, &session->directory);
    if (error == 0)
        error = set_text(trace, ANNOT_VERSION, &session->annot_version);
    if (error == 0)
        error = set_text(trace, "line_profiler", &session->command);
    return error ? error : sources_keep(trace);
}

/* ---- The recording --------------------------------------------------------------------------- */

static int reopen(const struct lprof *lprof, struct store_reader **ret_reader)
{
    char path[64];
    int memory = memfd_create("annot-lprof", MFD_CLOEXEC);
    if (memory < 0)
        return -errno;
    snprintf(path, sizeof(path), RECORDING_IN_MEMORY "%d", memory);
    int error = lprof_write(lprof, path);
    if (error == 0)
        error = store_reader_open(path, ret_reader);
    if (error)
        close(memory); /* else it stays open for further readers, as long as the command runs */
    return error;
}

const char *recording_path(const struct store_reader *reader, const char *path)
{
    struct store_volume volume;
    bool in_memory = store_reader_volume(reader, 0, &volume) &&
                     strncmp(volume.path, RECORDING_IN_MEMORY, strlen(RECORDING_IN_MEMORY)) == 0;
    return in_memory ? volume.path : path;
}

static int fail(const char *path, const struct lprof_fault *fault, int error)
{
    char place[64] = "";
    if (error != -EBADMSG || !fault->what) {
        (void)recording_fail(path, error);
        return -1;
    }
    if (fault->at > 0)
        snprintf(place, sizeof(place), ", at byte %zu", fault->at);
    cmd_fail(0,
             "cannot read %s: it begins like results of line_profiler, but %s%s\n"
             "python3 -m line_profiler FILE says whether line_profiler reads it",
             path, fault->what, place);
    return -1;
}

int recording_open_lprof(const char *path, struct store_reader **ret_reader)
{
    struct lprof_fault fault = {0};
    struct lprof *lprof = NULL;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd < 0 || !is_lprof(fd)) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    int error = read_file(fd, &fault, &lprof);
    if (error == 0)
        error = add_session(lprof_trace(lprof), fd);
    if (error == 0)
        error = reopen(lprof, ret_reader);
    lprof_destroy(lprof);
    close(fd);
    return error ? fail(path, &fault, error) : 1;
}
