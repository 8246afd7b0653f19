/* SPDX-License-Identifier: MIT */
/* Metadata: key-values of open ranges, added before the end.
 *
 * They wait for the end and are recorded with it. Values without an open range, or without room to
 * wait, are recorded as a separate mark at once, so no value is lost. */
#include "itt.h"
#include "itt_names.h"
#include "itt_open.h"
#include "itt_thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STRING_MAX = 400, NUMBERS_MAX = 32 };

static void mark_value(const struct itt_domain *domain, const struct annot_value *value)
{
    const struct annot_event event = {
        .text = "metadata", .domain = itt_domain_number(domain), .values = value, .value_count = 1};
    annot_emit_mark_event(&event);
}

/* Adds a value to the calling thread's innermost task. */
static int add_to_current(const struct annot_value *value)
{
    itt_depth_check();
    struct itt_thread *thread = itt_depth > 0 ? itt_thread_own() : NULL;
    if (!thread)
        return 0;
    if (!thread->values)
        thread->values = itt_values_take();
    return thread->values && itt_values_add(thread->values, value, itt_depth);
}

static int add_to_id(const struct itt_domain *domain, struct itt_id id,
                     const struct annot_value *value)
{
    struct itt_key key = {.kind = ITT_TASK, .id = id};
    if (itt_open_value(&key, value))
        return 1;
    key.kind = ITT_REGION;
    if (itt_open_value(&key, value))
        return 1;
    key.kind = ITT_FRAME;
    key.scope = itt_domain_number(domain);
    if (itt_open_value(&key, value))
        return 1;
    struct itt_open known;
    key = (struct itt_key){.kind = ITT_ARROW, .id = id}; /* a nested task: on this thread? */
    return itt_open_find(&key, &known) && known.thread == itt_thread_number() &&
           add_to_current(value);
}

static void add(const struct itt_domain *domain, struct itt_id id, const struct annot_value *value)
{
    int has_id = (id.d1 | id.d2 | id.d3) != 0;
    if (has_id ? !add_to_id(domain, id, value) : !add_to_current(value))
        mark_value(domain, value);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static char *put_number(char *at, const char *end, const struct annot_value *value)
{
    int size;
    if (value->kind == ANNOT_PAYLOAD_DOUBLE)
        size = snprintf(at, (size_t)(end - at), "%.17g", value->value.float64);
    else if (value->kind == ANNOT_PAYLOAD_UINT64)
        size = snprintf(at, (size_t)(end - at), "%llu", (unsigned long long)value->value.uint64);
    else
        size = snprintf(at, (size_t)(end - at), "%lld", (long long)value->value.int64);
    return size < 0 || size >= end - at ? NULL : at + size;
}

/* Formats several numbers as one text, "1, 2, 3", cut with "..." if it gets long. */
static int list_numbers(int type, size_t count, const void *data, char text[STRING_MAX])
{
    static const uint8_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
    char *at = text, *end = text + STRING_MAX - 8; /* room for the dots */
    for (size_t i = 0; i < count; i++) {
        struct annot_value value;
        if (!itt_number(type, (const char *)data + i * sizes[type], &value))
            return 0;
        char *next = i < NUMBERS_MAX ? put_number(at, end, &value) : NULL;
        if (!next || i + 1 == count) {
            memcpy(next ? next : at, next ? "" : "...", next ? 1 : 4);
            return 1;
        }
        at = next;
        if (end - at > 2)
            at = stpcpy(at, ", ");
    }
    return 0;
}

static int make_numbers(int type, size_t count, const void *data, struct annot_value *ret_value)
{
    return count == 1 && itt_number(type, data, ret_value);
}

static void add_numbers(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                        int type, const struct annot_value *data)
{
    char text[STRING_MAX];
    size_t count = data->size;
    struct annot_value value;
    if (!itt_is_wanted() || count == 0 || !data->value.bytes)
        return;
    if (!make_numbers(type, count, data->value.bytes, &value)) {
        if (!itt_number(type, data->value.bytes, &value) ||
            !list_numbers(type, count, data->value.bytes, text))
            return;
        value = annot_value_string(NULL, text);
    }
    value.key = key ? key->text : NULL;
    value.key_name = itt_name(key);
    add(domain, id, &value);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                         int type, size_t count, void *data)
{
    struct annot_value numbers = annot_value_struct(0, data, 0);
    numbers.size = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
    add_numbers(domain, id, key, type, &numbers);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* `length` is that of `data`, or -1: it ends with NUL. */
static void metadata_str_add(const struct itt_domain *domain, struct itt_id id,
                             struct itt_string *key, const char *data, size_t length)
{
    char text[STRING_MAX];
    if (!itt_is_wanted() || !data)
        return;
    size_t size = strnlen(data, length < sizeof(text) - 1 ? length : sizeof(text) - 1);
    memcpy(text, data, size);
    text[size] = 0;
    struct annot_value value = annot_value_string(key ? key->text : NULL, text);
    value.key_name = itt_name(key);
    add(domain, id, &value);
}

/* With a scope and no id: adds to the open task, else emits a mark. */
static void metadata_add_with_scope(const struct itt_domain *domain, int scope,
                                    struct itt_string *key, int type, size_t count, void *data)
{
    (void)scope;
    metadata_add(domain, (struct itt_id){0, 0, 0}, key, type, count, data);
}

static void metadata_str_add_with_scope(const struct itt_domain *domain, int scope,
                                        struct itt_string *key, const char *data, size_t length)
{
    (void)scope;
    metadata_str_add(domain, (struct itt_id){0, 0, 0}, key, data, length);
}

/* ---- Texts made by printf -------------------------------------------------------------------- */

static void add_formatted(const struct itt_domain *domain, struct itt_id id,
                          const struct itt_string *format, va_list arguments)
{
    char text[STRING_MAX];
    if (!format || !format->text)
        return;
    /* clang-tidy 14 does not see the callers' va_start. NOLINTNEXTLINE(clang-analyzer-valist*) */
    if (vsnprintf(text, sizeof(text), format->text, arguments) < 0)
        return;
    const struct annot_value value = annot_value_string("metadata", text);
    add(domain, id, &value);
}

static void formatted_metadata_add(const struct itt_domain *domain, struct itt_string *format, ...)
{
    va_list arguments;
    if (!itt_is_wanted())
        return;
    va_start(arguments, format);
    add_formatted(domain, (struct itt_id){0, 0, 0}, format, arguments);
    va_end(arguments);
}

static void formatted_metadata_add_overlapped(const struct itt_domain *domain, struct itt_id id,
                                              struct itt_string *format, ...)
{
    va_list arguments;
    if (!itt_is_wanted())
        return;
    va_start(arguments, format);
    add_formatted(domain, id, format, arguments);
    va_end(arguments);
}

const struct itt_entry itt_entries_metadata[] = {
    {"formatted_metadata_add", formatted_metadata_add},
    {"formatted_metadata_add_overlapped", formatted_metadata_add_overlapped},
    {"metadata_add", metadata_add},
    {"metadata_add_with_scope", metadata_add_with_scope},
    {"metadata_str_add", metadata_str_add},
    {"metadata_str_add_with_scope", metadata_str_add_with_scope},
    {NULL, NULL},
};
