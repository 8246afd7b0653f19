/* SPDX-License-Identifier: MIT */
/* Reads a recording: its definitions into a trace, then batches of events and samples.
 *
 * docs/recording-format.md describes every byte. Foreign bytes: bounded; damaged chunks are skipped
 * and listed. Thread-safety: one thread per object. */
#ifndef ANNOT_READER_H
#define ANNOT_READER_H

#include "event.h"
#include "sample.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_manifest;
struct trace;

/* A recording that is read with others: the end of its processes' ordinals, in the trace of all. */
struct joined_source {
    uint64_t session; /* 0: unknown */
    uint32_t process_end;
    bool sampled;
};

/* Opens it; the trace has only the contents of the file. */
int store_reader_open_bare(const char *path, struct store_reader **ret_reader);

/* The stream of the last batch. */
uint32_t store_reader_stream(const struct store_reader *reader);

/* Opens a recording by any of its volumes, or a manifest with its parts, and reads all definitions,
 * so that the trace is complete before the first event. -ENOENT..., -EBADMSG: not a recording;
 * -EPROTONOSUPPORT: newer major version; -ENODATA: an empty or cut header. Damage is not an error
 * here: see store_reader_damage. */
int store_reader_open(const char *path, struct store_reader **ret_reader);

/* The same for a manifest in memory; its paths are relative to the working directory. */
int store_reader_open_parts(const struct store_manifest *manifest,
                            struct store_reader **ret_reader);
void store_reader_twice(const struct store_reader *reader, struct store_twice *ret_twice);

/* Opens a recording that may still be written, to be read as it grows. An incomplete chunk is left
 * for later, and a missing end is not damage. The trace grows with store_reader_more; batches have
 * no settled time. As store_reader_open. */
int store_reader_follow(const char *path, struct store_reader **ret_reader);

/* A second position in the events of a recording that is read as a whole, from the first event on:
 * it has no samples, and shares the trace of `first`, which outlives it. 0, or -ENOMEM: close it
 * all the same. */
int store_reader_again(const struct store_reader *first, struct store_reader **ret_reader);

/* Reads chunks written since: definitions go into the trace, events and samples are handed out by
 * the functions below. 1: new chunks; 0: unchanged; -ESTALE: the file was cut; -ENOMEM, -EIO. */
int store_reader_more(struct store_reader *reader);

/* True if the last chunk read was the end mark. */
bool store_reader_ended(const struct store_reader *reader);

/* The next batch: 1, or 0 at the end. In file order, but declared streams have separate positions
 * in the file: the stream with the earliest next chunk goes on (not in a recording that is
 * followed). Damaged chunks are skipped and listed. EVENT_SPANs come by the thread that caused
 * them. The batch is valid until the next call. -ENOMEM, -EIO. */
int store_reader_next(struct store_reader *reader, struct event_batch *ret_batch);

/* The next samples, in file order, independently of store_reader_next: 1, or 0 at the end. Valid
 * until the next call of this function. -ENOMEM, -EIO. */
int store_reader_next_samples(struct store_reader *reader, const struct sample **ret_samples,
                              uint32_t *ret_count);

/* No sample still to be handed out begins before this; INT64_MIN: unknown (a recording that is
 * followed). */
int64_t store_reader_samples_settled_ns(const struct store_reader *reader);

/* Back to the first event and the first sample. */
int store_reader_rewind(struct store_reader *reader);

/* Moves as near as possible before this time: the events before are replaced by those of the
 * checkpoint (open ranges), with an EVENT_RESUME for each thread; earlier samples are skipped.
 * Without a checkpoint before it, or in a damaged recording, starts at the first event. `nested`:
 * only to where no EVENT_START is open, as the ranges around it are unknown. `in_time`: events are
 * put in order of time afterwards; if several threads used an id so that its pairs differ then, or
 * if that is unknown, starts at the first event. 0, -ENOMEM, -EIO. */
int store_reader_seek(struct store_reader *reader, int64_t from_ns, bool nested, bool in_time);

/* Events before this are unknown, as their volumes are missing; 0: all volumes are present. */
int64_t store_reader_begin_ns(const struct store_reader *reader);

/* The existing files, in order. False for an index past the end. */
struct store_volume {
    const char *path;
    uint32_t number;
    uint64_t file_bytes;
    uint64_t set_id; /* the same in all volumes of a recording, and in copies; 0: unknown */
};

bool store_reader_volume(const struct store_reader *reader, uint32_t index,
                         struct store_volume *ret_volume);

/* Owned by the reader. */
struct trace *store_reader_trace(struct store_reader *reader);

/* Damage found so far (complete after store_reader_next and store_reader_next_samples have returned
 * 0). A missing end mark means that the file was cut: that is an entry as well. */
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
