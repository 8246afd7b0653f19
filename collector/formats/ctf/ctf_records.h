/* SPDX-License-Identifier: MIT */
/* Records and metadata of a CTF trace.
 *
 * A record is an event without its time: its number, its thread or process, and its fields. Records
 * go to a sorter by their times, as pieces: texts of the recording and threads are numbers, so that
 * the sort has little to carry. Errors stick. Thread-safety: one thread per object. */
#ifndef ANNOT_CTF_RECORDS_H
#define ANNOT_CTF_RECORDS_H

#include "hash_map.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out_stream;
struct sorter;
struct trace;

/* The numbers of events in the trace. */
enum ctf_event {
    CTF_SESSION_FACT = 0,
    CTF_RANGE_BEGIN = 1,
    CTF_RANGE_END = 2,
    CTF_MARK = 3,
    CTF_COUNTER = 4,
    CTF_COUNTER_FLOAT = 5,
    CTF_FLOW = 6,
    CTF_SAMPLE = 7,
    CTF_THREAD_STATE = 8,
    CTF_LOST = 9,
    CTF_LAST_WORD = 10,
    CTF_PROCESS_END = 11,
    CTF_LAUNCH = 12,
};

typedef VEC(uint8_t) ctf_bytes;

struct ctf_records {
    const struct trace *trace;
    struct sorter *sorter;
    int64_t origin_ns;
    ctf_bytes *contexts; /* of thread; the last one: of none; empty: not made yet */
    uint32_t thread_count;
    struct wide_map known_numbers;
    VEC(ctf_bytes) known;
    size_t known_bytes;
    ctf_bytes pieces;        /* of the present one */
    size_t part;             /* where its part begins that was asked for and not known */
    size_t plain;            /* 1 + where its last piece is, if that may grow */
    struct out_stream *made; /* memory */
    int error;
};

/* 0 or -ENOMEM; then fini all the same. */
int ctf_records_init(struct ctf_records *records, const struct trace *trace);
void ctf_records_fini(struct ctf_records *records);

/* A record begins: of a thread, of a process, or of neither (UINT32_MAX). */
void ctf_begin(struct ctf_records *records, enum ctf_event event, uint32_t thread);
void ctf_begin_process(struct ctf_records *records, enum ctf_event event, uint32_t process);

/* Its fields, in the order of the metadata. */
void ctf_put_uint8(struct ctf_records *records, uint8_t value);
void ctf_put_uint32(struct ctf_records *records, uint32_t value);
void ctf_put_uint64(struct ctf_records *records, uint64_t value);
void ctf_put_text(struct ctf_records *records, const char *text, size_t length);
void ctf_put_string(struct ctf_records *records, uint32_t string);

/* Fields that many records have, by what tells them apart. False: they are not known; then they are
 * put, and kept if there is room. */
bool ctf_put_known(struct ctf_records *records, const struct wide_key *key);
void ctf_keep(struct ctf_records *records, const struct wide_key *key);

/* What was made in records->made, which is empty then. */
void ctf_put_made(struct ctf_records *records);

/* It is whole: what it is about happened at `time_ns`. `lost`: events that are missing up to then.
 */
void ctf_end(struct ctf_records *records, int64_t time_ns, uint64_t lost);

/* The bytes of a record, behind those that are there, and what was lost. 0 or -ENOMEM. */
int ctf_spell_out(const struct ctf_records *records, const void *pieces, uint32_t size,
                  ctf_bytes *bytes, uint64_t *ret_lost);

/* All records as the one stream of the trace. 0 or -errno. */
int ctf_put_packets(struct ctf_records *records, struct out_stream *out);

/* The metadata: a text that describes all of the above to readers. `origin_ns`: where the clock is
 * 0. */
void ctf_put_metadata(const struct trace *trace, int64_t origin_ns, struct out_stream *out);

#endif
