/* SPDX-License-Identifier: MIT */
/* Writes a recording, or continues one. docs/recording-format.md describes every byte.
 *
 * Thread-safety: one thread per object; after store_writer_beside an internal thread compresses and
 * writes. */
#ifndef ANNOT_WRITER_H
#define ANNOT_WRITER_H

#include "event.h"
#include "sample.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_reader;
struct store_writer;
struct trace;

struct store_writer_options {
    bool overwrite;            /* replace an existing file; else -EEXIST */
    int compression;           /* zstd level; 0 = default */
    uint32_t checkpoint_bytes; /* uncompressed, between checkpoints; 0: 4 MiB */
    uint64_t volume_bytes;     /* a file of about this size is followed by another one; 0: one file.
                                * It exceeds this by one chunk of events and one of samples at most,
                                * or holds as much data as definitions. */
};

/* `trace` outlives the writer, which writes definitions from it, by revision, before the events
 * that need them. 0, -EBUSY: another writer has it; -EEXIST: it, or a later volume of it; or -errno
 * of the open. */
int store_writer_create(const char *path, const struct trace *trace,
                        const struct store_writer_options *options,
                        struct store_writer **ret_writer);

/* Continues a recording after its collector died: cuts the file after its last whole chunk. `trace`
 * must be the one its reader built. */
int store_writer_resume(const char *path, const struct trace *trace,
                        struct store_writer **ret_writer);

/* Copies the batch into the current chunk; writes the chunk when it is full (about 1 MiB raw). 0,
 * or -errno of the write, which then sticks. */
int store_writer_add(struct store_writer *writer, const struct event_batch *batch);

/* The same for a declared stream of the trace (trace_stream_add), with late events of its threads
 * in any order: they delay no others, and readers put them at their place. A thread's events that
 * nest are all of one stream; its EVENT_SPANs may be of another. Their event.thread may differ from
 * that of the batch, which is the thread that reported them and owns the source block. */
int store_writer_add_late(struct store_writer *writer, uint32_t stream,
                          const struct event_batch *batch);

/* The same for samples, of any threads; frames, stacks and paths that they refer to are written
 * first. */
int store_writer_add_samples(struct store_writer *writer, const struct sample *samples,
                             size_t count);

/* Writes the pending chunks: when it returns 0, everything added so far is in the file (not on the
 * disk's platter) and survives the death of this process. */
int store_writer_flush(struct store_writer *writer);

/* Bytes added but not yet in a chunk; 0 after a flush or a seal. */
size_t store_writer_pending_bytes(const struct store_writer *writer);
uint64_t store_writer_file_bytes(const struct store_writer *writer);

/* Stacks with smaller ordinals are written or queued: the writer does not read them again. */
uint32_t store_writer_stacks_written(const struct store_writer *writer);

/* ---- On a separate thread ----------------------------------------------------------------------
 */

/* After store_writer_beside, full chunks are compressed and written on a thread that starts with
 * the next one. Adding and sealing then never wait for the disk; so callers check for room before,
 * and errors appear later. 0 or -errno. */
int store_writer_beside(struct store_writer *writer);

/* Readable when store_writer_look has news. */
int store_writer_fd(const struct store_writer *writer);

/* Closes the current chunks. All data added so far is in the file when the ticket is written. 0, or
 * the first error. */
int store_writer_seal(struct store_writer *writer, uint64_t *ret_ticket);

struct store_progress {
    uint64_t written;         /* the last ticket that is completely in the file */
    int64_t waiting_since_ns; /* time when the oldest unwritten chunk was full; 0: all are
                               * written */
    int error;                /* the first one */
};

void store_writer_look(struct store_writer *writer, struct store_progress *ret_progress);

/* True if fewer than eight chunks wait, or, near the end of a volume, if the queue is empty; await:
 * waits for that, or an error. */
bool store_writer_has_room(const struct store_writer *writer);
void store_writer_await_room(struct store_writer *writer);

/* Writes final definitions and the end mark. 0 or the first -errno. Destroys the writer in any
 * case. */
int store_writer_close(struct store_writer *writer);

/* Destroys it without an end mark: for errors and for tests of crashes. Accepts NULL. */
void store_writer_abandon(struct store_writer *writer);

/* Appends the names that frames of a complete recording got since it was read, after its end. If
 * killed at any instant, it leaves a recording with all its earlier contents. 0, -EBUSY (it is
 * being written), -ENODATA (it has no end), -ESTALE (changed by others since), -errno. */
int store_add_names(const char *path, const struct store_reader *read);

#endif
