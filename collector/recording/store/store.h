/* SPDX-License-Identifier: MIT */
/* The recording: a file of self-delimiting, checksummed, zstd-compressed chunks.
 *
 * docs/recording-format.md describes every byte. A file that was cut, or damaged in places, reads
 * as far as its chunks are whole; what is not is named. Thread-safety: one thread per object. */
#ifndef ANNOT_STORE_H
#define ANNOT_STORE_H

#include "event.h"
#include "sample.h"
#include "trace.h"

#include <stdbool.h>

/* A change that an older reader would misread raises the major number; one that it skips by
 * length the minor number. */
enum { STORE_VERSION_MAJOR = 1, STORE_VERSION_MINOR = 0 };

/* ---- Writing ----------------------------------------------------------------------------------
 */

struct store_writer;

struct store_writer_options {
    bool overwrite;            /* replace an existing file; else -EEXIST */
    int compression;           /* zstd level; 0 = default */
    uint32_t checkpoint_bytes; /* uncompressed, between checkpoints; 0: 4 MiB */
    uint64_t volume_bytes;     /* a file that has about so many is followed by another one; 0: one
                                  file. It has more by one chunk of events and one of samples at
                                  most, or holds as much data as definitions. */
};

/* `trace` outlives the writer: definitions are taken from it, by revision, before the events that
 * need them. 0, -EBUSY: another writer has it; -EEXIST: it, or a volume behind it; or -errno of the
 * open. */
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

/* The same for a declared stream of the trace (trace_stream_add), whose events come late, of its
 * threads in any order: they delay no others, and readers put them where they belong. A thread's
 * events that nest are all of one stream; its EVENT_SPANs may be of another. Their event.thread may
 * be another one than that of the batch, which reported them and whose block is the source. */
int store_writer_add_late(struct store_writer *writer, uint32_t stream,
                          const struct event_batch *batch);

/* No event that is added to the declared stream from now on is earlier. */
void store_writer_settle(struct store_writer *writer, uint32_t stream, int64_t settled_ns);

/* The same for samples, of any threads; frames, stacks and paths they name are written first. */
int store_writer_add_samples(struct store_writer *writer, const struct sample *samples,
                             size_t count);

/* Writes what is pending: when it returns 0, everything added so far is in the file (not on the
 * disk's platter) and survives the death of this process. */
int store_writer_flush(struct store_writer *writer);

/* Bytes added that are in no chunk yet; 0 after a flush or a seal. */
size_t store_writer_pending_bytes(const struct store_writer *writer);
uint64_t store_writer_file_bytes(const struct store_writer *writer);

/* Stacks with smaller ordinals are in the file or on their way: the writer reads them no more. */
uint32_t store_writer_stacks_written(const struct store_writer *writer);

/* ---- On a thread of its own: chunk_queue.h
 *
 * After store_writer_beside, full chunks are compressed and written on a thread that begins with
 * the next one. Adding and sealing then never wait for the disk; so who adds asks for room before,
 * and errors come later. 0 or -errno. */
int store_writer_beside(struct store_writer *writer);

/* Readable when store_writer_look has news. */
int store_writer_fd(const struct store_writer *writer);

/* Closes the present chunks. What was added so far is in the file when the ticket is written. 0, or
 * the first error. */
int store_writer_seal(struct store_writer *writer, uint64_t *ret_ticket);

struct store_progress {
    uint64_t written;         /* the last ticket of which all is in the file */
    int64_t waiting_since_ns; /* when the oldest chunk that is not in the file was full; 0: none */
    int error;                /* the first one */
};

void store_writer_look(struct store_writer *writer, struct store_progress *ret_progress);

/* Whether fewer than eight chunks wait, or none does that may lie beyond a volume's end; and
 * waiting for that, or an error. */
bool store_writer_has_room(const struct store_writer *writer);
void store_writer_await_room(struct store_writer *writer);

/* Final definitions, end mark. 0 or the first -errno. Destroys the writer in any case. */
int store_writer_close(struct store_writer *writer);

/* Without end mark: for errors and for tests of crashes. Accepts NULL. */
void store_writer_abandon(struct store_writer *writer);

struct store_reader;

/* Appends the names that frames of a complete recording got since it was read, behind its end.
 * Killed at any instant, it leaves a recording with all that it had before. 0, -EBUSY (it is being
 * written), -ENODATA (it has no end), -ESTALE (others have changed it since), -errno. */
int store_add_names(const char *path, const struct store_reader *read);

/* "run.annot", 2 -> "run.2.annot"; volume 0 has the path itself. To be freed; NULL: out of memory.
 */
char *store_volume_path(const char *path, uint32_t number);

/* ---- Several recordings as one ----------------------------------------------------------------
 *
 * A manifest names them; readers open it as they open a recording. */

/* Brings the times of a host to those of the manifest's first one: `offset_ns` is added, and what
 * has passed since `since_ns` times `drift`. */
struct store_time_map {
    int64_t offset_ns, since_ns;
    int64_t error_ns; /* how far off that is at most */
    double drift;     /* -0.001 to 0.001 */
};

struct store_part {
    char *path; /* of any volume; in a manifest, relative to its folder, or absolute */
    struct store_time_map time;
};

enum { STORE_PARTS_MAX = 4096 };

struct store_manifest {
    struct store_part *parts;
    size_t count, capacity;
};

/* 0; -EBADMSG: not a manifest, or malformed; -ENOMEM. `ret_manifest` is to be freed in any case. */
int store_manifest_parse(const char *text, size_t size, struct store_manifest *ret_manifest);
void store_manifest_free(struct store_manifest *manifest);

/* The same of a file, with paths that can be opened from here. -ENOENT... as of a read. */
int store_manifest_read(const char *path, struct store_manifest *ret_manifest);

/* 0, -EEXIST, or -errno of the write. */
int store_manifest_write(const char *path, const struct store_manifest *manifest, bool overwrite);

/* ---- Reading ----------------------------------------------------------------------------------
 */

/* A part of a file that could not be read, or volumes that are missing. */
struct store_damage {
    const char *path;               /* of the file, the first one that is missing; the reader's */
    uint64_t offset, length;        /* 0 of what is missing */
    uint32_t volume, missing_count; /* so many volumes are, from that number on; 0: a part of one */
    bool renamed;                   /* the path is not theirs, but that of one that is there */
    const char *reason;             /* constant text */
};

enum { STORE_DAMAGE_TEXT_SIZE = 4096 + 256 };

/* "volume 3 (run.2.annot) is missing", "run.annot is damaged at byte 64: not a chunk". */
void store_damage_text(const struct store_damage *damage, char text[STORE_DAMAGE_TEXT_SIZE]);

/* Opens a recording, of which any volume is named, or a manifest, whose parts it opens, and reads
 * all definitions, so that the trace is complete before the first event. -ENOENT..., -EBADMSG: not
 * a recording; -EPROTONOSUPPORT: newer major version; -ENODATA: an empty or cut header. Damage is
 * no error here: see store_reader_damage. */
int store_reader_open(const char *path, struct store_reader **ret_reader);

/* The same of a manifest that is in no file; its paths can be opened from here. */
int store_reader_open_parts(const struct store_manifest *manifest,
                            struct store_reader **ret_reader);

/* Processes that several recordings of a manifest have at the same time. What these have of them
 * counts once for each. */
struct store_twice {
    uint32_t count;       /* processes; 0: there are none */
    uint32_t process;     /* one of them, by its ordinal, */
    uint32_t part, other; /* and two recordings that have it */
    bool one_session;     /* of one collector: copies, or snapshots that overlap */
};

void store_reader_twice(const struct store_reader *reader, struct store_twice *ret_twice);

enum { STORE_TWICE_TEXT_SIZE = 512 };

/* A sentence that says so. */
void store_twice_text(const struct trace *trace, const struct store_twice *twice,
                      char text[STORE_TWICE_TEXT_SIZE]);

/* Opens a recording that may still be written, to be read as it grows. A chunk that is not whole
 * yet is left for later, and a missing end is no damage. The trace grows with store_reader_more;
 * batches don't know what is settled. As store_reader_open. */
int store_reader_follow(const char *path, struct store_reader **ret_reader);

/* A second place in the events of a recording that is read as a whole, from the first of them on:
 * it has no samples, the trace is that of `first`, which outlives it. 0, or -ENOMEM: close it all
 * the same. */
int store_reader_again(const struct store_reader *first, struct store_reader **ret_reader);

/* Looks for what was written since: definitions go into the trace, events and samples are handed
 * out by the functions below. 1: there is more; 0: there is not; -ESTALE: the file was cut;
 * -ENOMEM, -EIO. */
int store_reader_more(struct store_reader *reader);

/* Was the end mark the last that was read? */
bool store_reader_ended(const struct store_reader *reader);

/* The next batch: 1, or 0 at the end. In file order, but declared streams have places in the file
 * of their own: the stream whose next chunk begins first goes on (not in a recording that is
 * followed). Damaged chunks are skipped and listed.
 * EVENT_SPANs come by the thread that caused them. The batch is valid until the next call. -ENOMEM,
 * -EIO. */
int store_reader_next(struct store_reader *reader, struct event_batch *ret_batch);

/* The next samples, in file order, independently of store_reader_next: 1, or 0 at the end. Valid
 * until the next call of this function. -ENOMEM, -EIO. */
int store_reader_next_samples(struct store_reader *reader, const struct sample **ret_samples,
                              uint32_t *ret_count);

/* No sample that was not handed out yet begins before this; INT64_MIN: not known (a recording that
 * is followed). */
int64_t store_reader_samples_settled_ns(const struct store_reader *reader);

/* Back to the first event and the first sample. */
int store_reader_rewind(struct store_reader *reader);

/* As near as is known before this time: instead of all events before it, which were told before,
 * come those that matter behind it (what is open), with an EVENT_RESUME for each thread; no sample
 * that was told before it. Without a checkpoint before it, or in a damaged recording, from the
 * first event on. `nested`: only to where no EVENT_START is open, as what was around it is not
 * known. `in_time`: events are put in order of time afterwards; where several threads used an id so
 * that its pairs are others then, or where that is not known, from the first event on. 0, -ENOMEM,
 * -EIO. */
int store_reader_seek(struct store_reader *reader, int64_t from_ns, bool nested, bool in_time);

/* Nothing is known of what was before this, as the volumes with it are missing; 0: they are not. */
int64_t store_reader_begin_ns(const struct store_reader *reader);

/* The files that are there, in order. False: there are not so many. */
struct store_volume {
    const char *path;
    uint32_t number;
    uint64_t file_bytes;
    uint64_t set_id; /* the same in all volumes of a recording, and in copies; 0: not known */
};

bool store_reader_volume(const struct store_reader *reader, uint32_t index,
                         struct store_volume *ret_volume);

/* Owned by the reader. */
struct trace *store_reader_trace(struct store_reader *reader);

/* Damage found so far (all of it once store_reader_next and store_reader_next_samples have returned
 * 0). Without the end mark the
 * file was cut: that is one entry as well. */
uint32_t store_reader_damage_count(const struct store_reader *reader);
const struct store_damage *store_reader_damage(const struct store_reader *reader, uint32_t index);

/* Facts of the files. */
struct store_info {
    uint64_t file_bytes, raw_bytes;
    uint64_t chunk_count, event_count, sample_count, checkpoint_count;
    uint16_t major, minor;
    uint32_t part_count; /* of a manifest; else 0 */
    bool complete;       /* has its end mark */
};

void store_reader_info(const struct store_reader *reader, struct store_info *ret_info);

void store_reader_close(struct store_reader *reader);

#endif
