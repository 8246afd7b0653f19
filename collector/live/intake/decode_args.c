/* SPDX-License-Identifier: MIT */
/* Key-values: of events, of structs by their schema, of groups of counters. */
#include "intake_parts.h"

#include <errno.h>
#include <stdio.h>

/* A key-value of the last event, still without a value. 1; 0: it has as many as it can; -errno. */
static int add_arg(struct decode_pass *pass, uint32_t key, struct arg **ret_arg)
{
    struct decoded *decoded = pass->decoded;
    struct event *event = &decoded->events.items[decoded->events.count - 1];
    if (event->arg_count == EVENT_ARGS_MAX) {
        pass->decoder->misuse[MISUSE_PAYLOAD_CUT]++;
        return 0;
    }
    if (vec_push(&decoded->args, ((struct arg){.key = key})) != 0)
        return -ENOMEM;
    if (event->arg_count == 0)
        event->args = (uint32_t)decoded->args.count - 1;
    event->arg_count++;
    *ret_arg = &decoded->args.items[decoded->args.count - 1];
    return 1;
}

static int64_t key_of(struct names *names, const struct decode_parts *parts)
{
    return parts->name ? names_inline(names, parts->name, parts->record.name)
                       : names_by_id(names, parts->record.name);
}

static int set_value(struct names *names, const struct decode_parts *parts, struct arg *arg)
{
    uint8_t kind = ANNOT_RECORD_VALUE_KIND(parts->record.level);
    int error = 0;
    arg->kind = kind <= VALUE_STRING ? kind : VALUE_NONE;
    if (arg->kind == VALUE_STRING) {
        size_t length = parts->text ? parts->record.time : 0;
        arg->value.uint64 = decode_keep(names_inline(names, parts->text, length), &error);
    } else if (arg->kind != VALUE_NONE) {
        arg->value.uint64 = parts->record.time;
    }
    return error;
}

/* ---- Groups of counters ---- */

static int add_series(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct names *names = &pass->decoder->names;
    struct arg value = {0};
    int error = 0;
    uint32_t key = decode_keep(key_of(names, parts), &error);
    if (error == 0)
        error = set_value(names, parts, &value);
    bool number = value.kind != VALUE_NONE && value.kind != VALUE_STRING;
    if (error != 0 || !number)
        return error != 0 ? error : -EBADMSG;
    struct event *event = &pass->decoded->events.items[pass->decoded->events.count++];
    *event = pass->group;
    event->value_kind = (uint8_t)value.kind;
    event->value = value.value;
    event->name = decode_keep(names_join(names, event->name, key), &error);
    pass->thread->record_count++;
    return error;
}

/* ---- Structs ---- */

static int add_left_out(struct decode_pass *pass, const struct schema *schema)
{
    struct names *names = &pass->decoder->names;
    struct arg *arg;
    char text[32];
    int error = 0;
    int length = snprintf(text, sizeof(text), "%u more values", schema->left_out);
    int added = add_arg(pass, decode_keep(names_inline(names, "...", 3), &error), &arg);
    pass->decoder->misuse[MISUSE_PAYLOAD_CUT]++;
    if (added <= 0 || error != 0)
        return added < 0 ? added : error;
    arg->kind = VALUE_STRING;
    arg->value.uint64 = decode_keep(names_inline(names, text, (size_t)length), &error);
    return error;
}

static int add_fields(struct decode_pass *pass, const struct schema *schema, const uint8_t *bytes)
{
    int error = 0;
    for (uint32_t i = 0; i < schema->count && error == 0; i++) {
        struct arg *arg;
        int added = add_arg(pass, schema->fields[i].key, &arg);
        if (added <= 0)
            return added;
        error = schema_value(&pass->decoder->names, &schema->fields[i], bytes, arg);
    }
    return error == 0 && schema->left_out > 0 ? add_left_out(pass, schema) : error;
}

/* A struct that is not what its schema says is shown as bytes. */
static int add_bytes(struct decode_pass *pass, uint32_t name, const struct decode_parts *parts)
{
    static const char unnamed[] = "struct";
    struct names *names = &pass->decoder->names;
    struct arg *arg;
    int error = 0;
    uint32_t key = name ? name : decode_keep(names_inline(names, unnamed, 6), &error);
    pass->decoder->misuse[MISUSE_SCHEMA]++;
    if (error)
        return error;
    int added = add_arg(pass, key, &arg);
    if (added <= 0)
        return added;
    size_t size = parts->text ? parts->record.time : 0;
    return schema_show_bytes(names, (const uint8_t *)parts->text, size, arg);
}

static int add_struct(struct decode_pass *pass, const struct decode_parts *parts)
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
        return add_bytes(pass, schema ? schema->name : 0, parts);
    return add_fields(pass, schema, (const uint8_t *)parts->text);
}

int decode_payload(struct decode_pass *pass, const struct decode_parts *parts)
{
    if (pass->owner == OWNER_UNKNOWN)
        return 0;
    if (pass->owner == OWNER_NONE) {
        decode_lose(pass, LOSS_CORRUPT, 1);
        return 0;
    }
    if (pass->owner == OWNER_GROUP)
        return add_series(pass, parts);
    if (ANNOT_RECORD_VALUE_KIND(parts->record.level) == ANNOT_VALUE_STRUCT)
        return add_struct(pass, parts);
    struct arg *arg;
    int error = 0;
    uint32_t key = decode_keep(key_of(&pass->decoder->names, parts), &error);
    if (error)
        return error;
    int added = add_arg(pass, key, &arg);
    return added <= 0 ? added : set_value(&pass->decoder->names, parts, arg);
}
