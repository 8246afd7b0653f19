/* SPDX-License-Identifier: MIT */
/* What the files of the OTLP exporters share with each other only. */
#ifndef ANNOT_OTLP_PARTS_H
#define ANNOT_OTLP_PARTS_H

#include "export.h"
#include "export_facts.h"
#include "json_writer.h"
#include "varint.h"
#include "vec.h"

/* ---- Messages: otlp_write.c ----
 *
 * The messages of opentelemetry/proto, written once for both encodings: in protocol buffers fields
 * have numbers, in JSON names, and what is repeated is an array. Thread-safety: none. */

struct otlp_field {
    uint32_t number; /* 0: the outermost message */
    const char *name;
};

enum { OTLP_DEPTH_MAX = 8 };

struct otlp_writer {
    bool json;
    struct proto_writer proto;
    struct out_stream *text; /* memory, of JSON */
    struct json_doc doc;
    unsigned depth;

    struct {
        uint32_t number; /* of its field */
        bool list;
    } levels[OTLP_DEPTH_MAX];
};

/* 0 or -ENOMEM; then fini all the same. */
int otlp_writer_init(struct otlp_writer *w, bool json);
void otlp_writer_fini(struct otlp_writer *w);

/* Forgets all. What was written, valid until the next call; 0 or -ENOMEM. */
void otlp_restart(struct otlp_writer *w);
const uint8_t *otlp_bytes(const struct otlp_writer *w, size_t *ret_size);
int otlp_error(const struct otlp_writer *w);

/* A message; a list of messages, and one of these; otlp_end ends each. */
void otlp_begin(struct otlp_writer *w, const struct otlp_field *field);
void otlp_list(struct otlp_writer *w, const struct otlp_field *field);
void otlp_item(struct otlp_writer *w);
void otlp_end(struct otlp_writer *w);

/* Into a list: messages that another writer has made, in JSON with commas between them. */
void otlp_items(struct otlp_writer *w, const void *bytes, size_t size);

void otlp_uint(struct otlp_writer *w, const struct otlp_field *field, uint32_t value);
void otlp_time(struct otlp_writer *w, const struct otlp_field *field, uint64_t unix_ns);
void otlp_text(struct otlp_writer *w, const struct otlp_field *field, const char *text);
/* `count` numbers of 64 bits, the most significant byte first. */
void otlp_id(struct otlp_writer *w, const struct otlp_field *field, const uint64_t *parts,
             unsigned count);

/* An attribute, into a list of them. */
void otlp_fact(struct otlp_writer *w, const struct trace *trace, const struct fact *fact);
void otlp_text_fact(struct otlp_writer *w, const char *key, const char *text);
void otlp_int_fact(struct otlp_writer *w, const char *key, int64_t value);

/* ---- Spans: otlp_span.c ---- */

/* OpenTelemetry's own limits; what is beyond them is counted in the span. */
enum { OTLP_ATTRIBUTES_MAX = 128, OTLP_EVENTS_MAX = 128, OTLP_LINKS_MAX = 128 };

struct otlp_context {
    uint64_t trace[2], span;
};

/* A mark, or a gap. */
struct otlp_mark {
    struct event event;
    size_t first_arg; /* of its lane's */
};

struct otlp_span {
    const struct item *item;
    struct otlp_context context;
    uint64_t parent; /* 0: none */
    const struct otlp_mark *marks;
    const struct arg *mark_args; /* of the lane */
    const struct otlp_context *links;
    uint32_t mark_count, link_count;
    uint32_t marks_dropped, links_dropped;
};

struct otlp_part {
    uint8_t *bytes; /* owned */
    size_t size;    /* 0: not made yet */
};

struct otlp_spans {
    const struct trace *trace;
    struct otlp_writer w, made;
    struct otlp_part *threads; /* attributes of spans of each */
    uint32_t thread_count;
    struct export_keys keys;
    int64_t unix_offset_ns;                 /* from CLOCK_MONOTONIC to Unix time */
    uint64_t values_dropped, marks_dropped; /* as spans were too large */
};

/* 0 or -ENOMEM; then fini all the same. */
int otlp_spans_init(struct otlp_spans *spans, const struct trace *trace, bool json);
void otlp_spans_fini(struct otlp_spans *spans);

/* Leaves the span in spans->w, alone. 0 or -ENOMEM. */
int otlp_put_span(struct otlp_spans *spans, const struct otlp_span *span);

/* ---- Batches: otlp_batch.c ----
 *
 * Spans of one process are written together, in messages of about OTLP_BATCH_SIZE, each of which is
 * flushed; those of processes that have few, in one message. Memory: OTLP_BATCHES_SIZE and two
 * messages. Thread-safety: none. */

enum { OTLP_BATCH_SIZE = 512 << 10, OTLP_BATCHES_SIZE = 8 << 20 };

struct otlp_batch {
    uint8_t *bytes;
    size_t size, capacity;
};

struct otlp_batches {
    const struct trace *trace;
    struct out_stream *out;
    struct otlp_writer message;
    struct otlp_batch *items; /* of process, the last of none */
    uint32_t process_count;
    size_t held; /* bytes in all of them */
    char *service;
};

/* 0 or -ENOMEM; then fini all the same. */
int otlp_batches_init(struct otlp_batches *batches, const struct export_job *job, bool json);
void otlp_batches_fini(struct otlp_batches *batches);

/* A span of the process. 0 or -ENOMEM. */
int otlp_batches_add(struct otlp_batches *batches, uint32_t process, const void *bytes,
                     size_t size);
int otlp_batches_finish(struct otlp_batches *batches);

#endif
