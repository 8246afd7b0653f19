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

/* A recording that is read with others: the ordinal behind its processes, in the trace of all. */
struct joined_source {
    uint64_t session; /* 0: not known */
    uint32_t process_end;
    bool sampled;
};

/* Opens it; the trace has nothing that is not in the file. */
int store_reader_open_bare(const char *path, struct store_reader **ret_reader);

/* Of the last batch. */
uint32_t store_reader_stream(const struct store_reader *reader);

/* Opens a recording, of which any volume is named, or a manifest, whose parts it opens, and reads
 * all definitions, so that the trace is complete before the first event. -ENOENT..., -EBADMSG: not
 * a recording; -EPROTONOSUPPORT: newer major version; -ENODATA: an empty or cut header. Damage is
 * no error here: see store_reader_damage. */
int store_reader_open(const char *path, struct store_reader **ret_reader);

/* The same of a manifest that is in no file; its paths can be opened from here. */
int store_reader_open_parts(const struct store_manifest *manifest,
                            struct store_reader **ret_reader);
void store_reader_twice(const struct store_reader *reader, struct store_twice *ret_twice);

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
