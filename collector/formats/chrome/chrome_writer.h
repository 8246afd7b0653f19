/* SPDX-License-Identifier: MIT */
/* One event of the Chrome trace format after the other: head, fields, arguments, end.
 *
 *     chrome_begin(w, 'X', name);        ,\n{"ph":"X","name":"load"
 *     chrome_place(w, thread, time_ns);  ,"pid":1,"tid":1,"ts":0.500
 *     chrome_attributes(w, event);       ,"cat":"io","args":{"payload":1
 *     chrome_argument(w, &fact);         ,"unfinished":true
 *     chrome_end(w);                     }}
 *
 * Times are microseconds with three decimals since the trace's origin: exact, as a double holds
 * them to the nanosecond for more than a hundred days. Thread-safety: one
 * thread per writer. */
#ifndef ANNOT_CHROME_WRITER_H
#define ANNOT_CHROME_WRITER_H

#include "event.h"
#include "export_facts.h"
#include "export_ids.h"

#include <stdbool.h>
#include <stdint.h>

struct out_stream;
struct trace;

enum { CHROME_PLACE_MAX = 64 };

/* Integers up to here are exact in all readers of JSON; larger ones go as text. */
#define CHROME_EXACT_MAX (INT64_C(1) << 53)

static inline bool chrome_is_exact(int64_t value)
{
    return value >= -CHROME_EXACT_MAX && value <= CHROME_EXACT_MAX;
}

struct chrome_thread {
    uint8_t place_size;
    char place[CHROME_PLACE_MAX]; /* ,"pid":1,"tid":1,"ts": */
};

struct chrome_writer {
    const struct trace *trace;
    struct out_stream *out;
    const struct export_ids *ids;
    int64_t origin_ns; /* time 0 of the file */
    struct export_keys keys;
    struct chrome_thread *threads;
    uint32_t thread_count;
    uint8_t *plain; /* by string: 0 unchecked, 1 needs no escapes, 2 does */
    uint32_t string_count;
    bool any_event, any_argument; /* written: in the file, in the current event */
};

/* 0 or -ENOMEM; then call fini all the same. */
int chrome_writer_init(struct chrome_writer *writer, const struct trace *trace,
                       const struct export_ids *ids, struct out_stream *out);
void chrome_writer_fini(struct chrome_writer *writer);

/* A complete event of a pushed range without attributes: the same as the calls below, faster. */
void chrome_plain_range(struct chrome_writer *writer, const struct event *event, int64_t end_ns);
void chrome_begin(struct chrome_writer *writer, char phase, uint32_t name);
void chrome_begin_text(struct chrome_writer *writer, char phase, const char *name);
void chrome_begin_bare(struct chrome_writer *writer, char phase); /* without a name */
void chrome_place(struct chrome_writer *writer, uint32_t thread, int64_t time_ns);
void chrome_number(struct chrome_writer *writer, const char *key, uint64_t value);
void chrome_micros(struct chrome_writer *writer, const char *key, int64_t time_ns);
void chrome_string(struct chrome_writer *writer, const char *key, uint32_t string);
void chrome_text(struct chrome_writer *writer, const char *key, const char *text);

/* Category (except of ranges outside of threads: see chrome_shelves), colour as the nearest of the
 * format's names; then the arguments: payload, domain, ..., key-values. */
void chrome_attributes(struct chrome_writer *writer, const struct event *event,
                       const struct args *values);

/* Only the key-values. */
void chrome_values(struct chrome_writer *writer, const struct args *values);
void chrome_argument(struct chrome_writer *writer, const struct fact *argument);

/* The caller ensures that it is JSON. */
void chrome_raw(struct chrome_writer *writer, const char *key, const char *json);
void chrome_end(struct chrome_writer *writer);

/* "key":value without a comma. */
void chrome_fact(struct chrome_writer *writer, const struct fact *fact);

/* The category that viewers filter by: that of a scope, else its domain; 0 = unset. */
uint32_t chrome_category(const struct chrome_writer *writer, uint32_t scope);
void chrome_put_metadata(struct chrome_writer *writer, const char *place, const char *name,
                         const struct fact *argument);

#endif
