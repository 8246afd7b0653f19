/* SPDX-License-Identifier: MIT */
/* See perfetto_values.h. Values that the reader cannot hold become texts: integers beyond 63 bits,
 * and NaN, which its database stores as NULL. */
#include "perfetto_values.h"

#include "perfetto_sequence.h"

#include "json_writer.h"
#include "perfetto_fields.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_SIZE = 2560,
    PATH_MAX_LEVELS = 3, /* messages inside of messages */
};

static const char *const argument_names[] = {
    [PERFETTO_PAYLOAD] = "payload", [PERFETTO_DOMAIN] = "domain", [PERFETTO_LEVEL] = "level",
    [PERFETTO_COLOR] = "color",     [PERFETTO_FILE] = "file",     [PERFETTO_LINE] = "line",
};

static const char *const category_names[] = {
    [PERFETTO_CALLS] = EXPORT_CALL_CATEGORY,
    [PERFETTO_LOG] = EXPORT_LOG_CATEGORY,
};

static void put_own_name(struct perfetto_output *px, uint32_t field, unsigned number,
                         const char *name)
{
    proto_begin(&px->packet, field);
    proto_uint(&px->packet, PX_INTERNED_IID, number);
    proto_text(&px->packet, PX_INTERNED_NAME, name);
    proto_end(&px->packet);
}

void perfetto_put_own_names(struct perfetto_output *px)
{
    for (unsigned i = PERFETTO_PAYLOAD; i <= PERFETTO_LINE; i++)
        put_own_name(px, PX_INTERNED_ANNOTATION_NAMES, i, argument_names[i]);
    for (unsigned i = PERFETTO_CALLS; i < PERFETTO_FIRST_CATEGORY; i++)
        put_own_name(px, PX_INTERNED_CATEGORIES, i, category_names[i]);
}

static void put_digits(struct perfetto_output *px, uint64_t value)
{
    uint8_t digits[JSON_INTEGER_MAX];
    const uint8_t *end = json_put_uint(digits, value);
    proto_bytes(&px->packet, PX_ANNOTATION_STRING, digits, (size_t)(end - digits));
}

static void put_value(struct perfetto_output *px, enum value_kind kind, union value value)
{
    const struct trace_string *text;
    switch (kind) {
    case VALUE_INT64:
        proto_int(&px->packet, PX_ANNOTATION_INT, value.int64);
        break;
    case VALUE_UINT64:
        if (value.uint64 <= INT64_MAX)
            proto_uint(&px->packet, PX_ANNOTATION_UINT, value.uint64);
        else
            put_digits(px, value.uint64);
        break;
    case VALUE_DOUBLE:
        if (isnan(value.float64))
            proto_text(&px->packet, PX_ANNOTATION_STRING, "NaN");
        else
            proto_double(&px->packet, PX_ANNOTATION_DOUBLE, value.float64);
        break;
    case VALUE_BOOL:
        proto_uint(&px->packet, PX_ANNOTATION_BOOL, value.uint64 != 0);
        break;
    case VALUE_STRING:
        text = trace_string(px->trace, value.string);
        proto_bytes(&px->packet, PX_ANNOTATION_STRING, text->bytes, text->length);
        break;
    case VALUE_NONE:
        proto_text(&px->packet, PX_ANNOTATION_STRING, "");
        break;
    }
}

/* ---- Arguments of annot ---------------------------------------------------------------------- */

void perfetto_begin_attribute(struct perfetto_output *px, enum perfetto_argument name)
{
    proto_begin(&px->packet, PX_EVENT_DEBUG_ANNOTATIONS);
    proto_uint(&px->packet, PX_ANNOTATION_NAME_IID, name);
}

void perfetto_put_attributes(struct perfetto_output *px, const struct event *event)
{
    if (event->value_kind != VALUE_NONE) {
        perfetto_begin_attribute(px, PERFETTO_PAYLOAD);
        put_value(px, event->value_kind, event->value);
        proto_end(&px->packet);
    }
    uint32_t domain = trace_scope_domain(px->trace, event->scope);
    if (domain) {
        perfetto_begin_attribute(px, PERFETTO_DOMAIN);
        put_value(px, VALUE_STRING, (union value){.string = domain});
        proto_end(&px->packet);
    }
    if (event->level && !event_is_python_call(px->trace, event)) { /* that of calls is constant */
        perfetto_begin_attribute(px, PERFETTO_LEVEL);
        proto_uint(&px->packet, PX_ANNOTATION_INT, event->level);
        proto_end(&px->packet);
    }
    if (event->flags & EVENT_HAS_COLOR) {
        static const char hex[] = "0123456789abcdef";
        char text[7] = "#";
        for (int i = 0; i < 6; i++)
            text[i + 1] = hex[event->color >> (20 - 4 * i) & 15];
        perfetto_begin_attribute(px, PERFETTO_COLOR);
        proto_bytes(&px->packet, PX_ANNOTATION_STRING, text, sizeof(text));
        proto_end(&px->packet);
    }
}

void perfetto_put_argument(struct perfetto_output *px, const struct fact *argument)
{
    proto_begin(&px->packet, PX_EVENT_DEBUG_ANNOTATIONS);
    proto_text(&px->packet, PX_ANNOTATION_NAME, argument->name);
    if (argument->text)
        proto_text(&px->packet, PX_ANNOTATION_STRING, argument->text);
    else
        put_value(px, argument->kind, argument->value);
    proto_end(&px->packet);
}

/* ---- Parts of a key -------------------------------------------------------------------------- */

/* The parts of "base[index] [unit]". */
struct key_parts {
    size_t base_length;
    bool indexed;
    uint32_t index;
    const char *unit; /* NULL = without unit */
    size_t unit_length;
};

/* The opening bracket of a text that ends in a closing one, if there is no bracket between. */
static const char *find_bracket(const char *text, size_t length)
{
    if (length < 3 || text[length - 1] != ']')
        return NULL;
    const char *open = memrchr(text, '[', length);
    bool inner = open && memchr(open, ']', (size_t)(text + length - 1 - open));
    return open && !inner && open + 2 < text + length ? open : NULL;
}

static bool read_index(const char *digits, size_t length, uint32_t *ret_index)
{
    uint32_t index = 0;
    if (length > 6)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        index = index * 10 + (uint32_t)(digits[i] - '0');
    }
    *ret_index = index;
    return true;
}

static struct key_parts split_key(const char *text, size_t length)
{
    struct key_parts parts = {.base_length = length};
    const char *open = find_bracket(text, length);
    if (open && open > text + 1 && open[-1] == ' ') {
        parts.unit = open + 1;
        parts.unit_length = (size_t)(text + length - 1 - parts.unit);
        parts.base_length = (size_t)(open - 1 - text);
    }
    length = parts.base_length;
    open = find_bracket(text, length);
    if (open && open > text &&
        read_index(open + 1, (size_t)(text + length - 2 - open), &parts.index)) {
        parts.indexed = true;
        parts.base_length = (size_t)(open - text);
    }
    return parts;
}

/* True for a name without parts that the reader would change, except the unit. */
static bool is_simple(const char *text, const struct key_parts *parts)
{
    return !parts->indexed && !memchr(text, '.', parts->base_length) &&
           !memchr(text, '[', parts->base_length) && !memchr(text, ']', parts->base_length);
}

/* "base (index) (unit) (number)" with the parts that exist. Returns the length. */
static size_t compose_name(const struct key_parts *parts, const char *base,
                           const char *index_and_number, char *buffer)
{
    int base_length = (int)utf8_cut(base, parts->base_length, NAME_SIZE / 2);
    int unit_length =
        parts->unit ? (int)utf8_cut(parts->unit, parts->unit_length, NAME_SIZE / 4) : 0;
    int length = snprintf(buffer, NAME_SIZE, "%.*s%s%.*s%s%s", base_length, base,
                          parts->unit ? " (" : "", unit_length, parts->unit ? parts->unit : "",
                          parts->unit ? ")" : "", index_and_number);
    return (size_t)length;
}

/* ---- Key-values ------------------------------------------------------------------------------ */

/* Key-values of one event, while they are written. */
struct value_list {
    const struct arg *items;
    uint32_t count, next;
};

/* Number of values from `next` on that are elements 0, 1, 2... of one array. */
static uint32_t count_elements(const struct perfetto_output *px, const struct value_list *list)
{
    const struct trace_string *first = trace_string(px->trace, list->items[list->next].key);
    struct key_parts parts = split_key(first->bytes, first->length);
    uint32_t count = 0;
    if (!parts.indexed)
        return 0;
    for (uint32_t i = list->next; i < list->count; i++, count++) {
        const struct trace_string *text = trace_string(px->trace, list->items[i].key);
        struct key_parts other = split_key(text->bytes, text->length);
        bool same = other.indexed && other.index == count &&
                    other.base_length == parts.base_length &&
                    other.unit_length == parts.unit_length &&
                    memcmp(text->bytes, first->bytes, parts.base_length) == 0 &&
                    (!parts.unit || memcmp(other.unit, parts.unit, parts.unit_length) == 0);
        if (!same)
            break;
    }
    return count;
}

/* Opens an annotation of that name, inside of those named before its dots. Returns the number
 * opened. */
static unsigned begin_path(struct perfetto_output *px, struct key_parts parts, const char *base,
                           const char *index_and_number)
{
    char name[NAME_SIZE];
    unsigned level = 1;
    proto_begin(&px->packet, PX_EVENT_DEBUG_ANNOTATIONS);
    while (level < PATH_MAX_LEVELS) {
        const char *dot = memchr(base, '.', parts.base_length);
        size_t length = dot ? (size_t)(dot - base) : 0;
        if (length == 0 || length + 1 == parts.base_length)
            break;
        proto_bytes(&px->packet, PX_ANNOTATION_NAME, base, length);
        proto_begin(&px->packet, PX_ANNOTATION_DICT_ENTRIES);
        base += length + 1;
        parts.base_length -= length + 1;
        level++;
    }
    proto_bytes(&px->packet, PX_ANNOTATION_NAME, name,
                compose_name(&parts, base, index_and_number, name));
    return level;
}

/* A value, or the elements of an array, with its name in full. */
static void put_long(struct perfetto_output *px, struct value_list *list,
                     const struct export_key *key)
{
    const struct key_parts parts = split_key(key->text, key->length);
    char suffix[2 * EXPORT_KEY_NUMBER_SIZE] = "";
    uint32_t elements = count_elements(px, list);
    if (parts.indexed && !elements)
        snprintf(suffix, sizeof(suffix), " (%u)", parts.index);
    size_t used = strlen(suffix);
    suffix[used + export_key_number(key, suffix + used)] = 0;
    unsigned levels = begin_path(px, parts, key->text, suffix);
    if (!elements)
        put_value(px, list->items[list->next].kind, list->items[list->next].value);
    list->next += !elements;
    for (uint32_t i = 0; i < elements; i++, list->next++) {
        const struct arg *value = &list->items[list->next];
        if (i > 0)
            export_keys_next(&px->keys, value->key); /* counts its use, for repetitions */
        proto_begin(&px->packet, PX_ANNOTATION_ARRAY_VALUES);
        put_value(px, value->kind, value->value);
        proto_end(&px->packet);
    }
    while (levels-- > 0)
        proto_end(&px->packet);
}

/* Returns true if the key has a number in this sequence, which may be new. Only simple keys get
 * numbers, so a numbered one needs no check. */
static bool has_number(struct perfetto_output *px, struct perfetto_sequence *sequence,
                       const struct arg *value, const struct export_key *key,
                       struct perfetto_new_keys *new_keys)
{
    size_t room = sizeof(new_keys->keys) / sizeof(*new_keys->keys) - new_keys->count;
    if (perfetto_knows(&sequence->keys, value->key))
        return true;
    struct key_parts parts = split_key(key->text, key->length);
    bool may_learn = room > 0 && is_simple(key->text, &parts);
    bool is_new = perfetto_use_name(px, &sequence->keys, value->key, may_learn).is_new;
    if (is_new)
        new_keys->keys[new_keys->count++] = value->key;
    return is_new;
}

void perfetto_put_values(struct perfetto_output *px, struct perfetto_sequence *sequence,
                         const struct args *values, struct perfetto_new_keys *ret_new)
{
    struct value_list list = {values->items, values->count, 0};
    export_keys_restart(&px->keys);
    while (list.next < list.count) {
        const struct arg *value = &list.items[list.next];
        struct export_key key = export_keys_next(&px->keys, value->key);
        if (key.number || !has_number(px, sequence, value, &key, ret_new)) {
            put_long(px, &list, &key);
            continue;
        }
        proto_begin(&px->packet, PX_EVENT_DEBUG_ANNOTATIONS);
        proto_uint(&px->packet, PX_ANNOTATION_NAME_IID, PERFETTO_FIRST_KEY + (uint64_t)value->key);
        put_value(px, value->kind, value->value);
        proto_end(&px->packet);
        list.next++;
    }
}

void perfetto_put_new_keys(struct perfetto_output *px, const struct perfetto_new_keys *keys)
{
    char name[NAME_SIZE];
    for (uint32_t i = 0; i < keys->count; i++) {
        const struct trace_string *text = trace_string(px->trace, keys->keys[i]);
        struct key_parts parts = split_key(text->bytes, text->length);
        size_t length = compose_name(&parts, text->bytes, "", name);
        proto_begin(&px->packet, PX_INTERNED_ANNOTATION_NAMES);
        proto_uint(&px->packet, PX_INTERNED_IID, PERFETTO_FIRST_KEY + (uint64_t)keys->keys[i]);
        proto_bytes(&px->packet, PX_INTERNED_NAME, name, length);
        proto_end(&px->packet);
    }
}
