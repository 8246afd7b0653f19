/* SPDX-License-Identifier: MIT */
/* The recording: a file of self-delimiting, checksummed, zstd-compressed chunks.
 *
 * docs/recording-format.md describes every byte. A file that was cut, or damaged in places, reads
 * as far as its chunks are whole; what is not is named. Thread-safety: one thread per object. */
#ifndef ANNOT_STORE_H
#define ANNOT_STORE_H

#include "event.h"
#include "trace.h"

#include <stdbool.h>

#define STORE_VERSION_MAJOR 1
#define STORE_VERSION_MINOR 0

/* ---- Writing ----------------------------------------------------------------------------------
 */

struct store_writer;

struct store_writer_options {
    bool overwrite;  /* replace an existing file; else -EEXIST */
    int compression; /* zstd level; 0 = default */
};

/* `trace` outlives the writer: definitions are taken from it, by revision, before the events that
 * need them. 0, or -errno of the open. */
int store_writer_create(const char *path, const struct trace *trace,
                        const struct store_writer_options *options,
                        struct store_writer **ret_writer);

/* Continue a recording whose collector died: cuts the file behind its last whole chunk. `trace`
 * must be the one its reader built. */
int store_writer_resume(const char *path, const struct trace *trace,
                        struct store_writer **ret_writer);

/* Copies the batch into the present chunk; writes the chunk when it is full (about 1 MiB raw).
 * 0, or -errno of the write, which then sticks. */
int store_writer_add(struct store_writer *writer, const struct event_batch *batch);

/* Writes what is pending: when it returns 0, everything added so far is in the file (not on the
 * disk's platter) and survives the death of this process. */
int store_writer_flush(struct store_writer *writer);

/* Bytes added that are not in the file yet; 0 after a flush. */
size_t store_writer_pending_bytes(const struct store_writer *writer);
uint64_t store_writer_file_bytes(const struct store_writer *writer);

/* Final definitions, index, end mark. 0 or the first -errno. Destroys the writer in any case. */
int store_writer_close(struct store_writer *writer);

/* Without index and end mark: for errors and for tests of crashes. Accepts NULL. */
void store_writer_abandon(struct store_writer *writer);

/* ---- Reading ----------------------------------------------------------------------------------
 */

struct store_reader;

/* A part of the file that could not be read. */
struct store_damage {
    uint64_t offset, length;
    const char *reason; /* constant text */
};

/* Opens a recording and reads all definitions, so that the trace is complete before the first
 * event. -ENOENT..., -EBADMSG: not a recording; -EPROTONOSUPPORT: newer major version; -ENODATA: an
 * empty or cut header. Damage is no error here: see store_reader_damage. */
int store_reader_open(const char *path, struct store_reader **ret_reader);

/* The next batch, in file order: 1, or 0 at the end. Damaged chunks are skipped and listed.
 * The batch is valid until the next call. -ENOMEM, -EIO. */
int store_reader_next(struct store_reader *reader, struct event_batch *ret_batch);

/* Back to the first event. */
int store_reader_rewind(struct store_reader *reader);

/* Owned by the reader. */
struct trace *store_reader_trace(struct store_reader *reader);

/* Damage found so far (all of it once store_reader_next has returned 0). Without the end mark the
 * file was cut: that is one entry as well. */
uint32_t store_reader_damage_count(const struct store_reader *reader);
const struct store_damage *store_reader_damage(const struct store_reader *reader, uint32_t index);

/* Facts of the file. */
struct store_info {
    uint64_t file_bytes, raw_bytes;
    uint64_t chunk_count, event_count;
    uint16_t major, minor;
    bool complete; /* has its end mark */
};

void store_reader_info(const struct store_reader *reader, struct store_info *ret_info);

void store_reader_close(struct store_reader *reader);

#endif
