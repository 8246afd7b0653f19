/* SPDX-License-Identifier: MIT */
/* Accepts files of other tools in place of a recording: each is converted once per command, to a
 * temporary file without a name, or in memory. */
#include "cmd.h"
#include "collector.h"
#include "collector_sources.h"
#include "file_io.h"
#include "import.h"
#include "lprof.h"
#include "reader.h"
#include "recording.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACE_SIZE = 32 };

/* The descriptor stays open until the command ends: commands open a recording more than once. */
struct imported {
    char *path;
    char place[PLACE_SIZE];
};

static VEC(struct imported) imports;

static const struct imported *find_import(const char *path)
{
    for (size_t i = 0; i < imports.count; i++)
        if (strcmp(imports.items[i].path, path) == 0)
            return &imports.items[i];
    return NULL;
}

static int keep_import(const char *path, const char *place)
{
    struct imported kept = {.path = strdup(path)};
    snprintf(kept.place, sizeof(kept.place), "%s", place);
    int error = kept.path ? vec_push(&imports, kept) : -ENOMEM;
    if (error)
        free(kept.path);
    return error;
}

void recording_note_import(const struct import_result *result, const char *output)
{
    for (unsigned i = 0; i < result->note_count; i++)
        cmd_note("%s", result->notes[i]);
    if (result->events + result->samples == 0)
        cmd_note("%s has no events", output);
}

int recording_fail_import(const char *path, const struct import_result *result, int error)
{
    if (error == -EBADMSG && result->problem[0])
        return cmd_fail(CMD_FAILED, "cannot import %s as %s: %s", path, result->format->name,
                        result->problem);
    if (error == -EBADMSG)
        return cmd_fail(CMD_FAILED, "cannot import %s: its compressed data are cut or damaged",
                        path);
    return cmd_fail(CMD_FAILED, "cannot import %s: %s", path, strerror(-error));
}

static int import_into(const char *path, const char *place)
{
    const struct import_options options = {
        .source = path, .version = ANNOT_VERSION, .unnamed = true};
    struct import_result result;
    char quoted[4 * PATH_MAX];
    int error = import_file(path, place, &options, &result);
    if (error == -ENOMSG)
        return error;
    if (error) {
        (void)recording_fail_import(path, &result, error);
        return error;
    }
    cmd_quote(path, quoted, sizeof(quoted));
    cmd_note("%s is not a recording; imported it as %s, for this command only\n"
             "to keep the recording: annot import %s",
             path, result.format->name, quoted);
    recording_note_import(&result, path);
    return keep_import(path, place);
}

int recording_open_import(const char *path, struct store_reader **ret_reader)
{
    const struct imported *known = find_import(path);
    char place[PLACE_SIZE];
    if (!known && !import_recognize(path))
        return 0;
    int fd = known ? -1 : file_open_temporary();
    if (!known && fd < 0) {
        (void)cmd_fail(0, "cannot import %s: no folder for temporary files: %s", path,
                       strerror(-fd));
        return -1;
    }
    snprintf(place, sizeof(place), RECORDING_IN_MEMORY "%d", fd);
    int error = known ? 0 : import_into(path, place);
    if (!error)
        error = store_reader_open(known ? known->place : place, ret_reader);
    if (error && fd >= 0)
        close(fd);
    return error ? -1 : 1;
}

/* Accepts results of line_profiler in place of a recording: they are converted to one in memory,
 * with the source files of this machine, which all commands read. */

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
