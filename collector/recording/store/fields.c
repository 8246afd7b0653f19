/* SPDX-License-Identifier: MIT */
/* Definitions from and to columns, driven by the tables of definitions.c.
 *
 * Foreign bytes: an entry is bounded by its length and by STORE_ROWS_MAX; its first column has at
 * least a byte per definition, so that few bytes cannot make many definitions; unknown numbers and
 * further columns are skipped; and gaps in ordinals are limited to the size of a damaged chunk.
 * Thread-safety: none. */
#include "fields.h"

#include "definitions.h"

#include "text.h"
#include "varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 16, ENTRY_TEXT = 1 << 18 };

unsigned field_elements(const struct field *field)
{
    return field->count ? field->count : 1;
}

uint64_t field_load(const void *entry, const struct field *field, unsigned element)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *)entry + field->offset + (size_t)element * field->width,
           field->width);
    unsigned unused = 64 - 8 * (unsigned)field->width;
    if (field->kind == FIELD_SIGNED || field->kind == FIELD_TIME || field->kind == FIELD_DURATION)
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    return value;
}

/* A value out of the field's range is stored as 0. */
void field_save(void *entry, const struct field *field, unsigned element, uint64_t value)
{
    uint8_t *place = (uint8_t *)entry + field->offset + (size_t)element * field->width;
    if (field->kind == FIELD_FLAG)
        value = value != 0;
    if (field->kind == FIELD_TIME || field->kind == FIELD_DURATION)
        value = (uint64_t)store_time((int64_t)value);
    memcpy(place, &value, field->width);
    if (field_load(entry, field, element) != value)
        memset(place, 0, field->width);
}

/* ---- Writing --------------------------------------------------------------------------------- */

void definitions_state_free(struct definitions_state *state)
{
    for (unsigned i = 0; i < STORE_DEFINE_COUNT; i++)
        vec_free(&state->written[i]);
}

void definitions_state_resume(struct definitions_state *state, const struct trace *trace)
{
    for (unsigned i = 0; i < STORE_DEFINE_COUNT; i++)
        if (definition_tables[i].fields && !definition_tables[i].revised)
            state->next[i] = definition_tables[i].count(trace);
}

void definitions_state_repeat(struct definitions_state *state)
{
    for (unsigned i = 0; i < STORE_DEFINE_COUNT; i++)
        if (definition_tables[i].repeated)
            state->written[i].count = 0;
}

void definitions_buffer_free(struct definitions_buffer *buffer)
{
    vec_free(&buffer->bytes);
    vec_free(&buffer->body);
    vec_free(&buffer->column);
}

/* Some definitions of a table: ordinals [begin, end). */
struct rows {
    const struct trace *trace;
    const struct table *table;
    uint32_t begin, end;
};

/* Returns the column's end, or NULL: out of memory; *ret_any: not all are 0. */
static uint8_t *put_numbers(const struct rows *rows, const struct field *field,
                            struct definitions_buffer *buffer, bool *ret_any)
{
    unsigned elements = field_elements(field);
    uint64_t before[ELEMENTS_MAX] = {0};
    if (vec_reserve(&buffer->column,
                    ((size_t)(rows->end - rows->begin) * elements + 1) * VARINT_MAX) != 0)
        return NULL;
    uint8_t *at = buffer->column.items;
    if (field->count)
        at = varint_put(at, elements);
    for (uint32_t i = rows->begin; i < rows->end; i++) {
        const void *entry = rows->table->get(rows->trace, i);
        for (unsigned element = 0; element < elements; element++) {
            uint64_t value = field_load(entry, field, element);
            at = varint_put(at, zigzag((int64_t)(value - before[element])));
            before[element] = value;
            *ret_any |= value != 0;
        }
    }
    return at;
}

static uint32_t text_length(const struct trace_string *string)
{
    return (uint32_t)utf8_cut(string->bytes, string->length, STORE_STRING_MAX);
}

static uint8_t *put_texts(const struct rows *rows, const struct field *field,
                          struct definitions_buffer *buffer, bool *ret_any)
{
    buffer->column.count = 0;
    for (uint32_t i = rows->begin; i < rows->end; i++) {
        const uint8_t *entry = rows->table->get(rows->trace, i);
        struct trace_string string;
        memcpy(&string, entry + field->offset, sizeof(string));
        uint32_t length = text_length(&string);
        if (vec_reserve(&buffer->column, (size_t)length + VARINT_MAX) != 0)
            return NULL;
        uint8_t *begin = buffer->column.items + buffer->column.count;
        uint8_t *at = varint_put(begin, length);
        memcpy(at, string.bytes, length);
        buffer->column.count += (size_t)(at - begin) + length;
        *ret_any |= length != 0;
    }
    return buffer->column.items + buffer->column.count;
}

static uint8_t *put_bytes(const struct rows *rows, const struct field *field,
                          struct definitions_buffer *buffer, bool *ret_any)
{
    static const uint8_t zeros[UINT8_MAX];
    buffer->column.count = 0;
    if (vec_reserve(&buffer->column, (size_t)(rows->end - rows->begin) * field->width) != 0)
        return NULL;
    uint8_t *at = buffer->column.items;
    for (uint32_t i = rows->begin; i < rows->end; i++, at += field->width) {
        const uint8_t *entry = rows->table->get(rows->trace, i);
        memcpy(at, entry + field->offset, field->width);
        *ret_any |= memcmp(at, zeros, field->width) != 0;
    }
    return at;
}

/* Writes a column after its size; a column of zeros is empty, except the first. 0 or -ENOMEM. */
static int put_column(const struct rows *rows, const struct field *field,
                      struct definitions_buffer *buffer)
{
    bool any = field == rows->table->fields;
    uint8_t *end = field->kind == FIELD_TEXT    ? put_texts(rows, field, buffer, &any)
                   : field->kind == FIELD_BYTES ? put_bytes(rows, field, buffer, &any)
                                                : put_numbers(rows, field, buffer, &any);
    if (!end)
        return -ENOMEM;
    size_t size = any ? (size_t)(end - buffer->column.items) : 0;
    if (vec_reserve(&buffer->body, size + VARINT_MAX) != 0)
        return -ENOMEM;
    uint8_t *at = varint_put(buffer->body.items + buffer->body.count, size);
    if (size)
        memcpy(at, buffer->column.items, size);
    buffer->body.count = (size_t)(at + size - buffer->body.items);
    return 0;
}

/* Empty columns at the end are omitted. */
static int put_columns(const struct rows *rows, struct definitions_buffer *buffer)
{
    size_t end = 0;
    buffer->body.count = 0;
    for (unsigned i = 0; i < rows->table->field_count; i++) {
        size_t begin = buffer->body.count;
        if (put_column(rows, &rows->table->fields[i], buffer) != 0)
            return -ENOMEM;
        if (buffer->body.count > begin + 1)
            end = buffer->body.count;
    }
    buffer->body.count = end;
    return 0;
}

static int put_entry(const struct rows *rows, unsigned number, struct definitions_buffer *buffer)
{
    uint8_t head[2 * VARINT_MAX], *at = head;
    if (put_columns(rows, buffer) != 0)
        return -ENOMEM;
    at = varint_put(at, rows->begin);
    at = varint_put(at, rows->end - rows->begin);
    size_t size = (size_t)(at - head);
    if (vec_reserve(&buffer->bytes, size + buffer->body.count + (size_t)2 * VARINT_MAX) != 0)
        return -ENOMEM;
    at = varint_put(buffer->bytes.items + buffer->bytes.count, number);
    at = varint_put(at, size + buffer->body.count);
    at = mempcpy(at, head, size);
    at = mempcpy(at, buffer->body.items, buffer->body.count);
    buffer->bytes.count = (size_t)(at - buffer->bytes.items);
    buffer->count++;
    return 0;
}

static uint32_t revision_of(const struct table *table, const void *entry)
{
    uint32_t revision = 0;
    if (table->revised)
        memcpy(&revision, entry, sizeof(revision));
    return revision + 1;
}

static size_t weight_of(const struct table *table, const void *entry)
{
    struct trace_string string;
    if (table->fields[0].kind != FIELD_TEXT)
        return 0;
    memcpy(&string, (const uint8_t *)entry + table->fields[0].offset, sizeof(string));
    return text_length(&string);
}

/* End of the definitions from `begin` on that form one entry: all are new or changed. */
static uint32_t find_end(const struct rows *rows, const struct definitions_state *state,
                         unsigned number)
{
    const struct table *table = rows->table;
    uint32_t end = rows->begin;
    for (size_t weight = 0; end < rows->end && end - rows->begin < STORE_ROWS_MAX; end++) {
        const void *entry = table->get(rows->trace, end);
        if (table->revised && state->written[number].items[end] == revision_of(table, entry))
            break;
        weight += weight_of(table, entry);
        if (weight > ENTRY_TEXT && end > rows->begin)
            break;
    }
    return end;
}

static void note_written(const struct rows *rows, struct definitions_state *state, unsigned number)
{
    state->next[number] = rows->end;
    for (uint32_t i = rows->begin; i < rows->end && rows->table->revised; i++)
        state->written[number].items[i] =
            revision_of(rows->table, rows->table->get(rows->trace, i));
}

static int collect(struct rows rows, struct definitions_state *state, size_t limit,
                   struct definitions_buffer *buffer)
{
    unsigned number = (unsigned)(rows.table - definition_tables);
    uint32_t count = rows.table->count(rows.trace);
    while (rows.table->revised && state->written[number].count < count)
        if (vec_push(&state->written[number], 0) != 0)
            return -ENOMEM;
    while (rows.begin < count && buffer->bytes.count < limit) {
        rows.end = count;
        rows.end = find_end(&rows, state, number);
        if (rows.end == rows.begin) {
            rows.begin++;
            continue;
        }
        if (put_entry(&rows, number, buffer) != 0)
            return -ENOMEM;
        note_written(&rows, state, number);
        rows.begin = rows.end;
    }
    return 0;
}

const uint8_t definition_order[STORE_DEFINE_COUNT - 1] = {
    STORE_DEFINE_STRING,     STORE_DEFINE_SCOPE,   STORE_DEFINE_SESSION,    STORE_DEFINE_HOST,
    STORE_DEFINE_CLOCK,      STORE_DEFINE_ANCHOR,  STORE_DEFINE_STREAM,     STORE_DEFINE_PROCESS,
    STORE_DEFINE_THREAD,     STORE_DEFINE_REFUSAL, STORE_DEFINE_FILTER,     STORE_DEFINE_SAMPLING,
    STORE_DEFINE_FACT,       STORE_DEFINE_MODULE,  STORE_DEFINE_SOURCE,     STORE_DEFINE_LABEL,
    STORE_DEFINE_LABEL_NAME, STORE_DEFINE_FRAME,   STORE_DEFINE_STACK,      STORE_DEFINE_PATH,
    STORE_DEFINE_LANE,       STORE_DEFINE_UNIT,    STORE_DEFINE_VALUE_TYPE, STORE_DEFINE_SAMPLE_SET,
    STORE_DEFINE_NAME,       STORE_DEFINE_DEVICE,
};

int definitions_collect(const struct trace *trace, struct definitions_state *state, size_t limit,
                        struct definitions_buffer *buffer)
{
    int error = 0;
    for (unsigned i = 0; i < sizeof(definition_order) && !error; i++) {
        const struct table *table = &definition_tables[definition_order[i]];
        uint32_t next = state->next[definition_order[i]];
        uint32_t begin = table->revised || next < table->first ? table->first : next;
        error = collect((struct rows){trace, table, begin, 0}, state, limit, buffer);
    }
    return error ? error : buffer->bytes.count >= limit;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Definitions as they are read: `count` structs of the model in a row. */
struct taken {
    const struct table *table;
    uint8_t *entries;
    uint32_t count;
};

static void take_numbers(const struct taken *taken, const struct field *field,
                         struct varint_reader *column)
{
    uint64_t before[ELEMENTS_MAX] = {0};
    uint64_t elements = field->count ? varint_get(column) : 1;
    for (uint32_t i = 0; i < taken->count && column->at; i++)
        for (uint64_t element = 0; element < elements && column->at; element++) {
            uint64_t change = (uint64_t)varint_get_signed(column);
            if (element >= field_elements(field))
                continue;
            before[element] += change;
            field_save(taken->entries + (size_t)i * taken->table->size, field, (unsigned)element,
                       before[element]);
        }
}

static void take_texts(const struct taken *taken, const struct field *field,
                       struct varint_reader *column)
{
    for (uint32_t i = 0; i < taken->count && column->at; i++) {
        uint64_t length = varint_get(column);
        struct trace_string string = {(const char *)column->at, (uint32_t)length};
        if (!column->at || length > (uint64_t)(column->end - column->at))
            column->at = NULL;
        else
            column->at += length;
        if (column->at)
            memcpy(taken->entries + (size_t)i * taken->table->size + field->offset, &string,
                   sizeof(string));
    }
}

static void take_bytes(const struct taken *taken, const struct field *field,
                       struct varint_reader *column)
{
    for (uint32_t i = 0; i < taken->count && column->at; i++) {
        if ((size_t)(column->end - column->at) < field->width) {
            column->at = NULL;
            return;
        }
        memcpy(taken->entries + (size_t)i * taken->table->size + field->offset, column->at,
               field->width);
        column->at += field->width;
    }
}

/* Missing columns at the end of the body are zeros: an older writer did not have them. */
static int take_columns(const struct taken *taken, struct varint_reader *body)
{
    for (unsigned i = 0; i < taken->table->field_count && body->at < body->end; i++) {
        const struct field *field = &taken->table->fields[i];
        uint64_t size = varint_get(body);
        if (!body->at || size > (uint64_t)(body->end - body->at) || (i == 0 && size < taken->count))
            return -EBADMSG;
        struct varint_reader column = {body->at, body->at + size};
        body->at += size;
        if (size == 0)
            continue;
        if (field->kind == FIELD_TEXT)
            take_texts(taken, field, &column);
        else if (field->kind == FIELD_BYTES)
            take_bytes(taken, field, &column);
        else
            take_numbers(taken, field, &column);
        if (!column.at)
            return -EBADMSG;
    }
    return 0;
}

/* Makes entries for those lost by damage, below `ordinal`. */
static int fill(struct trace *trace, struct definitions_holes *holes, unsigned number,
                uint64_t ordinal)
{
    const struct table *table = &definition_tables[number];
    uint32_t count = table->count(trace);
    if (ordinal <= count || table->loose)
        return 0;
    if (ordinal - count > table->holes_max - holes->filled[number])
        return -EBADMSG;
    holes->filled[number] += (uint32_t)(ordinal - count);
    int error = 0;
    for (; count < ordinal && !error; count++)
        error = table->put(trace, count, NULL);
    return error;
}

static void set_none(void *entry, const struct field *field, unsigned element)
{
    field_save(entry, field, element, field->reference == REFERENCE_SIGNED ? UINT64_MAX : 0);
}

/* Clears references to missing entries. Strings accept every ordinal. Returns true if it cleared
 * any. */
static bool check_entry(const struct trace *trace, const struct table *table, void *entry)
{
    bool changed = false;
    for (unsigned i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        if (field->refers == 0 || field->refers == STORE_DEFINE_STRING ||
            field->reference == REFERENCE_NUMBER)
            continue;
        uint64_t end = definition_tables[field->refers].count(trace);
        end += field->reference == REFERENCE_NEXT;
        for (unsigned element = 0; element < field_elements(field); element++) {
            uint64_t value = field_load(entry, field, element);
            bool none = value == 0 ? field->reference != REFERENCE_NEEDED
                                   : field->reference == REFERENCE_SIGNED && value == UINT64_MAX;
            if (value < end || none)
                continue;
            set_none(entry, field, element);
            changed = true;
        }
    }
    return changed;
}

static int make_needed(struct trace *trace, struct definitions_holes *holes,
                       const struct table *table, const void *entry)
{
    int error = 0;
    for (unsigned i = 0; i < table->field_count && !error; i++) {
        const struct field *field = &table->fields[i];
        if (field->refers && field->reference == REFERENCE_NEEDED)
            error = fill(trace, holes, field->refers, field_load(entry, field, 0) + 1);
    }
    return error;
}

/* Constant entries refer to earlier ones, and are put once. */
static int put_one(struct trace *trace, struct definitions_holes *holes, unsigned number,
                   uint64_t ordinal, void *entry)
{
    const struct table *table = &definition_tables[number];
    int error = make_needed(trace, holes, table, entry);
    if (!error)
        error = fill(trace, holes, number, ordinal);
    if (error || (!table->revised && ordinal < table->count(trace)))
        return error;
    if (!table->revised)
        check_entry(trace, table, entry);
    return table->put(trace, (uint32_t)ordinal, entry);
}

static int apply_entry(struct trace *trace, struct definitions_holes *holes, unsigned number,
                       struct varint_reader *body)
{
    const struct table *table = &definition_tables[number];
    uint64_t first = varint_get(body), count = varint_get(body);
    if (!body->at || first > INT32_MAX || count > STORE_ROWS_MAX ||
        count > (uint64_t)(body->end - body->at))
        return -EBADMSG;
    struct taken taken = {table, calloc(count + 1, table->size), (uint32_t)count};
    int error = taken.entries ? take_columns(&taken, body) : -ENOMEM;
    for (uint32_t i = 0; i < count && !error; i++)
        error = put_one(trace, holes, number, first + i, taken.entries + (size_t)i * table->size);
    free(taken.entries);
    return error;
}

int definitions_apply(struct trace *trace, struct definitions_holes *holes, const uint8_t *payload,
                      size_t size)
{
    struct varint_reader reader = {payload, payload + size};
    int error = 0;
    while (!error && reader.at < reader.end) {
        uint64_t number = varint_get(&reader);
        uint64_t length = varint_get(&reader);
        if (!reader.at || length > (uint64_t)(reader.end - reader.at))
            return -EBADMSG;
        struct varint_reader body = {reader.at, reader.at + length};
        if (number < STORE_DEFINE_COUNT && definition_tables[number].fields)
            error = apply_entry(trace, holes, (unsigned)number, &body);
        reader.at += length;
    }
    return error == -ENOMEM || error == 0 ? error : -EBADMSG;
}

static int check_table(struct trace *trace, const struct table *table, void *entry)
{
    uint32_t count = table->count(trace);
    int error = 0;
    for (uint32_t i = table->first; i < count && !error; i++) {
        memcpy(entry, table->get(trace, i), table->size);
        if (check_entry(trace, table, entry))
            error = table->put(trace, i, entry);
    }
    return error;
}

static bool has_references(const struct table *table)
{
    for (unsigned i = 0; i < table->field_count; i++)
        if (table->fields[i].refers > STORE_DEFINE_STRING)
            return true;
    return false;
}

int definitions_check(struct trace *trace)
{
    int error = 0;
    for (unsigned i = 0; i < STORE_DEFINE_COUNT && !error; i++) {
        const struct table *table = &definition_tables[i];
        if (!table->revised || !has_references(table))
            continue;
        void *entry = malloc(table->size);
        error = entry ? check_table(trace, table, entry) : -ENOMEM;
        free(entry);
    }
    return error ? error : trace_check(trace);
}
