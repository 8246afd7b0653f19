/* SPDX-License-Identifier: MIT */
/* The public functions of values.h. */
#include "api.h"
#include "fast_event.h"
#include "proc.h"
#include "process.h"
#include "scratch.h"
#include "spell.h"
#include "strings.h"

#include <errno.h>

enum { SCHEMA_TEXT_MAX = 1000 };

/* ---- Schemas --------------------------------------------------------------------------------- */

static const uint8_t field_sizes[] = {
    [ANNOT_FIELD_INT8] = 1,
    [ANNOT_FIELD_INT16] = 2,
    [ANNOT_FIELD_INT32] = 4,
    [ANNOT_FIELD_INT64] = 8,
    [ANNOT_FIELD_UINT8] = 1,
    [ANNOT_FIELD_UINT16] = 2,
    [ANNOT_FIELD_UINT32] = 4,
    [ANNOT_FIELD_UINT64] = 8,
    [ANNOT_FIELD_FLOAT] = 4,
    [ANNOT_FIELD_DOUBLE] = 8,
    [ANNOT_FIELD_BOOL] = 1,
    [ANNOT_FIELD_CHARS] = 1,
    [ANNOT_FIELD_POINTER] = sizeof(void *),
};

static uint32_t field_count(const struct annot_field *field)
{
    return field->count ? field->count : 1;
}

static int field_is_inside(const struct annot_field *field, uint32_t size)
{
    if (field->kind < ANNOT_FIELD_INT8 || field->kind > ANNOT_FIELD_POINTER)
        return 0;
    return field->offset + (uint32_t)field_sizes[field->kind] * field_count(field) <= size;
}

static char *append_field(char *at, const char *end, const struct annot_field *field)
{
    at = text_append(at, end, "\x1e");
    at = text_append_clean(at, end, field->name);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field->kind);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field->offset);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, field_count(field));
    at = text_append(at, end, "\x1f");
    return field->unit ? text_append_clean(at, end, field->unit) : at;
}

struct schema {
    const char *name;
    const struct annot_field *fields;
    size_t count;
    uint32_t size;
};

static annot_schema intern_schema(char *text, const struct schema *schema)
{
    const struct annot_field *fields = schema->fields;
    const char *end = text + SCHEMA_TEXT_MAX + 2, *name = schema->name;
    size_t count = schema->count;
    uint32_t size = schema->size;
    struct string_key key;
    char *at = text_append_clean(text, end, name);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, size);
    for (size_t i = 0; fields && i < count && at < end - 1; i++) {
        if (!field_is_inside(&fields[i], size))
            return 0;
        at = append_field(at, end, &fields[i]);
    }
    if (at - text > SCHEMA_TEXT_MAX)
        return 0;
    string_key_init(&key, text, ANNOT_STRING_SCHEMA);
    return strings_number(intern_or_tell(&key));
}

annot_schema annot_schema_create(const char *name, uint32_t size, const struct annot_field *fields,
                                 size_t count)
{
    FORWARD_VALUE(schema_create, 0, name, size, fields, count);
    const struct schema schema = {name, fields, count, size};
    char *scratch = scratch_take();
    annot_schema number = scratch ? intern_schema(scratch, &schema) : 0;
    scratch_give(scratch);
    return number;
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* 0: the two are too long for a string. */
static uint32_t intern_unit(char *text, annot_domain domain, const char *counter, const char *unit)
{
    const char *end = text + ANNOT_STRING_MAX + 2;
    struct string_key key;
    char *at = text_append(text, end, counter ? counter : "(null)");
    at = text_append(at, end, "\x1f");
    at = text_append_clean(at, end, unit ? unit : "");
    if (at - text > ANNOT_STRING_MAX)
        return 0;
    string_key_init(&key, text, ANNOT_STRING_COUNTER_UNIT);
    key.number = domain;
    return intern_or_tell(&key);
}

void annot_counter_unit(annot_domain domain, const char *counter, const char *unit)
{
    FORWARD(counter_unit, domain, counter, unit);
    int error = errno;
    char *scratch = scratch_take();
    uint32_t id = scratch ? intern_unit(scratch, domain, counter, unit) : 0;
    scratch_give(scratch);
    if (id)
        process_tell_string(id);
    errno = error;
}

static APART void general_counters(const char *text, const struct annot_value *values, size_t count)
{
    struct emission emission = {
        .kind = ANNOT_REC_COUNTER_GROUP, .text = text, .values = values, .value_count = count};
    emit_general(&emission);
}

void annot_emit_counters(const char *text, const struct annot_value *values, size_t count)
{
    struct control *control = annot_control;
    if (!values || !count)
        return;
    if (__builtin_expect(is_ready(control), 1)) {
        annot_name name = spell_cached(control, text);
        if (__builtin_expect(name && fast_counters(control, name, values, count), 1))
            return;
    }
    FORWARD(counters, text, values, count);
    general_counters(text, values, count);
}

/* ---- The end of a range -----------------------------------------------------------------------
 */

/* A copy that does not know of these still closes the range. */
void annot_emit_pop_values(const struct annot_value *values, size_t count)
{
    if (runtime_other && !RUNTIME_HAS(pop_values)) {
        runtime_other->pop();
        return;
    }
    FORWARD(pop_values, values, count);
    struct emission emission = {.kind = ANNOT_REC_POP, .values = values, .value_count = count};
    emit_general(&emission);
}

void annot_emit_end_values(annot_range range, const struct annot_value *values, size_t count)
{
    if (runtime_other && !RUNTIME_HAS(end_values)) {
        runtime_other->end(range);
        return;
    }
    FORWARD(end_values, range, values, count);
    struct emission emission = {
        .kind = ANNOT_REC_RANGE_END, .id = range, .values = values, .value_count = count};
    if (range)
        emit_general(&emission);
}

OWN(annot_emit_pop_values);
OWN(annot_emit_end_values);
OWN(annot_schema_create);
OWN(annot_counter_unit);
OWN(annot_emit_counters);
