/* SPDX-License-Identifier: MIT */
/* Key-values: of events, of structs by their schema, of groups of counters. */
#include "intake_parts.h"

#include <errno.h>
#include <stdio.h>

static struct event *add_event(struct decode_pass *pass, const struct event *like, uint8_t kind)
{
    struct event *event = &pass->events->items[pass->events->count++];
    *event = (struct event){.kind = kind, .thread = like->thread, .time_ns = like->time_ns};
    return event;
}

static int64_t key_of(struct names *names, const struct decode_parts *parts)
{
    return parts->name ? names_inline(names, parts->name, parts->record.name)
                       : names_by_id(names, parts->record.name);
}

static int set_value(struct names *names, const struct decode_parts *parts, struct event *event)
{
    uint8_t kind = ANNOT_RECORD_VALUE_KIND(parts->record.level);
    int error = 0;
    event->value_kind = kind <= VALUE_STRING ? kind : VALUE_NONE;
    if (event->value_kind == VALUE_STRING) {
        size_t length = parts->text ? parts->record.time : 0;
        event->value.uint64 = decode_keep(names_inline(names, parts->text, length), &error);
    } else if (event->value_kind != VALUE_NONE) {
        event->value.uint64 = parts->record.time;
    }
    return error;
}

/* ---- Groups of counters ---- */

static int add_series(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct names *names = &pass->decoder->names;
    int error = 0;
    struct event event = pass->group;
    uint32_t key = decode_keep(key_of(names, parts), &error);
    if (error == 0)
        error = set_value(names, parts, &event);
    bool number = event.value_kind != VALUE_NONE && event.value_kind != VALUE_STRING;
    if (error != 0 || !number)
        return error != 0 ? error : -EBADMSG;
    event.name = decode_keep(names_join(names, event.name, key), &error);
    pass->events->items[pass->events->count++] = event;
    pass->thread->record_count++;
    return error;
}

/* ---- Structs ---- */

static int add_left_out(struct decode_pass *pass, const struct event *like,
                        const struct schema *schema)
{
    char text[32];
    int error = 0;
    struct event *event = add_event(pass, like, EVENT_PAYLOAD);
    int length = snprintf(text, sizeof(text), "%u more values", schema->left_out);
    event->name = decode_keep(names_inline(&pass->decoder->names, "...", 3), &error);
    event->value_kind = VALUE_STRING;
    event->value.string =
        decode_keep(names_inline(&pass->decoder->names, text, (size_t)length), &error);
    pass->decoder->misuse[MISUSE_PAYLOAD_CUT]++;
    return error;
}

static int add_fields(struct decode_pass *pass, const struct event *like,
                      const struct schema *schema, const uint8_t *bytes)
{
    int error = 0;
    for (uint32_t i = 0; i < schema->count && error == 0; i++) {
        struct event *event = add_event(pass, like, EVENT_PAYLOAD);
        event->name = schema->fields[i].key;
        error = schema_value(&pass->decoder->names, &schema->fields[i], bytes, event);
    }
    return error == 0 && schema->left_out > 0 ? add_left_out(pass, like, schema) : error;
}

/* A struct that is not what its schema says is shown as bytes. */
static int add_bytes(struct decode_pass *pass, const struct event *like, uint32_t name,
                     const struct decode_parts *parts)
{
    static const char unnamed[] = "struct";
    int error = 0;
    struct names *names = &pass->decoder->names;
    struct event *event = add_event(pass, like, EVENT_PAYLOAD);
    event->name = name ? name : decode_keep(names_inline(names, unnamed, 6), &error);
    pass->decoder->misuse[MISUSE_SCHEMA]++;
    if (error != 0)
        return error;
    size_t size = parts->text ? parts->record.time : 0;
    return schema_show_bytes(names, (const uint8_t *)parts->text, size, event);
}

static int add_struct(struct decode_pass *pass, const struct event *like,
                      const struct decode_parts *parts, size_t room)
{
    const struct schema *schema = NULL;
    bool numbered = !parts->name && parts->record.name <= UINT16_MAX;
    int found = numbered ? schemas_find(&pass->decoder->schemas, &pass->decoder->names,
                                        (uint16_t)parts->record.name, &schema)
                         : 0;
    if (found < 0)
        return found;
    uint64_t size = parts->text ? parts->record.time : 0;
    bool cut = parts->record.flags & ANNOT_FLAG_VALUE_CUT;
    if (!schema || cut || schema->size != size)
        return add_bytes(pass, like, schema ? schema->name : 0, parts);
    if (vec_reserve(pass->events, room + schema->count + 1) != 0)
        return -ENOMEM;
    return add_fields(pass, like, schema, (const uint8_t *)parts->text);
}

int decode_payload(struct decode_pass *pass, const struct decode_parts *parts, size_t room)
{
    if (pass->owner == OWNER_UNKNOWN)
        return 0;
    if (pass->owner == OWNER_NONE) {
        decode_lose(pass, LOSS_CORRUPT, 1);
        return 0;
    }
    if (pass->owner == OWNER_GROUP)
        return add_series(pass, parts);
    const struct event like = pass->events->items[pass->events->count - 1];
    if (ANNOT_RECORD_VALUE_KIND(parts->record.level) == ANNOT_VALUE_STRUCT)
        return add_struct(pass, &like, parts, room);
    int error = 0;
    struct event *event = add_event(pass, &like, EVENT_PAYLOAD);
    event->name = decode_keep(key_of(&pass->decoder->names, parts), &error);
    return error != 0 ? error : set_value(&pass->decoder->names, parts, event);
}
