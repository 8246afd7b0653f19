/* SPDX-License-Identifier: MIT */
/* Records and metadata of a CTF trace.
 *
 * A record is an event without its time: event number, thread or process, fields. Records are
 * sorted by time in a compact form made of pieces, in which strings of the recording and threads
 * are numbers. Errors are kept. Thread-safety: one thread per object. */
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

/* Event numbers of the trace. */
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
    ctf_bytes *contexts; /* by thread, then one without; empty until made */
    uint32_t thread_count;
    struct wide_map known_numbers;
    VEC(ctf_bytes) known;
    size_t known_bytes;
    ctf_bytes pieces;        /* of the current record */
    size_t part;             /* start of the part that ctf_put_known did not find */
    size_t plain;            /* 1 + start of the last piece if it may grow, or 0 */
    struct out_stream *made; /* memory stream */
    int error;
};

/* 0 or -ENOMEM. Call fini in both cases. */
int ctf_records_init(struct ctf_records *records, const struct trace *trace);
void ctf_records_fini(struct ctf_records *records);

/* Begins a record of a thread or a process; UINT32_MAX for neither. */
void ctf_begin(struct ctf_records *records, enum ctf_event event, uint32_t thread);
void ctf_begin_process(struct ctf_records *records, enum ctf_event event, uint32_t process);

/* Appends fields, in the order of the metadata. */
void ctf_put_uint8(struct ctf_records *records, uint8_t value);
void ctf_put_uint32(struct ctf_records *records, uint32_t value);
void ctf_put_uint64(struct ctf_records *records, uint64_t value);
void ctf_put_text(struct ctf_records *records, const char *text, size_t length);
void ctf_put_string(struct ctf_records *records, uint32_t string);

/* Appends fields that many records share, by a key. Returns false if they are unknown: append them
 * one by one and call ctf_keep, which stores them if there is room. */
bool ctf_put_known(struct ctf_records *records, const struct wide_key *key);
void ctf_keep(struct ctf_records *records, const struct wide_key *key);

/* Appends the text in records->made and clears it. */
void ctf_put_made(struct ctf_records *records);

/* Ends the record, with the time of its event. `lost`: events missing up to then. */
void ctf_end(struct ctf_records *records, int64_t time_ns, uint64_t lost);

/* Appends the record's bytes, and returns its lost events. 0 or -ENOMEM. */
int ctf_spell_out(const struct ctf_records *records, const void *pieces, uint32_t size,
                  ctf_bytes *bytes, uint64_t *ret_lost);

/* Writes all records as the only stream of the trace. 0 or -errno. */
int ctf_put_packets(struct ctf_records *records, struct out_stream *out);

/* Writes the metadata, which describes the stream to readers. `origin_ns` is the zero of the
 * clock. */
void ctf_put_metadata(const struct trace *trace, int64_t origin_ns, struct out_stream *out);

#endif
