/* SPDX-License-Identifier: MIT */
/* Records: see write.h. */
#include "write.h"

#include "proc.h"
#include "process.h"
#include "record.h"
#include "spell.h"
#include "stream.h"
#include "strings.h"

#include <string.h>

/* Base, ATTR, ID, name and string of an event, and its key-values always fit a block. */
_Static_assert(3 * ANNOT_GRANULE + 2 * ANNOT_STRING_MAX + ANNOT_PAYLOAD_BYTES <=
                   ANNOT_BLOCK_DATA_SIZE,
               "no event is larger than a block");

struct parts {
    struct spelled name;
    struct string_key string; /* payload */
    uint32_t granules;
    uint8_t flags;
};

/* One key-value, ready to write. */
struct pair {
    struct spelled key;
    uint64_t bits;     /* or, with VALUE_STRING, the size of: */
    const char *bytes; /* NULL: no bytes */
    uint8_t kind;      /* enum annot_value_kind */
    uint8_t flags;     /* enum annot_record_flags, in addition to those of the key */
};

/* The plan of a record, in the thread's private memory: the stack is the program's. While the
 * thread has its BUSY mark, only another task that shares the thread's storage can overwrite it:
 * code that copies from the plan checks ownership afterwards (is_own). Each step with deep calls is
 * a separate function (APART) that returns before the next one begins. */
struct writing {
    struct parts parts;
    struct pair pair;
    uint32_t is_cut; /* a key-value was cut or left out */
};

_Static_assert(sizeof(struct writing) <= WRITING_SIZE, "it has its place in struct keep");

static struct writing *writing_of(const struct control *control)
{
    return (struct writing *)control->keep->writing;
}

static uint32_t granules_of(uint32_t bytes)
{
    return (bytes + ANNOT_GRANULE - 1) / ANNOT_GRANULE;
}

/* Marks the plan as belonging to the event that this task writes, which stands on its stack.
 * (Static ones have no texts.) */
static void own(const struct control *control, const struct emission *emission)
{
    annot_store_relaxed(&control->keep->planned, emission);
    annot_fence_release();
}

/* True if the data copied from the plan before belong to that event alone. Partner: own. */
static int is_own(const struct control *control, const struct emission *emission)
{
    annot_fence_acquire();
    return annot_load_relaxed(&control->keep->planned) == emission;
}

/* Writes nothing that would exceed `end`. */
static uint8_t *put_bytes(uint8_t *at, const uint8_t *end, const void *bytes, uint32_t length)
{
    uint32_t padded = granules_of(length) * ANNOT_GRANULE;
    if (length == 0 || padded > end - at)
        return at;
    memset(at + padded - ANNOT_GRANULE, 0, ANNOT_GRANULE);
    memcpy(at, bytes, length);
    return at + padded;
}

/* ---- The record ------------------------------------------------------------------------------ */

static int is_flow(uint8_t kind)
{
    return kind >= ANNOT_REC_FLOW_BEGIN && kind <= ANNOT_REC_FLOW_END;
}

static int has_own_time(uint8_t kind)
{
    return kind == ANNOT_REC_SPAN || kind == ANNOT_REC_CLOCK;
}

/* A filtered range on a track has only an ID. */
static int has_name(const struct emission *emission)
{
    if (is_flow(emission->kind))
        return emission->name != 0 || emission->text != NULL;
    return emission->kind != ANNOT_REC_RANGE_END && emission->kind != ANNOT_REC_TRACK_END &&
           !emission->hidden;
}

static int has_attr(const struct emission *emission)
{
    if (emission->kind == ANNOT_REC_TRACK_BEGIN || emission->kind == ANNOT_REC_TRACK_MARK)
        return !emission->hidden;
    return emission->value_kind || emission->domain || emission->category || emission->color;
}

static void plan_name(struct control *control, const struct emission *emission)
{
    struct spelled *name = &writing_of(control)->parts.name;
    *name = (struct spelled){.id = emission->name, .manner = emission->manner};
    if (emission->kind == ANNOT_REC_POP)
        name->id = control->recorded + control->code_count - 1;
    else if (has_name(emission))
        spell_name(control, has_own_time(emission->kind) ? "" : emission->text, name);
    else
        name->id = 0;
}

static void plan_string(const struct emission *emission, struct parts *parts)
{
    string_key_init(&parts->string, emission->string, ANNOT_STRING_NAME);
    parts->flags |= ANNOT_FLAG_VALUE_STRING;
    if (parts->string.flags & ANNOT_STRING_CUT)
        parts->flags |= ANNOT_FLAG_VALUE_CUT;
    parts->granules += granules_of(parts->string.length);
}

/* Plans the parts after the name. */
static APART void plan(struct control *control, const struct emission *emission)
{
    struct parts *parts = &writing_of(control)->parts;
    plan_name(control, emission);
    parts->granules = 1 + granules_of(parts->name.key.length);
    parts->flags = parts->name.flags;
    parts->string.length = 0;
    if (has_attr(emission)) {
        parts->flags |= ANNOT_FLAG_ATTR;
        parts->granules++;
        control->name_limit = strings_sync(control->segment); /* copies domains */
    }
    if (emission->id || emission->kind == ANNOT_REC_SPAN) {
        parts->flags |= ANNOT_FLAG_ID;
        parts->granules++;
    }
    if (emission->value_kind == ANNOT_VALUE_STRING)
        plan_string(emission, parts);
}

static void put_parts(uint8_t *at, const struct emission *emission, const struct parts *parts,
                      uint64_t time)
{
    const uint8_t *end = at + (size_t)parts->granules * ANNOT_GRANULE;
    const struct spelled *spelled = &parts->name;
    uint32_t level =
        emission->level | (uint32_t)emission->value_kind << 3 |
        (emission->color && !has_own_time(emission->kind) ? ANNOT_RECORD_HAS_COLOR : 0) |
        (emission->continues ? ANNOT_RECORD_CONTINUES : 0);
    uint32_t name = parts->flags & ANNOT_FLAG_NAME_INLINE ? spelled->key.length : spelled->id;
    record_base(at, time, record_head(emission->kind, parts->granules, parts->flags, level), name);
    at += sizeof(struct annot_record);
    if (parts->flags & ANNOT_FLAG_ATTR) {
        const struct annot_attr attr = {
            .value =
                parts->flags & ANNOT_FLAG_VALUE_STRING ? parts->string.length : emission->value,
            .color = emission->color,
            .domain = emission->domain,
            .category = emission->category,
        };
        at = put_bytes(at, end, &attr, sizeof(attr));
    }
    if (parts->flags & ANNOT_FLAG_ID) {
        const struct annot_id id = {.id = emission->id, .reserved = emission->parent};
        at = put_bytes(at, end, &id, sizeof(id));
    }
    at = put_bytes(at, end, spelled->key.bytes, spelled->key.length);
    put_bytes(at, end, parts->string.bytes, parts->string.length);
}

/* Writes the record. Returns its bytes, at most `room`; 0: another task intervened. */
static APART uint32_t put_record(struct control *control, const struct emission *emission,
                                 uint8_t *at, uint32_t room, uint64_t time)
{
    struct parts parts = writing_of(control)->parts;
    uint32_t size = parts.granules * ANNOT_GRANULE;
    if (!is_own(control, emission) || size > room)
        return 0;
    put_parts(at, emission, &parts, time);
    return size;
}

/* ---- Key-values ------------------------------------------------------------------------------ */

static void plan_struct(struct control *control, const struct annot_value *value)
{
    struct writing *writing = writing_of(control);
    struct pair *pair = &writing->pair;
    uint32_t size = value->value.bytes ? value->size : 0;
    int is_cut = size > ANNOT_STRUCT_BYTES;
    pair->key.id = value->schema;
    pair->bytes = value->value.bytes;
    pair->bits = is_cut ? ANNOT_STRUCT_BYTES : size;
    pair->flags = ANNOT_FLAG_VALUE_STRING | (is_cut ? ANNOT_FLAG_VALUE_CUT : 0);
    writing->is_cut |= (uint32_t)is_cut;
    control->name_limit = strings_sync(control->segment); /* copies schemas */
}

static void plan_text(const struct annot_value *value, struct pair *pair)
{
    struct string_key string;
    string_key_init(&string, value->value.string, ANNOT_STRING_NAME);
    pair->bytes = string.bytes;
    pair->bits = string.length;
    pair->flags |= ANNOT_FLAG_VALUE_STRING;
    if (string.flags & ANNOT_STRING_CUT)
        pair->flags |= ANNOT_FLAG_VALUE_CUT;
}

/* For a counter group: values that are not numbers count as 0. */
static void plan_number(const struct annot_value *value, struct pair *pair)
{
    int is_number = value->kind >= ANNOT_PAYLOAD_INT64 && value->kind <= ANNOT_PAYLOAD_DOUBLE;
    pair->kind = is_number ? value->kind : ANNOT_VALUE_INT64;
    if (is_number)
        pair->bits = value->value.uint64;
    else
        pair->bits = value->kind == ANNOT_PAYLOAD_BOOL && value->value.boolean;
}

static void plan_any(const struct annot_value *value, struct pair *pair)
{
    pair->kind = value->kind;
    if (value->kind == ANNOT_PAYLOAD_STRING)
        plan_text(value, pair);
    else if (value->kind == ANNOT_PAYLOAD_BOOL)
        pair->bits = value->value.boolean != 0;
    else if (value->kind >= ANNOT_PAYLOAD_INT64 && value->kind <= ANNOT_PAYLOAD_DOUBLE)
        pair->bits = value->value.uint64;
    else
        pair->kind = ANNOT_VALUE_NONE;
}

/* Plans the value; before the key, which makes deep calls. */
static APART void plan_value(const struct annot_value *value, int is_group, struct pair *pair)
{
    *pair = (struct pair){.kind = value->kind, .key.id = value->key_name};
    if (is_group)
        plan_number(value, pair);
    else if (value->kind != ANNOT_PAYLOAD_STRUCT)
        plan_any(value, pair);
}

static APART void plan_pair(struct control *control, const struct annot_value *value, int is_group)
{
    struct pair *pair = &writing_of(control)->pair;
    plan_value(value, is_group, pair);
    if (value->kind == ANNOT_PAYLOAD_STRUCT && !is_group)
        plan_struct(control, value);
    else
        spell_name(control, value->key, &pair->key);
}

static uint32_t pair_granules(const struct pair *pair)
{
    uint32_t bytes = pair->flags & ANNOT_FLAG_VALUE_STRING ? (uint32_t)pair->bits : 0;
    return 1 + granules_of(pair->key.key.length) + granules_of(bytes);
}

/* Returns the address after it, or NULL if it does not fit, or another task intervened. */
static APART uint8_t *put_pair(struct control *control, const struct emission *emission,
                               uint8_t *at)
{
    struct pair own_pair = writing_of(control)->pair, *pair = &own_pair;
    const uint8_t *end = (uint8_t *)control->block + ANNOT_BLOCK_SIZE;
    const struct spelled *key = &pair->key;
    uint32_t flags = pair->flags | key->flags;
    uint32_t granules = pair_granules(pair);
    if (!is_own(control, emission)) {
        control->last_cause = ANNOT_LOSS_SHARED;
        return NULL;
    }
    if (at > end || granules > (size_t)(end - at) / ANNOT_GRANULE)
        return NULL;
    end = at + (size_t)granules * ANNOT_GRANULE;
    record_base(at, pair->bits,
                record_head(ANNOT_REC_PAYLOAD, granules, flags, (uint32_t)pair->kind << 3),
                flags & ANNOT_FLAG_NAME_INLINE ? key->key.length : key->id);
    at = put_bytes(at + sizeof(struct annot_record), end, key->key.bytes, key->key.length);
    if (flags & ANNOT_FLAG_VALUE_STRING)
        put_bytes(at, end, pair->bytes, (uint32_t)pair->bits);
    return (uint8_t *)end;
}

static int is_too_much(const struct control *control, size_t before)
{
    uint32_t granules = pair_granules(&writing_of(control)->pair);
    return before + (size_t)granules * ANNOT_GRANULE > ANNOT_PAYLOAD_BYTES;
}

static int is_one(const struct emission *emission, const struct annot_value *value)
{
    return (uint64_t)(value - emission->values) < emission->value_count;
}

enum { NO_ROOM = -1 };

/* Writes an event's key-values to `at`. Returns their bytes, or NO_ROOM in this block. */
static APART int64_t put_values(struct control *control, const struct emission *emission,
                                uint8_t *at)
{
    const uint8_t *begin = at;
    writing_of(control)->is_cut = 0;
    for (const struct annot_value *value = emission->values; is_one(emission, value); value++) {
        plan_pair(control, value, emission->kind == ANNOT_REC_COUNTER_GROUP);
        if (is_too_much(control, (size_t)(at - begin))) {
            writing_of(control)->is_cut = 1;
            break;
        }
        at = put_pair(control, emission, at);
        if (!at)
            return NO_ROOM;
    }
    if (writing_of(control)->is_cut)
        process_misuse(control->segment, ANNOT_MISUSE_PAYLOAD_CUT);
    return at - begin;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int has_room(struct control *control, uint32_t size)
{
    if (control_has_block(control) && !control->gap_pending &&
        ANNOT_BLOCK_DATA_SIZE - control->committed >= size)
        return 1;
    return stream_next(control);
}

/* Writes them to this block or the next. Nothing is visible before the commit, so a full block can
 * be closed. */
static int64_t put_values_somewhere(struct control *control, const struct emission *emission,
                                    uint32_t record_size)
{
    int64_t size = put_values(control, emission, record_next(control) + record_size);
    if (size != NO_ROOM)
        return size;
    if (!stream_next(control))
        return NO_ROOM;
    return put_values(control, emission, record_next(control) + record_size);
}

/* Writes and commits the plan. Returns its time, or 0 if another task intervened. */
static APART uint64_t put_event(struct control *control, const struct emission *emission,
                                uint32_t values_size)
{
    struct annot_block *block = control->block;
    uint32_t committed = annot_load_relaxed(&control->committed), size = committed + values_size;
    uint64_t time = has_own_time(emission->kind) ? emission->begin : clock_now();
    uint32_t room = size < ANNOT_BLOCK_DATA_SIZE ? ANNOT_BLOCK_DATA_SIZE - size : 0;
    uint32_t record = put_record(control, emission, record_at(block, committed), room, time);
    if (record == 0) {
        stream_lose(control, ANNOT_LOSS_SHARED);
        return 0;
    }
    record_commit_to(control, block, size + record);
    return time;
}

uint64_t write_event(struct control *control, const struct emission *emission)
{
    own(control, emission);
    plan(control, emission);
    uint32_t record_size = writing_of(control)->parts.granules * ANNOT_GRANULE;
    int64_t values_size = 0;
    int fits = control->thread && has_room(control, record_size);
    if (fits && emission->value_count)
        values_size = put_values_somewhere(control, emission, record_size);
    if (!fits || values_size == NO_ROOM) {
        stream_lose(control, (enum annot_loss)control->last_cause);
        return 0;
    }
    return put_event(control, emission, (uint32_t)values_size);
}

uint32_t write_name(const struct control *control)
{
    return writing_of(control)->parts.name.id;
}
