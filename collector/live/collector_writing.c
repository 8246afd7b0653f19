/* SPDX-License-Identifier: MIT */
/* Writes chunks, and limits a session with a recording that cannot be written. */
#include "collector_writing.h"

#include "clock_now.h"
#include "file_io.h"
#include "intake.h"
#include "segment_reader.h"
#include "text.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- File ------------------------------------------------------------------------------------ */

int collector_fail(struct collector_error *error, int code, const char *what, const char *hint)
{
    struct text text = text_init(error->what, sizeof(error->what));
    text_format(&text, "%s: %s", what, strerror(-code));
    text = text_init(error->hint, sizeof(error->hint));
    text_format(&text, "%s", hint);
    return code;
}

int writing_create(const struct collector_options *options, struct trace *trace,
                   struct store_writer **ret_writer, struct collector_error *error)
{
    struct store_writer_options store = {.overwrite = options->overwrite,
                                         .volume_bytes = options->volume_bytes};
    struct stat status;
    bool directory = stat(options->output, &status) == 0 && S_ISDIR(status.st_mode);
    int code =
        directory ? -EISDIR : store_writer_create(options->output, trace, &store, ret_writer);
    char what[PATH_MAX + 32];
    snprintf(what, sizeof(what), "cannot write %s", options->output);
    if (code == -EBUSY)
        return collector_fail(error, code, what,
                              "another annot records into it: choose another name with -o");
    if (code == -EEXIST && options->overwrite)
        return collector_fail(
            error, code, what,
            "files that are not its own have the names of its volumes: choose another "
            "name with -o");
    if (code == -EEXIST)
        return collector_fail(error, code, what,
                              "choose another name with -o, or overwrite it with --force");
    return code == 0 ? 0 : collector_fail(error, code, what, "choose another place with -o FILE");
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { CHUNK_BYTES = 1 << 20 }; /* size that closes a chunk */

#define SEAL_NS INT64_C(500000000) /* longest time from draining a block to sealing it */
#define LAG_NS  INT64_C(20000000)  /* a longer wait for the disk is late */

int writing_look(struct writing *writing)
{
    struct store_progress *progress = &writing->progress;
    if (writing->writer)
        store_writer_look(writing->writer, progress);
    else
        progress->written = writing->sealed;
    if (progress->written != writing->freed)
        intake_free(writing->intake, progress->written);
    writing->freed = progress->written;
    writing->has_room = writing_has_room(writing);
    return progress->error;
}

/* The only stream that a collector declares, also in a continued recording. */
static int64_t queue_stream(struct trace *trace)
{
    static const char name[] = "queues";
    if (trace_stream_count(trace) > 0)
        return 0;
    int64_t text = trace_string_add(trace, name, sizeof(name) - 1);
    return text < 0 ? text : trace_stream_add(trace, (uint32_t)text);
}

int writing_add(struct store_writer *writer, struct trace *trace, const struct event_batch *batch)
{
    if (!batch->late)
        return store_writer_add(writer, batch);
    int64_t stream = queue_stream(trace);
    return stream < 0 ? (int)stream : store_writer_add_late(writer, (uint32_t)stream, batch);
}

int writing_add_samples(void *writer, const struct sample *samples, size_t count)
{
    return store_writer_add_samples(writer, samples, count);
}

void writing_remove(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}

int sink_add(const struct collector_sink *sink, const struct event_batch *batch)
{
    struct event_batch rest = *batch;
    int error = 0;
    while (rest.count > 0 && error == 0) {
        const struct event_batch part = event_batch_take(&rest);
        error = sink->events(sink->context, &part);
    }
    return error;
}

bool writing_has_room(struct writing *writing)
{
    if (!writing->writer)
        return true;
    if (writing->patient)
        store_writer_await_room(writing->writer);
    return writing->patient || store_writer_has_room(writing->writer);
}

bool writing_keeps_up(const struct writing *writing, int64_t now_ns)
{
    int64_t since_ns = writing->progress.waiting_since_ns;
    return since_ns == 0 || now_ns - since_ns < LAG_NS;
}

int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial)
{
    uint64_t ticket;
    size_t pending = writing->writer ? store_writer_pending_bytes(writing->writer) : 0;
    if (writing->first_pending_ns == 0)
        writing->first_pending_ns = now_ns;
    bool old = partial || now_ns - writing->first_pending_ns >= SEAL_NS;
    bool idle = writing->progress.waiting_since_ns == 0;
    bool much = pending >= CHUNK_BYTES || intake_is_pressed(writing->intake);
    bool due = old || intake_holds_much(writing->intake);
    /* With others waiting, more small chunks would only take room. */
    if (!(much && (!writing->writer || store_writer_has_room(writing->writer))) && !(due && idle))
        return 0;
    writing->first_pending_ns = 0;
    if (!writing->writer)
        return intake_seal(writing->intake, ++writing->sealed);
    int error = store_writer_seal(writing->writer, &ticket);
    if (error == 0)
        writing->sealed = ticket;
    return error != 0 ? error : intake_seal(writing->intake, ticket);
}

/* ---- A recording that cannot be written ------------------------------------------------------ */

/* Sums up all segments in the directory, also those of other sessions. */
static uint64_t segment_bytes(const struct directory *directory)
{
    uint64_t bytes = 0;
    DIR *stream = file_list_folder(directory->fd);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        struct segment_name parsed;
        struct stat status;
        if (segment_name_parse(entry->d_name, &parsed) &&
            fstatat(directory->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)status.st_blocks * 512;
    }
    if (stream)
        closedir(stream);
    return bytes;
}

void hold_begin(struct hold *hold, int64_t pool_bytes)
{
    hold->bytes_max = segment_bytes(hold->directory) + HOLD_POOLS * (uint64_t)pool_bytes;
}

void hold_step(struct hold *hold)
{
    if (hold->shut || segment_bytes(hold->directory) <= hold->bytes_max)
        return;
    session_file_unwatched(hold->session, clock_now_ns());
    session_file_end(hold->session);
    hold->shut = true;
}
