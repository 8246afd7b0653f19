/* SPDX-License-Identifier: MIT */
/* See otlp_write.h. JSON follows the protocol buffers mapping with the deviations that OTLP
 * defines: ids are hexadecimal, enumerations are numbers. 64-bit integers are strings. */
#include "otlp_write.h"

#include "event.h"
#include "export_facts.h"
#include "trace.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>

enum { INTEGER_SIZE = JSON_INTEGER_MAX + 1, ID_PARTS_MAX = 2 };

/* Fields of KeyValue and AnyValue. */
static const struct otlp_field attribute_key = {1, "key"}, attribute_value = {2, "value"},
                               value_string = {1, "stringValue"}, value_bool = {2, "boolValue"},
                               value_int = {3, "intValue"}, value_double = {4, "doubleValue"};

int otlp_writer_init(struct otlp_writer *w, bool json)
{
    *w = (struct otlp_writer){.json = json};
    if (!json)
        return 0;
    w->text = out_stream_memory();
    if (!w->text)
        return -ENOMEM;
    otlp_restart(w);
    return 0;
}

void otlp_writer_fini(struct otlp_writer *w)
{
    proto_destroy(&w->proto);
    out_stream_abandon(w->text);
    *w = (struct otlp_writer){0};
}

void otlp_restart(struct otlp_writer *w)
{
    proto_reset(&w->proto);
    if (w->json)
        out_stream_memory_reset(w->text);
    w->doc = (struct json_doc){.out = w->text};
    w->depth = 0;
}

const uint8_t *otlp_bytes(const struct otlp_writer *w, size_t *ret_size)
{
    if (w->json)
        return out_stream_memory_bytes(w->text, ret_size);
    *ret_size = w->proto.size;
    return w->proto.bytes;
}

int otlp_error(const struct otlp_writer *w)
{
    return w->json ? out_error(w->text) : w->proto.error;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void push(struct otlp_writer *w, uint32_t number, bool list)
{
    assert(w->depth < OTLP_DEPTH_MAX);
    w->levels[w->depth].number = number;
    w->levels[w->depth].list = list;
    w->depth++;
}

static void begin(struct otlp_writer *w, uint32_t number, const char *name)
{
    push(w, number, false);
    if (w->json)
        json_doc_object(&w->doc, name);
    else if (number)
        proto_begin(&w->proto, number);
}

void otlp_begin(struct otlp_writer *w, const struct otlp_field *field)
{
    begin(w, field->number, field->name);
}

void otlp_list(struct otlp_writer *w, const struct otlp_field *field)
{
    push(w, field->number, true);
    if (w->json)
        json_doc_array(&w->doc, field->name);
}

void otlp_item(struct otlp_writer *w)
{
    assert(w->depth > 0 && w->levels[w->depth - 1].list);
    begin(w, w->levels[w->depth - 1].number, NULL);
}

void otlp_end(struct otlp_writer *w)
{
    assert(w->depth > 0);
    w->depth--;
    if (w->json)
        json_doc_close(&w->doc);
    else if (!w->levels[w->depth].list && w->levels[w->depth].number)
        proto_end(&w->proto);
}

void otlp_items(struct otlp_writer *w, const void *bytes, size_t size)
{
    if (w->json)
        json_doc_made(&w->doc, bytes, size);
    else
        proto_fields(&w->proto, bytes, size);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

void otlp_uint(struct otlp_writer *w, const struct otlp_field *field, uint32_t value)
{
    if (w->json)
        json_doc_uint(&w->doc, field->name, value);
    else
        proto_uint(&w->proto, field->number, value);
}

void otlp_time(struct otlp_writer *w, const struct otlp_field *field, uint64_t unix_ns)
{
    if (w->json)
        json_doc_digits(&w->doc, field->name, (int64_t)unix_ns);
    else
        proto_fixed64(&w->proto, field->number, unix_ns);
}

void otlp_text(struct otlp_writer *w, const struct otlp_field *field, const char *text)
{
    if (w->json)
        json_doc_text(&w->doc, field->name, text);
    else
        proto_text(&w->proto, field->number, text);
}

void otlp_id(struct otlp_writer *w, const struct otlp_field *field, const uint64_t *parts,
             unsigned count)
{
    uint64_t bytes[ID_PARTS_MAX];
    assert(count <= ID_PARTS_MAX);
    for (unsigned i = 0; i < count; i++)
        bytes[i] = htobe64(parts[i]);
    if (w->json)
        json_doc_bytes(&w->doc, field->name, bytes, sizeof(*bytes) * count);
    else
        proto_bytes(&w->proto, field->number, bytes, sizeof(*bytes) * count);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static void put_int(struct otlp_writer *w, int64_t value)
{
    if (w->json)
        json_doc_digits(&w->doc, value_int.name, value);
    else
        proto_int(&w->proto, value_int.number, value);
}

static void put_bool(struct otlp_writer *w, bool value)
{
    if (w->json)
        json_doc_bool(&w->doc, value_bool.name, value);
    else
        proto_uint(&w->proto, value_bool.number, value);
}

static void put_double(struct otlp_writer *w, double value)
{
    if (w->json)
        json_doc_double(&w->doc, value_double.name, value);
    else
        proto_double(&w->proto, value_double.number, value);
}

/* AnyValue has no unsigned integers: values above INT64_MAX are written as text. */
static void put_uint(struct otlp_writer *w, uint64_t value)
{
    char text[INTEGER_SIZE];
    if (value <= INT64_MAX) {
        put_int(w, (int64_t)value);
        return;
    }
    *json_put_uint((uint8_t *)text, value) = 0;
    otlp_text(w, &value_string, text);
}

static void put_value(struct otlp_writer *w, const struct trace *trace, const struct fact *fact)
{
    const char *text = fact->text;
    switch (fact->kind) {
    case VALUE_INT64:
        put_int(w, fact->value.int64);
        break;
    case VALUE_UINT64:
        put_uint(w, fact->value.uint64);
        break;
    case VALUE_DOUBLE:
        put_double(w, fact->value.float64);
        break;
    case VALUE_BOOL:
        put_bool(w, fact->value.uint64 != 0);
        break;
    case VALUE_STRING:
        otlp_text(w, &value_string, text ? text : trace_string(trace, fact->value.string)->bytes);
        break;
    default: /* an empty value */
        break;
    }
}

void otlp_fact(struct otlp_writer *w, const struct trace *trace, const struct fact *fact)
{
    otlp_item(w);
    otlp_text(w, &attribute_key, fact->name);
    otlp_begin(w, &attribute_value);
    put_value(w, trace, fact);
    otlp_end(w);
    otlp_end(w);
}

void otlp_text_fact(struct otlp_writer *w, const char *key, const char *text)
{
    otlp_fact(w, NULL, &(struct fact){.name = key, .kind = VALUE_STRING, .text = text});
}

void otlp_int_fact(struct otlp_writer *w, const char *key, int64_t value)
{
    otlp_fact(w, NULL, &(struct fact){.name = key, .kind = VALUE_INT64, .value = {.int64 = value}});
}
