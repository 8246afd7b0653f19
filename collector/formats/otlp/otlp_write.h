/* SPDX-License-Identifier: MIT */
/* Writes opentelemetry/proto messages in either encoding from one sequence of calls: fields have
 * numbers in protocol buffers and names in JSON, where repeated fields are arrays. Thread-safety:
 * one thread per writer. */
#ifndef ANNOT_OTLP_WRITE_H
#define ANNOT_OTLP_WRITE_H

#include "json_writer.h"
#include "varint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fact;
struct out_stream;
struct trace;

struct otlp_field {
    uint32_t number; /* 0: the outermost message */
    const char *name;
};

enum { OTLP_DEPTH_MAX = 8 };

struct otlp_writer {
    bool json;
    struct proto_writer proto;
    struct out_stream *text; /* memory stream for JSON */
    struct json_doc doc;
    unsigned depth;

    struct {
        uint32_t number; /* of the level's field */
        bool list;
    } levels[OTLP_DEPTH_MAX];
};

/* 0 or -ENOMEM. Call fini in both cases. */
int otlp_writer_init(struct otlp_writer *w, bool json);
void otlp_writer_fini(struct otlp_writer *w);

/* otlp_restart discards all output. otlp_bytes returns the output, valid until the next call.
 * otlp_error returns 0 or -ENOMEM. */
void otlp_restart(struct otlp_writer *w);
const uint8_t *otlp_bytes(const struct otlp_writer *w, size_t *ret_size);
int otlp_error(const struct otlp_writer *w);

/* Opens a message, a list of messages, or a message in that list. otlp_end closes each. */
void otlp_begin(struct otlp_writer *w, const struct otlp_field *field);
void otlp_list(struct otlp_writer *w, const struct otlp_field *field);
void otlp_item(struct otlp_writer *w);
void otlp_end(struct otlp_writer *w);

/* Appends messages of another writer to the open list; in JSON they are joined by commas. */
void otlp_items(struct otlp_writer *w, const void *bytes, size_t size);
void otlp_uint(struct otlp_writer *w, const struct otlp_field *field, uint32_t value);
void otlp_time(struct otlp_writer *w, const struct otlp_field *field, uint64_t unix_ns);
void otlp_text(struct otlp_writer *w, const struct otlp_field *field, const char *text);

/* Writes an id of `count` 64-bit words, most significant byte first. */
void otlp_id(struct otlp_writer *w, const struct otlp_field *field, const uint64_t *parts,
             unsigned count);

/* These append an attribute to the open list of attributes. */
void otlp_fact(struct otlp_writer *w, const struct trace *trace, const struct fact *fact);
void otlp_text_fact(struct otlp_writer *w, const char *key, const char *text);
void otlp_int_fact(struct otlp_writer *w, const char *key, int64_t value);

#endif
