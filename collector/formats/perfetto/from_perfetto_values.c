/* SPDX-License-Identifier: MIT */
/* Values of track events: debug annotations. Dicts and arrays become JSON, as texts. */
#include "from_perfetto_parts.h"
#include "perfetto_fields.h"

enum { DEPTH_MAX = 32, TEXT_SIZE = 4096 };

static bool take_scalar(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        const struct proto_field *field, struct arg *arg)
{
    switch (field->number) {
    case PX_ANNOTATION_BOOL:
        arg->kind = VALUE_BOOL;
        arg->value.uint64 = field->value != 0;
        return true;
    case PX_ANNOTATION_UINT:
    case PX_ANNOTATION_POINTER:
        arg->kind = VALUE_UINT64;
        arg->value.uint64 = field->value;
        return true;
    case PX_ANNOTATION_INT:
        arg->kind = VALUE_INT64;
        arg->value.int64 = (int64_t)field->value;
        return true;
    case PX_ANNOTATION_DOUBLE:
        arg->kind = VALUE_DOUBLE;
        arg->value.float64 = proto_double(field);
        return true;
    case PX_ANNOTATION_STRING:
    case PX_ANNOTATION_LEGACY_JSON:
        arg->kind = VALUE_STRING;
        arg->value.string = field->is_bytes ? perfetto_text(trace, &field->bytes) : 0;
        return true;
    case PX_ANNOTATION_STRING_IID:
        arg->kind = VALUE_STRING;
        arg->value.string = (uint32_t)perfetto_find(sequence, PERFETTO_STRINGS, field->value);
        return true;
    default:
        return false;
    }
}

static uint32_t key_of(struct perfetto *trace, const struct perfetto_sequence *sequence,
                       struct proto message)
{
    struct proto_field field;
    uint32_t key = 0;
    while (proto_next(&message, &field))
        if (field.number == PX_ANNOTATION_NAME_IID)
            key = (uint32_t)perfetto_find(sequence, PERFETTO_KEYS, field.value);
        else if (field.number == PX_ANNOTATION_NAME && field.is_bytes)
            key = perfetto_text(trace, &field.bytes);
    return key;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_string(const struct perfetto *trace, struct text *text, uint32_t string)
{
    const struct trace_string *bytes = trace_string(trace->sink->trace, string);
    json_copy_text(text, bytes->bytes, bytes->length);
}

static void put_scalar(const struct perfetto *trace, struct text *text, const struct arg *arg)
{
    if (arg->kind == VALUE_STRING)
        put_string(trace, text, arg->value.string);
    else if (arg->kind == VALUE_BOOL)
        text_format(text, "%s", arg->value.uint64 ? "true" : "false");
    else if (arg->kind == VALUE_DOUBLE)
        text_format(text, "%.17g", arg->value.float64);
    else if (arg->kind == VALUE_UINT64)
        text_format(text, "%llu", (unsigned long long)arg->value.uint64);
    else
        text_format(text, "%lld", (long long)arg->value.int64);
}

static bool is_nested(const struct proto_field *field)
{
    return field->is_bytes && (field->number == PX_ANNOTATION_DICT_ENTRIES ||
                               field->number == PX_ANNOTATION_ARRAY_VALUES);
}

/* What the annotation is, without its name. */
static void put_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                      struct proto message, struct text *text, int depth)
{
    struct proto_field field;
    struct arg arg = {0};
    const char *close = NULL;
    while (proto_next(&message, &field)) {
        bool dict = field.number == PX_ANNOTATION_DICT_ENTRIES;
        if (!is_nested(&field)) {
            if (take_scalar(trace, sequence, &field, &arg) && !close)
                put_scalar(trace, text, &arg);
            continue;
        }
        text_format(text, "%s", close ? "," : dict ? "{" : "[");
        close = dict ? "}" : "]";
        if (dict) {
            put_string(trace, text, key_of(trace, sequence, field.bytes));
            text_add(text, ":", 1);
        }
        if (depth < DEPTH_MAX)
            put_value(trace, sequence, field.bytes, text, depth + 1);
        else
            text_add(text, "null", 4);
    }
    if (close)
        text_add(text, close, 1);
    else if (!arg.kind)
        text_add(text, "null", 4);
}

static bool take_nested(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message, struct arg *arg)
{
    char buffer[TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    put_value(trace, sequence, message, &text, 1);
    arg->kind = VALUE_STRING;
    arg->value.string = import_string(trace->sink, text.buffer, text.length);
    if (text.length + 1 >= text.size)
        trace->sink->left[LEFT_VALUES]++;
    return true;
}

int perfetto_take_value(struct perfetto *trace, const struct perfetto_sequence *sequence,
                        struct proto message)
{
    struct proto whole = message;
    struct proto_field field;
    struct arg arg = {.key = key_of(trace, sequence, message)};
    bool has_value = false, nested = false;
    while (proto_next(&message, &field)) {
        nested = nested || is_nested(&field);
        has_value = take_scalar(trace, sequence, &field, &arg) || has_value;
    }
    if (nested)
        has_value = take_nested(trace, sequence, whole, &arg);
    if (has_value && trace->args.count < SINK_ARGS_MAX)
        return vec_push(&trace->args, arg);
    trace->sink->left[LEFT_VALUES]++;
    return 0;
}
